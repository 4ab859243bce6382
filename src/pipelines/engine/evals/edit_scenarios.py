"""Scenarios and users' own variations: made, changed (always a new version), deleted, read."""

import asyncio
import secrets
from collections.abc import Mapping
from functools import partial

from pipelines.core.evals.scenarios.scenario import Scenario, read_scenario
from pipelines.core.evals.scenarios.variation import BUILTIN, Variation, read_variation
from pipelines.core.text.authored import is_id
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.storage.agents import agents
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import eval_scenarios, review_marks
from pipelines.storage.evals.eval_scenarios import ScenarioHead, StoredScenario
from pipelines.storage.evals.review_marks import MarkKind
from pipelines.wire.errors import Conflict, NotFound

#: What is shown of a scenario beside what its author wrote; sent back with a change, it says nothing new.
READ_ONLY_FIELDS = ("id", "version", "created_at", "updated_at", "versions", "marks")
MOST_OWN_VARIATIONS = 500  # of an org: a person reads the list


def new_scenario_id() -> str:
    return f"scn_{secrets.token_hex(12)}"


async def create_scenario(platform: Platform, org_id: int, body: Json) -> StoredScenario:
    scenario = await check_scenario(platform, org_id, body)
    return await store_scenario(platform, org_id, scenario, new_scenario_id())


async def store_scenario(
    platform: Platform, org_id: int, scenario: Scenario, scenario_id: str
) -> StoredScenario:
    """A checked scenario, under an id that is new."""
    now = platform.now()

    def store(connection: Connection) -> StoredScenario:
        eval_scenarios.add_scenario(
            connection,
            org_id=org_id,
            scenario_id=scenario_id,
            head=head_of(scenario),
            body=scenario.as_json(),
            now=now,
        )
        return _get_scenario(connection, org_id, scenario_id)

    return await platform.database.write(store)


async def change_scenario(
    platform: Platform, org_id: int, scenario_id: str, body: JsonObject
) -> StoredScenario:
    """The fields given replace the old ones, null takes one away, the others stay; it is checked whole.

    A `version` in the body must be the current one: whoever was faster is not overwritten.
    """
    before = await find_scenario(platform, org_id, scenario_id)
    if body.get("version", before.version) != before.version:
        raise Conflict(f"Scenario {scenario_id} is at version {before.version} by now; read it again.")
    changes = {key: value for key, value in body.items() if key not in READ_ONLY_FIELDS}
    merged: JsonObject = {key: value for key, value in (before.body() | changes).items() if value is not None}
    scenario = await check_scenario(platform, org_id, merged)
    if scenario.as_json() == before.body():
        return before
    now = platform.now()

    def store(connection: Connection) -> StoredScenario:
        version = eval_scenarios.change_scenario(
            connection,
            org_id=org_id,
            scenario_id=scenario_id,
            head=head_of(scenario),
            body=scenario.as_json(),
            now=now,
            if_version=before.version,
        )
        if version is None:
            raise Conflict(f"Scenario {scenario_id} was changed meanwhile; read it again.")
        return _get_scenario(connection, org_id, scenario_id)

    return await platform.database.write(store)


async def delete_scenario(platform: Platform, org_id: int, scenario_id: str) -> None:
    """Hidden from lists and new matrices; runs keep the version they were asked by. Conflict where it is
    pinned as a regression."""
    now = platform.now()

    def delete(connection: Connection) -> bool:
        pinned = review_marks.marks_of_scenarios(
            connection, org_id=org_id, scenario_ids=[scenario_id], kind=MarkKind.REGRESSION
        )
        if pinned:
            by = f"{scenario_id} is pinned as a regression by {pinned[0].review_id}"
            raise Conflict(f"Scenario {by}; open that review again first.")
        return eval_scenarios.delete_scenario(connection, org_id=org_id, scenario_id=scenario_id, now=now)

    if not await platform.database.write(delete):
        raise NotFound(f"There is no scenario {scenario_id}.")


