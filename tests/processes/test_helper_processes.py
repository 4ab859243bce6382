"""Helper processes: what they read is what would be read here, and nothing they meet ends the server."""

import asyncio
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder
from pipelines.core.text.json_text import InvalidJson, JsonObject, dumps, loads
from pipelines.core.text.problems import Refused
from pipelines.processes import frames, worker
from pipelines.processes.parts_in_file import PartsInFile
from pipelines.processes.pool import HelperProcesses, Job, TookTooMuch

pytestmark = pytest.mark.anyio
MEBIBYTE = 1024 * 1024


def reading(most_values: int = 1000, limit_s: float = 20.0) -> Job:
    return Job("read_json", {"most_values": most_values}, limit_s, 16 * MEBIBYTE)


@pytest.fixture
async def helpers(anyio_backend: str):  # type: ignore[no-untyped-def]
    made = HelperProcesses(memory_bytes=512 * MEBIBYTE)
    yield made
    await made.close()


def pid_of(helpers: HelperProcesses) -> int | None:
    running = [helper._process.pid for helper in helpers._all if helper._process is not None]
    return running[0] if running else None


@pytest.mark.parametrize("text", [b'{"a": [1, 2.50, "\\u00e9", null]}', b"[]", b"18446744073709551616"])
async def test_a_helper_reads_what_would_be_read_here(helpers: HelperProcesses, text: bytes) -> None:
    (written,) = await helpers.run(reading(), text, owner=1)
    assert written == dumps(loads(text))


@pytest.mark.parametrize("text", [b'{"a": 1, "a": 2}', b"[NaN]", b"\xff", b"[" * 70 + b"]" * 70, b""])
async def test_a_helper_refuses_in_the_same_words(helpers: HelperProcesses, text: bytes) -> None:
    with pytest.raises(InvalidJson) as here:
        loads(text)
    with pytest.raises(InvalidJson, match="^" + __import__("re").escape(str(here.value)) + "$"):
        await helpers.run(reading(), text, owner=1)


async def test_a_file_is_read_without_passing_through_the_server(helpers: HelperProcesses) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b'{"a": 1}')
        assert await helpers.run(reading(), file, owner=1) == [b'{"a":1}']


async def test_a_large_result_goes_to_a_file_part_by_part(helpers: HelperProcesses) -> None:
    rows = {"rows": [{"user": f"Do {at}."} for at in range(40)]}
    job = Job("upload_rows", {"format": None, "definition": None}, 20.0, 16 * MEBIBYTE)
    parts = await helpers.run_into(PartsInFile(), job, dumps(rows), owner=1)
    assert [parts[at] for at in range(len(parts))] == await helpers.run(job, dumps(rows), owner=1)
    assert parts[-1].startswith(b'{"notes":')
    with pytest.raises(IndexError):
        parts[len(parts)]


async def test_a_job_may_have_less_memory_than_the_process(helpers: HelperProcesses) -> None:
    text = b"[" + b'"x",' * 1_000_000 + b"1]"
    small = reading(10_000_000)._replace(memory_bytes=128 * MEBIBYTE)
    with pytest.raises(TookTooMuch, match="128 MiB of memory"):
        await helpers.run(small, text, owner=1)
    assert await helpers.run(reading(10_000_000), text, owner=1)


CASSETTES = {
    "lines of brackets": (b"[[\n" * (12 * MEBIBYTE), Refused),
    "lines of small objects": (
        b"".join(
            b'{"tool":"t","arguments":{"n":%d},"response":[' % at + b"{}," * 300_000 + b"1]}\n"
            for at in range(36)
        ),
        None,
    ),
}


@pytest.mark.parametrize(("lines", "error"), CASSETTES.values(), ids=CASSETTES)
async def test_a_cassette_takes_memory_by_its_bytes_not_by_its_lines_and_values(
    helpers: HelperProcesses, lines: bytes, error: type[Exception] | None
) -> None:
    arguments: JsonObject = {"slice_calls": 500, "slice_bytes": MEBIBYTE}
    job = Job("cassette_calls", arguments, 60.0, 64 * MEBIBYTE)
    if error is None:
        assert await helpers.run(job, lines, owner=1)
    else:
        with pytest.raises(error):
            await helpers.run(job, lines, owner=1)


