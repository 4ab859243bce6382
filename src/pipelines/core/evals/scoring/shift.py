"""The distance of an output from a baseline output, from 0 to 1, and which fields changed.

Only the contract's leaves count; what changed elsewhere is listed. A changed decision is always red.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pipelines.core.evals.scenarios.contract import DECISION_SHARE, Contract, ContractLeaf
from pipelines.core.evals.scoring.leaf_distance import FLIPPED_TEXT, LeafDistance, leaf_distance
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.text_shift import text_distance, text_profile
from pipelines.core.matchers.matching import MISSING, Actual, Missing, Path
from pipelines.core.text.json_text import Json, pointer, same
from pipelines.wire.records import Hidden, Named, Omitted, Record, Via, shown

ShiftMethod: TypeAlias = Literal["contract", "words", "class"]

DIGITS = 9  # of all distances and their means
MOST_EXTRA_PATHS = 100  # listed
MOST_WALKED = 5_000  # values outside the contract that are looked at
LONGEST_SHOWN = 2_000  # characters of a text in a component


def _shown_value(value: Actual) -> Json:
    if isinstance(value, Missing):
        return None
    if isinstance(value, str) and len(value) > LONGEST_SHOWN:
        return value[:LONGEST_SHOWN] + "…"
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Component(Record, component="ShiftComponent"):
    """How far one leaf moved."""

    path: str
    kind: str
    weight: float
    distance: float
    #: A missing value is null, and reported as missing, because null is a value too.
    from_: Annotated[Actual, Named("from"), Via(_shown_value)]
    to: Annotated[Actual, Via(_shown_value)]
    is_decision: Hidden[bool] = False

    @shown(after="to")
    def from_missing(self) -> Omitted[bool | None]:
        return isinstance(self.from_, Missing) or None

    @shown(after="to")
    def to_missing(self) -> Omitted[bool | None]:
        return isinstance(self.to, Missing) or None


@dataclass(frozen=True, kw_only=True, slots=True)
class Shift(Record):
    """How far an output is from the reference."""

    distance: float
    components: tuple[Component, ...]
    extra_paths: tuple[str, ...]  # changed, and no part of the contract
    method: ShiftMethod
    is_flip: bool  # the decision changed


def shift(contract: Contract, baseline: Observed, observed: Observed) -> Shift:
    before, after = baseline.output_class, observed.output_class
    if before == after == "object":
        return _contract_shift(contract, baseline.value, observed.value)
    if before == after == "text":
        return _text_shift(str(baseline.value), str(observed.value))
    apart = float(before != after)
    moved = Component(path="", kind="class", weight=1.0, distance=apart, from_=before, to=after)
    return Shift(distance=apart, components=(moved,), extra_paths=(), method="class", is_flip=before != after)


def value_at(value: Json, path: Path) -> Actual:
    """What stands at a leaf of the contract; keys only, for lists are leaves."""
    found: Actual = value
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return MISSING
        found = found[key]
    return found


def total_distance(weighed: float, is_flip: bool, *, floor: float = DECISION_SHARE) -> float:
    """The weighted sum; if a decision changed at least what all decisions weigh, however many there are.

    Rounded far below what anybody reads: 0.6 is not above a threshold of 0.6 by the way it was added up.
    """
    return round(min(1.0, max(weighed, floor) if is_flip else weighed), DIGITS)


def is_flipped(leaf: ContractLeaf, apart: LeafDistance) -> bool:
    """A leaf of no weight decides nothing."""
    return leaf.is_decision and leaf.weight > 0 and apart.is_flip


def _contract_shift(contract: Contract, before: Json, after: Json) -> Shift:
    components, is_flip = [], False
    for leaf in contract.leaves:
        left, right = value_at(before, leaf.path), value_at(after, leaf.path)
        apart = leaf_distance(leaf, left, right)
        is_flip = is_flip or is_flipped(leaf, apart)
        components.append(
            Component(
                path=leaf.pointer,
                kind=apart.kind,
                weight=leaf.weight,
                distance=apart.distance,
                from_=left,
                to=right,
                is_decision=leaf.is_decision,
            )
        )
    weighed = sum(each.weight * each.distance for each in components)
    return Shift(
        distance=total_distance(weighed, is_flip, floor=contract.decision_share),
        components=tuple(components),
        extra_paths=tuple(_extra_paths(contract, before, after)),
        method="contract",
        is_flip=is_flip,
    )


def _text_shift(before: str, after: str) -> Shift:
    apart = text_distance(text_profile(before), text_profile(after)).total
    moved = Component(path="/text", kind="text", weight=1.0, distance=apart, from_=before, to=after)
    return Shift(
        distance=apart,
        components=(moved,),
        extra_paths=(),
        method="words",
        is_flip=apart >= FLIPPED_TEXT,
    )


def _extra_paths(contract: Contract, before: Json, after: Json) -> Iterator[str]:
    """Where the two differ outside the contract, up to MOST_EXTRA_PATHS of them."""
    counted = {leaf.path for leaf in contract.leaves}
    pending: list[tuple[Path, Actual, Actual]] = [((), before, after)]
    looked_at = found = 0
    while pending and looked_at < MOST_WALKED and found < MOST_EXTRA_PATHS:
        path, left, right = pending.pop()
        looked_at += 1
        if path in counted:
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            keys = dict.fromkeys((*left, *right))
            pending.extend(
                ((*path, key), left.get(key, MISSING), right.get(key, MISSING)) for key in reversed(keys)
            )
        elif not _is_same(left, right) and not any(each[: len(path)] == path for each in counted):
            found += 1
            yield pointer(path)


def _is_same(left: Actual, right: Actual) -> bool:
    if isinstance(left, Missing) or isinstance(right, Missing):
        return left is right
    return same(left, right)
