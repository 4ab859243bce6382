"""Checks of how a wrapper reads a dispatch: each check sends one that is unusual in one way."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...wire.names import (
    HEADER_PROXY_URL,
    HEADER_RUN_ID,
    HEADER_RUN_TOKEN,
    HEADER_RUN_TOKEN_JTI,
    HEADER_TASK_ID,
)
from .report import Finding, failed, not_observable, passed, skipped, warned
from .session import NO_CALL, Body, Headers, Session, Visit
from .wrapper import Answer

DECOY = "decoyword"
OTHER_LANGUAGES = " ¡Por favor! 请 🙏 Ωμέγα עברית e\u0301"
LARGE_INSTRUCTION = 64 * 1024  # blanks after the words: what a model charges for hardly grows
LARGE_BODY = 512 * 1024  # the rest is in a field to be ignored
MALFORMED_TIMEOUT_S = 15.0


def check_proxy_urls(session: Session) -> Iterator[Finding]:
    yield _check_reached(session, "envelope.proxy_from_body", session.visit(change=_strip_headers))
    yield _check_reached(session, "envelope.proxy_from_header", session.visit(change=_strip_body))
    yield _check_body_first(session)
    yield _check_trailing_slash(session)


def _strip_headers(body: Body, headers: Headers) -> None:
    for name in (HEADER_PROXY_URL, HEADER_RUN_ID, HEADER_TASK_ID, HEADER_RUN_TOKEN_JTI):
        del headers[name]


def _strip_body(body: Body, headers: Headers) -> None:
    del body["odyssey_proxy_url"], body["run_token_jti"]


def _check_reached(session: Session, rule: str, visit: Visit) -> Finding:
    """An unusual but complete dispatch must end like the plain one."""
    if not visit.ok:
        return failed(rule, f"the wrapper {visit.answer.description}")
    if visit.calls:
        return passed(rule, f"{len(visit.calls)} tool calls came")
    if not session.calls_tools:
        return skipped(rule, NO_CALL)
    if visit.went_elsewhere:
        return skipped(rule, "its calls went to another run: see runs.isolated")
    return failed(rule, "no tool call came, though the plain dispatch made some")


def _check_body_first(session: Session) -> Finding:
    rule = "envelope.body_before_header"
    decoy = session.proxy.open_run(is_decoy=True)

    def differ(body: Body, headers: Headers) -> None:
        headers[HEADER_PROXY_URL] = session.proxy.url_of(decoy)

    visit = session.visit(change=differ)
    if decoy.calls:
        return warned(rule, "the header's proxy was called")
    return _check_reached(session, rule, visit)


def _check_trailing_slash(session: Session) -> Finding:
    rule = "envelope.trailing_slash"

    def slash(body: Body, headers: Headers) -> None:
        body["odyssey_proxy_url"] += "/"
        headers[HEADER_PROXY_URL] += "/"

    visit = session.visit(change=slash)
    if visit.run.others and "//" in visit.run.others[0].path:
        return failed(rule, f"{visit.run.others[0].path} was called")
    return _check_reached(session, rule, visit)


def check_reading(session: Session) -> Iterator[Finding]:
    yield from _check_unknown_fields(session)
    yield _check_unicode(session)
    visit = session.visit(change=_enlarge)
    yield (
        failed("envelope.large", f"the wrapper {visit.answer.description}")
        if not visit.ok
        else passed("envelope.large", visit.answer.description)
    )


def _enlarge(body: Body, headers: Headers) -> None:
    body["input"]["user_instruction"] += " " * LARGE_INSTRUCTION
    body["conformance_padding"] = "x" * (LARGE_BODY - LARGE_INSTRUCTION)


def _check_unknown_fields(session: Session) -> Iterator[Finding]:
    """Unknown fields must be ignored, and not be read as the prompt."""
    instruction = session.options.instruction
    decoy = _make_decoy(instruction)

    def add(body: Body, headers: Headers) -> None:
        for name in ("user_instruction", "instruction", "prompt", "message", "query"):
            body[name] = decoy
        body["input"] |= {"prompt": decoy, "instruction": decoy}
        body["conformance_unknown"] = {"nested": [1, None]}
        headers["X-Pipelines-Conformance-Unknown"] = "ignored"

    visit = session.visit(change=add)
    if not visit.ok:
        yield failed("envelope.unknown_fields", f"the wrapper {visit.answer.description}")
        yield skipped("envelope.instruction", "the dispatch was refused: see envelope.unknown_fields")
        return
    yield passed("envelope.unknown_fields", visit.answer.description)
    yield _check_instruction(visit, instruction, decoy)


def _make_decoy(instruction: str) -> str:
    """The instruction with other numbers, so that the agent's behaviour shows which one it got."""
    digits = str.maketrans("0123456789", "9876543210")
    return f"{instruction.translate(digits)} {DECOY}"


