"""Coding scenarios of an org; what agents changed in their workspaces, and how it was graded."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.coding.diff import WorkspaceDiff
from pipelines.core.coding.grading import Grading
from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.storage.database.connection import Connection, Row, in_list, insert_row
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.database.records import Mapper, Stored, first_column, json_text
from pipelines.wire.records import As, Flat, Hidden, Moment, Named, Record, Via

_HEADS = (
    "(SELECT id, scenario_id, org_id, name, version, head, created_at, updated_at FROM coding_scenarios)"
    " AS heads"
)


def _object(text: str) -> JsonObject:
    body = loads_own(text)
    assert isinstance(body, dict)
    return body


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredCodingScenario(Record, component="CodingScenario"):
    """A coding scenario."""

    number: Annotated[Hidden[int], Stored(column="id")]
    scenario_id: Annotated[str, "what `scenario_ref` of a task may name, as its name", Named("id")]
    org_id: Hidden[int]
    name: Hidden[str]
    version: Annotated[int, "up with every change"]
    body_text: Annotated[Flat[str], Via(_object), As(CodingScenario), Stored(column="body")]
    created_at: Moment
    updated_at: Moment

    def body(self) -> JsonObject:
        return _object(self.body_text)


_SCENARIO = Mapper(StoredCodingScenario)


def add_scenario(
    connection: Connection, *, org_id: int, scenario_id: str, scenario: CodingScenario, now: str
) -> bool:
    """False where its name is taken."""
    own = {"scenario_id": scenario_id, "org_id": org_id, "version": 1, "created_at": now, "updated_at": now}
    row = own | {"name": scenario.name, "body": scenario.as_json(), "head": scenario.head()}
    then = "ON CONFLICT (org_id, name) DO NOTHING"
    return insert_row(connection, "coding_scenarios", row, then).rowcount == 1


def change_scenario(
    connection: Connection, *, org_id: int, scenario_id: str, scenario: CodingScenario, now: str
) -> bool:
    """Whoever asks has seen that the name is free."""
    changed = connection.execute(
        "UPDATE coding_scenarios SET name = ?, body = ?, head = ?, version = version + 1, updated_at = ?"
        " WHERE org_id = ? AND scenario_id = ?",
        (scenario.name, json_text(scenario.as_json()), json_text(scenario.head()), now, org_id, scenario_id),
    )
    return changed.rowcount == 1


def delete_scenario(connection: Connection, *, org_id: int, scenario_id: str) -> bool:
    done = connection.execute(
        "DELETE FROM coding_scenarios WHERE org_id = ? AND scenario_id = ?", (org_id, scenario_id)
    )
    return done.rowcount == 1


def scenario_by_ref(connection: Connection, *, org_id: int, ref: str) -> StoredCodingScenario | None:
    """By its id or its name."""
    return _SCENARIO.one(
        connection,
        f"SELECT {_SCENARIO.columns} FROM coding_scenarios WHERE org_id = ? AND (scenario_id = ? OR name = ?)"
        " ORDER BY CASE WHEN scenario_id = ? THEN 0 ELSE 1 END LIMIT 1",
        (org_id, ref, ref, ref),
    )


def refs_of_org(connection: Connection, *, org_id: int) -> frozenset[str]:
    """Everything a scenario of the org may be called by."""
    rows = connection.execute("SELECT scenario_id, name FROM coding_scenarios WHERE org_id = ?", (org_id,))
    return frozenset(name for row in rows for name in (row[0], row[1]))


def has_scenarios(connection: Connection, *, org_id: int, count: int) -> bool:
    """Whether the org has so many. Asked by the one writer, so nothing of them is read but an index."""
    row = connection.execute(
        "SELECT 1 FROM coding_scenarios WHERE org_id = ? ORDER BY id LIMIT 1 OFFSET ?", (org_id, count - 1)
    ).fetchone()
    return row is not None


def bodies_of(connection: Connection, *, org_id: int, refs: Sequence[str]) -> dict[str, str]:
    """Texts of scenarios by the names they were asked for; some at a time."""
    marks = in_list(refs)
    rows = connection.execute(
        "SELECT scenario_id, name, body FROM coding_scenarios"
        f" WHERE org_id = ? AND (name IN {marks} OR scenario_id IN {marks})",
        (org_id, *refs, *refs),
    ).fetchall()
    by_name = {row["name"]: row["body"] for row in rows}
    return by_name | {row["scenario_id"]: row["body"] for row in rows}


def scenarios_of_org(
    connection: Connection, *, filters: list[Filter], limit: int, before_id: int | None
) -> Page[JsonObject]:
    """Newest first, in short."""
    page = page_of(connection, _HEADS, filters=filters, limit=limit, before_id=before_id)
    return Page([_head(row) for row in page.items], page.last_id)


def _head(row: Row) -> JsonObject:
    head = loads_own(row["head"])
    assert isinstance(head, dict)
    own: JsonObject = {"id": row["scenario_id"], "name": row["name"], "version": row["version"]}
    return own | head | {"created_at": row["created_at"], "updated_at": row["updated_at"]}


class RunWorkspace(NamedTuple):
    """What a run left in its workspace."""

    baseline: JsonObject
    diff: WorkspaceDiff
    signs: tuple[str, ...]  # of deceit, seen where the agent worked


def keep_workspace(
    connection: Connection, *, run_id: int, baseline: JsonObject, diff: WorkspaceDiff, signs: Sequence[str]
) -> None:
    """A run that was sent again after a kill leaves what it left last."""
    insert_row(
        connection,
        "run_workspaces",
        {
            "run_id": run_id,
            "baseline": baseline,
            "summary": diff.summary(),
            "patch": zlib.compress(diff.patch_bytes),
            "signs": [*signs],
        },
        "ON CONFLICT (run_id) DO UPDATE SET baseline = excluded.baseline, summary = excluded.summary,"
        " patch = excluded.patch, signs = excluded.signs",
    )


def workspace_of_run(connection: Connection, run_id: int) -> RunWorkspace | None:
    row = connection.execute("SELECT * FROM run_workspaces WHERE run_id = ?", (run_id,)).fetchone()
    if row is None:
        return None
    baseline, signs = loads_own(row["baseline"]), loads_own(row["signs"])
    assert isinstance(baseline, dict)
    assert isinstance(signs, list)
    diff = WorkspaceDiff.from_stored(zlib.decompress(bytes(row["patch"])), loads_own(row["summary"]))
    return RunWorkspace(baseline, diff, tuple(map(str, signs)))


def add_grading(connection: Connection, *, run_id: int, grading: Grading, scorers: Json, now: str) -> None:
    row = {"run_id": run_id, "grading": grading.as_json(), "scorers": json_text(scorers), "created_at": now}
    insert_row(connection, "run_gradings", row)


def grading_of_run(connection: Connection, run_id: int) -> JsonObject | None:
    """The last one, as `Grading.as_json` wrote it."""
    row = connection.execute(
        "SELECT grading FROM run_gradings WHERE run_id = ? ORDER BY id DESC LIMIT 1", (run_id,)
    ).fetchone()
    grading = loads_own(row["grading"]) if row else None
    assert grading is None or isinstance(grading, dict)
    return grading


def gradings_of_run(connection: Connection, run_id: int, *, most: int) -> list[JsonObject]:
    """Newest first, each with its scorers and when it was made."""
    rows = connection.execute(
        "SELECT grading, scorers, created_at FROM run_gradings WHERE run_id = ? ORDER BY id DESC LIMIT ?",
        (run_id, most),
    )
    return [
        {
            "created_at": row["created_at"],
            "grading": loads_own(row["grading"]),
            "scorers": loads_own(row["scorers"]),
        }
        for row in rows
    ]


def workspace_runs_of_batch(connection: Connection, *, batch_id: int) -> list[int]:
    """Those that left a change and have ended, in order."""
    return first_column(
        connection,
        "SELECT r.id FROM runs r JOIN run_workspaces w ON w.run_id = r.id"
        " WHERE r.batch_id = ? AND r.status IN ('completed', 'failed') ORDER BY r.id",
        (batch_id,),
    )
