"""What became of each sentence of a behaviour text, as people are shown it."""

from collections.abc import Callable
from typing import Any

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rules.forms import read_rule
from pipelines.core.simulation.sentences import (
    MOST_SUGGESTED,
    call_in_words,
    calls_in_words,
    shown_findings,
    shown_sentences,
    suggested,
    unenforced,
)
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools.tools_schema import parse_tools_schema

TOOLS = parse_tools_schema(
    [
        {
            "name": name,
            "description": description,
            "input_schema": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}},
                "required": ["order_id"],
            },
        }
        for name, description in (
            ("cancel_order", "Cancel an order. The status becomes 'cancelled'."),
            ("get_order", "Get an order by its id."),
            ("notify_customer", "Send the customer of an order a notice."),
        )
    ]
)
STATE = {
    "order": {
        "o-1": {"status": "pending", "total": 20},
        "o-2": {"status": "shipped", "total": 60},
        "o-3": {"status": "pending", "total": 90},
    }
}
READ = "Shipped orders cannot be cancelled."
IN_PART = "cancel_order fails when the order's total is above 80 and never smiles."
ODD = "Suspicious orders cannot be cancelled by cancel_order when the order is pending and odd."


def under(text: str, **more: Any) -> PlannedSimulator:
    return build_simulator(TOOLS, world=World.from_initial_state(STATE), behavior=text, **more)


def shown(text: str, *, may_read: Callable[[], bool] = lambda: True, **more: Any) -> list[Any]:
    return [*shown_sentences(under(text), may_read=may_read, **more)]


def test_a_sentence_that_is_read_is_shown_as_a_sentence_and_a_rule() -> None:
    (one,) = shown(READ)
    assert one["read_as"] == ["cancel_order fails when the order's status is 'shipped'."]
    assert one["rules"] == [
        {"form": "require", "tools": ["cancel_order"], "expression": "order.status != 'shipped'"}
    ]
    assert (one["origin"], one["numbers"], one["not_read"]) == ("sentence", [1], None)
    assert (one["not_enforced"], one["uniform"], one["readings"]) == (None, None, [])
    assert "examples" not in one


def test_its_examples_are_calls_that_pass_and_calls_that_are_refused() -> None:
    (one,) = shown(READ, most_by_calls=20)
    (example,) = one["examples"]
    assert [call["arguments"]["order_id"] for call in example["passes"]] == ["o-1", "o-3"]
    assert [(call["arguments"]["order_id"], call["status"]) for call in example["refused"]] == [("o-2", 409)]


def calls_of(listed: Any) -> list[tuple[str, int]]:
    """Ids of orders and statuses; with a + for each call before."""
    return [
        ("+" * len(one.get("before", ())) + one["arguments"]["order_id"], one["status"]) for one in listed
    ]


def test_a_rule_that_counts_calls_is_shown_with_the_calls_before() -> None:
    (one,) = shown("notify_customer can be called at most once per order.", most_by_calls=1)
    (example,) = one["examples"]
    assert calls_of(example["passes"]) == [("o-1", 200), ("o-2", 200), ("o-3", 200)]
    assert calls_of(example["refused"]) == [("+o-1", 409), ("+o-2", 409), ("+o-3", 409)]


def test_a_rule_on_another_tool_is_shown_without_and_with_a_call_of_it() -> None:
    (one,) = shown("cancel_order only works after get_order.", most_by_calls=1)
    (example,) = one["examples"]
    assert calls_of(example["refused"]) == [("o-1", 409), ("o-2", 409), ("o-3", 409)]
    assert calls_of(example["passes"]) == [("+o-1", 200), ("+o-2", 200), ("+o-3", 200)]


def test_each_rule_of_a_sentence_is_shown_by_its_own_difference() -> None:
    text = "cancel_order fails when the order is shipped and fails when the order's total is above 80."
    (one,) = shown(text, most_by_calls=1)
    first, second = one["examples"]
    assert calls_of(first["refused"]) == [("o-2", 409)]
    assert calls_of(second["refused"]) == [("o-3", 409)]


def test_examples_begin_on_the_day_of_the_task() -> None:
    state = {
        "order": {
            f"o-{n}": {"status": "pending", "total": 20, "placed_at": f"2031-03-0{n}T09:00:00Z"}
            for n in range(1, 6)
        }
    }
    text = "cancel_order fails when placed_at is more than 3 days ago."
    simulator = build_simulator(TOOLS, world=World.from_initial_state(state), behavior=text)
    (one,) = shown_sentences(simulator, most_by_calls=1, now="2031-03-07T12:00:00Z")
    examples: Any = one["examples"]
    assert calls_of(examples[0]["refused"]) == [("o-1", 409), ("o-2", 409), ("o-3", 409)]
    assert calls_of(examples[0]["passes"])[0] == ("o-5", 200)
    assert {call["now"] for call in examples[0]["refused"]} == {"2031-03-07T12:00:00Z"}


def test_a_sentence_that_is_read_in_part_shows_both_parts() -> None:
    (one,) = shown(IN_PART)
    assert one["read_as"] == ["cancel_order fails when the order's total is more than 80."]
    assert one["not_read"]["words"] == "smiles"
    (told,) = unenforced(under(IN_PART))
    assert told.words.startswith(f"read only in part: {IN_PART} (reading stopped at “smiles”")


