"""Lists of runs in an order and by version, build label, tag and date, on SQLite and on Postgres alike."""

from typing import Any

import pytest
from test_run_lists_stored import LATER, NOW, Stored
from test_run_lists_stored import stored as stored

from pipelines.core.agents.build_label import BuildLabel
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.lists.builds import Build, builds_of_batches, builds_of_runs
from pipelines.storage.lists.run_lists import ORDERS, RunFilter, count_runs, run_page
from pipelines.storage.lists.saved_views import delete_view, save_view, views_of_org
from pipelines.storage.runs import build_labels, runs
from pipelines.storage.runs.runs import Ending
from pipelines.wire.names import RunStatus

pytestmark = pytest.mark.anyio
RANKS = {"FAIL": 0, "failed": 1, "PENDING": 2, "PASS": 5}


async def every_id(database: Database, wanted: RunFilter, limit: int = 5) -> list[int]:
    """Page by page."""
    found: list[int] = []
    place: int | None = None
    while True:
        page = await database.read(
            lambda connection, at=place: run_page(connection, wanted, limit=limit, before_id=at)
        )
        found += [int(str(run["id"])) for run in page.items]
        place = page.last_id
        if place is None:
            return found


@pytest.mark.parametrize("of_batch", [False, True])
async def test_failures_come_first_and_no_run_is_lost_between_pages(
    database: Database, stored: Stored, of_batch: bool
) -> None:
    wanted = RunFilter(org_id=stored.org_id, batch_id=stored.batch_id if of_batch else None, order="failures")
    ranked = [(RANKS[run["verdict"] or run["status"]], -run["id"]) for run in stored.runs]
    assert await every_id(database, wanted) == [-number for _, number in sorted(ranked)]


async def test_a_batch_of_another_org_has_no_runs_in_any_order(database: Database, stored: Stored) -> None:
    for order in ("newest", "oldest", *ORDERS):
        wanted = RunFilter(org_id=stored.org_id + 1, batch_id=stored.batch_id, order=order)
        assert await every_id(database, wanted) == []


async def test_the_oldest_come_first(database: Database, stored: Stored) -> None:
    ids = sorted(run["id"] for run in stored.runs)
    assert await every_id(database, RunFilter(org_id=stored.org_id, order="oldest")) == ids


@pytest.mark.parametrize("order", ["duration", "calls", "tokens", "cost"])
async def test_runs_are_sorted_by_a_figure_and_those_without_it_come_last(
    database: Database, stored: Stored, order: str
) -> None:
    first, second, third = (run["id"] for run in stored.runs[:3])

    def end(connection: Connection) -> None:
        connection.execute("UPDATE runs SET status = 'running'")
        for run_id, size, now in ((second, 7.0, LATER), (first, 3.0, NOW)):
            usage = {"total_input_tokens": size, "total_cost_usd": size}
            ending = Ending(status=RunStatus.COMPLETED, metadata=usage)
            assert runs.end_run(connection, run_id=run_id, ending=ending, now=now)
        connection.execute("UPDATE run_figures SET calls = 4 WHERE run_id = ?", (second,))

    await database.write(end)
    found = await every_id(database, RunFilter(org_id=stored.org_id, order=order))
    assert found[:3] == [second, first, third]
    assert sorted(found) == sorted(run["id"] for run in stored.runs)


async def test_the_first_reason_follows_the_verdict(database: Database, stored: Stored) -> None:
    run_id = stored.runs[0]["id"]

    def verdict(says: str) -> Ending:
        finding = {"status": "broken", "says": says}
        judgement: Any = {"verdict": "FAIL", "reasoning": "why", "findings": [finding]}
        return Ending(status=RunStatus.COMPLETED, verdict="FAIL", judgement=judgement)

    async def reason() -> object:
        wanted = RunFilter(org_id=stored.org_id)
        page = await database.read(lambda read: run_page(read, wanted, limit=1, before_id=None))
        return page.items[0]["reason"]

    def end(connection: Connection) -> None:
        connection.execute("UPDATE runs SET status = 'running' WHERE id = ?", (run_id,))
        assert runs.end_run(
            connection, run_id=run_id, ending=verdict("Order 4521 was paid twice."), now=LATER
        )

    await database.write(end)
    assert await reason() == "Order 4521 was paid twice."
    await database.write(
        lambda write: runs.set_verdict(write, run_id=run_id, ending=verdict("Nothing was paid."), now=LATER)
    )
    assert await reason() == "Nothing was paid."


