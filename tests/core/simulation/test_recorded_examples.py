"""Recorded calls as examples: chosen for variety, with the records that they met and what they changed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.simulation.fidelity.examples import (
    MOST_EXAMPLES,
    CallKey,
    calls_of,
    select_examples,
    split_calls,
)
from pipelines.core.simulation.fidelity.recording import Recording, read_recording

STATE: Any = {
    "order": {
        "1": {"status": "pending", "total": 5, "user_id": "u-1"},
        "2": {"status": "shipped", "total": 8, "user_id": "u-2"},
        "3": {"status": "pending", "total": 500, "user_id": "u-1"},
    },
    "user": {"u-1": {"name": "Ann"}, "u-2": {"name": "Bob"}, "u-3": {"name": "Cy"}},
    "session": {"only": {"signed_in": True}},
}


def call(tool: str, response: Any, *updates: Any, error: bool = False, **arguments: Any) -> Any:
    status = "error" if error else "ok"
    return {
        "tool": tool,
        "args": arguments,
        "status": status,
        "response": response,
        "updates": list(updates),
    }


def set_status(id: str, status: str) -> Any:
    return {"op": "update", "entity_type": "order", "id": id, "set": {"status": status}, "unset": []}


def recorded(*tasks: list[Any], **more: Any) -> Recording:
    return read_recording(
        STATE, [{"task": f"t-{at}", "calls": calls} | more for at, calls in enumerate(tasks)]
    )


def alike(number: int) -> Any:
    return call("get_order", {"status": "pending", "total": 7}, order_id=f"o-{number}", limit=7)


def test_what_the_first_calls_do_not_have_is_chosen_from_wherever_it_stands() -> None:
    """The first forty calls are alike. Errors, a change, an empty list and the edges stand behind them."""
    late = [
        call("get_order", {"error": "not_found"}, error=True, order_id="zzz", limit=7),
        call("get_order", {"error": "locked"}, error=True, order_id="o-9", limit=7),
        call("get_order", {"status": "pending", "total": 7, "notes": []}, order_id="o-1", limit=7),
        call("get_order", {"status": "closed", "total": 7}, order_id="o-2", limit=7),
        call(
            "get_order", {"status": "pending", "total": 7}, set_status("1", "seen"), order_id="o-3", limit=7
        ),
        call("get_order", {"status": "pending", "total": -4}, order_id="o-4", limit=7),
        call("get_order", {"status": "pending", "total": 900}, order_id="o-5", limit=7),
        call("get_order", {"status": "pending", "total": 7}, order_id="o-6"),
    ]
    recording = recorded([alike(number) for number in range(40)], late)
    chosen = select_examples(recording, "get_order", most=len(late) + 1)
    assert {one.key for one in chosen} >= {CallKey(1, number) for number in range(1, len(late) + 1)}


def test_errors_of_one_kind_are_one_kind_whatever_they_name() -> None:
    lost = [
        call("cancel", f"Error: order {number} not found", error=True, order_id=str(number))
        for number in range(10)
    ]
    shipped = call("cancel", "Error: order 2 is shipped", error=True, order_id="2")
    chosen = select_examples(recorded([*lost, shipped]), "cancel", most=2)
    assert [one.call.response for one in chosen].count(shipped["response"]) == 1


def test_a_call_that_is_repeated_is_one_example() -> None:
    again = call("get_order", {"total": 5}, order_id="1")
    assert len(select_examples(recorded([again, again], [again]), "get_order")) == 1


def test_an_example_has_the_records_as_they_were_before_the_call_and_what_it_changed() -> None:
    recording = recorded(
        [
            call("cancel", {"ok": True}, set_status("1", "held"), order_id=1),
            call("cancel", {"ok": True}, set_status("1", "cancelled"), order_id=1),
        ]
    )
    second = next(one for one in select_examples(recording, "cancel") if one.key.number == 2)
    assert second.before["order"] == {"1": STATE["order"]["1"] | {"status": "held"}}
    assert second.before["user"] == {"u-1": {"name": "Ann"}}, "what the record links to"
    assert second.before["session"] == STATE["session"], "the single record of its type"
    assert second.as_json()["changes"] == [set_status("1", "cancelled")]
    assert second.as_json()["status"] == "ok"


def test_the_state_of_a_task_and_its_first_updates_count() -> None:
    recording = read_recording(
        STATE,
        [
            {
                "task": "own",
                "state": {"order": {"9": {"status": "new"}}},
                "init": [set_status("9", "open"), {"op": "set_flag", "flag": "busy", "value": True}],
                "calls": [call("get_order", {"status": "open"}, order_id="9")],
            }
        ],
    )
    (only,) = select_examples(recording, "get_order")
    assert only.before == {"order": {"9": {"status": "open"}}}
    assert only.flags == ("busy",)


def test_held_out_calls_are_none_of_those_that_are_shown_and_each_outcome_is_shown() -> None:
    calls = [call("get_order", {"total": number % 7}, order_id=str(number % 9)) for number in range(30)]
    calls += [call("get_order", "Error: gone", error=True, order_id="x")]
    recording = recorded(calls[:10], calls[10:])
    split = split_calls(recording, "get_order")
    of = dict(calls_of(recording, "get_order"))
    assert split.shown | split.held_out == of.keys()
    assert split.held_out
    said = [[(str(of[key].arguments), str(of[key].response)) for key in keys] for keys in split]
    assert not set(said[0]) & set(said[1]), "a repeated call is on one side"
    assert any(of[key].is_error for key in split.shown)
    assert {one.key for one in select_examples(recording, "get_order", among=split.shown)} <= split.shown


def test_a_tool_that_was_called_once_is_shown_and_not_held_out() -> None:
    split = split_calls(recorded([call("get_order", {}, order_id="1")]), "get_order")
    assert (len(split.shown), len(split.held_out)) == (1, 0)
    assert split_calls(recorded([]), "get_order") == (frozenset(), frozenset())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "1", "u-1", "pending"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(
    st.builds(
        lambda response, error, arguments: call("t", response, error=error, **arguments),
        VALUES,
        st.booleans(),
        st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2),
    ),
    max_size=30,
)


@given(tasks=st.lists(CALLS, max_size=3), most=st.integers(0, 20))
def test_whatever_was_recorded_the_choice_is_the_same_and_no_more_than_asked_for(
    tasks: list[Any], most: int
) -> None:
    recording = recorded(*tasks)
    chosen = select_examples(recording, "t", most=most)
    assert min(most, 1 if any(tasks) else 0) <= len(chosen) <= most
    assert [one.key for one in chosen] == [one.key for one in select_examples(recording, "t", most=most)]
    fewer = select_examples(recording, "t", most=max(0, most - 1))
    assert [one.key for one in fewer] == [one.key for one in chosen][: len(fewer)], (
        "fewer are the first of them"
    )
    shown, held_out = split_calls(recording, "t")
    assert shown | held_out == {key for key, _ in calls_of(recording, "t")}


def test_without_a_number_there_are_twelve() -> None:
    assert (
        len(select_examples(recorded([alike(number) for number in range(40)]), "get_order")) == MOST_EXAMPLES
    )
