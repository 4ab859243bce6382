"""Reading back what we stored ourselves. It was accepted once: nothing of it is checked again.

A row of another version may lack a field, which then has its default, or have one that nobody knows here.
"""

from dataclasses import fields
from functools import cache
from typing import Any

from pipelines.core.text.json_text import Json


def known_fields(record: type, body: Any) -> dict[str, Any]:
    """What of a stored object a record of this type takes as it stands."""
    names = _taken(record)
    return {name: value for name, value in body.items() if name in names}


def stored_list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


@cache
def _taken(record: type) -> frozenset[str]:
    return frozenset(each.name for each in fields(record) if each.init)