@pytest.mark.parametrize(
    ("asked", "has_any"),
    [
        ({"agent_version": 1}, True),
        ({"agent_version": 2}, False),
        ({"since": "2026-05-01"}, True),
        ({"since": "2026-05-02"}, False),
        ({"until": "2026-05-02"}, True),
        ({"until": "2026-05-01"}, False),
        ({"label": "3f2a1c"}, True),
        ({"label": "b1"}, False),  # the label of a person goes before what the agent reports
        ({"tag": "re%und"}, True),
        ({"tag": "refund"}, False),
    ],
)
@pytest.mark.parametrize("order", ["newest", "failures"])
async def test_runs_are_listed_and_counted_by_version_date_label_and_tag(
    database: Database, stored: Stored, asked: dict[str, Any], has_any: bool, order: str
) -> None:
    def name(connection: Connection) -> None:
        build_labels.set_label(connection, batch_id=stored.batch_id, label=BuildLabel("3f2a1c", None))
        build_labels.add_reported_build(connection, batch_id=stored.batch_id, build="b1")
        connection.execute("UPDATE tasks SET tags = ?", ('["re%und","other"]',))

    await database.write(name)
    wanted = RunFilter(org_id=stored.org_id, order=order, **asked)
    expected = len(stored.runs) if has_any else 0
    assert len(await every_id(database, wanted)) == expected
    counted = await database.read(lambda connection: count_runs(connection, wanted))
    assert counted.number == expected


async def test_the_first_build_that_is_reported_stays_and_others_are_noted(
    database: Database, stored: Stored
) -> None:
    async def build() -> Build | None:
        found = await database.read(lambda read: builds_of_batches(read, [stored.batch_id]))
        of_runs = await database.read(lambda read: builds_of_runs(read, [stored.runs[0]["id"]]))
        assert found.get(stored.batch_id) == of_runs.get(stored.runs[0]["id"])
        return found.get(stored.batch_id)

    assert await build() is None
    for reported, has_others in (("b1", False), ("b1", False), ("b2", True), ("b1", True)):
        await database.write(
            lambda write, name=reported: build_labels.add_reported_build(
                write, batch_id=stored.batch_id, build=name
            )
        )
        assert await build() == Build(None, None, "b1", has_others)


async def test_a_saved_view_is_of_one_org_and_of_one_list(database: Database, stored: Stored) -> None:
    async def names(org_id: int, path: str) -> list[str]:
        return [view.name for view in await database.read(lambda read: views_of_org(read, org_id, path))]

    for name, path in (("b", "/runs?verdict=FAIL"), ("a", "/runs"), ("c", "/batches"), ("a", "/runs?q=x")):
        await database.write(
            lambda write, name=name, path=path: save_view(
                write, org_id=stored.org_id, name=name, path=path, now=NOW
            )
        )
    assert await names(stored.org_id, "/runs") == ["a", "b"]
    assert await names(stored.org_id, "/batches") == ["c"]
    assert await names(stored.org_id + 1, "/runs") == []
    [first, _] = await database.read(lambda read: views_of_org(read, stored.org_id, "/runs"))
    assert first.path == "/runs?q=x"  # the later one of that name
    for org_id, is_gone in ((stored.org_id + 1, False), (stored.org_id, True)):
        deleted = await database.write(
            lambda write, of=org_id: delete_view(write, org_id=of, view_id=first.id)
        )
        assert deleted is is_gone