async def test_problems_come_back_as_they_were_found(helpers: HelperProcesses) -> None:
    with pytest.raises(Refused) as refused:
        await helpers.run(reading(most_values=10), b"[" + b"1," * 20 + b"1]", owner=1)
    assert refused.value.problems[0].message == "holds more than 10 values"


async def test_a_helper_that_takes_too_long_is_ended_and_the_next_job_has_a_new_one(
    helpers: HelperProcesses,
) -> None:
    await helpers.run(reading(), b"1", owner=1)
    before = pid_of(helpers)
    slow = b"[" + b'"\\u0041",' * 1_000_000 + b"1]"
    with pytest.raises(TookTooMuch) as error:
        await helpers.run(reading(limit_s=0.1), slow, owner=1)
    assert error.value.what == "time"
    assert await helpers.run(reading(), b"2", owner=1) == [b"2"]
    assert pid_of(helpers) != before


async def test_a_helper_out_of_memory_says_so_and_others_go_on(helpers: HelperProcesses) -> None:
    with pytest.raises(TookTooMuch) as error:
        await helpers.run(reading(), b"[" + b"[]," * (12 * MEBIBYTE) + b"[]]", owner=1)
    assert error.value.what in ("memory", "crash")
    assert await helpers.run(reading(), b"2", owner=1) == [b"2"]


async def test_compiled_code_that_runs_out_of_memory_half_way_says_so_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaking(data: bytes) -> Iterator[bytes]:
        yield b""
        raise SystemError("returned a result with an exception set") from MemoryError()

    monkeypatch.setitem(worker.JOBS, "breaking", breaking)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker._answer(theirs, {"job": "breaking", "arguments": {}}, b"")
        assert [frames.receive(ours).kind for _ in range(2)] == [frames.PART, frames.OUT_OF_MEMORY]


async def test_a_helper_that_was_killed_while_idle_is_replaced(helpers: HelperProcesses) -> None:
    await helpers.run(reading(), b"1", owner=1)
    pid = pid_of(helpers)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert await helpers.run(reading(), b"2", owner=1) == [b"2"]


async def test_a_helper_stays_however_much_the_server_uses(helpers: HelperProcesses) -> None:
    held = b"x" * (400 * MEBIBYTE)
    await helpers.run(reading(), b"1", owner=1)
    assert pid_of(helpers) is not None
    del held


async def test_a_helper_that_has_used_much_leaves() -> None:
    helpers = HelperProcesses(memory_bytes=1024 * MEBIBYTE)
    await helpers.run(reading(most_values=10_000_000), b"[" + b"[]," * 3_500_000 + b"[]]", owner=1)
    assert pid_of(helpers) is None
    await helpers.close()


async def test_a_helper_knows_nothing_of_the_servers_environment(
    helpers: HelperProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINES_SECRET_KEY", "hush")
    await helpers.run(reading(), b"1", owner=1)
    environment = Path(f"/proc/{pid_of(helpers)}/environ")
    assert b"hush" not in await asyncio.to_thread(environment.read_bytes)


async def test_nobody_waits_behind_the_queue_of_another() -> None:
    turns = FairSlots.all_but_one_each(2)
    order: list[tuple[int, int]] = []
    gate = asyncio.Event()

    async def work(owner: int, number: int) -> None:
        async with turns.slot(SlotHolder(owner)):
            order.append((owner, number))
            await gate.wait()

    greedy = [asyncio.ensure_future(work(1, number)) for number in range(50)]
    await asyncio.sleep(0)
    other = asyncio.ensure_future(work(2, 0))
    await asyncio.sleep(0)
    assert order == [(1, 0), (2, 0)]
    gate.set()
    await asyncio.gather(*greedy, other)
    assert len(order) == 51
