"""Recorded runs with their tasks and states: which task is meant, what changed, and what that proves."""

from typing import Any

import pytest
from recorded import ANSWER, ASKED, MESSAGES, REFUNDED, STATE, TOOLS, data

from pipelines.core.recordings.judge_recorded import judge_recorded
from pipelines.core.recordings.match_tasks import KnownTask, NamedRun, match_tasks
from pipelines.core.recordings.read import read_recording
from pipelines.core.recordings.recorded_run import RecordedRun, TaskName
from pipelines.core.recordings.states import with_changes
from pipelines.core.task_files.read_tasks import parse_tasks
from pipelines.core.text.json_text import loads_own
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.verdict import Verdict

PARSED = parse_tools_schema(loads_own(data(TOOLS)))


def recorded(*, messages: Any = MESSAGES, **beside: Any) -> RecordedRun:
    (run,) = read_recording(data({"messages": messages, **beside})).runs
    return run


def verdict_of(run: RecordedRun, **columns: Any) -> Verdict:
    row = {"user": ASKED, "state": STATE, **columns}
    (seed,) = parse_tasks(loads_own(data([row])), tools=PARSED, ledger_schema=None)
    found = judge_recorded(with_changes(run, seed.initial_state, PARSED), seed, PARSED)
    assert isinstance(found, Verdict), found
    return found


EXPECTED = {"order.4521.status": "refunded"}


def test_a_state_after_decides_by_the_expected_state() -> None:
    found = verdict_of(recorded(state_after=REFUNDED), expected_state=EXPECTED)
    assert found.verdict == "PASS", found.reasoning
    assert verdict_of(recorded(state_after=STATE), expected_state=EXPECTED).verdict == "FAIL"


def test_what_else_changed_is_held_against_the_agent() -> None:
    after = {"order": {"4521": {"status": "refunded", "total": 0}}}
    found = verdict_of(recorded(state_after=after), expected_state=EXPECTED)
    assert (found.verdict, found.failure_mode) == ("FAIL", "wrong_action")


def test_without_a_state_an_expected_state_is_left_open() -> None:
    found = verdict_of(recorded(), expected_state=EXPECTED)
    assert found.verdict == "PENDING"
    assert "has no state" in found.reasoning


def test_without_a_state_other_oracles_still_decide() -> None:
    calls = [{"tool": "refund_order", "arguments": {"order_id": "4521"}}]
    assert verdict_of(recorded(), expected_calls=calls).verdict == "PASS"
    missing = [{"tool": "get_order", "arguments": {"order_id": "9"}}]
    assert verdict_of(recorded(), expected_calls=missing).verdict == "FAIL"


def test_a_refusal_is_not_proved_where_a_call_may_have_written() -> None:
    told = [*MESSAGES[:-1], {"role": "assistant", "content": "I cannot refund order 4521, sorry."}]
    found = verdict_of(recorded(messages=told), expected_outcome="refusal")
    assert found.verdict != "PASS"


def test_what_the_agent_claims_without_any_call_is_false_with_or_without_a_state() -> None:
    told = [MESSAGES[1], {"role": "assistant", "content": ANSWER}]
    found = verdict_of(recorded(messages=told))
    assert (found.verdict, found.failure_mode) == ("FAIL", "false_claim")


# -- the difference between two states


def test_the_difference_is_put_on_the_last_call_that_worked_and_writes() -> None:
    told = [
        *MESSAGES[:-1],
        {"role": "assistant", "tool_calls": [{"id": "c3", "name": "get_order", "arguments": {}}]},
        {"role": "tool", "tool_call_id": "c3", "content": "{}"},
        MESSAGES[-1],
    ]
    run = with_changes(recorded(messages=told, state_after=REFUNDED), STATE, PARSED)
    assert [row.tool_name for row in run.rows if row.updates] == ["refund_order"]
    assert any("is attributed to call 3 (refund_order)" in note for note in run.notes)


def test_a_difference_that_no_call_can_have_made_stands_on_a_row_of_its_own() -> None:
    run = with_changes(recorded(messages=[MESSAGES[1], MESSAGES[6]], state_after=REFUNDED), STATE, PARSED)
    assert [(row.sequence, row.kind) for row in run.rows] == [(1, "custom")]
    assert any("a separate row, 1" in note for note in run.notes)


def test_flags_are_compared_too() -> None:
    before, after = {"flags": {"a": True}}, {"flags": {"a": False, "b": True}}
    run = with_changes(recorded(state_before=before, state_after=after), STATE, PARSED)
    (row,) = [row for row in run.rows if row.updates]
    assert loads_own(row.updates or "") == [
        {"op": "set_flag", "flag": "a", "value": False},
        {"op": "set_flag", "flag": "b", "value": True},
    ]


# -- which task is meant

TASKS = [
    KnownTask(1, "refund", ASKED, 41),
    KnownTask(2, "cancel", "Cancel order 7.", 42),
    KnownTask(3, "twin", "Same.", 43),
    KnownTask(4, "twin-2", "Same.", 44),
]

NAMES: dict[str, tuple[TaskName | None, str, int]] = {
    "a key": (TaskName("task", "cancel"), "?", 1),
    "a row number": (TaskName("task", 2), "?", 1),
    "a row number as text": (TaskName("row", "2"), "?", 1),
    "an id of the server": (TaskName("task_id", 42), "?", 1),
    "what the task asks": (TaskName("task", "Cancel order 7."), "?", 1),
    "the first user message": (None, " Cancel order 7. ", 1),
    "a hint that leads nowhere, then the message": (TaskName("task_key", "t1", is_certain=False), ASKED, 0),
}


@pytest.mark.parametrize(("name", "asked", "task"), NAMES.values(), ids=NAMES)
def test_a_task_is_found_by(name: TaskName | None, asked: str, task: int) -> None:
    problems: list[Problem] = []
    (match,) = match_tasks([NamedRun("", name, asked)], TASKS, problems)
    assert (match and match.task, problems) == (task, [])


def test_by_order_where_there_are_as_many_runs_as_tasks() -> None:
    runs = [NamedRun(f"line {at}", None, asked) for at, asked in enumerate(("?", "!", "Same.", "Same."), 1)]
    matches = match_tasks(runs, TASKS, problems := [])
    assert ([match and match.task for match in matches], problems) == ([0, 1, 2, 3], [])
    assert all(match and "the one at the same position" in (match.note or "") for match in matches)


def test_the_first_user_message_counts_more_than_the_order() -> None:
    asked = (TASKS[1].instruction, TASKS[0].instruction, "Same.", "Same.")
    matches = match_tasks([NamedRun("", None, each) for each in asked], TASKS, [])
    assert [match and match.task for match in matches] == [1, 0, 2, 3]


def test_several_runs_may_name_one_task() -> None:
    runs = [NamedRun("", TaskName("task", "refund"), "") for _ in range(2)]
    assert [match and match.task for match in match_tasks(runs, TASKS, [])] == [0, 0]


def test_every_run_without_a_task_is_a_problem_with_what_to_do() -> None:
    problems: list[Problem] = []
    runs = [
        NamedRun("line 1", TaskName("task", "refnd"), ""),
        NamedRun("line 2", None, "Same."),
        NamedRun("line 3", None, "Something else."),
    ]
    assert match_tasks(runs, TASKS, problems) == [None] * 3
    assert [(each.path, each.hint) for each in problems] == [
        ("line 1, /task", "did you mean `refund`?"),
        ("line 2", "give the task's key or row number in `task`"),
        ("line 3", "give the task's key or row number in `task`"),
    ]
    assert "tasks 3, 4" in problems[1].message
