"""Cassettes as people handle them: exported, imported, deleted."""

from collections.abc import AsyncIterator
from functools import partial

from pipelines.core.text.json_text import loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.passthrough_choice import CASSETTE_NAME, NAME_RULE
from pipelines.engine.endpoints.prepare_cassette import discard_cassette, remove_cassette
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Input, Job
from pipelines.storage.agents import cassettes
from pipelines.storage.agents.cassettes import MAX_BYTES, MAX_CALLS, Cassette, Recording, StoredCall
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks.texts import SLICE_ROWS
from pipelines.wire.errors import Conflict, NotFound

READING_S = 60.0  # of processor time, for the largest that is taken
_SLICE_BYTES = 1024 * 1024
_READ_AT_ONCE = 500  # calls


async def find_cassette(platform: Platform, org_id: int, name: str) -> Cassette:
    find = partial(cassettes.cassette_by_name, org_id=org_id, name=name)
    found = await platform.database.read(find)
    if found is None:
        raise NotFound(f"There is no cassette {name[:128]!r}.")
    return found


async def calls_in_order(platform: Platform, cassette: Cassette) -> AsyncIterator[list[StoredCall]]:
    """Some at a time, as they were recorded; those that are added meanwhile are left out. Raises Conflict
    where it is replaced or deleted meanwhile."""
    after_id, remaining = 0, cassette.calls
    while remaining > 0:
        some = await platform.database.read(
            partial(
                cassettes.calls_of_cassette,
                cassette_id=cassette.id,
                after_id=after_id,
                most=min(_READ_AT_ONCE, remaining),
                most_characters=_SLICE_BYTES,
            )
        )
        if not some:
            raise Conflict(f"Cassette {cassette.name} was replaced or deleted while it was read; try again.")
        yield some
        after_id, remaining = some[-1].id, remaining - len(some)


async def import_cassette(platform: Platform, org_id: int, name: str, lines: Input) -> Cassette:
    """Take a cassette from a file, in place of one of that name. Until it is whole, nothing of it is seen."""
    if CASSETTE_NAME.fullmatch(name) is None:
        message = f"`{name[:80]}` is no name for a cassette: {NAME_RULE}"
        raise Refused([Problem(path="/name", message=message)], "the cassette")
    slices = {"slice_calls": SLICE_ROWS, "slice_bytes": _SLICE_BYTES}
    job = Job("cassette_calls", {**slices}, READING_S, 8 * MAX_BYTES)
    *parts, last = await platform.upload_helpers.run(job, lines, owner=org_id)
    calls, size = _read_counts(last)
    now = platform.now()
    cassette_id = await platform.database.write(partial(cassettes.add_nameless, org_id=org_id, now=now))
    for part in parts:
        await platform.database.write_part(partial(_store, cassette_id=cassette_id, part=part))
    whole = Cassette(
        id=cassette_id,
        org_id=org_id,
        name=name,
        calls=calls,
        bytes=size,
        dropped=0,
        revision=1,
        created_at=now,
        updated_at=platform.now(),
    )
    before = await platform.database.write(partial(cassettes.name_cassette, cassette=whole))
    await remove_cassette(platform, before if before is not None else cassette_id)
    if before is None:
        raise Conflict(f"Cassette {name} keeps being changed by other requests; try again.")
    return await find_cassette(platform, org_id, name)


async def delete_cassette(platform: Platform, org_id: int, name: str) -> None:
    if not await discard_cassette(platform, org_id, name):
        raise NotFound(f"There is no cassette {name[:128]!r}.")


def _read_counts(told: bytes) -> tuple[int, int]:
    counts = loads_own(told)
    assert isinstance(counts, dict)
    calls, size = int(str(counts["calls"])), int(str(counts["bytes"]))
    if calls > MAX_CALLS or size > MAX_BYTES:
        message = f"has {calls:,} calls in {size:,} bytes; at most {MAX_CALLS:,} in {MAX_BYTES:,} are allowed"
        raise Refused([Problem(path="file", message=message)], "the cassette")
    return calls, size


def _store(connection: Connection, *, cassette_id: int, part: bytes) -> None:
    rows = loads_own(part)
    assert isinstance(rows, list)
    calls = [Recording("", *row) for row in rows]  # type: ignore[misc]
    cassettes.add_calls(connection, cassette_id, calls)
