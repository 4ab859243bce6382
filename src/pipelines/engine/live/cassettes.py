"""Calls of passthrough tools, recorded on cassettes and replayed from them.

A cassette that is replayed is held in memory, whole and once for all runs. A run keeps to what it held at its
first replayed call: calls are only ever added to a cassette, so that one which had to leave memory is read
again as it was then. Where it was replaced or deleted since, the run is told. Recordings that come at
the same time are written together, off the event loop.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, islice
from typing import NamedTuple

from pipelines.core.calls.cassette import LONGEST_FAILURE, RecordedCall, call_key, nearest_recording
from pipelines.core.calls.cassette_masking import mask_arguments, mask_call
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.tools.live_tools import RECORD, REPLAY, LiveCall, LiveCallFailed, LiveReply
from pipelines.processes.aside import aside
from pipelines.storage.agents import cassettes
from pipelines.storage.agents.cassettes import Recording
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.wire.errors import CassetteMiss

MOST_HELD = 256 * 1024 * 1024  # bytes of all cassettes in memory
MOST_RUNS = 50_000  # whose cassette is remembered; of others it is looked up again
_LOADED_AT_ONCE = 2_000  # calls, or
_CHARACTERS_AT_ONCE = 4 * 1024 * 1024
_MOST_COMPARED = 2_000  # recorded calls of a tool that a miss is compared with, for its hint, or
_CHARACTERS_COMPARED = 512 * 1024
_OVERHEAD_BYTES = 300  # bytes that a held call takes beside its line
_LARGE = 64 * 1024  # bytes; arguments of more are masked, and lines of more read, on a thread
_MAX_LOOKUPS = 5  # for a cassette that is replaced while it is read


class Version(NamedTuple):
    """What a cassette held at some time: the first `calls` of those that it has now."""

    cassette_id: int
    calls: int
    created_at: str  # SQLite gives the id of a removed cassette to another


class Tape(NamedTuple):
    """A cassette in memory: each recorded call as its line, by what is asked and the how-manieth time."""

    lines: Mapping[tuple[str, int], str]
    by_tool: Mapping[str, Sequence[str]]  # the same lines, by how they begin
    weight: int


class Cassettes:
    """Every cassette that runs of this process use."""

    def __init__(self, database: Database, *, now: Callable[[], str], most_held: int = MOST_HELD) -> None:
        self._database = database
        self._now = now
        self._most_held = most_held
        self._held: OrderedDict[Version, Tape] = OrderedDict()
        self._loading: dict[Version, asyncio.Task[Tape | None]] = {}
        self._of_runs: OrderedDict[int, Version] = OrderedDict()
        self._recordings: list[tuple[int, Recording]] = []
        self._recorded_call: asyncio.Future[None] | None = None  # of those that wait now
        self._writing: asyncio.Task[None] | None = None

    async def replay(self, call: LiveCall, secrets: Sequence[str] = ()) -> LiveReply | None:
        """What was recorded for this call: an answer, or HopFailed as it was. Where it was not recorded:
        CassetteMiss if the run may only replay, else None."""
        tape = await self._load_tape(call)
        is_large = len(dumps(call.arguments)) > _LARGE
        arguments, key = (
            await aside(call.org_id, _masked_key, call, secrets) if is_large else _masked_key(call, secrets)
        )
        line = tape.lines.get((key, call.asked_before + 1))
        if line is not None:
            is_large = len(line) > _LARGE
            recorded = RecordedCall.from_stored
            return _reply(
                await aside(call.org_id, recorded, line) if is_large else recorded(line), call.cassette
            )
        if call.mode != REPLAY:
            return None
        raise CassetteMiss(await aside(call.org_id, _miss_message, call, arguments, key, tape))

    async def record(
        self,
        call: LiveCall,
        reply: LiveReply | LiveCallFailed,
        secrets: Sequence[str],
        endpoint_name: str = "",
    ) -> None:
        """Write down what a live call came to, masked; returns when it is durable. What was recorded first
        for a call stays. Nothing is written unless the run records."""
        if call.mode != RECORD or call.cassette is None:
            return
        recorded = _recorded_call(call, reply, endpoint_name or call.endpoint_id, self._now())
        recording = await aside(call.org_id, _recording, call.cassette, recorded, secrets)
        self._recordings.append((call.org_id, recording))
        if self._recorded_call is None:
            self._recorded_call = asyncio.get_running_loop().create_future()
        stored = self._recorded_call
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        await asyncio.shield(stored)

    async def close(self) -> None:
        """What is being recorded is written first."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self) -> None:
        """One group after the other, until nobody waits."""
        while self._recorded_call is not None:
            recordings, stored = self._recordings, self._recorded_call
            self._recordings, self._recorded_call = [], None
            try:
                await self._database.write(partial(_write_recordings, recordings=recordings, now=self._now()))
            except Exception as error:  # noqa: BLE001 - told to those who wait for it
                if not stored.done():
                    stored.set_exception(error)
                    stored.exception()  # also where nobody waits any more
            else:
                if not stored.done():
                    stored.set_result(None)
        self._writing = None

    async def _load_tape(self, call: LiveCall) -> Tape:
        for _ in range(_MAX_LOOKUPS):
            version = self._of_runs.get(call.run_id)
            if version is not None:
                return await self._tape_of_run(call, version)
            find = partial(cassettes.cassette_by_name, org_id=call.org_id, name=call.cassette or "")
            cassette = await self._database.read(find)
            if cassette is None:
                return Tape({}, {}, 0)
            version = Version(cassette.id, cassette.calls, cassette.created_at)
            if await self._load_once(version) is not None:  # else it was replaced or deleted meanwhile
                self._of_runs.setdefault(call.run_id, version)
                if len(self._of_runs) > MOST_RUNS:
                    self._of_runs.popitem(last=False)
        raise CassetteMiss(f"Cassette {call.cassette} is replaced too often to be read; try again.")

    async def _tape_of_run(self, call: LiveCall, version: Version) -> Tape:
        """What the run's first call found."""
        self._of_runs.move_to_end(call.run_id)
        tape = await self._load_once(version)
        if tape is None:
            # Whatever has its name now is another recording: nothing of it may answer unsaid.
            message = f"Cassette {call.cassette} was replaced or deleted after this run began to replay it"
            raise CassetteMiss(f"{message}, and is no longer in memory.")
        return tape

    async def _load_once(self, version: Version) -> Tape | None:
        """Once, however many runs begin at the same moment."""
        if version in self._held:
            self._held.move_to_end(version)
            return self._held[version]
        task = self._loading.get(version)
        if task is None:
            task = self._loading[version] = asyncio.ensure_future(self._load(version))
            task.add_done_callback(lambda done: self._hold(version, done))
        return await asyncio.shield(task)

    async def _load(self, version: Version) -> Tape | None:
        """All of it; None where it is not there, or not whole, any more."""
        lines: dict[tuple[str, int], str] = {}
        by_tool: dict[str, list[str]] = {}
        weight, after_id = 0, 0
        while len(lines) < version.calls:
            some = await self._database.read(
                partial(
                    cassettes.calls_of_cassette,
                    cassette_id=version.cassette_id,
                    after_id=after_id,
                    most=min(_LOADED_AT_ONCE, version.calls - len(lines)),
                    most_characters=_CHARACTERS_AT_ONCE,
                )
            )
            if not some:
                return None
            for stored in some:
                lines[stored.key, stored.occurrence] = stored.line
                by_tool.setdefault(_tool_prefix(stored.line), []).append(stored.line)
                weight += len(stored.line) + _OVERHEAD_BYTES
            after_id = some[-1].id
        created_at = await self._database.read(
            partial(cassettes.cassette_created_at, cassette_id=version.cassette_id)
        )
        return Tape(lines, by_tool, weight) if created_at == version.created_at else None

    def _hold(self, version: Version, done: "asyncio.Task[Tape | None]") -> None:
        del self._loading[version]
        if done.cancelled() or done.exception() is not None or (tape := done.result()) is None:
            return
        self._held[version] = tape
        while len(self._held) > 1 and sum(tape.weight for tape in self._held.values()) > self._most_held:
            self._held.popitem(last=False)


