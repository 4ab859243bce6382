"""Recording and replaying on both databases: what is found, what stays, what a miss says, what is held."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from pipelines.core.tools.live_tools import (
    LIVE,
    RECORD,
    REPLAY,
    REPLAY_OR_LIVE,
    LiveCall,
    LiveCallFailed,
    LiveReply,
)
from pipelines.engine.live import cassettes as engine
from pipelines.engine.live.cassettes import Cassettes, _first_lines
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import cassettes as stored
from pipelines.storage.database.connection import transaction
from pipelines.storage.database.database import Database
from pipelines.storage.database.postgres_store import PostgresConnection, PostgresStore
from pipelines.wire.errors import CassetteMiss
from support.private_postgres import Cluster

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
SECRET = "staging-key-7c21f0"


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: [add_org(connection, name, NOW) for name in ("one", "two")])
    return database


@pytest.fixture
def cassettes(database: Database) -> Cassettes:
    return Cassettes(database, now=lambda: NOW)


def call(
    mode: str = RECORD, run_id: int = 1, asked_before: int = 0, org_id: int = 1, **arguments: object
) -> LiveCall:
    return LiveCall(
        org_id=org_id,
        run_id=run_id,
        endpoint_id="3f0e",
        tool_name="getOrder",
        declared_name="get_order",
        arguments=arguments,  # type: ignore[arg-type]
        mode=mode,
        cassette="staging",
        asked_before=asked_before,
    )


def reply(response: object, status: int = 200) -> LiveReply:
    return LiveReply(status, response)  # type: ignore[arg-type]


async def lines_of(database: Database, org_id: int = 1) -> list[str]:
    def read(connection):
        cassette = stored.cassette_by_name(connection, org_id=org_id, name="staging")
        calls = stored.calls_of_cassette(
            connection, cassette_id=cassette.id, after_id=0, most=100_000, most_characters=10**9
        )
        return cassette, [each.line for each in calls]

    cassette, lines = await database.read(read)
    assert (cassette.calls, cassette.bytes) == (len(lines), sum(len(line.encode()) for line in lines))
    return lines


async def test_what_was_recorded_is_replayed_by_arguments_and_occurrence(cassettes):
    await cassettes.record(call(order_id="1"), reply({"status": "paid"}), [])
    await cassettes.record(call(order_id="1", asked_before=1), reply({"status": "shipped"}, 201), [])
    await cassettes.record(call(order_id="2"), LiveCallFailed("No answer came.", notes=("reset",)), [])
    first = await cassettes.replay(call(REPLAY, run_id=2, order_id="1"))
    assert first == LiveReply(200, {"status": "paid"}, (), is_replayed=True)
    second = await cassettes.replay(call(REPLAY, run_id=2, asked_before=1, order_id="1"))
    assert second == LiveReply(201, {"status": "shipped"}, (), is_replayed=True)
    with pytest.raises(LiveCallFailed, match=r"No answer came\.") as failed:
        await cassettes.replay(call(REPLAY, run_id=2, order_id="2"))
    assert failed.value.notes == ("reset", "replayed from cassette staging")


async def test_a_miss_names_the_nearest_call_or_lets_the_live_one_go(cassettes):
    await cassettes.record(call(order_id="1"), reply({}), [])
    with pytest.raises(CassetteMiss) as missed:
        await cassettes.replay(call(REPLAY, run_id=2, order_id="2"))
    assert missed.value.code == "cassette_miss"
    assert missed.value.message == (
        "This call of get_order is not on cassette staging. The nearest recorded call of get_order has other"
        ' arguments: `order_id` was "1".'
    )
    assert await cassettes.replay(call(REPLAY_OR_LIVE, run_id=3, order_id="2")) is None


async def test_a_cassette_that_is_not_there_misses_everything(cassettes):
    with pytest.raises(CassetteMiss, match="is not on cassette staging"):
        await cassettes.replay(call(REPLAY, order_id="1"))
    assert await cassettes.replay(call(REPLAY_OR_LIVE, order_id="1")) is None


async def test_only_runs_that_record_write(cassettes, database):
    for mode in (LIVE, REPLAY, REPLAY_OR_LIVE):
        await cassettes.record(call(mode, order_id="1"), reply({}), [])
    assert await database.read(lambda c: stored.cassette_by_name(c, org_id=1, name="staging")) is None


async def test_the_first_recording_of_a_call_stays(cassettes, database):
    await cassettes.record(call(n=1, run_id=1), reply("first"), [])
    await cassettes.record(call(n=1.0, run_id=2), reply("second"), [])
    (line,) = await lines_of(database)
    assert '"response":"first"' in line
    assert '"endpoint":"3f0e","endpoint_tool":"getOrder"' in line


async def test_runs_that_record_at_once_lose_nothing_and_are_written_in_groups(cassettes, database):
    before = database.groups_stored
    recording = [
        cassettes.record(call(n=number % 40, run_id=number), reply(number), [], "orders-api")
        for number in range(200)
    ]
    await asyncio.gather(*recording)
    assert len(await lines_of(database)) == 40
    assert database.groups_stored - before < 100


async def test_no_secret_is_written(cassettes, database):
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
    await cassettes.record(
        call(key=SECRET, token=jwt), reply({"echo": f"key={SECRET}", "jwt": [jwt]}), [SECRET]
    )
    await cassettes.record(call(n=2), LiveCallFailed(f"refused {SECRET}", notes=(SECRET,)), [SECRET])
    text = "\n".join(await lines_of(database))
    assert SECRET not in text
    assert jwt not in text
    # And yet it is found: by the token that the agent has, and by the one that a masked reply gave it.
    replayed = await cassettes.replay(call(REPLAY, run_id=2, key=SECRET, token=jwt), [SECRET])
    given = replayed.response["jwt"][0]
    again = await cassettes.replay(call(REPLAY, run_id=2, key="[secret]", token=given))
    assert again == replayed


async def test_orgs_do_not_share_cassettes(cassettes):
    await cassettes.record(call(n=1), reply("of one"), [])
    with pytest.raises(CassetteMiss):
        await cassettes.replay(call(REPLAY, run_id=9, org_id=2, n=1))


async def test_a_run_keeps_to_what_the_cassette_held_at_its_first_call(cassettes):
    await cassettes.record(call(n=1), reply("one"), [])
    assert (await cassettes.replay(call(REPLAY, run_id=2, n=1))).response == "one"
    await cassettes.record(call(n=2), reply("two"), [])
    with pytest.raises(CassetteMiss):
        await cassettes.replay(call(REPLAY, run_id=2, n=2))
    assert (await cassettes.replay(call(REPLAY, run_id=3, n=2))).response == "two"


async def test_a_cassette_is_read_once_for_all_runs_and_memory_is_bounded(database, monkeypatch):
    reads = 0
    calls_of_cassette = stored.calls_of_cassette

    def counted(*args, **kwargs):
        nonlocal reads
        reads += 1
        return calls_of_cassette(*args, **kwargs)

    monkeypatch.setattr(engine.cassettes, "calls_of_cassette", counted)
    cassettes = Cassettes(database, now=lambda: NOW, most_held=1_000)
    for name in ("staging", "other"):
        await cassettes.record(replace(call(n=1), cassette=name), reply("x" * 900), [])
    await asyncio.gather(*(cassettes.replay(call(REPLAY, run_id=run, n=1)) for run in range(50)))
    assert reads == 1
    await cassettes.replay(replace(call(REPLAY, run_id=99, n=1), cassette="other"))
    assert len(cassettes._held) == 1
    assert (await cassettes.replay(call(REPLAY, run_id=3, n=1))).response == "x" * 900


async def test_a_run_keeps_to_its_first_call_also_when_the_cassette_had_to_leave_memory(database):
    cassettes = Cassettes(database, now=lambda: NOW, most_held=1)
    await cassettes.record(call(n=1), reply("one"), [])
    await cassettes.record(replace(call(n=1), cassette="other"), reply("another"), [])
    assert (await cassettes.replay(call(REPLAY, run_id=2, n=1))).response == "one"
    await cassettes.record(call(n=2), reply("two"), [])
    await cassettes.replay(replace(call(REPLAY, run_id=3, n=1), cassette="other"))
    assert len(cassettes._held) == 1
    with pytest.raises(CassetteMiss, match=r"`n` was 1\."):
        await cassettes.replay(call(REPLAY, run_id=2, n=2))
    assert (await cassettes.replay(call(REPLAY, run_id=2, n=1))).response == "one"


@pytest.mark.parametrize("mode", [REPLAY, REPLAY_OR_LIVE])
async def test_a_run_is_told_when_its_cassette_was_replaced_and_is_no_longer_in_memory(database, mode):
    times = iter(f"2026-05-01T12:00:{second:02}Z" for second in range(60))
    cassettes = Cassettes(database, now=lambda: next(times), most_held=1)
    await cassettes.record(replace(call(n=1), cassette="other"), reply("another"), [])
    await cassettes.record(call(n=1), reply("one"), [])
    assert (await cassettes.replay(call(mode, run_id=2, n=1))).response == "one"
    await remove(database)
    assert (await cassettes.replay(call(mode, run_id=2, n=1))).response == "one"
    # On SQLite the new one has the id of the old.
    await cassettes.record(call(n=1), reply("new"), [])
    assert (await cassettes.replay(call(mode, run_id=4, n=1))).response == "new"
    await cassettes.replay(replace(call(mode, run_id=3, n=1), cassette="other"))
    with pytest.raises(CassetteMiss, match="was replaced or deleted after this run began to replay it"):
        await cassettes.replay(call(mode, run_id=2, n=1))


async def remove(database: Database) -> None:
    def remove_all(connection):
        cassette_id = stored.discard_cassette(connection, org_id=1, name="staging", now=NOW)
        stored.remove_discarded(connection, cassette_id=cassette_id, most=100_000)

    await database.write(remove_all)


async def test_large_calls_are_removed_in_more_parts_than_small_ones(cassettes, database):
    for number in range(4):
        await cassettes.record(call(n=number), reply("x" * 400_000), [])
    discard = partial(stored.discard_cassette, org_id=1, name="staging", now=NOW)
    cassette_id = await database.write(discard)
    remove = partial(stored.remove_discarded, cassette_id=cassette_id, most=200)
    parts = 1
    while not await database.write(remove):
        parts += 1
    assert parts == 5  # one for each call, and one that finds none
    assert await database.read(lambda c: stored.nameless_cassettes(c, before="9")) == []


async def test_a_cassette_that_is_replaced_while_it_is_read_is_read_again(cassettes, database, monkeypatch):
    monkeypatch.setattr(engine, "_LOADED_AT_ONCE", 2)
    for number in range(5):
        await cassettes.record(call(n=number), reply("old"), [])
    read = database.read
    reads = 0

    async def replaced_after_two(*args):
        nonlocal reads
        found = await read(*args)
        reads += 1
        if reads == 2:  # the cassette, and its first two calls
            await remove(database)
            for number in range(4):
                await cassettes.record(call(n=number), reply("new"), [])
        return found

    monkeypatch.setattr(database, "read", replaced_after_two)
    answers = [(await cassettes.replay(call(REPLAY, run_id=2, n=number))).response for number in range(4)]
    assert answers == ["new"] * 4
    assert [len(tape.lines) for tape in cassettes._held.values()] == [4]


async def test_large_arguments_are_masked_off_the_event_loop(cassettes, monkeypatch):
    await cassettes.record(call(n=1), reply("one"), [])
    loop, threads = threading.get_ident(), []
    masked = engine.mask_arguments

    def noted(*args):
        threads.append(threading.get_ident())
        return masked(*args)

    monkeypatch.setattr(engine, "mask_arguments", noted)
    await cassettes.replay(call(REPLAY, run_id=2, n=1))
    await cassettes.replay(call(REPLAY_OR_LIVE, run_id=2, text="x" * 70_000), [SECRET])
    assert [thread == loop for thread in threads] == [True, False]


async def test_a_miss_is_compared_with_some_calls_of_its_tool_only(cassettes, monkeypatch):
    monkeypatch.setattr(engine, "_MOST_COMPARED", 2)
    for number in range(4):
        await cassettes.record(call(n=number), reply({}), [])
        await cassettes.record(replace(call(n=number), declared_name='"get"'), reply({}), [])
    parsed = []
    from_stored = engine.RecordedCall.from_stored
    monkeypatch.setattr(
        engine.RecordedCall, "from_stored", lambda line: parsed.append(line) or from_stored(line)
    )
    for name in ("get_order", '"get"'):
        asked = replace(call(REPLAY, run_id=2, n=9), declared_name=name)
        with pytest.raises(CassetteMiss, match=r"`n` was 0\. Only the first 2 of 4 were compared\."):
            await cassettes.replay(asked)
    assert len(parsed) == 4
    with pytest.raises(CassetteMiss, match="it was recorded once, and this is the 3rd time"):
        await cassettes.replay(call(REPLAY, run_id=2, asked_before=2, n=3))


async def test_a_full_cassette_takes_no_more_and_says_how_many_it_dropped(cassettes, database, monkeypatch):
    monkeypatch.setattr(stored, "MAX_CALLS", 2)
    for number in range(4):
        await cassettes.record(call(n=number), reply(number), [])
    assert len(await lines_of(database)) == 2
    cassette = await database.read(lambda c: stored.cassette_by_name(c, org_id=1, name="staging"))
    assert cassette.dropped == 2


async def test_a_cassette_that_is_discarded_meanwhile_loses_no_recording_of_others(
    cassettes, database, monkeypatch
):
    add_cassette, discards = stored.add_cassette, [1]

    def discarded_after(connection, *, org_id, name, now):
        add_cassette(connection, org_id=org_id, name=name, now=now)
        if org_id == 1 and discards[0]:
            discards[0] -= 1
            stored.discard_cassette(connection, org_id=org_id, name=name, now=now)

    monkeypatch.setattr(stored, "add_cassette", discarded_after)
    both = [cassettes.record(call(n=1, org_id=org_id), reply("x"), []) for org_id in (1, 2)]
    await asyncio.gather(*both)
    assert [len(await lines_of(database, org_id)) for org_id in (1, 2)] == [1, 1]
    discards[0] = 1_000  # is given up, and only this
    both = [cassettes.record(call(n=2, org_id=org_id), reply("x"), []) for org_id in (1, 2)]
    await asyncio.gather(*both)
    assert len(await lines_of(database, 2)) == 2


@pytest.mark.parametrize("is_new", [True, False])
def test_two_nodes_that_import_one_name_at_once_take_turns(postgres: Cluster, is_new: bool) -> None:
    url = postgres.new_database()
    one, two, aside = (PostgresStore(url).connect(read_only=False) for _ in range(3))
    PostgresStore(url).migrate(one)
    org_id = add_org(one, "one", NOW)
    if is_new is False:
        stored.add_cassette(one, org_id=org_id, name="staging", now=NOW)
    made = {node: stored.add_nameless(node, org_id=org_id, now=NOW) for node in (one, two)}

    def take(node: PostgresConnection) -> int | None:
        whole = stored.Cassette(
            id=made[node],
            org_id=org_id,
            name="staging",
            calls=0,
            bytes=0,
            dropped=0,
            revision=1,
            created_at=NOW,
            updated_at=NOW,
        )
        return stored.name_cassette(node, whole)

    def take_whole(node: PostgresConnection) -> int | None:
        with transaction(node):
            return take(node)

    waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool:
        with transaction(one):
            take(one)
            second = pool.submit(take_whole, two)
            while not second.done() and not aside.execute(waits).fetchone()[0]:
                pass
        assert second.result() == made[one]
    row = stored.cassette_by_name(aside, org_id=org_id, name="staging")
    assert row is not None
    assert row.id == made[two]
    for node in (one, two, aside):
        node.close()


async def test_a_recording_that_cannot_be_stored_is_told(cassettes, database):
    await database.write(lambda connection: connection.execute("DROP TABLE cassette_calls"))
    with pytest.raises(Exception, match=r"cassette_calls|could not be stored"):
        await cassettes.record(call(n=1), reply(1), [])
    await cassettes.close()


@pytest.mark.parametrize(("size", "compared"), [(1024 * 1024, 1), (100 * 1024, 5), (10, 100)])
def test_a_miss_reads_a_bounded_part_of_what_was_recorded(size: int, compared: int) -> None:
    """Sixty lines of a mebibyte, read by three threads at once, kept others waiting for half a second."""
    assert len(_first_lines(["x" * size] * 100)) == compared
