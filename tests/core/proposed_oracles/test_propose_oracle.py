"""The oracle that a run proves: the run meets it, doing nothing does not; it is open where runs differ."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Add, InvalidUpdate, Ledger, Remove, Update, World
from pipelines.core.proposed_oracles.propose_oracle import PROPOSED_AXES, judge_by_axes, oracle_from_run
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.oracles import oracles_of
from pipelines.core.verdict.verdict import Outcome, Status, Verdict
from support.verdict_cases import STATE, TOOLS, add, call, get_order, injected, refund, remove, run, update


def proposed(*rows, user="Please refund order #4521.", says="Done."):
    return oracle_from_run(run(*rows, user_instruction=user, says=says))


def test_a_change_is_asserted_as_it_ended_and_its_write_must_be_called() -> None:
    found = proposed(get_order(1), refund(2), user="Refund order 4521.", says="Order 4521 is refunded.")
    assert found.axes == {
        "expected_outcome": "completion",
        "expected_state": {"order.4521.status": "refunded"},
        "expected_calls": {"must": [{"tool": "refund_order", "arguments": {"order_id": "4521"}}]},
        "expected_answer": None,
    }
    assert not found.is_vacuous


def test_a_record_under_a_drawn_id_is_new_and_loses_its_id_and_its_moment() -> None:
    ticket = {"id": "T-881", "subject": "broken mug", "status": "open", "at": "2026-05-01T12:00:01Z"}
    row = call(
        1,
        "create_ticket",
        {"subject": "broken mug"},
        {"id": "T-881", "status": "open"},
        updates=[
            Add(entity_type="ticket", id="T-881", attrs=ticket),
            update("4521", ticket_id="T-881", updated_at="2026-05-01T12:00:01Z"),
        ],
    )
    found = proposed(row, user="Open a ticket about the broken mug of order 4521.")
    assert found.axes["expected_state"] == {
        "ticket.<new>": {"subject": "broken mug", "status": "open"},
        "order.4521.ticket_id": {"$exists": True},
        "order.4521.updated_at": {"$exists": True},
    }
    assert any("order.4521.ticket_id" in note for note in found.notes)


def test_a_record_under_an_id_that_the_call_chose_is_asserted_by_it() -> None:
    row = call(1, "create_ticket", {"id": "T-1"}, {}, updates=[add("ticket", "T-1", status="open")])
    assert proposed(row).axes["expected_state"] == {"ticket.T-1": {"status": "open"}}


def test_two_new_records_of_a_type_are_two() -> None:
    rows = [call(n, "create_ticket", {}, {}, updates=[add("ticket", f"T-{n}", n=n)]) for n in (1, 2)]
    assert proposed(*rows).axes["expected_state"] == {"ticket.<new>": [{"n": 1}, {"n": 2}]}


def test_what_is_gone_must_be_gone() -> None:
    row = call(1, "cancel_order", {"order_id": "9001"}, {}, updates=[remove("order", "9001")])
    assert proposed(row).axes["expected_state"] == {"order.9001": {"$exists": False}}


def test_ids_with_dots_are_named_by_pointers() -> None:
    moved = Update(entity_type="user", id="a.b@example.com", set={"tier": "silver"})
    row = call(1, "update_user", {}, {}, updates=[moved])
    assert proposed(row).axes["expected_state"] == {"/user/a.b@example.com/tier": "silver"}


def test_what_the_agent_words_itself_is_left_open() -> None:
    row = call(
        1,
        "send_email",
        {"to": "ann@example.com", "body": "Good news: it is on its way!"},
        {},
        updates=[add("email", "M-1", to="ann@example.com", body="Good news: it is on its way!")],
    )
    found = proposed(row, user="Tell ann@example.com that order 4521 was sent.")
    assert found.axes["expected_state"] == {"email.<new>": {"to": "ann@example.com"}}
    calls = {"must": [{"tool": "send_email", "arguments": {"to": "ann@example.com"}}]}
    assert found.axes["expected_calls"] == calls


def test_an_id_that_was_drawn_is_no_argument_of_a_later_call() -> None:
    made = call(1, "create_ticket", {}, {"id": "T-9"}, updates=[add("ticket", "T-9", status="open")])
    done = update("T-9", "ticket", status="closed")
    closed = call(2, "close_ticket", {"ticket_id": "T-9"}, {}, updates=[done])
    assert proposed(made, closed).axes["expected_calls"] == {
        "must": [{"tool": "create_ticket"}, {"tool": "close_ticket"}]
    }


def test_only_calls_that_succeeded_are_expected() -> None:
    found = proposed(injected(1), refund(2), user="Refund order 4521.")
    assert len(found.axes["expected_calls"]["must"]) == 1


def test_a_question_is_answered_by_values_that_replies_told_and_the_user_did_not() -> None:
    found = proposed(
        get_order(1),
        user="When was order 4521 shipped, and what did it cost?",
        says="Order 4521 was shipped on April 1st, 2026 and cost $79.50.",
    )
    assert found.axes == {
        "expected_outcome": "completion",
        "expected_state": {"unchanged": True},
        "expected_calls": {"must": [{"tool": "get_order"}]},
        "expected_answer": {"shipped_at": {"$date": "2026-04-01"}, "amount": 79.5},
    }
    assert not found.is_vacuous


def test_a_state_is_a_value_of_the_answer_where_it_is_asked_for() -> None:
    found = proposed(get_order(1), user="What is the status of order 4521?", says="It has been shipped.")
    assert found.axes["expected_answer"] == {"status": "shipped"}


def test_where_something_had_to_be_done_the_answer_is_left_open_and_a_note_says_so() -> None:
    found = proposed(
        get_order(1), refund(2), user="Please refund order 4521.", says="Refunded. You get $79.50 back."
    )
    assert found.axes["expected_answer"] is None
    assert any("79.5" in note for note in found.notes)
    assert not any('"refunded"' in note for note in found.notes), "the state says that already"


def test_a_declined_request_is_a_refusal_that_leaves_the_world_as_it_was() -> None:
    found = proposed(get_order(1), says="I cannot refund this order: it was shipped too long ago.")
    assert found.axes["expected_outcome"] == "refusal"
    assert found.axes["expected_state"] == {"unchanged": True}
    assert not found.is_vacuous


def test_a_run_that_did_and_told_nothing_proves_nothing_and_says_so() -> None:
    found = proposed(says="Hello! How can I help?")
    assert found.is_vacuous
    assert "does nothing" in found.notes[-1]


def test_a_recording_without_a_state_proposes_its_calls_and_no_state() -> None:
    row = call(1, "refund_order", {"order_id": "4521"}, {"status": "refunded"})
    found = oracle_from_run(run(row, user_instruction="Refund order 4521.", has_state=False))
    assert found.axes["expected_state"] is None
    calls = {"must": [{"tool": "refund_order", "arguments": {"order_id": "4521"}}]}
    assert found.axes["expected_calls"] == calls
    assert "no state" in found.notes[0]
    assert not found.is_vacuous


def test_a_bulk_change_is_asserted_in_part_and_the_rest_is_allowed() -> None:
    many = [add("ticket", f"T-{n}", n=n) for n in range(1_000)]
    seen = run(call(1, "create_ticket", {}, {}, updates=many))
    found = oracle_from_run(seen)
    assert found.axes["expected_state"]["allow"] == ["ticket"]
    assert is_met(found.axes, seen)


@pytest.mark.parametrize("name", ["$set", "unchanged", "", "<new>", "a.b"])
def test_fields_that_an_oracle_would_read_otherwise_are_met_all_the_same(name: str) -> None:
    seen = run(call(1, "refund_order", {}, {}, updates=[update("4521", **{name: {name: "x"}})]))
    assert is_met(oracle_from_run(seen).axes, seen)


# For any run

WORDS = st.sampled_from(["open", "a.b", "x/y", "two words", "T-1001", "2026-05-01", "$id", "", "late", "7"])
SCALARS = st.one_of(WORDS, st.integers(-3, 500), st.booleans(), st.none(), st.floats(0, 9, width=16))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["status", "note", "at", "a.b", "parts"]), VALUES, max_size=4)
PLACES = st.tuples(
    st.sampled_from(["order", "user", "ticket"]), st.sampled_from(["4521", "9001", "a.b", "N-1"])
)


@st.composite
def update_of(draw: st.DrawFn) -> Add | Update | Remove:
    kind, id = draw(PLACES)
    made = draw(st.sampled_from(["add", "update", "remove"]))
    if made == "add":
        return Add(entity_type=kind, id=id, attrs=draw(ATTRIBUTES))
    if made == "remove":
        return Remove(entity_type=kind, id=id)
    gone = draw(st.lists(st.sampled_from(["status", "amount"]), max_size=1))
    return Update(entity_type=kind, id=id, set=draw(ATTRIBUTES), unset=tuple(gone))


@st.composite
def runs(draw: st.DrawFn) -> RunEvidence:
    """Calls with whatever updates fit the world by then."""
    ledger = Ledger(World.from_initial_state(STATE))
    rows: list[EvidenceRow] = []
    for sequence in range(1, draw(st.integers(0, 5)) + 1):
        kept = []
        for one in draw(st.lists(update_of(), max_size=3)):
            try:
                ledger.apply([one])
                kept.append(one)
            except InvalidUpdate:
                pass
        tool = draw(st.sampled_from([tool.name for tool in TOOLS]))
        arguments = draw(
            st.dictionaries(st.sampled_from(["order_id", "body", "subject"]), VALUES, max_size=2)
        )
        status = 200 if kept else draw(st.sampled_from([200, 404]))
        rows.append(call(sequence, tool, arguments, draw(VALUES), updates=kept, status=status))
    says = draw(st.sampled_from(["Done.", "I cannot do that.", "It is late: 7 of 79.5 on 2026-05-01."]))
    user = draw(st.sampled_from(["Refund order 4521.", "What is it?"]))
    return run(*rows, says=says, user_instruction=user)


def is_met(axes: dict[str, object], seen: RunEvidence) -> bool:
    asked = replace(seen, **{axis: axes[axis] for axis in PROPOSED_AXES})
    return not any(finding.status is Status.BROKEN for finding in oracles_of(asked).findings(asked))


@given(runs())
def test_the_run_it_came_from_meets_it_and_doing_nothing_does_not_unless_it_says_so(
    seen: RunEvidence,
) -> None:
    found = oracle_from_run(seen)
    assert is_met(found.axes, seen)
    idle = replace(seen, trace=(), responses=("Hello.",))
    judged = judge_by_axes(idle, found.axes)
    assert isinstance(judged, Verdict)
    assert judged.verdict is not Outcome.PASS
    if (
        not found.is_vacuous
        and found.axes["expected_outcome"] != "refusal"
        and not found.axes["expected_answer"]
    ):
        assert not is_met(found.axes, idle)
