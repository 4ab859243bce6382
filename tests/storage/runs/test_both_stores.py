"""What storage promises, on SQLite and on Postgres alike: the statements are the same, the promises too."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import READERS, Database, Heard, SequenceTaken, Store
from pipelines.storage.database.migrations import MIGRATIONS
from pipelines.storage.database.paging import Filter
from pipelines.storage.database.trace_rows import TraceRow, insert_rows, log_of_run, trace_of_run
from pipelines.storage.runs import batches, runs, workers
from pipelines.storage.runs.runs import Ending
from pipelines.wire.errors import StorageUnavailable
from pipelines.wire.names import RunStatus
from support.both_stores import LATER, NOW, SIMULATED, claim, place, stored_runs
from support.stored_rows import row

pytestmark = pytest.mark.anyio


async def test_migrations_run_once(empty_store: Store):
    connection = empty_store.connect(read_only=False)
    first, second = empty_store.migrate(connection), empty_store.migrate(connection)
    connection.close()
    assert set(first) >= {name for name, _ in MIGRATIONS}
    assert second == []


@pytest.mark.parametrize("count", [1, 65, 300])
async def test_rows_of_a_group_are_all_there_when_their_futures_are_done(database: Database, count: int):
    await asyncio.gather(*(database.append(row(1, number)) for number in range(1, count + 1)))
    log = await database.read(lambda connection: log_of_run(connection, 1))
    assert [each.sequence for each in log] == list(range(1, count + 1))


async def test_a_row_comes_back_as_it_was(database: Database):
    full = row(
        7, 1, tool_name="get_order?%s%%", http_status=200, latency_ms=0.25, arguments='{"a":"ä\\u0000 100%"}'
    )
    await database.append(full)
    assert await database.read(lambda connection: log_of_run(connection, 7)) == [full]
    page = await database.read(
        lambda connection: trace_of_run(connection, 7, kind=None, after=None, limit=10)[0]
    )
    assert page == [full]


async def test_a_place_that_is_taken_is_refused_with_what_follows_it(database: Database):
    await database.append(row(1, 1))
    lost: list[set[int]] = []
    database.on_lost = lost.append
    waiting = [database.append(row(1, 1)), database.append(row(2, 1)), database.append(row(1, 2))]
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SequenceTaken, type(None), SequenceTaken]
    assert lost == [{1}]


async def completed(database: Database, completing: TraceRow, after: int) -> Exception | None:
    heard: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    database.complete(completing, after, heard.set_result)
    return await heard


def unknown(run_id: int, sequence: int) -> TraceRow:
    return row(run_id, sequence, tool_name="ask", error_code="outcome_unknown", arguments="{}")


async def test_a_call_gets_its_outcome_where_its_row_stands(database: Database):
    await asyncio.gather(*(database.append(unknown(1, number)) for number in (1, 2)))
    await database.append(unknown(2, 1))
    outcome = row(1, 1, tool_name="ask", http_status=200, latency_ms=2.5, arguments="{}", response='{"a":1}')
    assert await completed(database, outcome, after=2) is None
    assert await database.read(lambda connection: log_of_run(connection, 1)) == [outcome, unknown(1, 2)]
    assert await database.read(lambda connection: log_of_run(connection, 2)) == [unknown(2, 1)]


@pytest.mark.parametrize(
    "stored", [[], [row(1, 1)], [unknown(1, 1), row(1, 2)]], ids=["none", "known", "later"]
)
async def test_an_outcome_that_comes_too_late_is_refused(database: Database, stored: list[TraceRow]):
    """Its row is not there, has an outcome already, or another node has gone on behind it."""
    await asyncio.gather(*(database.append(each) for each in stored))
    lost: list[set[int]] = []
    database.on_lost = lost.append
    refused = await completed(database, row(1, 1, response="{}"), after=1)
    assert isinstance(refused, SequenceTaken)
    assert lost == [{1}]
    assert await database.read(lambda connection: log_of_run(connection, 1)) == stored


async def test_outcomes_and_rows_of_a_run_keep_their_order(database: Database):
    """All in one turn: each outcome is after the row before it and before the row behind it."""
    heard: list[tuple[str, Exception | None]] = []

    def hears(name: str) -> Heard:
        return lambda error: heard.append((name, error))

    database.store(unknown(1, 1), hears("asked"))
    database.complete(row(1, 1, response="1"), 1, hears("answered"))
    database.store(row(2, 1), hears("other"))
    database.store(row(1, 2), hears("next"))
    await database.append(row(1, 3))
    assert heard == [(name, None) for name in ("asked", "answered", "other", "next")]
    log = await database.read(lambda connection: log_of_run(connection, 1))
    assert log == [row(1, 1, response="1"), row(1, 2), row(1, 3)]


async def test_a_lost_outcome_takes_the_rows_behind_it(database: Database):
    await database.append(unknown(1, 1))
    lost: list[set[int]] = []
    database.on_lost = lost.append
    heard: list[Exception | None] = []
    database.complete(row(1, 1), 0, heard.append)  # somebody has seen less of the log than there is
    behind, other = database.append(row(1, 2)), database.append(row(2, 1))
    outcomes = await asyncio.gather(behind, other, return_exceptions=True)
    assert [type(outcome) for outcome in [*heard, *outcomes]] == [SequenceTaken, SequenceTaken, type(None)]
    assert lost == [{1}]
    assert await database.read(lambda connection: log_of_run(connection, 1)) == [unknown(1, 1)]


async def test_an_outcome_with_a_value_that_cannot_be_stored_is_told_so(database: Database):
    await database.append(unknown(1, 1))
    refused = await completed(database, row(1, 1, http_status=2**70), after=1)
    assert isinstance(refused, StorageUnavailable)
    assert await completed(database, row(1, 1), after=1) is None


async def test_an_outcome_waits_for_the_row_that_another_node_is_storing(
    two_nodes: tuple[Database, Database],
):
    """That row was decided without the outcome: the two must not both be in the log."""
    one, two = two_nodes
    _, (run_id,) = await stored_runs(one, 1)
    await one.write(claim(run_id, "one", "t"))
    await one.append(unknown(run_id, 1))
    is_stored, may_commit = threading.Event(), threading.Event()

    def store(connection: Connection) -> None:
        insert_rows(connection, [row(run_id, 2)])
        is_stored.set()
        assert may_commit.wait(30)

    storing = asyncio.ensure_future(two.write(store))
    await asyncio.to_thread(is_stored.wait, 30)
    completing = asyncio.ensure_future(completed(one, row(run_id, 1), after=1))
    done, _ = await asyncio.wait([completing], timeout=0.3)
    may_commit.set()
    await storing
    assert not done
    assert isinstance(await completing, SequenceTaken)
    log = await one.read(lambda connection: log_of_run(connection, run_id))
    assert [each.error_code for each in log] == ["outcome_unknown", None]


async def test_a_run_that_has_ended_takes_no_outcome(database: Database):
    """Its verdict was given on the log as it was."""
    _, (run_id,) = await stored_runs(database, 1)
    await database.write(claim(run_id, "one", "t"))
    await database.append(unknown(run_id, 1))
    ending = Ending(status=RunStatus.CANCELLED)
    assert await database.write(
        lambda connection: runs.end_run(connection, run_id=run_id, ending=ending, now=LATER)
    )
    assert isinstance(await completed(database, row(run_id, 1), after=1), SequenceTaken)
    assert await database.read(lambda connection: log_of_run(connection, run_id)) == [unknown(run_id, 1)]


async def test_a_change_is_whole_or_not_at_all(database: Database):
    def half(connection: Connection) -> None:
        place(connection)
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        await database.write(half)
    count = "SELECT COUNT(*) FROM orgs"
    assert await database.read(lambda connection: connection.execute(count).fetchone()[0]) == 0


async def test_pages_meet_without_a_gap(database: Database):
    at, ids = await stored_runs(database, 7)
    seen: list[int] = []
    before: int | None = None
    while True:
        page = await database.read(
            lambda connection, before=before: runs.runs_of_org(
                connection,
                filters=[Filter("batch_id", at["batch_id"]), Filter("verdict", None)],
                limit=3,
                before_id=before,
            )
        )
        seen += [run.id for run in page.items]
        before = page.last_id
        if before is None:
            break
    assert seen == ids[::-1]


async def test_a_bytes_value_comes_back(database: Database):
    at, _ = await stored_runs(database, 0)
    agent = await database.read(
        lambda connection: agents.agent_by_id(
            connection, org_id=int(str(at["org_id"])), agent_id=int(str(at["agent_id"]))
        )
    )
    assert agent is not None
    assert bytes(agent.sealed_auth_header or b"") == b"\0\x01"


async def test_a_run_is_claimed_once_and_ended_once(database: Database):
    _, (run_id,) = await stored_runs(database, 1)
    outcomes = [await database.write(claim(run_id, worker, worker)) for worker in ("one", "two")]
    assert outcomes == [True, False]
    started = await database.read(lambda connection: runs.run_by_token_hash(connection, "one"))
    assert started is not None
    assert (started.started_at, started.simulated_now) == (NOW, SIMULATED)
    ending = Ending(status=RunStatus.COMPLETED, final_response="Done.")
    ends = [
        await database.write(
            lambda connection: runs.end_run(connection, run_id=run_id, ending=ending, now=LATER)
        )
        for _ in range(2)
    ]
    assert ends == [True, False]


async def test_a_worker_that_is_gone_is_taken_by_one_and_its_runs_interrupted(database: Database):
    at, (first, second) = await stored_runs(database, 2)

    def change(what: Callable[..., Any], worker: str, **more: str) -> Awaitable[Any]:
        return database.write(lambda connection: what(connection, worker=worker, **more))

    for worker in ("gone", "there"):
        await change(workers.enlist, worker, now=NOW)
        assert await change(workers.beat, worker, now=NOW)
    await database.write(claim(first, "gone", "t1"))
    await database.write(claim(second, "there", "t2"))
    assert await database.read(workers.signs_of_workers) == {"gone": NOW, "there": NOW}
    await change(workers.beat, "there", now=LATER)
    mark = f"{workers.TAKEN} by there"
    takes = [("there", NOW), ("gone", NOW), ("gone", NOW)]  # one was heard of meanwhile, one is taken once
    taken = [await change(workers.take_worker, who, sign=sign, mark=mark, now=LATER) for who, sign in takes]
    assert taken == [False, True, False]
    counts = await database.read(
        lambda connection: batches.counts_of_batch(connection, int(str(at["batch_id"])))
    )
    assert counts["by_status"] == {"failed": 1, "running": 1}
    assert counts["by_verdict"] == {"NOT_APPLICABLE": 1}
    # It hears of it at its next beat, and claims nothing before it is listed again.
    assert not await change(workers.beat, "gone", now=LATER)
    assert not await change(workers.is_listed, "gone")
    await change(workers.enlist, "gone", now=LATER)
    await change(workers.forget_worker, "gone", sign=mark)  # too late: it is there again
    assert await change(workers.is_listed, "gone")


async def test_two_nodes_claim_every_run_once_between_them(two_nodes: tuple[Database, Database]):
    one, two = two_nodes
    _, ids = await stored_runs(one, 40)
    claims = [
        (node, run_id, database.write(claim(run_id, node, f"{node}-{run_id}")))
        for run_id in ids
        for node, database in (("one", one), ("two", two))
    ]
    outcomes = await asyncio.gather(*(asked for _, _, asked in claims))
    won = [run_id for (_, run_id, _), outcome in zip(claims, outcomes, strict=True) if outcome]
    assert sorted(won) == ids


async def test_a_node_cannot_append_to_a_run_that_another_has_ended(two_nodes: tuple[Database, Database]):
    one, two = two_nodes
    _, (run_id, other_id) = await stored_runs(one, 2)
    await one.write(claim(run_id, "one", "t"))
    await one.write(claim(other_id, "one", "u"))
    await two.append(row(run_id, 1))
    ending = Ending(status=RunStatus.COMPLETED, final_response="Done.")
    await one.write(lambda connection: runs.end_run(connection, run_id=run_id, ending=ending, now=LATER))
    late, fine = two.append(row(run_id, 2)), two.append(row(other_id, 1))
    outcomes = await asyncio.gather(late, fine, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SequenceTaken, type(None)]
    await two.append(row(run_id, 2, error_code="run_not_active"))  # that it came too late is kept
    log = await one.read(lambda connection: log_of_run(connection, run_id))
    assert [each.error_code for each in log] == [None, "run_not_active"]


async def test_a_lost_connection_is_made_again(two_nodes: tuple[Database, Database]):
    database, other = two_nodes
    await database.append(row(1, 1))
    await database.read(lambda connection: log_of_run(connection, 1))
    drop = (
        "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    (dropped,) = await other.write(lambda connection: connection.execute(drop).fetchone())
    assert dropped >= 2
    with pytest.raises(StorageUnavailable):  # it may have been stored: whoever asked has to look
        await database.append(row(1, 2))
    await database.append(row(1, 2))
    logs = await asyncio.gather(  # each reader finds out by itself, and asks again
        *(database.read(lambda connection: log_of_run(connection, 1)) for _ in range(READERS))
    )
    assert [[each.sequence for each in log] for log in logs] == [[1, 2]] * READERS
    await other.write(lambda connection: connection.execute(drop).fetchone())
    await database.write(lambda connection: add_org(connection, "after", NOW))  # nothing was sent before


async def test_a_reader_cannot_write(database: Database):
    with pytest.raises(Exception) as refused:  # noqa: PT011 (each database has its own)
        await database.read(lambda connection: add_org(connection, "sneaky", NOW))
    assert re.search(r"(?i)read-?only", str(refused.value.__cause__ or refused.value))
