"""Advisories: each found where it is, not found where it is not, and mended by its own sentence."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from worlds_kit import NOW, TRADES, order, shop, shop_state, trade, world_of

from pipelines.core.text.json_text import JsonObject
from pipelines.core.worlds.changes.refine import refine
from pipelines.core.worlds.review.advisories import ADVISERS, advisories
from pipelines.core.worlds.shapes import Advisory

Bend = Callable[[Any], None]


def of_same_owner(state: Any) -> None:
    for record in state["order"].values():
        record["customer_id"] = "C-1"


def all_in_april(state: Any) -> None:
    for at, record in enumerate(state["order"].values()):
        record |= {"created_at": f"2026-04-0{at + 1}T10:00:00Z", "shipped_at": None, "status": "pending"}


def all_alike(**attributes: Any) -> Bend:
    def bend(state: Any) -> None:
        for id in list(state["order"]):
            state["order"][id] = {"order_id": id, **order("C-1", **attributes)}

    return bend


def one(kind: str, id: str, **attributes: Any) -> Bend:
    return lambda state: state[kind][id].update(attributes)


def with_type(state: Any) -> None:
    state["audit_entry"] = {"A-1": {"text": "x"}, "A-2": {"text": "y"}}


CASES: dict[str, Bend] = {
    "dangling_reference": one("order", "O-2", customer_id="C-9"),
    "total_mismatch": one("order", "O-2", total=81.0),
    "state_contradicts_times": one("order", "O-2", shipped_at=None),
    "doubled_key": one("customer", "C-2", email="ada@example.com"),
    "answer_in_text": one("order", "O-1", note="The agent should refuse this refund."),
    "rule_without_case": all_alike(status="pending", price=50.0, created="2026-03-01"),
    "tool_cannot_succeed": all_alike(status="cancelled", price=50.0, created="2026-03-01"),
    "tool_cannot_fail": all_alike(status="pending", price=50.0, created="2026-03-01"),
    "untouched_type": with_type,
    "unused_enum_value": one("customer", "C-2", role="buyer"),
    "single_owner": of_same_owner,
    "narrow_dates": all_in_april,
}
#: A type that the schema does not declare is only possible without one; a rule would refuse as well.
OPEN = {"untouched_type"}
WITHOUT_RULE = {"tool_cannot_fail", "tool_cannot_succeed"}


def found(name: str, state: JsonObject) -> list[Advisory]:
    return [advisory for advisory in advisories(toolset_for(name), state, now=NOW) if advisory.name == name]


def toolset_for(name: str) -> Any:
    of = shop(None) if name in WITHOUT_RULE else shop()
    return replace(of, ledger_schema=None) if name in OPEN else of


def test_there_is_a_case_for_each() -> None:
    assert CASES.keys() == ADVISERS.keys()


@pytest.mark.parametrize("name", ADVISERS)
def test_it_is_found_where_it_is_and_mended_by_its_own_sentence(name: str) -> None:
    state = shop_state()
    assert found(name, state) == []
    CASES[name](state)
    (advisory, *_) = found(name, state)
    assert advisory.message
    assert advisory.places
    assert advisory.fix is not None
    refined = refine(toolset_for(name), state, advisory.fix, rng_seed=1, now=NOW, size="compact")
    assert advisory not in found(name, refined.state), refined.changes_text


@pytest.mark.parametrize("name", TRADES)
def test_a_made_world_has_none(name: str) -> None:
    assert advisories(trade(name), world_of(name), now=NOW) == []


TIMES: dict[str, tuple[JsonObject, bool]] = {
    "shipped before it was created": ({"shipped_at": "2026-01-01T10:00:00Z"}, True),
    "still to come": ({"created_at": "2026-09-01T10:00:00Z", "shipped_at": "2026-09-02T10:00:00Z"}, True),
    "pending and shipped": ({"status": "pending"}, True),
    "cancelled after it was shipped": ({"status": "cancelled"}, False),
    "created and shipped on one day": ({"created_at": "2026-02-03T12:00:00Z"}, False),
}


@pytest.mark.parametrize("case", TIMES)
def test_times_that_contradict_the_state_or_each_other(case: str) -> None:
    attributes, is_wrong = TIMES[case]
    state: Any = shop_state()
    state["order"]["O-2"] |= attributes
    assert bool(found("state_contradicts_times", state)) == is_wrong


def test_a_name_that_only_sounds_like_a_reference_is_none() -> None:
    state: Any = shop_state()
    for at, record in enumerate(state["order"].values()):
        record["customer_id"] = f"legacy-{at}"
    assert found("dangling_reference", state) == []
