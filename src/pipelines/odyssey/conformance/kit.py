"""The conformance kit: plays the platform for a wrapper and reports which rules of the contract it breaks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .auth import AUTH_RULES, check_auth, check_ping
from .envelopes import check_malformed, check_proxy_urls, check_reading
from .proxy import FakeProxy
from .proxy_failures import check_injected, check_retries, check_runs, check_slow
from .replies import check_answer, check_tool_calls
from .report import Finding, Outcome, Report, in_order, skipped
from .rules import RULES
from .session import NO_CALL, NO_PLAIN, Options, Session
from .worlds import ScriptedWorld, WorldMaker
from .wrapper import Wrapper


class _Check(NamedTuple):
    run: Callable[[Session], Iterator[Finding]]
    rules: tuple[str, ...]  # what it decides
    needs_plain: bool = False  # a plain dispatch that worked
    needs_calls: bool = False  # … and made tool calls


_PING = _Check(check_ping, ("auth.accepted", "ping.answered"))
_ANSWER = _Check(check_answer, ("response.status", "response.final_response", "response.shape"))
_RETRIES = ("tools.retry_429", "tools.retry_after", "tools.retry_503")
_INJECTED = ("tools.error_survived", "tools.injected_not_retried")
_PROXY_URLS = tuple(
    f"envelope.{name}"
    for name in ("proxy_from_body", "proxy_from_header", "body_before_header", "trailing_slash")
)
_READING = ("envelope.unknown_fields", "envelope.instruction", "envelope.unicode", "envelope.large")

#: After the ping and the plain dispatch, in this order. Runs at once come last: whether runs mix is judged
#: over everything that came.
_CHECKS = (
    _Check(check_auth, AUTH_RULES),
    _Check(check_malformed, ("envelope.malformed",)),
    _Check(check_tool_calls, ("tools.path", "tools.bearer", "tools.json_body", "tools.unwrapped")),
    _Check(check_reading, _READING, needs_plain=True),
    _Check(check_proxy_urls, _PROXY_URLS, needs_plain=True),
    _Check(check_retries, _RETRIES, needs_plain=True, needs_calls=True),
    _Check(check_injected, _INJECTED, needs_plain=True, needs_calls=True),
    _Check(check_slow, ("tools.slow_reply",), needs_plain=True, needs_calls=True),
    _Check(check_runs, ("runs.isolated", "runs.concurrent"), needs_plain=True),
)


def check_wrapper(
    wrapper: Wrapper,
    options: Options | None = None,
    *,
    make_world: WorldMaker = ScriptedWorld,
    proxy_host: str = "127.0.0.1",
    proxy_port: int = 0,
    proxy_url: str | None = None,
    only: Sequence[str] = (),
) -> Report:
    """Visit a wrapper and report. Raises CannotCheck when there is nothing to visit.

    `only` takes names of rules or beginnings of them (`tools.`); the ping and the plain dispatch are always
    sent. An agent on another machine needs a `proxy_host` to listen on that it can reach, and the
    `proxy_url` by which it does.

        report = check_wrapper(Wrapper(url="http://127.0.0.1:9100/dispatch", auth_value="Bearer secret"))
        assert report.ok, report.failed
    """
    proxy = FakeProxy(make_world, host=proxy_host, port=proxy_port, url=proxy_url)
    with proxy.serving():
        session = Session(wrapper, proxy, options or Options())
        findings = [finding for finding in _findings(session, only) if _is_reported(finding, only)]
    return Report(findings=in_order(findings), dispatches=session.dispatches)


def _findings(session: Session, only: Sequence[str]) -> Iterable[Finding]:
    opening = list(_PING.run(session))
    yield from opening
    if any(finding.rule == "auth.accepted" and finding.outcome is Outcome.FAILED for finding in opening):
        rules_left = RULES.keys() - {*_PING.rules}
        yield from (
            skipped(rule, "the auth header was not accepted: see auth.accepted") for rule in rules_left
        )
        return
    yield from _ANSWER.run(session)
    for check in _CHECKS:
        if not any(is_selected(rule, only) for rule in check.rules):
            continue
        if check.needs_plain and not session.works:
            yield from (skipped(rule, NO_PLAIN) for rule in check.rules)
        elif check.needs_calls and not session.calls_tools:
            yield from (skipped(rule, NO_CALL) for rule in check.rules)
        else:
            yield from check.run(session)


def _is_reported(finding: Finding, only: Sequence[str]) -> bool:
    """Selected findings, and failures that keep all other checks from running."""
    is_basis = finding.rule in ("auth.accepted", "response.status") and finding.outcome is Outcome.FAILED
    return is_basis or is_selected(finding.rule, only)


def is_selected(rule: str, only: Sequence[str]) -> bool:
    return not only or any(rule.startswith(beginning) for beginning in only)
