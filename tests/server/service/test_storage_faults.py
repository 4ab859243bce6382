"""When the database cannot take a row: worth a retry, nothing half done, and no gap afterwards."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.desk import AGENT, STATE, DrivenRun, House, Org, answered, outage, refused

pytestmark = [pytest.mark.anyio, pytest.mark.fault]
NOTE = {"order_id": "7001", "text": "hello"}


@contextmanager
def aside(house: House) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(house.settings.database_path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def refusing(house: House, table: str, condition: str = "1") -> Iterator[None]:
    """Inserts into a table fail, as on a full disk."""
    with aside(house) as connection:
        connection.execute(
            f"CREATE TRIGGER full BEFORE INSERT ON {table} WHEN {condition}"
            " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        try:
            yield
        finally:
            connection.execute("DROP TRIGGER full")


async def test_a_call_that_cannot_be_stored_did_not_happen(house: House, org: Org) -> None:
    run = await org.run(failure_rules=[outage("add_note", n=3)])
    answered(await run.call("add_note", NOTE))
    with refusing(house, "trace_rows"):
        for _ in range(3):
            reply = await run.call("add_note", NOTE, idempotency_key="k")
            error = refused(reply, 503, "storage_unavailable")
            assert error["retryable"] is True
            assert reply.json()["retryable"] is True
            assert int(reply.headers["retry-after"]) >= 1
        refused(await run.event("thinking", {}), 503, "storage_unavailable")
    second = await run.call("add_note", NOTE, idempotency_key="k")
    assert answered(second, 200)["response"]["notes"] == ["hello", "hello"]
    third = await run.call("add_note", NOTE)
    assert answered(third, 502)["source"] == "injected"  # the third that happened
    assert [row["sequence"] for row in await run.trace()] == [1, 2, 3]
    assert (await run.ledger())["state"]["order"]["7001"]["notes"] == ["hello", "hello"]


async def test_calls_waiting_behind_a_lost_one_are_lost_with_it_and_other_runs_go_on(
    house: House, org: Org
) -> None:
    agent = await org.agent()
    dataset = await org.dataset(agent_id=agent["id"])
    one, other = [await org.open_run(agent["id"], dataset["task_ids"][0]) for _ in range(2)]
    for run in (one, other):
        answered(await run.call("add_note", NOTE))
    with refusing(house, "trace_rows", f"NEW.run_id = {one.id} AND NEW.sequence = 4"):
        calls = [run.call("add_note", NOTE) for _ in range(10) for run in (one, other)]
        replies = await asyncio.gather(*calls)
    assert {reply.status_code for reply in replies[1::2]} == {200}
    assert [reply.status_code for reply in replies[::2]] == [200, 200] + [503] * 8
    answered(await one.call("add_note", NOTE))
    assert [row["sequence"] for row in await one.trace()] == [1, 2, 3, 4]
    assert [row["sequence"] for row in await other.trace()] == list(range(1, 12))
    assert len((await one.ledger())["state"]["order"]["7001"]["notes"]) == 4


async def test_duplicates_of_a_lost_call_are_all_told_to_try_again(house: House, run: DrivenRun) -> None:
    with refusing(house, "trace_rows"):
        calls = [run.call("add_note", NOTE, idempotency_key="k") for _ in range(5)]
        replies = await asyncio.gather(*calls)
    assert [reply.status_code for reply in replies] == [503] * 5
    answered(await run.call("add_note", NOTE, idempotency_key="k"))
    assert len(await run.trace()) == 1


async def test_a_row_that_came_in_behind_our_back_is_seen_and_the_call_redone(
    house: House, run: DrivenRun
) -> None:
    """As another process would: the call is decided anew on the world as it is now."""
    answered(await run.call("add_note", NOTE))
    with aside(house) as connection:
        columns = ["run_id", "sequence", "kind", "tool_name", "source", "http_status", "occurred_at"]
        columns += ["arguments", "response", "updates"]
        names = ", ".join(columns)
        connection.execute(
            f"INSERT INTO trace_rows ({names}) SELECT run_id, 2, kind, tool_name, source, http_status,"
            " occurred_at, arguments, response, replace(updates, 'hello', 'theirs') FROM trace_rows"
        )
    replies = await asyncio.gather(*(run.call("add_note", NOTE) for _ in range(3)))
    notes = [answered(reply, 200)["response"]["notes"] for reply in replies]
    assert notes == [["theirs"] + ["hello"] * number for number in (1, 2, 3)]
    answered(await run.event("thinking", {}))
    assert sorted(row["sequence"] for row in await run.trace()) == [1, 2, 3, 4, 5, 6]


async def test_a_change_that_cannot_be_stored_leaves_nothing(house: House, org: Org) -> None:
    with refusing(house, "agent_versions"):
        reply = await org.client.post("/api/agents", json=AGENT)
        assert reply.status_code in (500, 503), reply.text
    assert answered(await org.client.get("/api/agents"))["items"] == []
    await org.agent()


async def test_a_full_file_is_told_as_worth_a_retry(house: House, org: Org, run: DrivenRun) -> None:
    writing = house.platform.database._writing
    (pages,) = writing.execute("PRAGMA page_count").fetchone()
    writing.execute(f"PRAGMA max_page_count = {pages}")
    big = {"order_id": "7001", "text": "x" * 500_000}
    reply = await run.call("add_note", big)
    refused(reply, 503, "storage_unavailable")
    reply = await org.client.post("/api/agents", json=AGENT | {"description": "x" * 5000, "config": {}})
    if reply.status_code != 201:  # a page may have had room for it
        refused(reply, 503, "storage_unavailable")
    rows = [{"user": "x" * 100_000}]
    reply = await org.client.post("/api/datasets", json={"name": "x", "rows": rows})
    refused(reply, 503, "storage_unavailable")
    assert reply.headers["retry-after"]
    writing.execute("PRAGMA max_page_count = 1073741823")
    assert (await run.ledger())["state"] == STATE
    answered(await run.call("add_note", big))
    assert [row["sequence"] for row in await run.trace()] == [1]
    assert len(answered(await org.client.get("/api/datasets"))["items"]) == 1


async def test_a_run_whose_end_could_not_be_stored_goes_on(house: House, run: DrivenRun) -> None:
    answered(await run.call("add_note", NOTE))
    with aside(house) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
        )
        reply = await run.finish()
        assert reply.status_code in (500, 503), reply.text
        connection.execute("DROP TRIGGER full")
    answered(await run.call("add_note", NOTE))
    answered(await run.finish())
    refused(await run.call("add_note", NOTE), 409, "run_not_active")


async def test_a_database_that_is_held_for_a_moment_only_makes_callers_wait(
    house: House, run: DrivenRun
) -> None:
    with aside(house) as connection:
        connection.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(run.call("add_note", NOTE))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
        answered(await run.raw("tools", b"", "GET"))  # what needs no writing is answered meanwhile
        assert await run.trace() == []
        connection.execute("COMMIT")
        answered(await waiting)


async def test_a_server_whose_database_cannot_be_written_is_alive_but_not_ready(house: House) -> None:
    assert answered(await house.stranger.get("/health/ready"))["status"] == "ready"
    with aside(house) as other:
        other.execute("BEGIN IMMEDIATE")
        error = refused(await house.stranger.get("/health/ready"), 503, "storage_unavailable")
        assert error["message"] == "The database could not be read and written within 3 s."
        answered(await house.stranger.get("/health"))
        other.execute("ROLLBACK")
    assert answered(await house.stranger.get("/health/ready"))["status"] == "ready"


async def test_a_full_disk_is_told_as_not_ready(house: House) -> None:
    with aside(house) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON migrations"
            " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        refused(await house.stranger.get("/health/ready"), 503, "storage_unavailable")
        connection.execute("DROP TRIGGER full")
    answered(await house.stranger.get("/health/ready"))