def _check_instruction(visit: Visit, instruction: str, decoy: str) -> Finding:
    rule = "envelope.instruction"
    words, decoys = set(re.findall(r"\w{3,}", instruction)), set(re.findall(r"\w{3,}", decoy))
    shown_words = set(re.findall(r"\w{3,}", visit.shown()))
    if decoys_used := sorted((decoys - words) & shown_words):
        return failed(
            rule, f"the agent was given another field's text: {', '.join(decoys_used)[:60]} shows up"
        )
    if words_used := sorted(words & shown_words, key=lambda word: (not word.isdigit(), -len(word))):
        return passed(rule, f"{words_used[0]!r} of the prompt shows up in what the agent did")
    return not_observable(rule, "no word of the prompt shows up in what the agent did or said")


def _check_unicode(session: Session) -> Finding:
    rule = "envelope.unicode"
    instruction = session.options.instruction + OTHER_LANGUAGES
    visit = session.visit(instruction=instruction)
    if not visit.ok:
        return failed(rule, f"the wrapper {visit.answer.description}")
    messages = visit.reply.get("messages")
    users = [each for each in messages or () if isinstance(each, dict) and each.get("role") == "user"]
    if any(instruction.strip() in json.dumps(each, ensure_ascii=False) for each in users):
        return passed(rule, "the user message came back as it was sent")
    mangled = [each for each in users if session.options.instruction in json.dumps(each, ensure_ascii=False)]
    if mangled:
        return failed(rule, f"the user message came back as {str(mangled[0].get('content'))[-60:]!r}")
    return passed(rule, f"{visit.answer.description}; no user message came back to compare with")


class _Malformed(NamedTuple):
    what: str
    body: bytes
    has_headers: bool  # those of a dispatch
    is_refused: bool = True  # a 2xx is wrong too


MALFORMED = (
    _Malformed("a body that is not JSON", b"{", True),
    _Malformed("an empty body", b"", True),
    _Malformed("bytes that are not UTF-8", b'{"input": "\xff\xfe"}', True),
    _Malformed("a JSON array", b"[]", True),
    _Malformed("JSON null", b"null", True),
    _Malformed("no proxy URL and no run token", b'{"input": {"user_instruction": "Hello"}}', False),
    _Malformed("an `input` that is a number", b'{"input": 5}', True, is_refused=False),
)


def check_malformed(session: Session) -> Iterator[Finding]:
    cases = [case for case in MALFORMED if case.is_refused or session.works]
    crashed = None
    for case in cases:
        run = session.proxy.open_run()
        headers = {HEADER_RUN_TOKEN: run.token, HEADER_PROXY_URL: session.proxy.url_of(run)}
        sent = headers if case.has_headers else {}
        answer = session.send(case.body, sent, timeout_s=MALFORMED_TIMEOUT_S)
        run.is_answered.set()
        is_well = isinstance(answer, Answer) and (
            400 <= answer.status < 500 or (answer.is_success and not case.is_refused)
        )
        found = f"{case.what}: the wrapper {answer.description}"
        if not is_well and isinstance(answer, Answer) and answer.status >= 500:
            crashed = crashed or found  # refused all the same, and nothing happened
        elif not is_well:
            yield failed("envelope.malformed", found)
            return
    if crashed is not None:
        yield warned("envelope.malformed", crashed)
        return
    yield passed("envelope.malformed", f"{len(cases)} malformed requests were refused")
