"""Template contexts for the page of a run: its summary line, its verdict card, and one step."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pipelines.core.agents.placed_messages import thinking_text
from pipelines.core.agents.reported_usage import reported_usage
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.tools.failure_words import rule_in_words
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.core.verdict.axis_of_check import axis_of_check
from pipelines.core.verdict.error_words import error_in_words
from pipelines.core.verdict.mode_words import mode_in_words
from pipelines.core.verdict.pending_words import pending_words
from pipelines.engine.runs.read_steps import END, START, RunInFull, StepInFull, Timeline
from pipelines.server.pages.runs.trace_lines import said_in
from pipelines.server.pages.runs.trace_world import world_context
from pipelines.storage.evals.review_queue import RUN_PREFIX
from pipelines.storage.runs.runs import Run
from pipelines.storage.runs.trace_steps import StepOutline

MOST_WARNINGS = 50
MOST_MESSAGES = 100  # of a transcript that could not be put between the calls
MOST_FAILURES = 500
_SOURCES = ("odyssey", "injected", "passthrough", "error", "transport_error")
_STATUS_ORDER = {"broken": 0, "open": 1, "held": 2}


def strip_of(read: RunInFull) -> dict[str, Any]:
    """The summary line of a run: status, task, calls by source, duration and cost."""
    run, timeline = read.timeline.run, read.timeline
    return {
        "run": run,
        "cause_words": cause_words(run),
        "error_words": error_in_words(run.error_class, run.error_json),
        "was_reached": _was_reached(run),
        "agent": read.agent,
        "build": read.build,
        "asked": read.asked,
        "calls": sum(timeline.sources.values()),
        "sources": [(source, timeline.sources[source]) for source in _SOURCES if timeline.sources[source]],
        "took_ms": took_ms(run),
        "usage": usage_of(run.metadata),
        "asked_models": read.asked_models,
        "is_live": not timeline.has_ended,
    }


def cause_words(run: Run) -> str | None:
    """The failure mode, the error or the pending reason as a sentence."""
    words = pending_words(run.pending_reason)
    reason = mode_in_words(run.failure_mode) or error_in_words(run.error_class, run.error_json)
    return reason or (words.says if words else None)


def _was_reached(run: Run) -> bool:
    """Whether the agent may have seen the run, so that calls of it can be missed."""
    return not isinstance(run.error_json, dict) or run.error_json.get("reached") != "no"


def verdict_card(run: Run) -> dict[str, Any] | None:
    """The reasons of a verdict: findings, the most serious first, and scores with their evidence."""
    judged = run.judgement if isinstance(run.judgement, dict) else None
    if judged is None:
        return None
    told = (each | {"axis": axis_of_check(str(each["check"]))} for each in _objects(judged.get("findings")))
    findings = sorted(told, key=lambda each: _STATUS_ORDER.get(each["status"], 1))
    pending = _pending(run, findings)
    findings = [each for each in findings if pending is None or each is not pending["finding"]]
    notes: Any = judged.get("score_notes") or {}
    scores: Any = judged.get("scores") or {}
    return {
        "reasoning": judged.get("reasoning") or "",
        "pending": pending,
        "unverified": list(_objects(judged.get("unverified"))),
        "findings": [each for each in findings if each["status"] != "held" and not _is_read(each)],
        "held": [each for each in findings if each["status"] == "held" and not _is_read(each)],
        "scores": [
            {"name": name.replace("_", " "), "value": value, **notes.get(name, {"says": "", "evidence": []})}
            for name, value in scores.items()
        ],
        "grader": judged.get("grader") or {},
        "oracle": judged.get("oracle") or {},
        "model": judged.get("model_judge"),
    }


def _pending(run: Run, findings: list[Any]) -> dict[str, Any] | None:
    """Why the run is pending, with the first finding for that reason, such as a rule that was not read."""
    words = pending_words(run.pending_reason)
    if words is None:
        return None
    first = next((each for each in findings if each.get("pending_reason") == run.pending_reason), None)
    return {
        "reason": run.pending_reason,
        "first": first["says"] if first is not None else words.says,
        "evidence": first["evidence"] if first is not None else [],
        "to_do": words.to_do,
        "finding": first,
    }


def _is_read(finding: Any) -> bool:
    """Whether the finding comes from a model; such findings are shown as its criteria."""
    return str(finding["check"]).startswith("model/")


def first_shown(timeline: Timeline) -> str:
    """The step to show first: evidence of the verdict, else the error of the run, else a failure, else a
    call."""
    judged: Any = timeline.run.judgement if isinstance(timeline.run.judgement, dict) else {}
    for finding in _objects(judged.get("findings")):
        if finding["status"] == "broken" and finding["evidence"]:
            name = str(finding["evidence"][0])
            if name in timeline.positions:
                return name
    if timeline.run.error_class is not None and timeline.has_ended:
        return END
    if timeline.failures:
        return timeline.failures[0]
    calls = (str(step.sequence) for step in timeline.steps if step.kind == "tool_call")
    return next(calls, END if timeline.has_ended else START)


def step_context(step: StepInFull) -> dict[str, Any]:
    timeline, item = step.timeline, step.timeline.items[step.place]
    lines = timeline.lines
    place = timeline.line_places[item.name]
    before = place - (lines[place].item is item)  # a step without a line stands behind one
    context: dict[str, Any] = {
        "run": timeline.run,
        "item": item,
        "place": place,
        "total": len(timeline.steps),
        "previous": lines[before].item.name if before >= 0 else None,
        "next": lines[place + 1].item.name if place + 1 < len(lines) else None,
        "equal": [each.sequence for each in lines[place].folded] if lines[place].item is item else [],
        "thinking": _turn_thinking(timeline, step.place),
        "rule": step.rule,
        "world": world_context(step),
        "world_problem": step.world_problem,
        "row": None,
    }
    if item.step is not None and step.row is not None:
        context |= _row_context(timeline, item.step, step.row)
    elif item.message is not None:
        message = timeline.messages[item.message]
        context |= {
            "message": {"role": message.role, "text": message.text(), "thinking": thinking_text(message)}
        }
    elif item.kind == "start":
        context |= {"asked": _task_parts(timeline.run)}
    else:
        context |= {
            "error": _error(timeline.run),
            "transcript": _transcript(timeline),
            "metadata": metadata_rows(timeline.run.metadata),
        }
    return context


def _turn_thinking(timeline: Timeline, place: int) -> str | None:
    """The reasoning of the assistant's turn that made this call or gave the answer. None where the transcript
    does not have the calls of the log, and for a message, which shows its own."""
    item = timeline.items[place]
    if not timeline.has_placed or not timeline.messages:
        return None
    if item.kind == "end":
        last = timeline.messages[-1]
        return thinking_text(last) or None if last.role == "assistant" else None
    if item.step is None or item.step.kind != TOOL_CALL:
        return None
    number = [step.sequence for step in timeline.steps if step.kind == TOOL_CALL].index(item.step.sequence)
    turns = [message for message in timeline.messages for _ in message.tool_calls]
    return thinking_text(turns[number]) or None


def _row_context(timeline: Timeline, outline: StepOutline, row: TraceRow) -> dict[str, Any]:
    payload = _value(row.payload)
    response = _value(row.response)
    number, of = timeline.of_tool(outline) if row.kind == "tool_call" else (0, 0)
    return {
        "row": row,
        "arguments": _value(row.arguments),
        "response": response,
        "payload": payload,
        "said": said_in(payload),
        "validation": _value(row.validation),
        "number": number,
        "of_tool": of,
        "has_no_reply": _is_wire_fault(row, response),
        "is_unknown": row.error_code == "outcome_unknown",
    }


def took_ms(run: Run) -> float | None:
    """The time from sending the run to its end."""
    began, ended = run.dispatched_at or run.started_at, run.ended_at
    if not began or not ended:
        return None
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000


def usage_of(metadata: Json) -> dict[str, float | None]:
    """Tokens and cost as the agent reports them; if it reports no tokens, those that the gateway counted."""
    usage = reported_usage(metadata)
    return {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out, "cost": usage.cost_usd}


#: The keys of `metadata` that have a meaning, with the words of the page.
METADATA_WORDS = {
    "model": "Model",
    "system_prompt_id": "Prompt id",
    "agent_runtime_ms": "Runtime by the agent's clock",
    "total_input_tokens": "Tokens in",
    "total_output_tokens": "Tokens out",
    "total_cost_usd": "Cost",
}


def metadata_rows(metadata: Json) -> list[dict[str, Any]]:
    """What the agent reported of its run: the known keys first, then the rest under their own names."""
    told = metadata if isinstance(metadata, dict) else {}
    known = [{"key": key, "label": label} for key, label in METADATA_WORDS.items() if key in told]
    rest = [{"key": key, "label": None} for key in told if key not in METADATA_WORDS]
    return [row | {"value": told[str(row["key"])]} for row in known + rest]


def warnings_of(run: Run) -> list[str]:
    warnings = run.soft_warnings if isinstance(run.soft_warnings, list) else []
    return [str(warning) for warning in warnings]


def people_of(review: JsonObject | None) -> list[Any]:
    return list(_objects((review or {}).get("verdicts")))


def review_of(read: RunInFull) -> str | None:
    """The review item of this run; None if it has none yet."""
    if read.review is not None:
        return str(read.review["id"])
    run = read.timeline.run
    waits = (run.verdict == "PENDING" or run.judge_error is not None) and not run.retried
    waits = waits and not read.is_of_matrix
    return f"{RUN_PREFIX}{run.id}" if waits and run.human_verdict is None else None


def _task_parts(run: Run) -> dict[str, Any]:
    seed = run.seed
    oracle = {
        "outcome": seed.expected_outcome,
        "state": seed.expected_state,
        "calls": seed.expected_calls,
        "answer": seed.expected_answer,
        "constraints": [constraint.as_json() for constraint in seed.tracked_constraints] or None,
        "rubric": [line.as_json() for line in seed.rubric] or None,
    }
    return {
        "instruction": seed.user_instruction,
        "turns": list(seed.scripted_user_turns),
        "behavior": seed.behavior_instructions,
        "oracle": {name: value for name, value in oracle.items() if value is not None},
        "rules": [rule_in_words(rule) for rule in seed.failure_rules],
        "input": seed.task_input,
    }


def _error(run: Run) -> dict[str, Any] | None:
    if run.error_class is None:
        return None
    error = run.error_json if isinstance(run.error_json, dict) else {}
    return {
        "class": run.error_class,
        "words": error_in_words(run.error_class),
        "detail": str(error.get("detail") or ""),
        "hint": str(error.get("hint") or ""),
        "traceback": str(error.get("traceback") or ""),
    }


def _transcript(timeline: Timeline) -> dict[str, Any] | None:
    """The agent's transcript, if its messages could not be placed between the calls."""
    if timeline.has_placed or not timeline.messages:
        return None
    messages = timeline.messages[:MOST_MESSAGES]
    return {
        "messages": [
            {
                "role": message.role,
                "text": message.text(),
                "thinking": thinking_text(message),
                "calls": [call.name for call in message.tool_calls],
            }
            for message in messages
        ],
        "more": len(timeline.messages) - len(messages),
    }


def _is_wire_fault(row: TraceRow, response: Json) -> bool:
    """Whether the call ended in a timeout or a reset, so that its stored reply was never sent."""
    error = response.get("error") if isinstance(response, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return row.source == "injected" and code in ("timeout", "connection_reset")


def _value(text: str | None) -> Json:
    return loads_own(text) if text is not None else None


def _objects(value: Any) -> Iterable[Any]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
