"""Warnings about simulated replies of a run that failed their check, by tool."""

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.core.text.json_text import loads_own
from pipelines.core.tools.trace_row import ON_SECOND_TRY, TraceRow
from pipelines.wire.names import Source

MOST_ROWS_NAMED = 5


def reply_warnings(rows: Iterable[TraceRow]) -> list[str]:
    """One for each tool and each fate, with the first reason: the others mostly are like it."""
    found: dict[tuple[str, int], list[TraceRow]] = {}
    for row in rows:
        if row.is_valid in (0, ON_SECOND_TRY) and row.source != Source.PASSTHROUGH:
            found.setdefault((row.tool_name or "", row.is_valid or 0), []).append(row)
    return [_warning(tool, is_valid, some) for (tool, is_valid), some in found.items()]


def _warning(tool: str, is_valid: int, rows: Sequence[TraceRow]) -> str:
    replies = "1 simulated reply" if len(rows) == 1 else f"{len(rows)} simulated replies"
    fate = "failed the first check and passed on the second try"
    if is_valid == 0:
        # Versions before sent them all the same.
        is_sent = rows[0].source == Source.ODYSSEY
        fate = "failed the check" if is_sent else "failed the check, so the agent got an error instead"
    return f"{tool}: {replies} {fate} ({_rows_text(rows)}). {_reason(rows[0])}"


def _rows_text(rows: Sequence[TraceRow]) -> str:
    named = ", ".join(str(row.sequence) for row in rows[:MOST_ROWS_NAMED])
    more = ", …" if len(rows) > MOST_ROWS_NAMED else ""
    return f"trace row{'s' if len(rows) > 1 else ''} {named}{more}"


def _reason(row: TraceRow) -> str:
    validation: Any = loads_own(row.validation or "{}")
    if validation.get("errors"):
        first = validation["errors"][0]
        hint = f" ({first['hint']})" if "hint" in first else ""
        return f"{first['path']} {first['message']}{hint}"
    return str(next(iter(validation.get("notes", ())), ""))
