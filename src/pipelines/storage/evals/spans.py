"""Skill spans: stored once each, read by windows of time, removed when they are old."""

from itertools import chain
from typing import NamedTuple

from pipelines.core.evals.telemetry.spans import DEVICE_KEYS
from pipelines.core.evals.telemetry.stored_spans import StoredSpan
from pipelines.core.text.json_text import Json, dumps, loads_own, raw_json
from pipelines.storage.database.connection import ROWS_A_STATEMENT, Connection, Row, in_list

PRUNED_AT_ONCE = 500  # rows in one write
READ_AT_ONCE = 500
_COLUMNS = (
    "org_id, arrived_ns, trace_id, span_id, resource_id, agent_id, device_id, parent_id, skill, name, status,"
    " start_ns, end_ns, happened_ns, input, outcome, attributes, note"
)
_DEVICE_COLUMNS = ("device_id", "host_id", "service_instance_id", "agent_id")
_OWN_COLUMNS = ("device_id", "agent_id")  # that stand on a span itself too


class Window(NamedTuple):
    """Which spans are looked at."""

    org_id: int
    since_ns: int
    until_ns: int
    device_id: str | None


class Place(NamedTuple):
    """Up to where a window was read, newest first."""

    happened_ns: int
    id: int


class SpanLines(NamedTuple):
    lines: list[bytes]  # one span each: `core.evals.decisions.SpanLine`
    last: Place | None  # None: there are no more


def add_spans(connection: Connection, part: bytes, *, org_id: int, arrived_ns: int) -> int:
    """Store one part, as `core.evals.kept_spans` makes them; how many of its spans were not there before."""
    span = loads_own(part)
    assert isinstance(span, dict)
    ids = _resource_ids(connection, span["resources"], org_id=org_id, seen_ns=arrived_ns)
    rows = [_row(StoredSpan(*row), ids, org_id, arrived_ns) for row in span["rows"]]  # type: ignore[union-attr, misc]
    added = 0
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        some = rows[start : start + ROWS_A_STATEMENT]
        values = ", ".join(["(" + ", ".join("?" * len(some[0])) + ")"] * len(some))
        added += connection.execute(
            f"INSERT INTO skill_spans ({_COLUMNS}) VALUES {values}"
            " ON CONFLICT (org_id, trace_id, span_id) DO NOTHING",
            list(chain.from_iterable(some)),
        ).rowcount
    return added


def _row(span: StoredSpan, ids: dict[str, int], org_id: int, arrived_ns: int) -> tuple[object, ...]:
    trace_id, span_id = bytes.fromhex(span.trace_id), bytes.fromhex(span.span_id)
    parent_id = bytes.fromhex(span.parent_id) if span.parent_id is not None else None
    values = span[StoredSpan._fields.index("skill") :]
    whose = (ids[span.resource], span.agent_id, span.device_id, parent_id)
    return (org_id, arrived_ns, trace_id, span_id, *whose, *values)


def _resource_ids(connection: Connection, resources: Json, *, org_id: int, seen_ns: int) -> dict[str, int]:
    assert isinstance(resources, dict)
    ids: dict[str, int] = {}
    for name in sorted(resources):  # two nodes wait for each other in one order
        *devices, body = resources[name]  # type: ignore[misc, str-unpack]
        row = connection.execute(
            f"INSERT INTO span_resources (org_id, hash, {', '.join(_DEVICE_COLUMNS)}, body, seen_ns)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (org_id, hash)"
            " DO UPDATE SET seen_ns = excluded.seen_ns RETURNING id",
            (org_id, name, *devices, body, seen_ns),
        ).fetchone()
        ids[name] = int(row[0])
    return ids


def device_matches(connection: Connection, window: Window) -> dict[str, int]:
    """How many spans of the window each of the DEVICE_KEYS finds."""
    found: dict[str, int] = {}
    for key, column in zip(DEVICE_KEYS, _DEVICE_COLUMNS, strict=True):
        own = f" OR {column} = ?" if column in _OWN_COLUMNS else ""
        row = connection.execute(
            "SELECT COUNT(*) FROM skill_spans WHERE org_id = ? AND happened_ns > ? AND happened_ns <= ? AND"
            f" (resource_id IN (SELECT id FROM span_resources WHERE org_id = ? AND {column} = ?){own})",
            (
                window.org_id,
                window.since_ns,
                window.until_ns,
                window.org_id,
                *[window.device_id] * (2 if own else 1),
            ),
        ).fetchone()
        found[key] = int(row[0])
    return found


def span_lines(connection: Connection, window: Window, after: Place | None) -> SpanLines:
    """Some spans of a window, newest first."""
    condition, values = _conditions(window)
    if after is not None:
        condition += " AND (happened_ns < ? OR (happened_ns = ? AND id < ?))"
        values = [*values, after.happened_ns, after.happened_ns, after.id]
    rows = connection.execute(
        "SELECT id, happened_ns, trace_id, span_id, parent_id, name, skill, status, start_ns, end_ns, input,"
        " outcome FROM skill_spans"
        f" WHERE {condition} ORDER BY happened_ns DESC, id DESC LIMIT ?",
        (*values, READ_AT_ONCE),
    ).fetchall()
    lines = [_line(row) for row in rows]
    is_last = len(rows) < READ_AT_ONCE
    return SpanLines(lines, None if is_last else Place(rows[-1]["happened_ns"], rows[-1]["id"]))


def _line(row: Row) -> bytes:
    _, _, trace_id, span_id, parent_id, *values, input, outcome = row
    ids = [trace_id.hex(), span_id.hex(), parent_id.hex() if parent_id is not None else None]
    texts = (raw_json(text) if text is not None else None for text in (input, outcome))
    return dumps([*ids, *values, *texts])


def _conditions(window: Window) -> tuple[str, list[object]]:
    condition = "org_id = ? AND happened_ns > ? AND happened_ns <= ?"
    values: list[object] = [window.org_id, window.since_ns, window.until_ns]
    if window.device_id is not None:
        named = " OR ".join(f"{column} = ?" for column in _DEVICE_COLUMNS)
        condition += (
            f" AND ({' OR '.join(f'{column} = ?' for column in _OWN_COLUMNS)} OR resource_id IN"
            f" (SELECT id FROM span_resources WHERE org_id = ? AND ({named})))"
        )
        values += [window.device_id] * len(_OWN_COLUMNS)
        values += [window.org_id, *[window.device_id] * len(_DEVICE_COLUMNS)]
    return condition, values


def remove_old_spans(connection: Connection, before_ns: int) -> int:
    """Some of those that arrived before; how many. They have the lowest ids, so no index is needed."""
    rows = connection.execute(
        "SELECT id, arrived_ns FROM skill_spans ORDER BY id LIMIT ?", (PRUNED_AT_ONCE,)
    ).fetchall()
    old = [row["id"] for row in rows if row["arrived_ns"] < before_ns]
    connection.execute(f"DELETE FROM skill_spans WHERE id IN {in_list(old)}", old)
    return len(old)


def remove_old_resources(connection: Connection, before_ns: int) -> None:
    """Whatever refers to one arrived before it was last seen, and is gone by now."""
    connection.execute("DELETE FROM span_resources WHERE seen_ns < ?", (before_ns,))
