"""What people write on runs and on their steps: comments, and labels that runs are found by."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.storage.database.connection import Connection, in_list, insert_row, some_of
from pipelines.storage.database.paging import Filter
from pipelines.storage.database.records import Mapper, first_column
from pipelines.wire.records import Hidden, Id, Moment, Named, Record, Via

Kind: TypeAlias = Literal["comment", "label"]
COMMENT: Kind = "comment"
LABEL: Kind = "label"
WHOLE_RUN = 0  # in place of a step
_RUNS_AT_ONCE = 200
_TABLE = "run_annotations"


def _step_or_none(step: int) -> int | None:
    return step or None


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation(Record):
    """A comment or a label on a run, or on one of its steps."""

    id: Id
    org_id: Hidden[int]
    run_id: Id
    step: Annotated[int, Via(_step_or_none), "of its trace; null for the whole run"]
    kind: Kind
    text: str
    written_by: Annotated[str, Named("by")]
    created_at: Moment


_ANNOTATION = Mapper(Annotation)


def add_annotation(
    connection: Connection,
    *,
    org_id: int,
    run_id: int,
    step: int,
    kind: Kind,
    text: str,
    written_by: str,
    now: str,
) -> Annotation:
    """A label that the place has already stays as it is."""
    row = {
        "org_id": org_id,
        "run_id": run_id,
        "step": step,
        "kind": kind,
        "text": text,
        "written_by": written_by,
        "created_at": now,
    }
    insert_row(connection, _TABLE, row, "ON CONFLICT DO NOTHING")
    found = _ANNOTATION.one(
        connection,
        f"SELECT {_ANNOTATION.columns} FROM {_TABLE}"
        " WHERE org_id = ? AND run_id = ? AND step = ? AND kind = ? AND text = ? ORDER BY id DESC LIMIT 1",
        (org_id, run_id, step, kind, text),
    )
    assert found is not None
    return found


def remove_annotation(connection: Connection, *, org_id: int, run_id: int, annotation_id: int) -> bool:
    done = connection.execute(
        f"DELETE FROM {_TABLE} WHERE id = ? AND org_id = ? AND run_id = ?", (annotation_id, org_id, run_id)
    )
    return done.rowcount == 1


def annotations_of_run(connection: Connection, run_id: int) -> list[Annotation]:
    """In the order in which they were written."""
    return annotations_of_runs(connection, [run_id])[run_id]


def annotations_of_runs(connection: Connection, run_ids: Iterable[int]) -> dict[int, list[Annotation]]:
    """By run; an empty list where nobody wrote anything."""
    ids = sorted(set(run_ids))
    found: dict[int, list[Annotation]] = {run_id: [] for run_id in ids}
    for some in some_of(ids, _RUNS_AT_ONCE):
        statement = (
            f"SELECT {_ANNOTATION.columns} FROM {_TABLE} WHERE run_id IN {in_list(some)} ORDER BY run_id, id"
        )
        for annotation in _ANNOTATION.all(connection, statement, some):
            found[annotation.run_id].append(annotation)
    return found


def count_annotations(connection: Connection, run_id: int) -> int:
    return int(connection.execute(f"SELECT COUNT(*) FROM {_TABLE} WHERE run_id = ?", (run_id,)).fetchone()[0])


def labels_of_org(connection: Connection, org_id: int, *, most: int) -> list[str]:
    """Those that its runs have, by name."""
    return first_column(
        connection,
        f"SELECT DISTINCT text FROM {_TABLE} WHERE org_id = ? AND kind = 'label' ORDER BY text LIMIT ?",
        (org_id, most),
    )


def with_label(org_id: int, label: str | None) -> Filter:
    """Of runs, by the column of their id."""
    of_label = f"IN (SELECT run_id FROM {_TABLE} WHERE org_id = {org_id:d} AND kind = 'label' AND text ="
    return Filter("id", label, of_label, ")")


def has_comments_condition(org_id: int, has_comments: bool | None) -> tuple[str, ...]:
    """On rows of `runs`; None: whatever it is."""
    if has_comments is None:
        return ()
    commented = f"(SELECT run_id FROM {_TABLE} WHERE org_id = {org_id:d} AND kind = 'comment')"
    return (f"id {'IN' if has_comments else 'NOT IN'} {commented}",)


def in_short(annotations: Sequence[Annotation]) -> JsonObject:
    """What lists show of a run: each of its labels once, and how many comments it has."""
    labels: list[Json] = [*dict.fromkeys(each.text for each in annotations if each.kind == LABEL)]
    return {"labels": labels, "comments": sum(each.kind == COMMENT for each in annotations)}
