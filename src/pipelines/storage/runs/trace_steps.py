"""A run's log for somebody who reads it step by step: its outline, some rows in short, changes, a search.

What a row carries has up to megabytes: nothing here reads more of it than is shown.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.storage.database.connection import Connection, in_list

BRIEF_CHARS = 480  # of arguments, a reply or an event in the list of steps
COMPARED_CHARS = 20_000  # of arguments and of a reply, where two runs are compared
_LAST = 2**31 - 1  # no log is so long
_ROWS_AT_ONCE = 500  # searched by one statement, so that a search can stop between two


class StepOutline(NamedTuple):
    """One row of the log without anything that has a length."""

    sequence: int
    kind: str
    tool_name: str | None
    source: str | None
    http_status: int | None
    error_code: str | None
    actor_id: str | None
    is_valid: int | None
    changes: int  # 1 where the row changed the world
    occurred_at: str = ""
    latency_ms: float | None = None

    @property
    def outcome(self) -> tuple[object, ...]:
        """What makes two calls with the same arguments and the same reply equal."""
        return self[1:9]  # from `kind` to `changes`

    @property
    def is_failure(self) -> bool:
        """A call that did not get what it asked for, or whose reply failed its check."""
        if self.kind != "tool_call":
            return False
        is_refused = self.http_status is not None and self.http_status >= 400
        return is_refused or self.source not in ("odyssey", "passthrough") or self.is_valid == 0


class StepBrief(NamedTuple):
    """One row as the list of steps shows it: long values are cut."""

    sequence: int
    matched_rule_index: int | None
    latency_ms: float | None
    occurred_at: str
    arguments: str | None
    response: str | None
    payload: str | None


class CallToCompare(NamedTuple):
    sequence: int
    tool_name: str
    source: str | None
    http_status: int | None
    arguments: str | None
    arguments_chars: int
    response: str | None
    response_chars: int


class FoundRows(NamedTuple):
    sequences: list[int]
    searched: int  # up to which sequence


def outline_of_run(connection: Connection, run_id: int) -> list[StepOutline]:
    """Every row in the order things happened, which an agent's own reports may shift."""
    found = connection.execute(
        "SELECT sequence, kind, tool_name, source, http_status, error_code, actor_id, is_valid,"
        " CASE WHEN updates IS NULL THEN 0 ELSE 1 END, occurred_at, latency_ms"
        " FROM trace_rows WHERE run_id = ? ORDER BY occurred_at, sequence",
        (run_id,),
    )
    return [StepOutline(*row) for row in found]


def briefs_of_run(connection: Connection, run_id: int, sequences: Sequence[int]) -> dict[int, StepBrief]:
    cut = ", ".join(f"SUBSTR({name}, 1, {BRIEF_CHARS})" for name in ("arguments", "response", "payload"))
    found = connection.execute(
        f"SELECT sequence, matched_rule_index, latency_ms, occurred_at, {cut} FROM trace_rows"
        f" WHERE run_id = ? AND sequence IN {in_list(sequences)}",
        (run_id, *sequences),
    )
    return {row[0]: StepBrief(*row) for row in found}


def repeated_calls_of_run(connection: Connection, run_id: int) -> set[int]:
    """Calls whose tool, arguments and reply are those of the row with the number before, as texts."""
    found = connection.execute(
        "SELECT own.sequence FROM trace_rows AS own JOIN trace_rows AS last"
        " ON last.run_id = own.run_id AND last.sequence = own.sequence - 1"
        " WHERE own.run_id = ? AND own.kind = 'tool_call' AND last.kind = 'tool_call'"
        " AND own.tool_name = last.tool_name AND own.arguments IS NOT DISTINCT FROM last.arguments"
        " AND own.response IS NOT DISTINCT FROM last.response",
        (run_id,),
    )
    return {row[0] for row in found}


def changes_of_run(connection: Connection, run_id: int, upto: int | None = None) -> list[tuple[int, str]]:
    """The rows that changed the world, and how, up to a step."""
    found = connection.execute(
        "SELECT sequence, updates FROM trace_rows WHERE run_id = ? AND updates IS NOT NULL"
        " AND sequence <= ? ORDER BY sequence",
        (run_id, upto if upto is not None else _LAST),
    )
    return [(row[0], row[1]) for row in found]


def calls_to_compare(connection: Connection, run_id: int, most: int) -> list[CallToCompare]:
    """The first calls of a run in the order they were answered, with what is compared of each."""
    found = connection.execute(
        "SELECT sequence, COALESCE(tool_name, ''), source, http_status,"
        f" SUBSTR(arguments, 1, {COMPARED_CHARS}), COALESCE(LENGTH(arguments), 0),"
        f" SUBSTR(response, 1, {COMPARED_CHARS}), COALESCE(LENGTH(response), 0)"
        " FROM trace_rows WHERE run_id = ? AND kind = 'tool_call' ORDER BY sequence LIMIT ?",
        (run_id, most),
    )
    return [CallToCompare(*row) for row in found]


def rows_with(connection: Connection, run_id: int, words: str, *, after: int, most: int) -> FoundRows:
    """Rows behind `after` in which the words stand, among the next ones: see `FoundRows.searched`.

    Letters of a to z are found in either case; how far others are is the database's to say.
    """
    pattern = "%" + words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    text = " || ' ' || ".join(
        f"COALESCE({name}, '')" for name in ("tool_name", "actor_id", "arguments", "response", "payload")
    )
    found = connection.execute(
        f"SELECT sequence FROM trace_rows WHERE run_id = ? AND sequence > ? AND sequence <= ?"
        f" AND LOWER({text}) LIKE LOWER(?) ESCAPE '\\' ORDER BY sequence LIMIT ?",
        (run_id, after, after + _ROWS_AT_ONCE, pattern, most),
    )
    return FoundRows([row[0] for row in found], after + _ROWS_AT_ONCE)
