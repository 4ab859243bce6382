"""Transactions, texts in parts, batches and verdicts on both databases."""

import asyncio
from typing import Any

import psycopg
import pytest

from pipelines.core.tasks.seed import Seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.connection import Connection, transaction
from pipelines.storage.database.database import Database
from pipelines.storage.database.paging import Filter
from pipelines.storage.database.postgres_store import PostgresStore
from pipelines.storage.runs import batches, runs
from pipelines.storage.runs.runs import Ending
from pipelines.storage.tasks import datasets, texts
from pipelines.wire.names import RunStatus
from support.both_stores import LATER, NOW, SEED, add_tasks, claim, stored_runs

pytestmark = pytest.mark.anyio


def test_a_transaction_of_statements_fails_whole_when_its_connection_breaks(postgres):
    """The second statement must not slip through outside the transaction, over a new connection."""
    store = PostgresStore(postgres.new_database())
    connection = store.connect(read_only=False)
    store.migrate(connection)

    def break_in_between() -> None:
        with transaction(connection):
            add_org(connection, "first", NOW)
            (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone()
            with postgres.connect("postgres") as aside:
                aside.execute("SELECT pg_terminate_backend(%s)", (pid,))
            add_org(connection, "second", NOW)

    with pytest.raises(psycopg.OperationalError):
        break_in_between()
    names = [each[0] for each in connection.execute("SELECT name FROM orgs")]
    connection.close()
    assert names == []


async def test_two_nodes_that_append_to_one_dataset_take_turns(two_nodes: tuple[Database, Database]):
    one, two = two_nodes
    org_id = await one.write(lambda connection: add_org(connection, "org", NOW))
    dataset_id = await one.write(
        lambda connection: datasets.add_dataset(connection, org_id=org_id, name="d", agent_id=None, now=NOW)
    )

    def append(connection: Connection) -> list[int]:
        return add_tasks(connection, org_id, dataset_id, [Seed(user_instruction="hello")] * 20)

    await asyncio.gather(*(node.write(append) for node in (one, two) * 10))
    page = await one.read(
        lambda connection: datasets.tasks_of_dataset(connection, dataset_id, limit=1000, after_id=None)
    )
    assert sorted(task.row_number for task in page.items) == list(range(1, 401))


def slices(*bodies: str) -> list[list[texts.Part]]:
    return [*texts.slices_of(texts.named(body.encode()) for body in bodies)]


async def add_slices(database: Database, made: list[list[texts.Part]], now: str = NOW) -> None:
    for slice in made:
        await database.write(lambda connection, slice=slice: texts.add_parts(connection, slice, now=now))


async def test_a_text_comes_back_from_its_parts(database: Database):
    long, short = "ä" * (2 * texts.SLICE_CHARACTERS + 1), "short"
    names = [texts.named(body.encode()).hash for body in (long, short)]
    made = slices(long, short)
    assert [sum(len(part.body) for part in slice) for slice in made] == [
        texts.SLICE_CHARACTERS,
        texts.SLICE_CHARACTERS,
        1 + len(short),
    ]
    await add_slices(database, made[:2])  # cut off here, and sent again

    def missing(connection: Connection) -> set[str]:
        return texts.missing_texts(connection, names)

    assert await database.read(missing) == set(names)
    await add_slices(database, made)
    assert await database.read(missing) == set(names)  # as far as anyone knows
    await database.write(lambda connection: texts.keep_texts(connection, names))
    assert await database.read(missing) == set()
    found = await database.read(lambda connection: texts.texts_of(connection, names))
    assert found == dict(zip(names, (long, short), strict=True))


async def test_texts_that_nobody_has_come_back_for_are_removed(database: Database):
    await stored_runs(database, 0)  # its task refers to two texts, which nobody has said to keep
    await add_slices(database, slices("left behind", "sent again"))
    await add_slices(database, slices("sent again", "new"), now=LATER)
    loose = await database.read(lambda connection: texts.loose_texts(connection, before=LATER))
    used = await database.read(lambda connection: texts.texts_in_use(connection, loose))
    assert used == {*datasets.as_texts(SEED).task[:2]}
    both = [name for name in [*loose, texts.named(b"new").hash] if name not in used]
    await database.write(lambda connection: texts.remove_texts(connection, both, before=LATER))
    bodies = await database.read(
        lambda connection: [row[0] for row in connection.execute("SELECT body FROM texts").fetchall()]
    )
    assert {"sent again", "new"} < set(bodies)
    assert "left behind" not in bodies
    assert len(bodies) == 4


async def test_two_nodes_that_store_the_same_texts_do_not_stop_each_other(
    two_nodes: tuple[Database, Database],
):
    bodies = [f"text {number}" for number in range(60)]
    for _ in range(5):
        await asyncio.gather(
            add_slices(two_nodes[0], slices(*bodies)), add_slices(two_nodes[1], slices(*bodies[::-1]))
        )


async def test_a_batch_is_there_once_it_is_stored_whole(database: Database):
    at, (run_id,) = await stored_runs(database, 1)
    org_id, batch_id = int(str(at["org_id"])), int(str(at["batch_id"]))
    await database.write(
        lambda connection: (
            connection.execute("UPDATE batches SET status = 'opening', unqueued_since = ?", (NOW,)) and None
        )
    )

    def seen(connection: Connection) -> tuple[bool, bool, int, int]:
        listed = runs.runs_of_org(connection, filters=[Filter("org_id", org_id)], limit=9, before_id=None)
        page = batches.batches_of_org(connection, org_id, agent_id=None, limit=9, before_id=None)
        return (
            batches.batch_by_id(connection, org_id=org_id, batch_id=batch_id) is not None,
            runs.run_by_id(connection, org_id=org_id, run_id=run_id) is not None,
            len(listed.items),
            len(page.items),
        )

    assert await database.read(seen) == (False, False, 0, 0)
    assert not await database.write(claim(run_id, "w", "t"))
    for is_whole, expected in ((False, (False, False, 0, 0)), (True, (True, True, 1, 1))):
        assert await database.write(
            lambda connection, is_whole=is_whole: batches.go_on_opening(
                connection, batch_id=batch_id, is_whole=is_whole, now=LATER
            )
        )
        assert await database.read(seen) == expected
    assert await database.write(claim(run_id, "w", "t"))


async def test_a_batch_that_nobody_goes_on_storing_is_removed(database: Database):
    at, _ = await stored_runs(database, 5)
    batch_id = int(str(at["batch_id"]))
    await database.write(
        lambda connection: (
            connection.execute("UPDATE batches SET status = 'opening', unqueued_since = ?", (NOW,)) and None
        )
    )
    for before, found in ((NOW, []), (LATER, [batch_id])):
        assert (
            await database.read(
                lambda connection, before=before: batches.half_stored_batches(connection, before=before)
            )
            == found
        )
    await database.write(
        lambda connection: batches.discard_batch(connection, batch_id=batch_id, before=LATER)
    )
    assert not await database.write(
        lambda connection: batches.go_on_opening(connection, batch_id=batch_id, is_whole=True, now=LATER)
    )
    gone = [
        await database.write(
            lambda connection: batches.remove_discarded(connection, batch_id=batch_id, most=2)
        )
        for _ in range(3)
    ]
    assert gone == [False, False, True]
    counts = "SELECT (SELECT COUNT(*) FROM runs), (SELECT COUNT(*) FROM batches)"
    assert tuple(await database.read(lambda connection: connection.execute(counts).fetchone())) == (0, 0)


async def test_a_batch_is_cancelled_a_slice_at_a_time(database: Database):
    at, ids = await stored_runs(database, 5)
    batch_id = int(str(at["batch_id"]))
    assert await database.write(claim(ids[1], "w", "t"))

    def some(connection: Connection) -> list[batches.CancelledRun]:
        return batches.cancel_some_runs(connection, batch_id=batch_id, now=LATER, most=2)

    assert await database.write(some) == []  # nobody has stopped it
    await database.write(lambda connection: batches.stop_batch(connection, batch_id=batch_id, now=LATER))
    first = await database.write(some)
    assert sorted(first) == [(ids[0], False), (ids[1], True)]
    assert not await database.write(claim(ids[4], "w", "u"))  # not yet cancelled, and not to be sent
    assert await database.read(batches.half_cancelled_batches) == [batch_id]
    assert [len(await database.write(some)) for _ in range(3)] == [2, 1, 0]
    assert await database.read(batches.half_cancelled_batches) == []


async def test_runs_are_tried_again_once_however_often_it_is_asked(database: Database):
    at, ids = await stored_runs(database, 3)
    batch_id = int(str(at["batch_id"]))
    for run_id in ids[:2]:
        assert await database.write(claim(run_id, "w", f"t{run_id}"))
    await database.write(lambda connection: batches.stop_batch(connection, batch_id=batch_id, now=LATER))
    await database.write(
        lambda connection: batches.cancel_some_runs(connection, batch_id=batch_id, now=LATER, most=9)
    )

    def taken(connection: Connection) -> list[batches.RunToRetry] | None:
        found = batches.runs_to_retry(connection, batch_id=batch_id)
        return batches.take_for_retry(connection, batch_id=batch_id, run_ids=found or ids)

    assert await database.write(taken) is None  # it is cancelled
    await database.write(lambda connection: batches.start_resuming(connection, batch_id=batch_id, now=LATER))
    again = await database.write(taken)
    assert [run.repeat_number for run in again or []] == [0, 1]
    assert await database.write(taken) == []
    never_sent = await database.read(
        lambda connection: batches.runs_never_sent(connection, batch_id=batch_id)
    )
    assert never_sent == ids[2:]
    assert await database.write(
        lambda connection: batches.make_pending_again(connection, batch_id=batch_id, run_ids=ids)
    )
    assert (
        await database.read(
            lambda connection: batches.pending_runs(connection, batch_id=batch_id, first=0, last=2**62)
        )
        == ids[2:]
    )


async def test_a_run_has_the_pending_reason_and_the_notes_of_its_present_judgement(database: Database):
    _, (run_id,) = await stored_runs(database, 1)
    note = {"phrase": "within 5 days", "why": "no record has it", "turn": 1}

    async def judged(verdict: str, judgement: Any) -> tuple[str | None, int | None]:
        ending = Ending(status=RunStatus.COMPLETED, verdict=verdict, judgement=judgement)
        await database.write(
            lambda connection: runs.set_verdict(connection, run_id=run_id, ending=ending, now=LATER)
        )
        run = await database.read(lambda connection: runs.run_by_id(connection, org_id=1, run_id=run_id))
        assert run is not None
        return run.pending_reason, run.unverified

    reason = {"pending_reason": "no_oracle", "unverified": [note, note]}
    assert await judged("PENDING", reason) == ("no_oracle", 2)
    assert await judged("PASS", {"pending_reason": None, "unverified": []}) == (None, 0)
    assert await judged("PENDING", {"reasoning": "of a grader before version 20"}) == (None, None)
    earlier = await database.read(lambda connection: runs.past_verdicts(connection, run_id))
    assert [past["pending_reason"] for past in earlier] == [None, "no_oracle", None]


async def test_a_verdict_is_kept_when_another_takes_its_place(database: Database):
    _, (run_id,) = await stored_runs(database, 1)

    async def judge(verdict: str | None, **more: Any) -> bool:
        ending = Ending(status=RunStatus.COMPLETED, verdict=verdict, **more)
        return await database.write(
            lambda connection: runs.set_verdict(connection, run_id=run_id, ending=ending, now=LATER)
        )

    assert await judge("FAIL", failure_mode="incomplete", judgement={"reasoning": "no"})
    assert not await judge("FAIL", failure_mode="incomplete", judgement={"reasoning": "no"})
    assert await judge(None, judge_error="broke")
    earlier = await database.read(lambda connection: runs.past_verdicts(connection, run_id))
    assert [(past["verdict"], past["judgement"]) for past in earlier] == [
        ("FAIL", {"reasoning": "no"}),
        (None, None),
    ]
    assert earlier[0]["replaced_at"] == LATER
