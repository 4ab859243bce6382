"""How one field of an expected behaviour is compared, as an author writes it."""

from math import isfinite
from typing import Any, cast

from pipelines.core.evals.scenarios.contract import LeafRule
from pipelines.core.text.authored import Fields, as_object, kind
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem
from pipelines.core.text.stored import known_fields

KINDS = ("enum", "scale", "number", "text", "list", "ordered_list")
MOST_LEVELS = 50
MOST_WEIGHT = 1_000_000.0


def read_leaf_rule(body: Json, path: str, problems: list[Problem]) -> LeafRule:
    read = as_object(body, path, problems, "how a field is compared")
    if read is None:
        return LeafRule()
    fields = Fields(read, path, problems)
    fields.refuse_unknown(_FIELDS)
    kind_of = fields.choice("kind", KINDS)
    levels = _read_levels(fields)
    if levels is not None and kind_of not in (None, "scale"):
        fields.refuse("levels", f"`levels` is for a field of kind `scale`, not `{kind_of}`")
    return LeafRule(
        # Only a scale has levels: whoever writes them has said so.
        kind=cast(Any, "scale" if levels is not None and kind_of is None else kind_of),
        levels=levels,
        tolerance=_read_number(fields, "tolerance"),
        relative_tolerance=_read_number(fields, "relative_tolerance"),
        weight=_read_number(fields, "weight") if fields.has("weight") else None,
    )


def rule_from_stored(body: Any) -> LeafRule:
    read = known_fields(LeafRule, body)
    return LeafRule(**{**read, "levels": tuple(read["levels"]) if read.get("levels") else None})


_FIELDS = ("kind", "levels", "tolerance", "relative_tolerance", "weight")


def _read_levels(fields: Fields) -> tuple[str, ...] | None:
    if not fields.has("levels"):
        return None
    levels = fields.texts("levels")
    if not 2 <= len(levels) <= MOST_LEVELS or len(set(levels)) < len(levels):
        fields.refuse("levels", f"`levels` must be 2 to {MOST_LEVELS} different strings, low to high")
    return levels


def _read_number(fields: Fields, key: str) -> float:
    value = fields.get(key)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        fields.refuse(key, f"`{key}` must be a number of 0 or more, not {kind(value)}")
    elif not 0 <= value <= MOST_WEIGHT or not isfinite(value):
        fields.refuse(key, f"`{key}` must be a number from 0 to {MOST_WEIGHT:,.0f}, not {value}")
    else:
        return float(value)
    return 0.0
