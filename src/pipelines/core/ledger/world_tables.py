"""A world as tables: its types with their counts, summaries of their fields, and rows."""

from collections import Counter
from datetime import datetime

from pipelines.core.ledger.ledger import is_flag_section
from pipelines.core.text.json_text import Json, JsonObject, dumps

MOST_TYPES = 200
MOST_COLUMNS = 40
MOST_VALUES = 8  # of a field that are listed with how often each stands
LONGEST_LISTED = 30  # characters of such a value: longer ones are texts of their own
LONGEST_EXAMPLE = 60
LEAST_DATE = len("2026-01-01")


def type_counts(state: JsonObject) -> JsonObject:
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
    listed = list(section.items())[first : first + most]
    summaries = field_summaries(section)
    names = list(summaries)[:MOST_COLUMNS]
    rows: list[Json] = []
    for id, attributes in listed:
        held = attributes if isinstance(attributes, dict) else {}
        cells: JsonObject = {name: held[name] for name in names if name in held}
        rows.append({"id": id, "cells": cells})
    columns: list[Json] = [{"name": name, "summary": summaries[name]} for name in names]
    return {
        "type": entity_type,
        "count": len(section),
        "first": first,
        "columns": columns,
        "columns_left_out": len(summaries) - len(names),
        "rows": rows,
    }


def field_summaries(section: JsonObject) -> dict[str, str]:
    """By field of a type, in a few words: the values and how often, a range, or an example."""
    values: dict[str, list[Json]] = {}
    for attributes in section.values():
        if isinstance(attributes, dict):
            for name, value in attributes.items():
                values.setdefault(name, []).append(value)
    return {name: summary_of(held, of=len(section)) for name, held in values.items()}


def summary_of(values: list[Json], *, of: int) -> str:
    """
    >>> summary_of(["paid", "paid", "new"], of=3), summary_of([3, 1.5], of=4)
    ('paid 2, new 1', '1.5 to 3, in 2 of 4')
    """
    there: list[Json] = [value for value in values if value is not None]
    text = _summary_text(there)
    return text if len(there) == of else f"{text}, in {len(there)} of {of}" if there else "nothing"


def _summary_text(values: list[Json]) -> str:
    plain = [value for value in values if isinstance(value, str | int | float)]
    if not values or len(plain) < len(values):
        return _example(values)
    counts = Counter(_value_text(value) for value in plain)
    are_short = all(len(name) <= LONGEST_LISTED for name in counts)
    if len(counts) <= MOST_VALUES and are_short and (len(counts) < len(plain) or len(plain) == 1):
        return ", ".join(f"{name} ×{often}" for name, often in counts.most_common())
    numbers = [value for value in plain if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(plain):
        return f"{_value_text(min(numbers))} to {_value_text(max(numbers))}"
    texts = [value for value in plain if isinstance(value, str)]
    if len(texts) == len(plain) and all(map(_is_date, texts)):
        return f"{min(texts)[:LEAST_DATE]} to {max(texts)[:LEAST_DATE]}"
    return _example(values)


def _example(values: list[Json]) -> str:
    text = _value_text(values[0]) if values else ""
    return f"such as {text[: LONGEST_EXAMPLE - 1]}…" if len(text) > LONGEST_EXAMPLE else f"such as {text}"


def _value_text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= LEAST_DATE
