"""Test connection: whether an agent could be sent a run, asked the way the first dispatch would reach it."""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.web_address import header_complaint, url_complaint
from pipelines.engine.agents.register_agent import same_host
from pipelines.engine.code.run_code import CodeRunner
from pipelines.engine.find import find_agent
from pipelines.engine.platform import Platform
from pipelines.engine.runs.dispatch_run import target_of
from pipelines.outbound.agent_client import AgentClient, AgentTarget
from pipelines.storage.agents.agents import Agent
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


class TypedConnection(NamedTuple):
    """What a form says of an agent that is not saved yet."""

    endpoint_url: str
    auth_header_name: str | None
    auth_header_value: str | None


async def check_typed_connection(
    platform: Platform, client: AgentClient, org_id: int, typed: TypedConnection, stored: Agent | None
) -> JsonObject:
    """The same test before anything is stored. Without a value of its own, the form means the stored one,
    which is only sent to the host that it was stored for. Raises Refused with the fields of the form."""
    problems = list(_complaints(typed))
    value = typed.auth_header_value
    if value is None and typed.auth_header_name and stored is not None and stored.sealed_auth_header:
        value = target_of(platform, stored).auth_header_value
        if not same_host(stored.definition.endpoint_url, typed.endpoint_url):
            message = "must be given again, because endpoint_url names another host"
            problems.append(Problem(path="/auth_header_value", message=message))
    if problems:
        raise Refused(problems, "the form")
    target = AgentTarget(
        endpoint_url=typed.endpoint_url,
        auth_header_name=typed.auth_header_name,
        auth_header_value=value,
        org_id=org_id,
    )
    return (await client.ping(target)).as_json()


def _complaints(typed: TypedConnection) -> Iterator[Problem]:
    complaint = url_complaint(typed.endpoint_url) if typed.endpoint_url else "is missing"
    if complaint is not None:
        yield Problem(path="/endpoint_url", message=complaint, hint="such as http://127.0.0.1:9100/dispatch")
    if typed.auth_header_name and (wrong := header_complaint(typed.auth_header_name)) is not None:
        yield Problem(path="/auth_header_name", message=wrong)
