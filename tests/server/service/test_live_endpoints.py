"""What endpoints of each type are made with."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from pipelines.core.code.held_commands import CannotStart, Command, Pipes
from pipelines.core.tools.live_tools import EndpointValues, LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.server.service.live_endpoints import endpoint_makers


async def _given(variables: dict[str, str]) -> Command:
    """What a program is started with, by the variables and credentials of its endpoint."""
    started: list[Command] = []

    class Commands:
        @asynccontextmanager
        async def open(self, command: Command) -> AsyncIterator[Pipes]:
            started.append(command)
            raise CannotStart("seen")
            yield

    secrets = {f"THE_{name}": value for name, value in variables.items()}
    makers = endpoint_makers(
        policy=AddressPolicy(),
        helpers=cast(Any, None),
        code_mode=cast(Any, None),
        commands=cast(Any, Commands()),
    )
    values = EndpointValues(
        endpoint_id="x", org_id=7, version=1, config={"command": "x"}, secrets=secrets, variables=variables
    )
    made = makers["mcp_server"](values)
    with pytest.raises(LiveCallFailed, match="did not begin: seen"):
        await made.discover()
    await made.close()
    return started[0]


def test_a_program_gets_its_variables_by_their_own_names() -> None:
    assert asyncio.run(_given({"TOKEN": "value-4711"})).variables == {"TOKEN": "value-4711"}


def test_a_program_runs_for_the_org_of_its_endpoint() -> None:
    assert asyncio.run(_given({})).org_id == 7
