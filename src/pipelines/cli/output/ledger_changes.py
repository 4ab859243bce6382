"""What a run changed in its world, field by field, from the initial state to the end."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.cli.output.blocks import value_text
from pipelines.core.ledger.ledger import InvalidUpdate, Ledger, World, fold, update_from_json

ABSENT = object()


def ledger_changes(initial_state: Any, trace: list[Any], longest: int) -> list[str]:
    """`order.4521.status: "shipped" → "refunded"`. A value that was changed back is not listed."""
    updates = [update for row in trace for update in row["updates"] or ()]
    touched = dict.fromkeys((u["entity_type"], u["id"]) for u in updates if u.get("op") != "set_flag")
    try:
        world = World.from_initial_state(initial_state)
        after = fold(world, map(update_from_json, updates))
    except (InvalidUpdate, ValueError, KeyError) as error:
        return [f"the log does not fit the world: {error}"]
    before = Ledger(world)
    lines: list[str] = []
    for kind, id in touched:
        place = f"{kind}.{id}"
        lines += _entity_lines(place, before.get(kind, id), after.get(kind, id), longest)
    flags = [flag for flag in after.flags() if flag not in set(before.flags())]
    return lines + [f"flag {flag} set" for flag in flags]


def _entity_lines(
    place: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, longest: int
) -> Iterator[str]:
    if before is None and after is not None:
        yield f"{place} added: {value_text(dict(after), longest)}"
    elif after is None and before is not None:
        yield f"{place} removed"
    elif before is not None and after is not None:
        for field in dict.fromkeys((*before, *after)):
            old, new = before.get(field, ABSENT), after.get(field, ABSENT)
            if old is ABSENT or new is ABSENT or old != new or type(old) is not type(new):
                yield f"{place}.{field}: {_format_value(old, longest)} → {_format_value(new, longest)}"


def _format_value(value: Any, longest: int) -> str:
    if value is ABSENT:
        return "nothing"
    return f'"{value_text(value, longest)}"' if isinstance(value, str) else value_text(value, longest)