async def find_scenario(
    platform: Platform, org_id: int, scenario_id: str, version: int | None = None
) -> StoredScenario:
    return await platform.database.read(
        lambda connection: _get_scenario(connection, org_id, scenario_id, version)
    )


async def check_scenario(
    platform: Platform, org_id: int, body: Json, *, also: Mapping[str, Variation] | None = None
) -> Scenario:
    """The scenario, or Refused with everything wrong with it: also an agent that is not there. `also` are
    variations that are not stored yet."""
    known = {**await known_variations(platform, org_id), **(also or {})}
    agent, problems = await _named_agent(platform, org_id, body)

    def check() -> Scenario:
        definition = agent.definition if agent is not None else None
        return read_scenario(
            body,
            variations=known,
            tools=definition.tools if definition is not None else None,
            ledger_schema=definition.ledger_schema if definition is not None else None,
        )

    try:
        scenario = await asyncio.to_thread(check)
    except Refused as refused:
        raise Refused([*problems, *refused.problems], "the scenario") from None
    if problems:
        raise Refused(problems, "the scenario")
    return scenario


def head_of(scenario: Scenario) -> ScenarioHead:
    return ScenarioHead(name=scenario.name, risk_level=scenario.risk_level, agent_id=scenario.agent_id)


# -- variations


async def known_variations(platform: Platform, org_id: int) -> Mapping[str, Variation]:
    """The built-in ones, then the org's own, by id."""
    own = await platform.database.read(partial(eval_scenarios.variations_of_org, org_id=org_id))
    written = (Variation.from_stored(each.body() | {"version": each.version}) for each in own)
    return {**BUILTIN, **{each.id: each for each in written}}


async def find_variation(platform: Platform, org_id: int, variation_id: str) -> Variation:
    found = (await known_variations(platform, org_id)).get(variation_id)
    if found is None:
        raise NotFound(f"There is no variation {variation_id}.")
    return found


async def create_variation(platform: Platform, org_id: int, body: Json) -> Variation:
    """A user's own; under an id that the org has used, its next version. The very same again: as it was."""
    variation = await asyncio.to_thread(read_variation, body)
    known = await known_variations(platform, org_id)
    before = known.get(variation.id)
    written = _unversioned(variation)
    if before is not None and _unversioned(before) == written:
        return before
    if before is None and len(known) - len(BUILTIN) >= MOST_OWN_VARIATIONS:
        message = f"an org has at most {MOST_OWN_VARIATIONS} variations of its own"
        raise Refused([Problem(path="/id", message=message)], "the variation")
    add = partial(
        eval_scenarios.add_variation,
        org_id=org_id,
        variation=variation.id,
        body=written,
        now=platform.now(),
    )
    version = await platform.database.write(add)
    return Variation.from_stored(written | {"version": version})


def _unversioned(variation: Variation) -> JsonObject:
    return {key: value for key, value in variation.as_json().items() if key != "version"}


async def _named_agent(platform: Platform, org_id: int, body: Json) -> tuple[Agent | None, list[Problem]]:
    agent_id = body.get("agent_id") if isinstance(body, dict) else None
    if not is_id(agent_id):
        return None, []
    agent = await platform.database.read(partial(agents.agent_by_id, org_id=org_id, agent_id=agent_id))
    if agent is None:
        return None, [Problem(path="/agent_id", message=f"there is no agent {agent_id}")]
    return agent, []


def _get_scenario(
    connection: Connection, org_id: int, scenario_id: str, version: int | None = None
) -> StoredScenario:
    scenario = eval_scenarios.scenario_by_id(
        connection, org_id=org_id, scenario_id=scenario_id, version=version
    )
    if scenario is None:
        of_version = f" of version {version}" if version is not None else ""
        raise NotFound(f"There is no scenario {scenario_id}{of_version}.")
    return scenario
