"""A world as people look at it: its types, how many of each there are, and tables of them."""

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import is_flag_section

MOST_TYPES = 200
MOST_COLUMNS = 40


def counted_types(state: JsonObject) -> JsonObject:
    """Each type and how many there are of it, all of them together, and how many flags are set."""
    types: list[Json] = []
    entities = flags = 0
    for entity_type, section in state.items():
        if not isinstance(section, dict):
            continue
        if is_flag_section(entity_type, section):
            flags += sum(1 for value in section.values() if value)
            continue
        entities += len(section)
        if len(types) < MOST_TYPES:
            types.append({"type": entity_type, "count": len(section)})
    return {"types": types, "entities": entities, "flags": flags}


def world_tables(state: JsonObject, *, only: str | None, first: int, most: int) -> JsonObject:
    """A table of each type, `most` entities from number `first` on; of one type where `only` names it."""
    tables: list[Json] = []
    flags: JsonObject = {}
    for entity_type, section in state.items():
        if not isinstance(section, dict):
            continue
        if is_flag_section(entity_type, section):
            flags = dict(list(section.items())[:most])
        elif only in (None, entity_type) and len(tables) < MOST_TYPES:
            tables.append(_table(entity_type, section, first, most))
    return {"tables": tables, "flags": flags}


def _table(entity_type: str, section: JsonObject, first: int, most: int) -> JsonObject:
    shown = list(section.items())[first : first + most]
    columns: dict[str, None] = {}
    for _, attributes in shown:
        if isinstance(attributes, dict):
            columns |= dict.fromkeys(attributes)
    names = list(columns)[:MOST_COLUMNS]
    rows: list[Json] = []
    for id, attributes in shown:
        held = attributes if isinstance(attributes, dict) else {}
        cells: JsonObject = {name: held[name] for name in names if name in held}
        rows.append({"id": id, "cells": cells})
    named: list[Json] = [*names]
    return {
        "type": entity_type,
        "count": len(section),
        "first": first,
        "columns": named,
        "columns_left_out": len(columns) - len(names),
        "rows": rows,
    }
