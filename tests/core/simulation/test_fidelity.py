"""Replaying recordings: what counts as the same, in which stratum it is counted, and how ledgers part."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Ledger, LedgerUpdate, World, update_from_json
from pipelines.core.simulation.fidelity.fidelity import Report, leaves_changed, replay
from pipelines.core.simulation.fidelity.fidelity_report import leaf_stratum, percentile, share
from pipelines.core.simulation.fidelity.likeness import renamed, renaming
from pipelines.core.simulation.fidelity.recording import read_recording, recording_from_run
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed, Simulator
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Refused

STATE: JsonObject = {"order": {"1": {"status": "open", "total": 5}, "2": {"status": "open", "total": 7}}}
CLOSE_1: JsonObject = {
    "op": "update",
    "entity_type": "order",
    "id": "1",
    "set": {"status": "closed"},
    "unset": [],
}


def call(tool: str, response: Json, *updates: JsonObject, error: bool = False, **args: Json) -> JsonObject:
    return {
        "tool": tool,
        "args": args,
        "kind": "gold",
        "status": "error" if error else "ok",
        "response": response,
        "updates": list(updates),
    }


class Scripted:
    """Answers each tool with what the table says, whatever the ledger holds."""

    remembered_tools: frozenset[str] = frozenset()

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def answer(self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply:
        found = self.answers[tool]
        if callable(found):
            return found(ledger)  # type: ignore[no-any-return]
        return found  # type: ignore[no-any-return]


def ok(response: Json, *updates: JsonObject) -> SimulatedReply:
    return SimulatedReply(200, response, tuple(update_from_json(update) for update in updates))


def ticking() -> Callable[[], float]:
    """A clock that moves a microsecond between any two looks at it."""
    ticks: Iterator[int] = iter(range(1_000_000))
    return lambda: next(ticks) * 1e-6


def report(
    answers: dict[str, Any],
    *calls: JsonObject,
    state: JsonObject = STATE,
    only: frozenset[str] | None = None,
) -> Report:
    recording = read_recording(state, [{"task": "t", "calls": list(calls)}])

    def build(world: World) -> Simulator:
        return Scripted(answers)

    return replay(recording, build, clock=ticking(), only=only)


REPLIES: list[tuple[str, SimulatedReply, JsonObject, bool]] = [
    ("equal", ok({"a": 1}), call("t", {"a": 1}), True),
    ("1 is 1.0", ok({"a": 1}), call("t", {"a": 1.0}), True),
    ("true is not 1", ok({"a": True}), call("t", {"a": 1}), False),
    ("order of keys apart", ok({"a": 1, "b": 2}), call("t", {"b": 2, "a": 1}), True),
    ("order of a list", ok([1, 2]), call("t", [2, 1]), False),
    (
        "an error is an error",
        SimulatedReply(404, {"error": {"code": "x"}}),
        call("t", "Error: no", error=True),
        True,
    ),
    ("an error in the body", ok({"error": "no"}), call("t", "Error: no", error=True), True),
    ("an error where there was none", SimulatedReply(404, {}), call("t", {}), False),
    ("no error where there was one", ok({"a": 1}), call("t", "Error: no", error=True), False),
    ("times by shape", ok({"at": "2026-01-15T10:30:00Z"}), call("t", {"at": "2024-09-02T05:40:15Z"}), True),
    ("times of another layout", ok({"at": "2026-01-15"}), call("t", {"at": "2024-09-02T05:40:15Z"}), False),
    ("ids by shape", ok({"id": "K-1234"}), call("t", {"id": "W-9876"}), True),
    ("numbers that are ids", ok({"new_id": 12345}), call("t", {"new_id": 67410}), True),
    ("ids of another width", ok({"id": "K-123"}), call("t", {"id": "W-9876"}), False),
    ("prices are not drawn", ok({"price": 12345}), call("t", {"price": 67410}), False),
    (
        "an id that stands in the arguments",
        ok({"id": "K-1234"}),
        call("t", {"id": "W-9876"}, x="W-9876"),
        False,
    ),
]


@pytest.mark.parametrize(
    ("reply", "recorded", "same"), [row[1:] for row in REPLIES], ids=[row[0] for row in REPLIES]
)
def test_when_a_reply_matches(reply: SimulatedReply, recorded: JsonObject, same: bool) -> None:
    found = report({"t": reply}, recorded)
    assert found.outcomes[0].fm_free is found.outcomes[0].fm_forced is same


def test_a_simulator_that_cannot_answer_matches_nothing_not_even_an_error() -> None:
    def broken(ledger: Ledger) -> SimulatedReply:
        raise SimulationFailed("plan_budget", "too much")

    assert report({"t": broken}, call("t", "Error: no", error=True)).as_json()["fm_errors"] == 0


def test_a_change_is_right_when_the_ledgers_agree_however_it_is_written() -> None:
    twice = ok({}, {**CLOSE_1, "set": {"status": "x"}}, CLOSE_1)
    assert report({"close": twice}, call("close", {}, CLOSE_1)).as_json()["cm_writes_free"] == 1


def test_a_change_too_many_is_wrong() -> None:
    other = {**CLOSE_1, "id": "2"}
    figures = report({"close": ok({}, CLOSE_1, other)}, call("close", {}, CLOSE_1)).as_json()
    assert (figures["cm_writes_free"], figures["cm_writes_forced"]) == (0, 0)


def test_free_running_ledgers_stay_apart_while_forced_calls_start_afresh() -> None:
    def get(ledger: Ledger) -> SimulatedReply:
        return ok(dict(ledger.get("order", "1") or {}))

    after: JsonObject = {"status": "closed", "total": 5}
    found = report({"close": ok({}), "get": get}, call("close", {}, CLOSE_1), call("get", after))
    read = found.outcomes[1]
    assert (read.fm_forced, read.fm_free, read.cm_forced, read.cm_free) == (True, False, True, False)
    assert found.as_json()["tasks_final_state"] == 0


def test_ledgers_that_meet_again_agree_again() -> None:
    opened = {**CLOSE_1, "set": {"status": "open"}}
    found = report({"close": ok({}), "open": ok({})}, call("close", {}, CLOSE_1), call("open", {}, opened))
    assert [one.cm_free for one in found.outcomes] == [False, True]


def test_an_id_drawn_at_random_is_the_recorded_one_for_the_calls_after_it() -> None:
    real = {
        "op": "add",
        "entity_type": "order",
        "id": "W9876",
        "attrs": {"order_id": "W9876", "status": "open"},
    }
    mine = {
        "op": "add",
        "entity_type": "order",
        "id": "K1234",
        "attrs": {"order_id": "K1234", "status": "open"},
    }

    def get(ledger: Ledger) -> SimulatedReply:
        return ok(ledger.get("order", "W9876"))

    found = report(
        {"add": ok({"order_id": "K1234"}, mine), "get": get},
        call("add", {"order_id": "W9876"}, real),
        call("get", {"order_id": "W9876", "status": "open"}),
    )
    assert [(one.fm_free, one.cm_free) for one in found.outcomes] == [(True, True), (True, True)]


def test_figures_by_what_a_call_was() -> None:
    closed = call("close_order", {}, CLOSE_1)
    found = report(
        {"get_order": ok({"a": 1}), "close_order": ok({}, CLOSE_1), "find_orders": ok([]), "mean": ok(2)},
        call("get_order", {"a": 1}),
        closed,
        call("find_orders", [1]),
        call("mean", 1),
        call("close_order", "Error: closed", error=True),
    )
    figures = found.as_json()
    assert figures["calls"] == 5
    assert figures["fm_reads"] == 1 / 3  # neither the change nor the error
    assert figures["fm_errors"] == 0
    assert {name: tally.calls for name, tally in found.by_kind().items()} == {
        "read": 1,
        "search": 1,
        "computed": 1,
        "write": 2,
    }
    assert found.by_leaves()["1-2"].calls == 1
    assert found.by_outcome()["error"].calls == 1
    assert figures["p50_us"] == pytest.approx(1)


def test_the_worst_tool_comes_first_with_its_differences() -> None:
    found = report(
        {"a": ok({"x": 1}), "b": ok({"x": 1})},
        call("a", {"x": 1}),
        call("b", {"x": 2}),
        call("b", {"x": 3}),
    )
    assert found.worst_tools() == ["b"]
    assert found.mismatches("b")[0].differences == ("/response/x: 2 recorded, 1 simulated",)
    per_tool = found.as_json()["per_tool"]
    assert isinstance(per_tool, dict)
    assert per_tool["a"]["mismatches"] == []  # type: ignore[index,call-overload]


LEAVES: list[tuple[JsonObject, int]] = [
    ({"op": "add", "entity_type": "x", "id": "1", "attrs": {"a": 1, "b": {"c": 2, "d": []}}}, 3),
    ({"op": "remove", "entity_type": "order", "id": "1"}, 2),
    ({"op": "update", "entity_type": "order", "id": "1", "set": {"total": 5, "status": "x"}, "unset": []}, 1),
    ({"op": "update", "entity_type": "order", "id": "1", "set": {"total": [1, 2]}, "unset": ["status"]}, 4),
    ({"op": "set_flag", "flag": "f", "value": True}, 1),
]


@pytest.mark.parametrize(("update", "count"), LEAVES)
def test_leaves_changed(update: JsonObject, count: int) -> None:
    parsed: LedgerUpdate = update_from_json(update)
    assert leaves_changed(Ledger(World.from_initial_state(STATE)), [parsed]) == count


@pytest.mark.parametrize(("count", "name"), [(0, "0"), (2, "1-2"), (6, "3-6"), (12, "7-12"), (99, "13+")])
def test_strata_of_leaves(count: int, name: str) -> None:
    assert leaf_stratum(count) == name


def test_shares_and_percentiles_of_nothing_are_nothing() -> None:
    assert (share([]), percentile([], 50)) == (None, None)
    assert [percentile([1, 2, 3, 4], percent) for percent in (50, 99, 100)] == [2, 4, 4]


def test_a_task_may_bring_its_own_state_and_updates_before_the_first_call() -> None:
    def get(ledger: Ledger) -> SimulatedReply:
        return ok(ledger.get("order", "1"))

    lines: list[Json] = [
        {"task": "own", "state": {"order": {"1": {"n": 1}}}, "calls": [call("get", {"n": 1})]},
        {"task": "init", "init": [CLOSE_1], "calls": [call("get", {"status": "closed", "total": 5})]},
    ]
    found = replay(read_recording(STATE, lines), lambda world: Scripted({"get": get}), clock=ticking())
    assert [one.fm_free for one in found.outcomes] == [True, True]
    assert found.final_states == {"own": True, "init": True}


@pytest.mark.parametrize(
    "line",
    [{}, {"calls": [{"tool": "x"}]}, {"calls": [], "init": [{"op": "?"}]}, {"calls": [], "state": 1}, 7],
)
def test_a_line_that_is_no_task_is_named(line: Json) -> None:
    with pytest.raises(Refused) as refused:
        read_recording({}, [{"calls": []}, line])
    assert [problem.path for problem in refused.value.problems] == ["line 2"]


def test_a_run_becomes_a_line_that_can_be_read_back() -> None:
    rows: list[JsonObject] = [
        {
            "kind": "tool_call",
            "tool_name": "close",
            "arguments": {"id": 1},
            "response": {},
            "updates": [CLOSE_1],
            "status": 200,
            "source": "passthrough",
        },
        {
            "kind": "tool_call",
            "tool_name": "close",
            "arguments": {},
            "response": {"error": "no"},
            "updates": [],
            "source": "passthrough",
        },
        {
            "kind": "tool_call",
            "tool_name": "close",
            "arguments": {},
            "response": {},
            "updates": [],
            "source": "injected",
        },
        {"kind": "assistant_message", "payload": "hi"},
    ]
    line = recording_from_run(
        task="run-7", initial_state=STATE, rows=rows, recorded_at="2026-05-01T12:00:00Z"
    )
    recording = read_recording({}, [line])
    [task] = recording.tasks
    origin = recording.origin()
    assert (origin.calls, origin.sources, origin.simulated) == (2, {"passthrough": 2}, 0)
    assert origin.first_at == origin.last_at == "2026-05-01T12:00:00Z"
    assert [(one.tool, one.is_error, len(one.updates)) for one in task.calls] == [
        ("close", False, 1),
        ("close", True, 0),
    ]
    assert task.state == STATE


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_a_value_is_never_renamed_to_match_itself(value: Json) -> None:
    assert renaming(value, value, lambda known: False) == {}
    assert renamed(value, {}) == value


@settings(deadline=None)
@given(json_values)
def test_a_recording_replayed_by_itself_is_all_right(value: Json) -> None:
    found = report(
        {"t": ok(value), "close": ok(value, CLOSE_1)}, call("t", value), call("close", value, CLOSE_1)
    )
    if not (isinstance(value, dict) and "error" in value) and not isinstance(value, str):
        assert found.as_json()["fm_all"] == found.as_json()["cm_all_free"] == 1


def test_a_recorded_update_that_does_not_fit_its_state_is_left_out() -> None:
    lost: JsonObject = {"op": "update", "entity_type": "order", "id": "gone", "set": {"a": 1}, "unset": []}
    found = report({"close": ok({})}, call("close", {}, lost))
    assert found.outcomes[0].fm_forced


def test_only_the_tools_that_are_named_are_measured_and_the_others_do_what_they_did() -> None:
    def get(ledger: Ledger) -> SimulatedReply:
        return ok(dict(ledger.get("order", "1") or {}))

    after: JsonObject = {"status": "closed", "total": 5}
    calls = call("close", {}, CLOSE_1), call("get", after)
    found = report({"get": get}, *calls, only=frozenset({"get"}))
    assert [(one.tool, one.fm_free, one.is_right) for one in found.outcomes] == [("get", True, True)]


def test_a_call_that_cannot_be_answered_says_why() -> None:
    def broken(ledger: Ledger) -> SimulatedReply:
        raise SimulationFailed("plan_budget", "too many steps")

    (found,) = report({"t": broken}, call("t", {})).mismatches("t")
    assert found.differences[0] == "it cannot be answered: too many steps"
