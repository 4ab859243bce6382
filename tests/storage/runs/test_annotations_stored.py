"""Comments and labels of runs in storage, on SQLite and on Postgres alike."""

import pytest

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.lists.run_lists import RunFilter, count_runs, run_page
from pipelines.storage.runs import annotations
from pipelines.storage.runs.annotations import Annotation, Kind
from support.both_stores import NOW, stored_runs

pytestmark = pytest.mark.anyio


def _add(connection: Connection, run_id: int, kind: Kind, text: str, step: int = 0) -> Annotation:
    return annotations.add_annotation(
        connection, org_id=1, run_id=run_id, step=step, kind=kind, text=text, written_by="ann", now=NOW
    )


async def test_labels_are_there_once_and_runs_are_found_by_them(database: Database) -> None:
    _, (first, second, third) = await stored_runs(database, 3)

    def write(connection: Connection) -> None:
        label = _add(connection, first, "label", "odd")
        assert _add(connection, first, "label", "odd") == label
        assert label.as_json()["step"] is None
        assert _add(connection, first, "label", "odd", step=2).as_json()["step"] == 2
        assert _add(connection, second, "comment", "x").id != _add(connection, second, "comment", "x").id

    await database.write(write)

    def look(connection: Connection) -> None:
        def found(**wanted: object) -> list[int]:
            asked = RunFilter(org_id=1, **wanted)  # type: ignore[arg-type]
            page = run_page(connection, asked, limit=9, before_id=None)
            assert count_runs(connection, asked).number == len(page.items)
            return [int(str(run["id"])) for run in page.items]

        assert found(run_label="odd") == [first]
        assert found(run_label="even") == []
        assert found(has_comments=True) == [second]
        assert found(has_comments=False) == [third, first]
        assert found(has_comments=False, run_label="odd") == [first]
        assert found(words="it", run_label="odd") == [first]
        other = RunFilter(org_id=2, run_label="odd")
        assert run_page(connection, other, limit=9, before_id=None).items == []
        written = annotations.annotations_of_runs(connection, [first, second, third])
        assert [annotations.in_short(written[run_id]) for run_id in (first, second, third)] == [
            {"labels": ["odd"], "comments": 0},
            {"labels": [], "comments": 2},
            {"labels": [], "comments": 0},
        ]
        assert annotations.labels_of_org(connection, 1, most=9) == ["odd"]

    await database.read(look)


async def test_only_the_org_of_a_run_removes_what_stands_on_it(database: Database) -> None:
    _, (run_id,) = await stored_runs(database, 1)
    label = await database.write(lambda connection: _add(connection, run_id, "label", "odd"))

    def remove(connection: Connection, org_id: int) -> bool:
        return annotations.remove_annotation(connection, org_id=org_id, run_id=run_id, annotation_id=label.id)

    assert not await database.write(lambda connection: remove(connection, 2))
    assert await database.write(lambda connection: remove(connection, 1))
    assert await database.read(lambda connection: annotations.count_annotations(connection, run_id)) == 0
