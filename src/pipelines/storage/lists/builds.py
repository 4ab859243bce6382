"""Which builds of their agents batches and runs had, for lists and pages that show a version."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.storage.database.connection import Connection, in_list


class Build(NamedTuple):
    label: str | None  # by a person
    note: str | None
    reported_build: str | None  # by the agent
    has_other_builds: bool


_COLUMNS = "b.label, b.note, b.reported_build, b.has_other_builds"
_NAMED = "(b.label IS NOT NULL OR b.note IS NOT NULL OR b.reported_build IS NOT NULL)"


def builds_of_batches(connection: Connection, batch_ids: Sequence[int]) -> dict[int, Build]:
    """Of those that have a label, a note or a reported build."""
    ids = sorted(set(batch_ids))
    rows = connection.execute(
        f"SELECT b.id, {_COLUMNS} FROM batches b WHERE b.id IN {in_list(ids)} AND {_NAMED}", ids
    )
    return {row[0]: _build(*row[1:]) for row in rows}


def builds_of_runs(connection: Connection, run_ids: Sequence[int]) -> dict[int, Build]:
    """By run: the build of its batch."""
    ids = sorted(set(run_ids))
    rows = connection.execute(
        f"SELECT r.id, {_COLUMNS} FROM runs r JOIN batches b ON b.id = r.batch_id"
        f" WHERE r.id IN {in_list(ids)} AND {_NAMED}",
        ids,
    )
    return {row[0]: _build(*row[1:]) for row in rows}


def _build(label: str | None, note: str | None, reported: str | None, has_others: int) -> Build:
    return Build(label, note, reported, bool(has_others))
