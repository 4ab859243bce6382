"""Scenarios of a file, all of them or none: unchanged ones stay as they are, changed ones get a new version.

A scenario of the file belongs to the one with the same `id`, or else the same name. The file's own variations
are stored first.
"""

import asyncio
from collections import Counter
from functools import partial
from typing import NamedTuple

from pipelines.core.evals.scenarios.scenario import FIELDS, Scenario
from pipelines.core.evals.scenarios.scenario_file import ScenarioFile, read_scenario_file
from pipelines.core.text.json_text import JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.evals.edit_scenarios import (
    change_scenario,
    check_scenario,
    create_scenario,
    create_variation,
    known_variations,
)
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals.eval_scenarios import scenario_by_id, scenarios_of_org

MOST_AT_ONCE = 500  # scenarios; larger files are for `pipelines eval import`
_TWICE = 2  # of the same name: enough to know that a name says too little


class ImportedScenarios(NamedTuple):
    created: int
    changed: int
    unchanged: int


async def import_scenarios(platform: Platform, org_id: int, text: str) -> ImportedScenarios:
    """Raises Refused with all that is wrong, and in YAML with the lines."""
    variations = await known_variations(platform, org_id)
    file = await asyncio.to_thread(read_scenario_file, text, variations=[*variations])
    own = {variation.id: variation for variation in file.variations}
    problems = list(_file_problems(file))
    known = await platform.database.read(partial(_stored_ids, org_id=org_id, file=file, problems=problems))
    for at, scenario in enumerate(file.scenarios):
        try:
            await check_scenario(platform, org_id, scenario.as_json(), also=own)
        except Refused as refused:
            problems += [
                Problem(path=f"/scenarios/{at}{each.path}", message=each.message, hint=each.hint)
                for each in refused.problems
            ]
    if problems:
        raise Refused(problems, "the file")
    for variation in file.variations:
        await create_variation(platform, org_id, variation.as_json())
    done = [await _store(platform, org_id, *pair) for pair in zip(file.scenarios, known, strict=True)]
    counts = Counter(done)
    return ImportedScenarios(counts["created"], counts["changed"], counts["unchanged"])


def _file_problems(file: ScenarioFile) -> list[Problem]:
    if len(file.scenarios) > MOST_AT_ONCE:
        message = f"has {len(file.scenarios):,} scenarios; at most {MOST_AT_ONCE} are taken here"
        return [Problem(path="", message=message, hint="use pipelines eval import")]
    names = Counter(scenario.name for scenario in file.scenarios)
    return [
        Problem(path="/scenarios" + pointer([at, "name"]), message=f"several scenarios are named {name!r}")
        for at, name in enumerate(scenario.name for scenario in file.scenarios)
        if names[name] > 1
    ]


def _stored_ids(
    connection: Connection, *, org_id: int, file: ScenarioFile, problems: list[Problem]
) -> list[str | None]:
    """The stored scenario that each one is; None for a new one."""
    ids: list[str | None] = []
    for at, (id, scenario) in enumerate(file.entries[:MOST_AT_ONCE]):
        path = f"/scenarios/{at}"
        if id is not None:
            if scenario_by_id(connection, org_id=org_id, scenario_id=id) is None:
                hint = "without `id` it is a new one"
                problems.append(Problem(path=f"{path}/id", message=f"there is no scenario {id}", hint=hint))
            ids.append(id)
            continue
        filters = [Filter("org_id", org_id), Filter("name", scenario.name)]
        found = scenarios_of_org(connection, filters=filters, limit=_TWICE, before_id=None).items
        if len(found) == _TWICE:
            message = f"several stored scenarios are named {scenario.name!r}"
            problems.append(Problem(path=f"{path}/name", message=message, hint="say which by its `id`"))
        ids.append(found[0].scenario_id if found else None)
    return ids


async def _store(platform: Platform, org_id: int, scenario: Scenario, known: str | None) -> str:
    body = scenario.as_json()
    if known is None:
        await create_scenario(platform, org_id, body)
        return "created"
    before = await platform.database.read(partial(scenario_by_id, org_id=org_id, scenario_id=known))
    # A field that the file leaves out is taken away: the file is the whole scenario, not a change to it.
    whole: JsonObject = dict.fromkeys(FIELDS) | body
    after = await change_scenario(platform, org_id, known, whole)
    return "unchanged" if before is not None and after.version == before.version else "changed"