def test_a_sentence_that_is_not_read_comes_with_its_words_and_suggestions() -> None:
    (one,) = shown(ODD)
    assert (one["read_as"], one["rules"]) == ([], [])
    assert one["not_read"]["words"]
    assert 0 < len(suggested(one)) <= 3
    (bare,) = shown(ODD, most_suggested=0)
    assert suggested(bare) == []
    assert bare["not_read"]["message"] == one["not_read"]["message"]


def test_suggestions_are_shown_however_they_are_written() -> None:
    entries: list[Any] = ["One.", {"sentence": "Two.", "drops": "odd"}, {"drops": "x"}]
    assert suggested({"not_read": {"suggestions": entries}}) == [("One.", ""), ("Two.", "odd")]


def test_a_call_in_words_says_what_came_of_it_and_fits_its_line() -> None:
    (one,) = shown(READ, most_by_calls=1)
    assert [*calls_in_words(one["examples"][0], 80)] == [
        ("passes", 'cancel_order {"order_id":"o-1"} → 200'),
        ("passes", 'cancel_order {"order_id":"o-3"} → 200'),
        ("refused", 'cancel_order {"order_id":"o-2"} → 409 conflict: order o-2 is shipped'),
    ]
    call = {"tool": "x" * 90, "arguments": {"y": "z" * 90}, "status": 409, "before": []}
    error = {"code": "conflict", "message": "long " * 40}
    said = call_in_words(call | {"body": {"error": error}}, 70)
    assert len(said) == 70
    assert "→ 409 conflict: long" in said


def test_only_so_many_sentences_get_suggestions_and_none_once_the_time_is_up() -> None:
    text = " ".join(ODD.replace("odd", f"odd{at}") for at in range(MOST_SUGGESTED + 5))
    assert sum(bool(suggested(one)) for one in shown(text)) == MOST_SUGGESTED
    assert not any(suggested(one) for one in shown(text, may_read=lambda: False))
    late = shown(READ, may_read=lambda: False, most_by_calls=20)
    assert [one.get("examples") for one in late] == [None]


def test_a_sentence_that_changes_nothing_or_finds_no_place_says_so() -> None:
    idle, lost = shown(
        "cancel_order fails when the order's total is above 500. cancel_order fails unless the order's total"
        " is above 500."
    )
    assert idle["uniform"] == "in the seeded world every order passes"
    assert lost["rules"]
    assert "contradicts rule 1" in lost["not_enforced"]


def test_findings_name_the_rules_that_they_are_about() -> None:
    text = (
        "cancel_order fails when the order's total is above 50."
        " cancel_order fails when the order's total is above 80."
    )
    (finding,) = shown_findings(under(text))
    assert (finding["kind"], finding["rules"]) == ("shadowed", [2, 1])
    assert "rule 1 is “cancel_order fails when the order's total is above 50.”" in str(finding["says"])
    assert [one["numbers"] for one in shown(text)] == [[1], [2]]


def test_rules_are_numbered_after_the_typed_ones() -> None:
    typed = read_rule({"form": "limit_calls", "tools": ["cancel_order"], "count": 1}, "", [])
    assert typed is not None
    (one,) = shown_sentences(under(READ, rules=[typed]))
    assert one["numbers"] == [2]


def test_a_translation_is_marked_and_one_without_rules_makes_the_sentence_say_nothing() -> None:
    rule = {"form": "require", "tools": ["cancel_order"], "expression": "order.total < 50"}
    (one,) = shown_sentences(under(ODD, translated={ODD: [rule]}))
    assert (one["origin"], one["rules"], one["not_read"]) == ("translated", [rule], None)
    (none,) = shown_sentences(under(READ).translated_as(READ, ()))
    assert (none["origin"], none["rules"], none["not_read"]) == ("dismissed", [], None)


def test_a_typed_rule_that_is_not_enforced_is_told_as_a_rule() -> None:
    typed = read_rule({"form": "require", "tools": ["cancel_order"], "expression": "order.size > 1"}, "", [])
    assert typed is not None
    (told,) = unenforced(under("", rules=[typed]))
    assert told.is_typed
    assert told.words == (
        'rule not enforced: cancel_order: {"form":"require","expression":"order.size > 1"}.'
        " (`order` has no field `size`; there is `id`, `status`, `total`)"
    )


def test_a_guard_that_no_seeded_record_passes_is_enforced() -> None:
    """A world of shipped orders is how one tests that an agent takes a refusal for an answer."""
    world = World.from_initial_state(
        {"order": {one: {"status": "shipped", "total": 5} for one in ("o-1", "o-2")}}
    )
    text = "cancel only allowed when status=pending"
    simulator = build_simulator(TOOLS, world=world, behavior=text)
    reply = simulator.answer(
        "cancel_order", {"order_id": "o-1"}, Ledger(world), Moment("x", 1, "2026-01-15T12:00:00Z")
    )
    assert (reply.status, reply.updates) == (409, ())
    assert reply.response == {"error": {"code": "conflict", "message": "order o-1 is shipped"}}
    assert simulator.uniform == {text: "in the seeded world no order passes"}
