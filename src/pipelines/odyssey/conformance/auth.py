"""Checks of who is let in: the auth header, and the ping."""

import json
from collections.abc import Iterator

from ...wire.envelope import PING_BODY
from .report import Finding, failed, passed, skipped, warned
from .session import Session
from .wrapper import Answer, NoAnswer

PING = json.dumps(dict(PING_BODY)).encode()
PING_TIMEOUT_S = 15.0  # a ping does no work
NOT_ASCII = "\xe9\xff"
AUTH_RULES = ("auth.required", "auth.wrong", "auth.non_ascii", "auth.before_ping", "auth.before_parsing")


class CannotCheck(Exception):
    """The wrapper cannot be visited at all; the message says what to give the kit."""


def check_ping(session: Session) -> Iterator[Finding]:
    """First of all: is it there, and does it take the auth header?"""
    answer = session.send(PING, {}, timeout_s=PING_TIMEOUT_S)
    if isinstance(answer, NoAnswer) and answer.is_unreachable:
        raise CannotCheck(f"{session.wrapper.url} {answer.description}")
    if answer.is_refusal and session.wrapper.auth_value is None:
        raise CannotCheck(
            f"the wrapper wants to be authenticated ({answer.description}): give --auth-header or --token-env"
        )
    if answer.is_refusal:
        yield failed(
            "auth.accepted", f"a ping with the right {session.wrapper.auth_name} was {answer.description}"
        )
        yield skipped("ping.answered", "the auth header was not accepted")
        return
    if session.wrapper.auth_value is None:
        yield skipped("auth.accepted", "no auth header was given (--auth-header, --token-env)")
    else:
        yield passed("auth.accepted", f"a ping with it was {answer.description}")
    yield _ping(answer)


def _ping(answer: Answer | NoAnswer) -> Finding:
    if not isinstance(answer, Answer) or not answer.is_success:
        return failed("ping.answered", f"the wrapper {answer.description}")
    if "html" in answer.content_type.lower():
        return failed("ping.answered", "the answer is an HTML page: is the URL that of the endpoint?")
    if b'"final_response"' in answer.body:
        return warned("ping.answered", "the agent ran on the ping as if it were a dispatch")
    return passed("ping.answered", answer.description)


def check_auth(session: Session) -> Iterator[Finding]:
    if session.wrapper.auth_value is None:
        yield warned(
            "auth.required", "the wrapper answers without an auth header: anybody may dispatch to it"
        )
        yield from (skipped(rule, "no auth header was given") for rule in AUTH_RULES[1:])
        return
    if (found := _try_header(session, {}, "without the header")) is not None:
        yield failed("auth.required", found)
        yield from (skipped(rule, "there is no auth check: see auth.required") for rule in AUTH_RULES[1:])
        return
    yield passed("auth.required", "refused")
    yield _check_wrong_header(session, session.wrapper.auth_value)
    yield _check_non_ascii(session)
    yield _check_before_ping(session)
    yield _check_before_parsing(session)


def _check_wrong_header(session: Session, value: str) -> Finding:
    wrong = {
        "with another token": f"{value.partition(' ')[0]} conformance-wrong",
        "with something after the token": f"{value}x",
        "with the last character missing": value[:-1],
        "with an empty value": "",
    }
    for how, sent in wrong.items():
        if (found := _try_header(session, {session.wrapper.auth_name: sent}, how)) is not None:
            return failed("auth.wrong", found)
    return passed("auth.wrong", f"refused in {len(wrong)} forms")


def _check_non_ascii(session: Session) -> Finding:
    """A crash keeps strangers out, too."""
    visit = session.visit(auth={session.wrapper.auth_name: f"Bearer {NOT_ASCII}"})
    if visit.answer.is_refusal and not visit.calls:
        return passed("auth.non_ascii", "refused")
    found = f"a dispatch that is not ASCII: the wrapper {visit.answer.description}"
    is_crash = isinstance(visit.answer, Answer) and visit.answer.status >= 500 and not visit.calls
    return warned("auth.non_ascii", found) if is_crash else failed("auth.non_ascii", found)


def _try_header(session: Session, auth: dict[str, str], how: str) -> str | None:
    """What happened to a dispatch that should have been refused; None when it was."""
    visit = session.visit(auth=auth)
    if visit.calls:
        return f"a dispatch {how} made {len(visit.calls)} tool calls ({visit.answer.description})"
    return None if visit.answer.is_refusal else f"a dispatch {how}: the wrapper {visit.answer.description}"


def _check_before_ping(session: Session) -> Finding:
    name = session.wrapper.auth_name
    for how, auth in (("without the header", {}), ("with a wrong one", {name: "Bearer conformance-wrong"})):
        answer = session.send(PING, {}, auth=auth, timeout_s=PING_TIMEOUT_S)
        if not answer.is_refusal:
            return failed("auth.before_ping", f"a ping {how}: the wrapper {answer.description}")
    return passed("auth.before_ping", "refused")


def _check_before_parsing(session: Session) -> Finding:
    answer = session.send(b"{", {}, auth={}, timeout_s=PING_TIMEOUT_S)
    if answer.is_refusal:
        return passed("auth.before_parsing", "refused")
    return warned(
        "auth.before_parsing", f"a broken body without the header: the wrapper {answer.description}"
    )
