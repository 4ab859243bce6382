"""Test connection: whether an agent could be sent a run, asked the way the first dispatch would reach it."""

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.code.run_code import CodeRunner
from pipelines.engine.find import find_agent
from pipelines.engine.platform import Platform
from pipelines.engine.runs.dispatch_run import target_of
from pipelines.outbound.agent_client import AgentClient
from pipelines.wire.errors import Conflict


async def check_connection(
    platform: Platform, client: AgentClient, code_runner: CodeRunner, org_id: int, agent_id: int
) -> JsonObject:
    """By HTTP: is it there, does it let us in. By code: can it be loaded. If not, what to change."""
    agent = await find_agent(platform, org_id, agent_id)
    if agent.definition.is_code:
        if agent.definition.code is None:
            raise Conflict("This agent has no code to test.")
        return (await code_runner.test_import(agent)).as_json()
    if agent.definition.endpoint_url is None:
        raise Conflict("This agent has no endpoint_url to test.")
    return (await client.ping(target_of(platform, agent))).as_json()
