"""Agents that do nothing, refuse, echo, inject or tamper pass no task."""

import pytest
from cheating_agents import Attempt, attempts, calls_at_random, table

from support.repository import DOCS

PAGE = DOCS / "reference" / "cheating-agents.md"
#: Of the tasks of an agent that calls at random: in a world of three records it may do the right thing.
MOST_LUCK = 0.03


@pytest.fixture(scope="module")
def found() -> list[Attempt]:
    return [*attempts()]


def test_no_agent_that_cheats_passes(found: list[Attempt]) -> None:
    assert [one for one in found if one.verdict == "PASS" and one.agent != calls_at_random.__name__] == []


def test_who_calls_at_random_passes_by_doing_the_right_thing_alone(found: list[Attempt]) -> None:
    own = [one for one in found if one.agent == calls_at_random.__name__]
    lucky = [one for one in own if one.verdict == "PASS"]
    assert len(lucky) <= MOST_LUCK * len(own)
    assert all("Nothing else in the world changed" in one.reasoning for one in lucky)


def test_the_page_has_this_table(found: list[Attempt]) -> None:
    assert table(found) in PAGE.read_text()
