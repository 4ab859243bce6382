"""Short questions on the event loop: the same answers, at once, within a bound."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.storage.accounts.keys import add_org, some_orgs
from pipelines.storage.database import sqlite_brief_reads
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database

pytestmark = pytest.mark.anyio
#: Some ten seconds of counting, if nobody stops it.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT MAX(i) FROM n"
NOW = "2026-11-17T00:00:00Z"


@pytest.fixture
async def database(sqlite_database: Database) -> Database:
    return sqlite_database


def _counting(names: list[str], count: int) -> Callable[[Connection], int]:
    """A question that notes on which thread it is asked."""

    def question(connection: Connection) -> int:
        names.append(threading.current_thread().name)
        return int(connection.execute(ENDLESS.format(count)).fetchone()[0])

    return question


async def test_a_short_question_is_answered_without_a_thread(database: Database) -> None:
    names: list[str] = []
    asked = database.read_briefly(_counting(names, 3), "few")
    with pytest.raises(StopIteration) as answered:  # it never waits
        asked.send(None)
    assert answered.value.value == 3
    assert names == ["MainThread"]


async def test_what_was_committed_before_is_seen(database: Database) -> None:
    for number in range(3):
        await database.write(lambda connection, name=f"org {number}": add_org(connection, name, NOW))  # type: ignore[misc]
        orgs = await database.read_briefly(lambda connection: some_orgs(connection, 10), "orgs")
        assert len(orgs) == number + 1


async def test_a_long_question_leaves_the_loop_and_is_answered_all_the_same(database: Database) -> None:
    names: list[str] = []
    before = time.thread_time()
    assert await database.read_briefly(_counting(names, 1_000_000), "many") == 1_000_000
    assert time.thread_time() - before < 0.1
    assert [name.split("_")[0] for name in names] == ["MainThread", "reader"]


async def test_a_kind_that_was_long_is_not_tried_again_for_a_while(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.read_briefly(_counting([], 1_000_000), ("runs", 1))
    for kind, threads in ((("runs", 1), ["reader"]), (("runs", 2), ["MainThread"])):
        names: list[str] = []
        assert await database.read_briefly(_counting(names, 3), kind) == 3
        assert [name.split("_")[0] for name in names] == threads
    monkeypatch.setattr(sqlite_brief_reads, "ASIDE_S", -1.0)
    names = []
    await database.read_briefly(_counting([], 1_000_000), ("runs", 2))
    assert await database.read_briefly(_counting(names, 3), ("runs", 2)) == 3
    assert names == ["MainThread"]


async def test_only_so_many_kinds_are_remembered(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_brief_reads, "MOST_ASIDE", 2)
    monkeypatch.setattr(sqlite_brief_reads, "BRIEF_S", -1.0)  # every question that is looked at is too long
    for kind in range(4):
        await database.read_briefly(_counting([], 20_000), kind)
    assert database._brief is not None
    assert list(database._brief._aside) == [2, 3]  # type: ignore[attr-defined]


async def test_what_a_question_itself_raises_rises(database: Database) -> None:
    def fails(connection: Connection) -> int:
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        await database.read_briefly(fails, "fails")


async def test_nothing_is_changed_by_a_question(database: Database) -> None:
    with pytest.raises(Exception, match="could not be read"):
        await database.read_briefly(lambda connection: add_org(connection, "mine", NOW), "change")
    assert await database.read(lambda connection: some_orgs(connection, 10)) == []


ODD = ("x\0y", 'é😀\u2028\x1f"\\/', "", None, 2**63 - 1, -(2**63), '{"a":1}', "[1]", "Inf")


def _stored(connection: Connection) -> None:
    connection.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, value, fraction REAL)")
    connection.executemany("INSERT INTO odd (value) VALUES (?)", [(value,) for value in ODD])


async def test_rows_that_come_as_one_are_the_rows_as_they_are(database: Database) -> None:
    await database.write(_stored)

    def question(connection: Connection) -> list[Any]:
        return list(
            connection.execute("SELECT id, value AS v, value FROM odd ORDER BY id DESC LIMIT ?", (99,))
        )

    (briefly, by_thread) = (await database.read_briefly(question, "odd"), await database.read(question))
    assert briefly == by_thread
    assert [row["v"] for row in briefly] == [*reversed(ODD)]
    assert [tuple(row) for row in briefly] == [tuple(row) for row in by_thread]


@pytest.mark.parametrize(
    "value", [0.1 + 0.2, 1e300 * 1e10, b"\x00\xff"], ids=["fraction", "infinite", "bytes"]
)
async def test_what_json_would_change_is_asked_of_a_thread(database: Database, value: object) -> None:
    await database.write(_stored)
    await database.write(
        lambda connection: connection.execute("INSERT INTO odd (value) VALUES (?)", (value,))
    )
    names: list[str] = []

    def question(connection: Connection) -> list[Any]:
        names.append(threading.current_thread().name.split("_")[0])
        return [row[0] for row in connection.execute("SELECT value FROM odd ORDER BY id")]

    assert await database.read_briefly(question, "odd") == [*ODD, value]
    assert names == ["MainThread", "reader"]


@pytest.mark.parametrize("taken", [lambda answer: answer.fetchall(), list], ids=["at once", "one by one"])
async def test_the_interpreter_is_let_go_of_for_a_page_and_not_for_each_row(
    database: Database, taken: Callable[[Any], list[Any]]
) -> None:
    """Whatever SQLite is asked, it gives one row: at each, other threads may take the interpreter."""
    await database.write(_stored)
    assert database._brief is not None
    fetched: list[int] = []
    connection = database._brief._connection  # type: ignore[attr-defined]
    connection.row_factory = lambda cursor, row: fetched.append(len(row)) or row
    asked = await database.read_briefly(
        lambda each: taken(each.execute("SELECT id, value FROM odd ORDER BY id")), "odd"
    )
    assert len(asked) == len(ODD)
    assert fetched == [1]
