"""The text of a failed task, for 80 columns: the verdict's reason, the calls, the changes, the answer."""

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.core.results.gate import Tally
from pipelines.core.results.results import outcome_of
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.verdict.pending_words import pending_words
from pipelines.pytest_plugin.attempt import Attempt
from pipelines.pytest_plugin.tasks import OdysseyTask

WIDTH = 78
MOST_CALLS = 20
MOST_CHANGES = 20
MOST_SHOWN = 3  # repeats that ended differently


def failure_text(task: OdysseyTask, attempts: Sequence[Attempt], runs: Tally, *, is_undecided: bool) -> str:
    lines = [_headline(task, runs, is_undecided=is_undecided)]
    lines += _wrapped(f"task {task.number} of {task.marked.dataset.name}: {task.instruction}", "")
    groups: dict[tuple[str, str | None, str], list[int]] = {}
    for number, each in enumerate(attempts, start=1):
        if each.verdict != "PASS":
            cause = each.failure_mode or each.pending_reason
            groups.setdefault((each.verdict, cause, each.reasoning), []).append(number)
    for numbers in list(groups.values())[:MOST_SHOWN]:
        lines += ["", *_attempt_lines(attempts[numbers[0] - 1], numbers, len(attempts))]
    if len(groups) > MOST_SHOWN:
        lines += ["", f"… and {len(groups) - MOST_SHOWN} other ways of not passing"]
    return "\n".join(_printable(line) for line in lines)


def _headline(task: OdysseyTask, runs: Tally, *, is_undecided: bool) -> str:
    if runs.total == 1:
        return "could not be decided (PENDING is not a pass)" if is_undecided else "the task is not passed"
    word = "not decided" if is_undecided else outcome_of(runs)
    needed = f"{task.marked.min_pass} {'is' if task.marked.min_pass == 1 else 'are'} needed"
    return f"{runs.passed} of {runs.total} runs pass, {needed}: {word}"


def _attempt_lines(attempt: Attempt, numbers: list[int], total: int) -> Iterator[str]:
    cause = attempt.failure_mode or attempt.pending_reason
    mode = f", {cause}" if cause else ""
    if total > 1:
        runs = f"run {numbers[0]}" if len(numbers) == 1 else f"runs {', '.join(map(str, numbers))}"
        alike = " (the first of them is shown)" if len(numbers) > 1 else ""
        yield f"{runs}: {attempt.verdict}{mode}{alike}"
    else:
        yield f"{attempt.verdict}{mode}"
    yield from _wrapped(attempt.reasoning, "  ")
    words = pending_words(attempt.pending_reason)
    yield from _wrapped(f"{words.says} {words.to_do}", "  ") if words else ()
    if attempt.broke:
        yield from ("  " + line for line in attempt.broke.splitlines())
    yield from _section_lines("calls", list(_call_lines(attempt.calls)))
    yield from _section_lines("ledger", list(_change_lines(attempt.before, attempt.after)) or ["  unchanged"])
    if attempt.final_response is not None:
        yield from _section_lines("final response", _wrapped(attempt.final_response, "  "))
    if attempt.unverified:
        notes = [line for note in attempt.unverified for line in _wrapped(note, "  ")]
        yield from _section_lines(f"not verified ({len(attempt.unverified)})", notes)


def _section_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"  {title}:"
    yield from ("  " + line for line in lines or ["  none"])


def _call_lines(calls: Sequence[dict[str, Any]]) -> Iterator[str]:
    for number, call in enumerate(calls[:MOST_CALLS], start=1):
        given = call["arguments"]
        text = (
            ", ".join(f"{name}={_format_json(value)}" for name, value in given.items())
            if isinstance(given, dict)
            else _format_json(given)
        )
        by = "" if call["source"] == "odyssey" else f" {call['source']}"
        line = f"{number} {call['tool_name']}({text}) -> {call['http_status'] or 'no reply'}{by}"
        yield from _wrapped(line, "  ")
        error = call["response"].get("error") if isinstance(call["response"], dict) else None
        if isinstance(error, dict):
            yield from _wrapped(f"{error.get('code')}: {error.get('message')}", "      ")
    if len(calls) > MOST_CALLS:
        yield f"  … and {len(calls) - MOST_CALLS} more"


def _change_lines(before: JsonObject, after: JsonObject) -> Iterator[str]:
    found = list(_differences(before, after, ""))
    for line in found[:MOST_CHANGES]:
        yield from _wrapped(line, "  ")
    if len(found) > MOST_CHANGES:
        yield f"  … and {len(found) - MOST_CHANGES} more"


def _differences(before: Json, after: Json, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            at = f"{path}.{key}" if path else key
            if key not in after:
                yield f"{at}: removed"
            elif key not in before:
                yield f"{at}: added {_format_json(after[key])}"
            else:
                yield from _differences(before[key], after[key], at)
    elif before != after:
        yield f"{path}: {_format_json(before)} -> {_format_json(after)}"


def _format_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _wrapped(text: str, indent: str) -> list[str]:
    room = WIDTH - 2
    lines = []
    for line in text[:4_000].splitlines() or [""]:
        lines += textwrap.wrap(line, room, initial_indent=indent, subsequent_indent=f"{indent}  ") or [""]
    return lines


def _printable(line: str) -> str:
    return "".join(each if each.isprintable() else "\ufffd" for each in line)
