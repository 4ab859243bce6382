"""What lists show: what tells items apart, and nothing that grows with what an org or an agent sends.

Texts are cut in the database, and what is not shown is not read: a page over runs with long transcripts costs
as much as any other. The whole of an item is at its own address.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipelines.core.tasks.seed_head import HEAD_CHARACTERS, instruction_in
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.storage.database.connection import Connection, Row, in_list, some_of
from pipelines.storage.database.paging import Filter, Page, holding, page_of
from pipelines.storage.runs.runs import IN_SIGHT, judged_conditions

LONGEST_SHOWN = 500  # characters of a text in a list
_TASKS_AT_ONCE = 200  # ids in one question
_RUN_COLUMNS = {
    **{
        name: name
        for name in (
            *("id", "agent_id", "agent_version", "task_id", "dataset_id", "batch_id", "repeat_number"),
            *("retried", "mode", "status", "run_token_jti", "simulated_now", "fault_seed", "final_response"),
            *("passthrough", "cassette"),
            *("error_class", "verdict", "failure_mode", "pending_reason", "unverified"),
            *("judge_error", "human_verdict"),
            *("created_at", "started_at", "dispatched_at", "ended_at", "expires_at"),
        )
    },
    "run_token_jti": "jti",
    "passthrough": "COALESCE(passthrough, 'live')",
    "simulated_now": "NULLIF(simulated_now, '')",  # empty until the run starts
    "final_response": f"SUBSTR(final_response, 1, {LONGEST_SHOWN})",
    "judge_error": f"SUBSTR(judge_error, 1, {LONGEST_SHOWN})",
}
#: What stands before `tools_schema` is bounded: 60,000 characters hold it however it is escaped.
_DEFINITION_HEAD = 60_000
_DEFINITION_ENDS = ',"tools_schema":'  # in a string its quotes would be escaped


def run_summaries(
    connection: Connection,
    *,
    filters: list[Filter],
    limit: int,
    before_id: int | None,
    needs_review: bool | None = None,
    has_unverified: bool | None = None,
    only: Sequence[int] | None = None,
) -> Page[JsonObject]:
    """Newest first; with `only`, of those with these ids."""
    chosen = () if only is None else (f"id IN ({', '.join(map(str, only)) or 'NULL'})",)
    judged = judged_conditions(needs_review=needs_review, has_unverified=has_unverified)
    rows = page_of(
        connection,
        "runs",
        filters=filters,
        limit=limit,
        before_id=before_id,
        where=" AND ".join((IN_SIGHT, *judged, *chosen)),
        columns=", ".join(f"{column} AS {name}" for name, column in _RUN_COLUMNS.items()),
    )
    instructions = instructions_of_tasks(connection, (row["task_id"] for row in rows.items))
    return Page([_run(row) | instructions[row["task_id"]].as_json() for row in rows.items], rows.last_id)


def summaries_by_id(connection: Connection, run_ids: Sequence[int]) -> dict[int, JsonObject]:
    """Of these runs, which the caller knows to be the org's."""
    columns = ", ".join(f"{column} AS {name}" for name, column in _RUN_COLUMNS.items())
    rows = connection.execute(
        f"SELECT {columns} FROM runs WHERE id IN {in_list(run_ids)}", run_ids
    ).fetchall()
    instructions = instructions_of_tasks(connection, (row["task_id"] for row in rows))
    return {row["id"]: _run(row) | instructions[row["task_id"]].as_json() for row in rows}


class AskedOfTask(NamedTuple):
    """What tells a task from others of its dataset."""

    row_number: int | None
    user_instruction: str | None  # cut; None where the task is gone
    task_key: str | None

    def as_json(self) -> JsonObject:
        return {
            "row_number": self.row_number,
            "user_instruction": self.user_instruction,
            "task_key": self.task_key,
        }