def _reply(recorded: RecordedCall, cassette: str | None) -> LiveReply:
    if recorded.failure is not None:
        notes = (*recorded.notes, f"replayed from cassette {cassette}")
        raise LiveCallFailed(recorded.failure, notes=notes, is_replayed=True)
    return LiveReply(recorded.status or 200, recorded.response, recorded.notes, is_replayed=True)


def _masked_key(call: LiveCall, secrets: Sequence[str]) -> tuple[JsonObject, str]:
    """The call's arguments as they stand on a cassette, and what it is found by."""
    arguments = mask_arguments(call.arguments, secrets)
    return arguments, call_key(call.declared_name, arguments)


def _tool_prefix(line: str) -> str:
    """Of a line as `as_line` writes it: the same for all calls of a tool."""
    return line.partition('","arguments":')[0]


def _miss_message(call: LiveCall, arguments: JsonObject, key: str, tape: Tape) -> str:
    of_tool = tape.by_tool.get(
        _tool_prefix(RecordedCall(tool=call.declared_name, arguments={}).as_line()), ()
    )
    before = (tape.lines.get((key, times)) for times in range(call.asked_before, 0, -1))
    same_call = next((line for line in before if line is not None), None)
    compared = [same_call] if same_call is not None else _first_lines(of_tool)
    recorded = map(RecordedCall.from_stored, compared)
    nearest = nearest_recording(call.declared_name, arguments, call.asked_before + 1, recorded)
    if same_call is None and len(of_tool) > len(compared):
        nearest += f" Only the first {len(compared):,} of {len(of_tool):,} were compared."
    return f"This call of {call.declared_name} is not on cassette {call.cassette}. {nearest}"


def _first_lines(lines: Sequence[str]) -> list[str]:
    """The first few: reading a line of a mebibyte holds the interpreter, and there may be many."""
    sizes = accumulate(map(len, islice(lines, _MOST_COMPARED)))
    enough = sum(1 for size in sizes if size <= _CHARACTERS_COMPARED)
    return list(islice(lines, max(1, enough)))


def _recorded_call(
    call: LiveCall, reply: LiveReply | LiveCallFailed, endpoint: str, now: str
) -> RecordedCall:
    failure = reply.message[:LONGEST_FAILURE] if isinstance(reply, LiveCallFailed) else None
    return RecordedCall(
        tool=call.declared_name,
        arguments=call.arguments,
        occurrence=call.asked_before + 1,
        status=reply.status if isinstance(reply, LiveReply) else None,
        response=reply.response if isinstance(reply, LiveReply) else None,
        failure=failure,
        notes=tuple(reply.notes),
        endpoint=endpoint,
        endpoint_tool=call.tool_name,
        recorded_at=now,
    )


def _recording(cassette: str, recorded: RecordedCall, secrets: Sequence[str]) -> Recording:
    hidden = mask_call(recorded, secrets)
    return Recording(cassette, hidden.key, hidden.occurrence, hidden.as_line())


def _write_recordings(
    connection: Connection, *, recordings: Sequence[tuple[int, Recording]], now: str
) -> None:
    by_org: dict[int, list[Recording]] = {}
    for org_id, recording in recordings:
        by_org.setdefault(org_id, []).append(recording)
    for org_id, some in by_org.items():
        cassettes.record_calls(connection, org_id, some, now)
