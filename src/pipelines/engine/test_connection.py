"""Test connection: one ping to an agent, with its auth header, as the first dispatch would send it."""

from pipelines.core.json_text import JsonObject
from pipelines.engine.dispatch_run import target_of
from pipelines.engine.platform import Platform
from pipelines.engine.register_agent import find_agent
from pipelines.outbound.agent_client import AgentClient
from pipelines.wire.errors import Conflict


async def test_connection(platform: Platform, client: AgentClient, org_id: int, agent_id: int) -> JsonObject:
    """Whether it is there and lets us in; if not, what to change."""
    agent = await find_agent(platform, org_id, agent_id)
    if not agent.definition.get("endpoint_url"):
        raise Conflict("This agent has no endpoint_url to test.")
    return (await client.ping(target_of(platform, agent))).as_json()
