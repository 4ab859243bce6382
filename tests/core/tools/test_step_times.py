"""The times of a run's steps: what a step covers, and what is left as the agent's own time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.tools.step_times import RunTime, StepTime, TimedRow, run_time

BEGAN = "2026-05-01T12:00:00.000000Z"


def moment(milliseconds: float) -> str:
    return f"2026-05-01T12:00:{milliseconds / 1000:09.6f}Z"


def call(sequence: int, ended: float, latency: float | None, kind: str = "tool_call") -> TimedRow:
    return TimedRow(sequence, kind, moment(ended), latency)


def timed(*rows: TimedRow, ended: float) -> RunTime:
    found = run_time(rows, BEGAN, moment(ended))
    assert found is not None
    return found


def test_the_time_between_two_calls_is_the_agents_own() -> None:
    found = timed(call(1, 1000, 200), call(2, 3000, 500), ended=4000)
    assert found.steps == {1: StepTime(800, 1000, 800), 2: StepTime(2500, 3000, 1500)}
    assert (found.total_ms, found.tools_ms, found.own_ms) == (4000, 700, 3300)


def test_the_log_has_the_beginning_of_a_call_to_a_model() -> None:
    found = timed(call(1, 100, 400, "model_call"), call(2, 600, 50), ended=600)
    assert found.steps[1] == StepTime(100, 500, 100)
    assert found.steps[2] == StepTime(550, 600, 50)
    assert (found.tools_ms, found.models_ms, found.own_ms) == (50, 400, 150)


def test_calls_at_the_same_time_leave_no_time_between_them() -> None:
    found = timed(call(1, 1000, 900), call(2, 1100, 900), call(3, 500, 100), ended=1100)
    assert found.steps[2].own_ms == 0
    assert found.steps[3] == StepTime(400, 500, 0)
    assert found.own_ms == 100


def test_events_take_no_time() -> None:
    assert timed(call(1, 100, None, "thinking"), ended=300).own_ms == 300


def test_a_run_that_was_not_sent_has_no_times() -> None:
    assert run_time([], None, None) is None


def test_a_run_that_goes_on_ends_with_its_last_step() -> None:
    found = run_time([call(1, 1000, 10)], BEGAN, None)
    assert found is not None
    assert found.total_ms == pytest.approx(1000)


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 2000)), max_size=20), st.integers(0, 9000))
def test_own_time_and_covered_time_make_the_whole(spans: list[tuple[int, int]], ended: int) -> None:
    found = timed(*(call(at, end, length) for at, (end, length) in enumerate(spans, 1)), ended=ended)
    covered = {ms for step in found.steps.values() for ms in range(round(step.start_ms), round(step.end_ms))}
    assert found.own_ms + len(covered) == pytest.approx(found.total_ms, abs=1)
    assert found.own_ms >= sum(step.own_ms for step in found.steps.values()) - 1e-6
