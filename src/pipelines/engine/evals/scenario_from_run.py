"""A scenario of a run that a person looked at: what was asked, of which agent, in which world."""

from typing import NamedTuple

from pipelines.core.evals.scenarios.from_run import RunToRepeat, scenario_body
from pipelines.core.text.json_text import Json, dumps, loads_own
from pipelines.engine.evals.edit_scenarios import create_scenario
from pipelines.engine.find import find_run
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals.eval_scenarios import StoredScenario
from pipelines.storage.tasks.datasets import whole_odyssey_seed


class ScenarioFields(NamedTuple):
    """What only a person can say of it: nothing of this is guessed."""

    name: str
    risk_level: str
    expected_behavior: Json


async def scenario_from_run(
    platform: Platform, org_id: int, run_id: int, fields: ScenarioFields
) -> StoredScenario:
    """Refused with everything that is wrong with it."""
    run = await find_run(platform, org_id, run_id)

    def read(connection: Connection) -> Json:
        return loads_own(dumps(whole_odyssey_seed(connection, run)))  # its world is held as text

    whole = await platform.database.read(read)
    assert isinstance(whole, dict)
    repeated = RunToRepeat(run_id=run_id, agent_id=run.agent_id, odyssey_seed=whole)
    body = scenario_body(
        repeated, name=fields.name, risk_level=fields.risk_level, expected_behavior=fields.expected_behavior
    )
    return await create_scenario(platform, org_id, body)
