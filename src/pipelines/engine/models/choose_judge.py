"""Which model reads a run: its dataset's judge, else its agent's, else the server's."""

from pipelines.core.models.model_question import Purpose
from pipelines.engine.models.choose_model import models_named_for
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import agent_by_id
from pipelines.storage.runs.runs import Run


async def judge_model_of(platform: Platform, run: Run) -> str | None:
    agent = await platform.database.read(
        lambda connection: agent_by_id(
            connection, org_id=run.org_id, agent_id=run.agent_id, version=run.agent_version
        )
    )
    named = await models_named_for(platform, agent, run.dataset_id)
    return platform.models.model_for(Purpose.JUDGE, named)
