"""The values of each field in the runs of a cell and of its baseline, with how often each occurs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import value_at
from pipelines.core.matchers.matching import Missing
from pipelines.core.text.json_text import Json, dumps

MOST_VALUES = 6  # different ones of a field, on each side
MOST_FIELDS = 60
LONGEST_VALUE = 400  # characters of one


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueCount:
    shown: str  # as JSON, so that null, "" and "null" are told apart; or that it is missing
    runs: int
    is_missing: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldSides:
    path: str
    expected: str
    weight: float
    is_decision: bool
    distance: float | None  # how far it moved on average; None: the report does not say
    before: tuple[ValueCount, ...]  # the most frequent first
    after: tuple[ValueCount, ...]
    others_before: int = 0  # runs with values that are not listed
    others_after: int = 0

    @property
    def has_moved(self) -> bool:
        return bool(self.distance)


def fields_of_cell(
    contract: Contract, before: Sequence[Observed], after: Sequence[Observed], components: Sequence[Any]
) -> list[FieldSides]:
    """The contract's leaves, those that moved furthest first."""
    moved = {str(each.get("path")): float(each.get("distance") or 0.0) for each in components}
    # A field that is not listed did not move, unless the answers were no objects to compare by fields.
    others = 0.0 if components and all(each.get("kind") != "class" for each in components) else None
    found = []
    for leaf in contract.leaves:
        remaining, others_left = _value_counts([_value(each, leaf.path) for each in before])
        right, others_right = _value_counts([_value(each, leaf.path) for each in after])
        sides = FieldSides(
            path=leaf.pointer or "/",
            expected=_value_text(leaf.expected),
            weight=leaf.weight,
            is_decision=leaf.is_decision,
            distance=moved.get(leaf.pointer, others),
            before=remaining,
            after=right,
            others_before=others_left,
            others_after=others_right,
        )
        found.append(sides)
    found.sort(key=lambda each: -(each.distance or 0.0) * each.weight)
    return found[:MOST_FIELDS]


def _value(observed: Observed, path: tuple[str, ...]) -> tuple[str, bool]:
    """What stands there, and whether it is missing; an answer that is no object has none of its fields."""
    if observed.output_class != "object":
        return f"({observed.output_class})", True
    value = value_at(observed.value, path)
    return ("(missing)", True) if isinstance(value, Missing) else (_value_text(value), False)


def _value_counts(values: Sequence[tuple[str, bool]]) -> tuple[tuple[ValueCount, ...], int]:
    counts: dict[tuple[str, bool], int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    ordered = sorted(counts.items(), key=lambda each: -each[1])
    listed = tuple(
        ValueCount(shown=value_text, runs=runs, is_missing=is_missing)
        for (value_text, is_missing), runs in ordered[:MOST_VALUES]
    )
    return listed, sum(runs for _, runs in ordered[MOST_VALUES:])


def _value_text(value: Json) -> str:
    text = dumps(value).decode()
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