def instructions_of_tasks(connection: Connection, task_ids: Iterable[int]) -> dict[int, AskedOfTask]:
    """For a page of runs: many are of one task."""
    ids = sorted(set(task_ids))
    found = dict.fromkeys(ids, AskedOfTask(None, None, None))
    for some in some_of(ids, _TASKS_AT_ONCE):
        for row in connection.execute(
            f"SELECT t.id, t.row_number, SUBSTR(x.body, 1, {HEAD_CHARACTERS}), t.task_key FROM tasks t"
            f" JOIN texts x ON x.hash = t.seed_hash AND x.number = 0 WHERE t.id IN {in_list(some)}",
            some,
        ):
            found[row[0]] = AskedOfTask(row[1], instruction_in(row[2], LONGEST_SHOWN), row[3])
    return found


def instructions_of_runs(
    connection: Connection, *, org_id: int, run_ids: Iterable[int]
) -> dict[int, AskedOfTask]:
    """By run, of those that are there."""
    ids = sorted(set(run_ids))
    tasks: dict[int, int] = {}
    for some in some_of(ids, _TASKS_AT_ONCE):
        rows = connection.execute(
            f"SELECT id, task_id FROM runs WHERE org_id = ? AND id IN {in_list(some)}", (org_id, *some)
        )
        tasks |= {row[0]: row[1] for row in rows}
    instructions = instructions_of_tasks(connection, tasks.values())
    return {run_id: instructions[task_id] for run_id, task_id in tasks.items()}


def agent_summaries(
    connection: Connection,
    org_id: int,
    *,
    status: str | None,
    limit: int,
    before_id: int | None,
    words: str = "",
) -> Page[JsonObject]:
    """Newest first; with `words`, those that have them in their name."""
    rows = page_of(
        connection,
        "(SELECT a.id, a.org_id, a.name, a.version, a.status,"
        f" SUBSTR(v.definition, 1, {_DEFINITION_HEAD}) AS head,"
        " CASE WHEN v.auth_header_value IS NULL THEN 0 ELSE 1 END AS has_auth_header_value, a.created_at,"
        " a.updated_at FROM agents a JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version"
        " WHERE a.deleted_at IS NULL) AS current",
        filters=[
            Filter("org_id", org_id),
            Filter("status", status),
            Filter("LOWER(name)", holding(words) if words else None, "LIKE"),
        ],
        limit=limit,
        before_id=before_id,
    )
    return Page([_agent(row) for row in rows.items], rows.last_id)


def task_summaries(
    connection: Connection, dataset_id: int, *, limit: int, after_id: int | None
) -> Page[JsonObject]:
    """In the author's order."""
    rows = page_of(
        connection,
        "(SELECT t.id, t.dataset_id, t.row_number, t.task_key, t.tags, t.created_at,"
        f" SUBSTR(x.body, 1, {HEAD_CHARACTERS}) AS head"
        " FROM tasks t JOIN texts x ON x.hash = t.seed_hash AND x.number = 0) AS headed",
        filters=[Filter("dataset_id", dataset_id)],
        limit=limit,
        before_id=after_id,
        newest_first=False,
    )
    return Page([_task(row) for row in rows.items], rows.last_id)


def _run(row: Row) -> JsonObject:
    # In the order in which they were asked for: by name, SQLite's rows would look through theirs each time.
    return dict(zip(_RUN_COLUMNS, row, strict=True)) | {"retried": bool(row["retried"])}


def _agent(row: Row) -> JsonObject:
    head, ends, _ = row["head"].partition(_DEFINITION_ENDS)
    known = loads_own(head + "}") if ends else {"name": row["name"]}
    assert isinstance(known, dict)
    own: JsonObject = {"id": row["id"], "version": row["version"], "status": row["status"]}
    has_value: Json = bool(row["has_auth_header_value"])
    times: JsonObject = {"created_at": row["created_at"], "updated_at": row["updated_at"]}
    return own | known | {"has_auth_header_value": has_value} | times


def _task(row: Row) -> JsonObject:
    return {
        "id": row["id"],
        "dataset_id": row["dataset_id"],
        "row_number": row["row_number"],
        "task_key": row["task_key"],
        "user_instruction": instruction_in(row["head"], LONGEST_SHOWN),
        "tags": loads_own(row["tags"]) if row["tags"] is not None else [],
        "created_at": row["created_at"],
    }
