"""/coding: the coding scenarios, and an editor that stores a scenario only if it is valid."""

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.coding.scorers import (
    CommandScorer,
    DiffContainsScorer,
    FileEqualsScorer,
    MaxDiffLinesScorer,
    PathsScorer,
    Scorer,
    TestsScorer,
)
from pipelines.core.coding.workspace_seed import FilesSeed
from pipelines.core.evals.scenarios.scenario_file import LONGEST_EDITED_TEXT
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.coding import edit_coding_scenarios
from pipelines.engine.coding.coding_text import format_scenario, read_coding_text
from pipelines.server.api.common import Ours, platform_of
from pipelines.server.pages.evals.evals import Word, number_of
from pipelines.server.pages.page import go, page
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.database.paging import Filter
from pipelines.storage.tasks.coding import StoredCodingScenario, scenarios_of_org
from pipelines.wire.errors import Conflict

router = APIRouter()
ROWS = 50
LONGEST_TOLD = 300  # characters of one scorer, in words
TRAIL = (("Datasets", "/datasets"),)
SCENARIOS = (*TRAIL, ("Coding scenarios", "/coding"))
#: The initial text of a new scenario. It is valid.
SAMPLE: JsonObject = {
    "name": "fix-sum",
    "user_instruction": "total([]) fails. It should be 0. Mend sums.py.",
    "workspace_seed": {
        "type": "files",
        "files": {"sums.py": "def total(numbers):\n    return sum(numbers[1:], numbers[0])\n"},
    },
    "test_files": {
        "test_sums.py": "from sums import total\n\n\ndef test_nothing_is_zero():\n    assert total([]) == 0\n"
    },
    "scorers": [
        {"name": "tests", "type": "tests", "fail_to_pass": ["test_sums.py::test_nothing_is_zero"]},
        {"name": "only the source", "type": "allowed_paths", "paths": ["sums.py"]},
    ],
}


@router.get("/coding")
async def scenarios_page(request: Request, visitor: Reader, q: Word = "", before: Word = "") -> Response:
    filters = [
        Filter("org_id", visitor.org_id),
        Filter("LOWER(name)", f"%{q.lower()}%" if q else None, "LIKE"),
    ]
    found = await platform_of(request).database.read(
        lambda connection: scenarios_of_org(
            connection, filters=filters, limit=ROWS, before_id=number_of(before)
        )
    )
    url = request.url.remove_query_params("before")
    last = str(found.last_id) if found.last_id is not None else None
    return await page(
        request,
        visitor,
        "coding_scenarios.html",
        title="Coding scenarios",
        here="datasets",
        trail=TRAIL,
        scenarios=[head | {"workspace": _in_short(head["workspace_seed"])} for head in found.items],
        q=q,
        more=f"{url.path}?{url.include_query_params(before=last).query}" if last is not None else None,
        back=f"{url.path}?{url.query}" if before else None,
    )


@router.get("/coding/new")
async def new_page(request: Request, visitor: Writer) -> Response:
    return await _editor(request, visitor, format_scenario(SAMPLE))


@router.post("/coding")
async def create(request: Request, platform: Ours, visitor: Writer) -> Response:
    text = (await form_texts(request)).get("text", "")
    try:
        body = await read_coding_text(platform, text)
        stored = await edit_coding_scenarios.create_scenario(platform, visitor.org_id, body)
    except (Refused, Conflict) as error:
        return await _editor(request, visitor, text, error=error)
    return go(f"/coding/{stored.scenario_id}", "The scenario is stored.")


@router.get("/coding/{scenario_id}")
async def scenario_page(scenario_id: str, request: Request, platform: Ours, visitor: Reader) -> Response:
    stored = await edit_coding_scenarios.find_scenario(platform, visitor.org_id, scenario_id)
    text = await asyncio.to_thread(lambda: format_scenario(stored.body()))
    return await _editor(request, visitor, text, stored=stored)


