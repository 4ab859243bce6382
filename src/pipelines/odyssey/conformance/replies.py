"""Checks of the plain dispatch: the answer, and the form of its tool calls."""

import json
from collections.abc import Iterator
from typing import Any

from .report import Finding, failed, not_observable, passed, skipped, warned
from .session import NO_CALL, NO_PLAIN, Session, Visit
from .wrapper import Answer

MOST_SHOWN = 3


def check_answer(session: Session) -> Iterator[Finding]:
    """Sends the plain dispatch, which the other checks compare with."""
    session.plain = visit = session.visit()
    if not visit.ok:
        yield failed("response.status", f"the wrapper {visit.answer.description}")
        yield skipped("response.final_response", NO_PLAIN)
        yield skipped("response.shape", NO_PLAIN)
        return
    yield passed("response.status", visit.answer.description)
    final = visit.reply.get("final_response")
    if isinstance(final, str) and final.strip():
        yield passed("response.final_response", f"{len(final)} characters")
    else:
        yield failed("response.final_response", _no_final_response(visit))
    yield _check_shape(session, visit)


def _no_final_response(visit: Visit) -> str:
    if "final_response" in visit.reply:
        return f"final_response is {json.dumps(visit.reply['final_response'])[:60]}"
    if visit.reply:
        return f"the answer has no final_response, only {', '.join(list(visit.reply)[:5])}"
    return "the answer is not a JSON object"


def _check_shape(session: Session, visit: Visit) -> Finding:
    if session.options.reply_problems is None:
        return skipped("response.shape", "no schema was given: `pipelines odyssey conformance` has one")
    assert isinstance(visit.answer, Answer)
    problems = session.options.reply_problems(visit.answer.body, visit.answer.content_type)
    text = "; ".join(problem for _, problem in problems[:MOST_SHOWN])
    if any(is_dropped for is_dropped, _ in problems):
        return failed("response.shape", text)
    if problems:
        return warned("response.shape", text)
    has = [name for name in ("messages", "metadata") if visit.reply.get(name) is not None]
    return passed("response.shape", " and ".join(has) or "neither messages nor metadata is sent")


def check_tool_calls(session: Session) -> Iterator[Finding]:
    visit = session.plain
    assert visit is not None
    if visit.run.others:
        lost = visit.run.others[0]
        yield failed("tools.path", f"{lost.method} {lost.path} came instead")
    if not visit.calls:
        reason = NO_CALL if visit.ok else NO_PLAIN
        missing = ("tools.path", "tools.bearer", "tools.json_body", "tools.unwrapped")
        yield from (
            skipped(rule, reason) for rule in missing if not (visit.run.others and rule == missing[0])
        )
        return
    if not visit.run.others:
        yield passed("tools.path", ", ".join(dict.fromkeys(call.tool or "" for call in visit.calls)))
    yield _check_bearer(visit)
    yield _check_json_body(visit)
    yield _check_unwrapped(session, visit)


def _check_bearer(visit: Visit) -> Finding:
    wrong = [call for call in visit.calls if call.token != visit.run.token]
    if wrong:
        how = "without a token" if not wrong[0].token else "with something that is not this run's token"
        return failed("tools.bearer", f"{wrong[0].tool} was called {how}")
    return passed("tools.bearer", f"{len(visit.calls)} calls")


def _check_json_body(visit: Visit) -> Finding:
    for call in visit.calls:
        arguments = call.arguments
        if not isinstance(arguments, dict):
            return failed(
                "tools.json_body", f"{call.tool} was sent {call.body[:60].decode('utf-8', 'replace')!r}"
            )
        problem = visit.run.world.argument_problem(call.tool or "", arguments)
        if problem is not None:
            return failed("tools.json_body", f"{call.tool}: {problem}")
    return passed("tools.json_body", f"{len(visit.calls)} calls")


def _check_unwrapped(session: Session, visit: Visit) -> Finding:
    if str(session.proxy.canary) in visit.shown():
        return failed(
            "tools.unwrapped", "latency_ms of the proxy's envelope appears in what the agent returned or sent"
        )
    tool_texts = [_text(message) for message in _messages(visit) if message.get("role") == "tool"]
    if any('"matched_rule_index"' in text or '"latency_ms"' in text for text in tool_texts):
        return failed("tools.unwrapped", "a tool message has the fields of the proxy's envelope")
    if tool_texts:
        return passed("tools.unwrapped", f"{len(tool_texts)} tool messages show the response alone")
    return not_observable(
        "tools.unwrapped",
        "nothing that the agent returned shows a tool reply; return `messages` to have it seen",
    )


def _messages(visit: Visit) -> list[dict[str, Any]]:
    messages = visit.reply.get("messages")
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)
