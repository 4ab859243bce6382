"""Weeks of traffic of many agents: what the drafts make of it, held against the rules of the agents."""

import json
from typing import Any

import pytest
from second_week import SECOND_WEEK
from third_week import THIRD_WEEK

from pipelines.core.evals.telemetry.drafts import draft_parts
from support.agent_traffic import FIRST_WEEK, Trade, is_worth_keeping, lines_of, spans_of_week

SKILLS = {trade.skill for trade in FIRST_WEEK}


def drafted(lines: list[bytes], most: int = 20) -> list[Any]:
    *found, _ = [json.loads(part) for part in draft_parts(b"\n".join(lines), most=most, without=frozenset())]
    return found


@pytest.fixture(scope="module")
def week() -> list[bytes]:
    return lines_of(spans_of_week(FIRST_WEEK, seed=1))


WEEKS = pytest.mark.parametrize(
    "trades", [FIRST_WEEK, SECOND_WEEK, THIRD_WEEK], ids=["first", "second", "third"]
)


@WEEKS
@pytest.mark.parametrize("seed", [1, 2])
def test_of_twenty_drafts_at_least_fifteen_are_worth_keeping(trades: list[Trade], seed: int):
    """The aim is 12. As written 17 to 20 are: two more or fewer are chance."""
    found = drafted(lines_of(spans_of_week(trades, seed)))
    assert len(found) == 20
    kept = [draft for at, draft in enumerate(found) if is_worth_keeping(draft, trades, found[:at])]
    assert len(kept) >= 15


@WEEKS
def test_what_is_expected_is_what_the_agents_rule_says(trades: list[Trade]):
    rules = {trade.skill: trade for trade in trades}
    for draft in drafted(lines_of(spans_of_week(trades, seed=3)), most=500):
        trade = rules[draft["skill"].removeprefix("after ")]
        told = draft["scenario"]["input_context"]
        expected = draft["scenario"]["expected_behavior"]
        rule = trade.rule(told[trade.skill] if trade.form == "chain" else told)
        if expected and draft["confidence"] > 0.8:
            assert rule is not None, draft["name"]
            assert expected | rule == expected, draft["name"]


def test_noise_and_tool_replies_give_no_decision(week: list[bytes]):
    found = drafted(week, most=500)
    assert {draft["skill"] for draft in found} <= SKILLS | {f"after {skill}" for skill in SKILLS}
    (noise,) = [draft for draft in found if draft["skill"] == "moderate_post"]
    assert noise["scenario"]["expected_behavior"] == {}
    assert len(noise["outcomes"]) == 3


def test_other_ids_give_the_same_patterns(week: list[bytes]):
    renamed = lines_of(
        [
            json.loads(
                json.dumps(span)
                .replace("ORD-", "order/")
                .replace("SKU-", "item ")
                .replace(span["traceId"], f"{int(span['traceId'], 16) ^ 0xABCDEF:032x}")
            )
            for span in spans_of_week(FIRST_WEEK, seed=1)
        ]
    )

    def patterns(lines: list[bytes]) -> list[Any]:
        return [(draft["id"], draft["shape"], draft["support"]) for draft in drafted(lines, most=500)]

    assert patterns(renamed) == patterns(week)
    assert patterns(week[::-1]) == patterns(week)
