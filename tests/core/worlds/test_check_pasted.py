"""Worlds that somebody pastes: everything that is wrong with one, at once."""

from typing import Any

import pytest
from worlds_kit import TRADES, shop, shop_state, trade, world_of

from pipelines.core.tasks.seed_limits import LARGEST_STATE
from pipelines.core.worlds.review.check_pasted import check_pasted


@pytest.mark.parametrize("name", TRADES)
def test_a_made_world_can_be_pasted(name: str) -> None:
    assert check_pasted(trade(name), world_of(name)) == []


def bent(**types: Any) -> Any:
    return {**shop_state(), **types}


WRONG: dict[str, tuple[Any, str]] = {
    "no object": ([], "must be a JSON object"),
    "nothing in it": ({}, "holds no entity"),
    "wrapped in itself": ({"initial_state": shop_state()}, "wrapped in itself"),
    "a type that is not declared": (bent(parcel={"P-1": {}}), "declares no entity type `parcel`"),
    "a value of another type": (bent(order={"O-1": {"total": "many"}}), "must be of type number"),
    "a value outside the enum": (bent(order={"O-1": {"status": "lost"}}), "must be"),
    "entities that are no objects": (bent(order={"O-1": 3}), "must be an object of attributes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_place(case: str) -> None:
    state, message = WRONG[case]
    (problem, *_) = check_pasted(shop(), state)
    assert message in problem.message
    assert problem.path.startswith("/state")


def test_the_world_of_another_agent_is_told() -> None:
    from dataclasses import replace

    of = replace(shop(None), ledger_schema=None)
    (problem,) = check_pasted(of, {"comet": {"X-1": {"speed": 3}, "X-2": {"speed": 4}}})
    assert "no tool reads or changes any of comet" in problem.message


def test_a_world_that_is_too_large_is_not_looked_into() -> None:
    state = bent(order={"O-1": {"note": "x" * (LARGEST_STATE + 1)}})
    (problem,) = check_pasted(shop(), state)
    assert problem.path == "/state"
