"""MCP servers that are programs: how they misbehave, and what they find where they run."""

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.code.held_commands import CannotStart, Command
from pipelines.core.tools.live_tools import DiscoveredTool, LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.mcp.server import McpServerEndpoint, mcp_server_endpoint
from pipelines.sandbox.held_commands import HeldCommands
from pipelines.sandbox.pool import SandboxPool

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parent / "stdio_server.py"
SECRET = "stdio-secret-4711"


@pytest.fixture
def anyio_backend():
    return "asyncio", {"use_uvloop": True}


class PlainPipes:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdout is not None
        assert process.stdin is not None
        self.output, self.input = process.stdout, process.stdin
        self.ended = asyncio.Event()

    async def read(self) -> bytes:
        data = await self.output.read(65_536)
        if not data:
            self.ended.set()
        return data

    async def write(self, data: bytes) -> None:
        self.input.write(data)
        await self.input.drain()

    async def why(self) -> str:
        assert self.process.stderr is not None
        said = (await self.process.stderr.read()).decode().strip()
        return f"it ended with exit code {await self.process.wait()}; it said: {said}"


@asynccontextmanager
async def plain(command: Command):
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command.argv, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(command.variables)
        )
    except OSError as error:
        raise CannotStart(str(error)) from None
    try:
        yield PlainPipes(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def made(open_pipes: Any = plain, *argv: str, **more: Any) -> McpServerEndpoint:
    command, *arguments = argv or (sys.executable, str(SERVER))
    return mcp_server_endpoint(
        config={"command": command, "args": arguments},
        auth_headers={},
        policy=AddressPolicy(),
        variables={"TOKEN": SECRET},
        credentials={"DESK_TOKEN": SECRET},
        open_pipes=open_pipes,
        **more,
    )


def named(name: str) -> DiscoveredTool:
    return DiscoveredTool(name=name, description="", input_schema={}, call={"name": name})


async def test_a_program_is_started_once_and_called_by_many():
    called = made()
    assert [tool.name for tool in (await called.discover()).tools] == ["echo"]
    replies = await asyncio.gather(*(called.call(named("echo"), {"text": str(n)}) for n in range(50)))
    assert [reply.response for reply in replies] == [str(n) for n in range(50)]
    assert (await called.call(named("count"), {})).response == "51"
    assert (await called.call(named("chatters"), {})).response == "said"
    await called.close()


ENDED = "ended the session before there was an answer: it"
FAULTS = {
    "dies": f"{ENDED} ended with exit code 7; it said: ready the disk is full",
    "floods": f"{ENDED} printed more than 2,000 lines in a second",
    "never_ends": f"{ENDED} printed a line of more than 2,162,688 bytes",
    "large": "answered with 1,100,002 bytes; at most 1,048,576",
    "many_wrong": "answered with a result that is not valid MCP, at content.0.",
    "refuses": "refused the call: no such order (code -32000)",  # the package's own for a lost connection
}
ANSWERED = ("large", "refuses")
STAYS = (*ANSWERED, "many_wrong")


@pytest.mark.parametrize("name", FAULTS)
async def test_a_program_that_goes_wrong_has_a_reason_and_the_next_call_works(name):
    called = made(longest_s=30)
    with pytest.raises(LiveCallFailed) as failed:
        await called.call(named(name), {})
    assert str(failed.value).startswith(f"the MCP server {FAULTS[name]}")
    assert SECRET not in str(failed.value) + str(failed.value.notes)
    assert ("may have been carried out" in str(failed.value)) == (name not in ANSWERED)
    assert (await called.call(named("echo"), {"text": "next"})).response == "next"
    expected = "3" if name in STAYS else "2"  # a new one has not seen the call that failed
    assert (await called.call(named("count"), {})).response == expected
    await called.close()


async def test_large_answers_come_whole_and_to_who_asked():
    called = made(longest_s=30)
    calls = (called.call(named(name), {"text": "x"}) for name in ("many_rows", "echo", "many_rows"))
    first, small, last = await asyncio.gather(*calls)
    assert small.response == "x"
    assert first.response == last.response == [{"n": n} for n in range(20_000)]
    await called.close()


async def test_a_program_that_ended_between_two_calls_is_started_again():
    started: list[PlainPipes] = []

    @asynccontextmanager
    async def watched(command: Command):
        async with plain(command) as pipes:
            started.append(pipes)
            yield pipes

    called = made(watched)
    assert (await called.call(named("echo"), {"text": "one"})).response == "one"
    started[0].process.kill()
    await started[0].ended.wait()
    assert (await called.call(named("echo"), {"text": "two"})).response == "two"
    assert len(started) == 2
    await called.close()
    assert started[1].process.returncode is not None


STARTS = {
    "nothing": (["/nowhere/at/all"], "did not begin: .*No such file"),
    "ends": (
        [sys.executable, "-c", "import sys; sys.exit('no token')"],
        "did not begin: .*code 1; it said: no token",
    ),
    "prints": ([sys.executable, "-c", "print('usage: x')"], "did not begin: it ended with exit code 0"),
}


@pytest.mark.parametrize("name", STARTS)
async def test_a_program_that_does_not_begin_has_a_reason(name):
    argv, reason = STARTS[name]
    called = made(plain, *argv)
    with pytest.raises(LiveCallFailed, match=reason):
        await called.discover()
    await called.close()


# In the sandbox


@pytest.fixture
async def held(tmp_path):
    (tmp_path / "server.py").write_text(SERVER.read_text())
    tmp_path.chmod(0o755)
    commands = HeldCommands(lambda: SandboxPool(warm=0, most_warm=0, most_running=2), tmp_path)
    try:
        async with commands.open(Command(argv=["true"])):
            pass
    except CannotStart as error:
        pytest.skip(str(error))
    yield commands
    await commands.close()


async def test_a_program_runs_in_a_sandbox_without_network_and_with_its_variables(held):
    called = made(held.open, "python3", "/env/server.py")
    assert (await called.call(named("echo"), {"text": "inside"})).response == "inside"
    found = (await called.call(named("surroundings"), {})).response
    assert found["network"] != "connected"
    assert found["uid"] == 1000
    assert found["pid"] < 20
    assert "TOKEN" in found["variables"]
    with pytest.raises(LiveCallFailed, match="it ended with exit code 7; it said: ready the disk is full"):
        await called.call(named("dies"), {})
    assert (await called.call(named("echo"), {"text": "again"})).response == "again"
    waiting = asyncio.create_task(called.call(named("never_ends"), {}))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert running() != []
    await called.close()
    assert running() == []


def running() -> list[str]:
    """The servers that are left of this test."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += [process.name] if b"/env/server.py" in (process / "cmdline").read_bytes() else []
    return found


async def test_a_program_that_is_not_there_is_told(held):
    called = made(held.open, "no-such-program")
    with pytest.raises(LiveCallFailed, match="No such file or directory: 'no-such-program'"):
        await called.discover()
    await called.close()


def programs(held: HeldCommands, *orgs: int) -> list[McpServerEndpoint]:
    return [made(held.open, "python3", "/env/server.py", org_id=org_id) for org_id in orgs]


async def asked(called: McpServerEndpoint, name: str) -> Any:
    return (await called.call(named(name), {})).response


async def in_use(called: McpServerEndpoint) -> "asyncio.Task[Any]":
    """A call that its program has heard of, and answers once it is told to go on."""
    waits = asyncio.create_task(asked(called, "waits"))
    while await asked(called, "count") < "2":
        pass
    return waits


async def test_the_program_that_nobody_called_for_longest_is_ended_for_another(held):
    first, second, third = called = programs(held, 1, 2, 3)
    assert [await asked(each, "count") for each in called] == ["1", "1", "1"]
    assert len(running()) == 2
    assert await asked(second, "count") == "2", "it was left alone"
    assert await asked(first, "count") == "1", "it was started again, in place of the third"
    assert await asked(second, "count") == "3"
    assert [tool.name for tool in (await third.discover()).tools] == ["echo"]
    for each in called:
        await each.close()
    assert running() == []


async def test_no_program_is_ended_that_is_being_called_and_who_comes_is_told_at_once(held):
    *busy, third = programs(held, 1, 2, 3)
    waiting = [await in_use(each) for each in busy]
    with pytest.raises(
        LiveCallFailed, match=r"this server has 2 programs running.* call again in a moment, or"
    ):
        await third.call(named("echo"), {})
    assert [await asked(each, "goes_on") for each in busy] == ["went on"] * 2
    assert await asyncio.gather(*waiting) == ["went on"] * 2
    assert await asked(third, "count") == "1"
    for each in [*busy, third]:
        await each.close()


async def test_an_org_has_half_of_the_programs_and_the_rest_is_for_others(held):
    mine, more_of_mine, anothers = called = programs(held, 1, 1, 2)
    waits = await in_use(mine)
    with pytest.raises(LiveCallFailed, match="your org has 1 programs running"):
        await more_of_mine.discover()
    assert await asked(anothers, "count") == "1"
    assert await asked(mine, "goes_on") == await waits == "went on"
    assert await asked(more_of_mine, "count") == "1"
    assert await asked(anothers, "count") == "2", "the org's own was ended"
    for each in called:
        await each.close()
