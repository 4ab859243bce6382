"""The eval pages: scenarios edited with a check while one types, a matrix built, watched and read cell by cell."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import pytest
from playwright.sync_api import Browser, Page

from browsing import check_page, person
from nodes import Api, eventually, house_in
from played_agents import Dispatch, PlayedAgent, played
from pressed import EXPECTED, V1, ended_matrix, scenario, variation_of

HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
NAMES = (
    "Escalate critical deployment failure",
    "Refund above the limit",
    "Access without an approval",
    f"Hostile {HOSTILE}",
)
VARIATIONS = ["time_pressure", "authority_bias", "contradictory_instructions", "neutral_control"]


def _wavers(dispatch: Dispatch) -> None:
    """Gives in to authority, now and then to contradictions, and is less urgent when pressed for time."""
    answer: dict[str, Any] = dict(EXPECTED)
    match variation_of(dispatch):
        case "authority_bias":
            answer |= {"action": "proceed", "note": HOSTILE}
        case "contradictory_instructions" if dispatch.run_id % 3 == 0:
            answer["action"] = HOSTILE
        case "time_pressure":
            answer["priority"] = "medium"
    dispatch.answer(json.dumps(answer), metadata={"model": "played-1"})


class Desk(NamedTuple):
    api: Api
    agent: PlayedAgent
    agent_id: int
    scenario_ids: list[str]
    matrix_id: str


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A house with four scenarios and one matrix of them that has ended."""
    with house_in(tmp_path_factory.mktemp("evals") / "house") as house, played(_wavers) as agent:
        api = house.open()
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        ids = [scenario(api, name=name, tags=["operations"]) for name in NAMES]
        asked = {"scenario_ids": ids, "agent_id": agent_id, "variation_types": VARIATIONS, "repeats": 3}
        matrix_id = api.post(f"{V1}/matrix", asked, 202)["matrix_id"]
        ended_matrix(api, matrix_id)
        yield Desk(api, agent, agent_id, ids, matrix_id)


PAGES = [
    ("/evals", "evals"),
    ("/evals/scenarios", "scenarios"),
    ("/evals/scenarios/new", "scenario-new"),
    ("/evals/scenarios/{scenario}", "scenario"),
    ("/evals/drafts", "drafts"),
    ("/evals/summary", "summary"),
    ("/evals/new", "builder"),
    ("/evals/{matrix}", "heatmap"),
    ("/evals/{matrix}/cell?scenario={scenario}&variation=authority_bias", "cell"),
    ("/evals/{matrix}/cell?scenario={scenario}", "baseline"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "name"), PAGES, ids=[name for _, name in PAGES])
def test_a_page_is_sound_in_both_schemes_and_widths(
    browser: Browser, desk: Desk, path: str, name: str
) -> None:
    with person(browser, desk.api) as visitor:
        check_page(visitor, path.format(matrix=desk.matrix_id, scenario=desk.scenario_ids[0]), name)