@router.post("/coding/{scenario_id}")
async def change(scenario_id: str, request: Request, platform: Ours, visitor: Writer) -> Response:
    """The text replaces the whole scenario: a field that is missing from it is removed."""
    text = (await form_texts(request)).get("text", "")
    before = await edit_coding_scenarios.find_scenario(platform, visitor.org_id, scenario_id)
    try:
        body = await read_coding_text(platform, text)
        stored = await edit_coding_scenarios.replace_scenario(
            platform, visitor.org_id, before.scenario_id, body
        )
    except (Refused, Conflict) as error:
        return await _editor(request, visitor, text, stored=before, error=error)
    return go(f"/coding/{stored.scenario_id}", "The scenario is changed. Existing tasks keep their copies.")


@router.post("/coding/{scenario_id}/delete")
async def delete(scenario_id: str, platform: Ours, visitor: Writer) -> Response:
    await edit_coding_scenarios.delete_scenario(platform, visitor.org_id, scenario_id)
    return go("/coding", "The scenario is deleted. Tasks created from it keep their copies.")


async def _editor(
    request: Request,
    visitor: Visitor,
    text: str,
    *,
    stored: StoredCodingScenario | None = None,
    error: Refused | Conflict | None = None,
) -> Response:
    problems: Sequence[Problem] = error.problems if isinstance(error, Refused) else ()
    if isinstance(error, Conflict):
        problems = [Problem(path="name", message=error.message)]
    is_long = len(text) > LONGEST_EDITED_TEXT
    return await page(
        request,
        visitor,
        "coding_scenario.html",
        title=stored.name if stored is not None else "New coding scenario",
        here="datasets",
        trail=SCENARIOS,
        status=422 if isinstance(error, Refused) else 409 if error is not None else 200,
        stored=await asyncio.to_thread(_render_scenario, stored) if stored is not None else None,
        text=text[:LONGEST_EDITED_TEXT],
        is_long=is_long,
        problems=problems,
    )


def _render_scenario(stored: StoredCodingScenario) -> dict[str, Any]:
    scenario = CodingScenario.from_stored(stored.body())
    seed = scenario.workspace_seed
    return {
        "id": stored.scenario_id,
        "name": scenario.name,
        "version": stored.version,
        "user_instruction": scenario.user_instruction[:500],
        "workspace": _in_short(scenario.head()["workspace_seed"]),
        "setup_command": (scenario.setup_command or "")[:500],
        "scorers": [_scorer(scorer) for scorer in scenario.scorers],
        "files": sorted(seed.files) if isinstance(seed, FilesSeed) else [],
        "test_files": sorted(scenario.test_files),
        "updated_at": stored.updated_at,
    }


def _in_short(start: Any) -> str:
    """A short description of the workspace seed."""
    if start["type"] == "git":
        return f"git: {start['url']} at {start['ref']}"
    if start["type"] == "files":
        return f"{start['files']} file{'s' if start['files'] != 1 else ''}"
    return str(start["type"])


def _scorer(scorer: Scorer) -> dict[str, Any]:
    return {
        "name": scorer.name,
        "type": scorer.type,
        "required": scorer.required,
        "told": _describe_scorer(scorer)[:LONGEST_TOLD],
    }


def _describe_scorer(scorer: Scorer) -> str:
    """A short description of the scorer."""
    if isinstance(scorer, CommandScorer):
        reward = f", reward at {scorer.reward_file}" if scorer.reward_file else ""
        return f"{scorer.command} (at most {scorer.timeout_s} s{reward})"
    if isinstance(scorer, TestsScorer):
        named = ", ".join(scorer.tests[:4])
        return f"{len(scorer.tests)} tests: {named}{', …' if len(scorer.tests) > 4 else ''}"
    match scorer:
        case PathsScorer():
            return ", ".join(scorer.paths)
        case DiffContainsScorer():
            where = f" in {', '.join(scorer.paths)}" if scorer.paths else ""
            return f"{scorer.lines} lines have: {scorer.text}{where}"
        case FileEqualsScorer():
            return f"{scorer.path} is: {scorer.text}"
        case MaxDiffLinesScorer():
            return f"at most {scorer.max:,} lines added and removed"
