"""Uses of skills in telemetry, made comparable: inputs of one shape belong together, whatever ids they name.

A shape is which fields there are, and of each field either its value or only its type. A value counts where
it tells inputs apart: flags always, others where few values come again and again. Ids, amounts, dates and
free text differ from use to use and do not.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pipelines.core.evals.masking import PLACEHOLDER
from pipelines.core.json_text import Json, JsonObject, dumps, loads_own, pointer

Path: TypeAlias = tuple[str, ...]
MOST_LEVELS = 12  # of a field whose values tell inputs apart: a person would list them
USES_A_LEVEL = 3  # on average: fewer, and equal values may be chance
DECISION_NAMES = frozenset(
    {"action", "decision", "outcome", "verdict", "recommendation", "classification", "tool", "skill"}
)
_LABEL = re.compile(r"[A-Za-z][A-Za-z_.-]{0,39}")


class Flag(NamedTuple):
    """A boolean: to Python, True is 1."""

    is_true: bool


#: A scalar of JSON as something that is equal to and hashed as itself alone: see `_leaf`.
Leaf: TypeAlias = str | int | float | bytes | Flag | None

TRUE: Final = Flag(True)
FALSE: Final = Flag(False)


class Fields(NamedTuple):
    """An object as its leaves: the paths in order, and a value for each."""

    paths: tuple[Path, ...]
    values: tuple[Leaf, ...]


class Use(NamedTuple):
    """One span."""

    input: Fields
    outcome: Fields | None  # None: it says none, or the use failed
    is_error: bool
    ids: tuple[str, str]  # of trace and span


#: Which values stand in a shape: paths, and for each the value or the name of its type.
Shape: TypeAlias = tuple[tuple[Path, ...], tuple[Leaf | type, ...]]


class Interned:
    """Equal tuples of paths are one, and keys are put in order once: thousands of uses have the same."""

    def __init__(self) -> None:
        self._paths: dict[tuple[Path, ...], tuple[Path, ...]] = {}
        self._orders: dict[tuple[str, ...], tuple[list[str], tuple[Path, ...]]] = {}

    def fields(self, value: Json, name: str) -> Fields:
        """Of an object; anything else stands under a name."""
        whole = value if isinstance(value, dict) and value else {name: value}
        if not any(isinstance(item, dict) for item in whole.values()):
            keys, paths = self._order(tuple(whole))
            return Fields(paths, tuple([_leaf(whole[key]) for key in keys]))
        leaves = list(_leaves(whole, ()))
        paths = tuple(path for path, _ in leaves)
        return Fields(self._paths.setdefault(paths, paths), tuple(leaf for _, leaf in leaves))

    def _order(self, keys: tuple[str, ...]) -> tuple[list[str], tuple[Path, ...]]:
        if keys not in self._orders:
            ordered = sorted(keys)
            paths = tuple((key,) for key in ordered)
            self._orders[keys] = ordered, self._paths.setdefault(paths, paths)
        return self._orders[keys]


def _leaves(value: JsonObject, path: Path) -> Iterator[tuple[Path, Leaf]]:
    for key in sorted(value):
        item = value[key]
        if isinstance(item, dict) and item:
            yield from _leaves(item, (*path, key))
        else:
            yield (*path, key), _leaf(item)


def _leaf(value: Json) -> Leaf:
    """Lists, and objects without fields, as their text: they are equal or not."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, list | dict):
        return dumps(value)
    return value


def leaf_as_json(leaf: Leaf) -> Json:
    if isinstance(leaf, Flag):
        return leaf.is_true
    return loads_own(leaf) if isinstance(leaf, bytes) else leaf


def as_object(fields: Iterable[tuple[Path, Leaf]]) -> JsonObject:
    whole: JsonObject = {}
    for path, leaf in fields:
        place = whole
        for part in path[:-1]:
            place = place.setdefault(part, {})  # type: ignore[assignment]
        place[path[-1]] = leaf_as_json(leaf)
    return whole


def recurs(counts: Counter[Leaf], total: int) -> bool:
    """Whether the values of a field are few that come again."""
    if all(isinstance(leaf, Flag) for leaf in counts):
        return True
    return len(counts) <= MOST_LEVELS and total >= USES_A_LEVEL * len(counts)


def by_shape(uses: Sequence[Use]) -> dict[Shape, list[Use]]:
    """The uses of one skill. What tells inputs apart is found among those with the same fields."""
    by_paths: dict[tuple[Path, ...], list[Use]] = {}
    for use in uses:
        by_paths.setdefault(use.input.paths, []).append(use)
    clusters: dict[Shape, list[Use]] = {}
    for paths, some in by_paths.items():
        columns = zip(*(use.input.values for use in some), strict=True)
        counted = [recurs(Counter(column), len(some)) for column in columns]
        for use in some:
            marks = tuple(
                leaf if counts else type(leaf) for leaf, counts in zip(use.input.values, counted, strict=True)
            )
            clusters.setdefault((paths, marks), []).append(use)
    return clusters


def telling_paths(uses: Iterable[Use]) -> frozenset[Path]:
    """Which fields of the outcomes of one skill tell outcomes apart: decisions, flags, labels, and whatever
    has few values that come again."""
    counts: dict[Path, Counter[Leaf]] = {}
    for use in uses:
        if use.outcome is not None:
            for path, leaf in zip(use.outcome.paths, use.outcome.values, strict=True):
                counts.setdefault(path, Counter())[leaf] += 1
    return frozenset(path for path, found in counts.items() if _tells(path, found))


def _tells(path: Path, counts: Counter[Leaf]) -> bool:
    if recurs(counts, counts.total()):
        return True
    if len(counts) > MOST_LEVELS:
        return False
    return path[-1].lower() in DECISION_NAMES or all(map(is_label, counts))


def is_label(leaf: Leaf) -> bool:
    return isinstance(leaf, Flag) or (isinstance(leaf, str) and _LABEL.fullmatch(leaf) is not None)


def is_masked(leaf: Leaf) -> bool:
    text = leaf.decode() if isinstance(leaf, bytes) else leaf
    return isinstance(text, str) and PLACEHOLDER.search(text) is not None


def constant_fields(uses: Sequence[Use]) -> dict[Path, Leaf]:
    """Fields of the outcomes that all have, with the same value."""
    found: dict[Path, Leaf] | None = None
    for values in {use.outcome: None for use in uses if use.outcome is not None}:
        own = dict(zip(values.paths, values.values, strict=True))
        found = own if found is None else {p: v for p, v in found.items() if p in own and own[p] == v}
    return found or {}


_TYPE_NAMES: Mapping[type, str] = {
    str: "text", int: "number", float: "number", bytes: "list", Flag: "flag", type(None): "null",
}  # fmt: skip


def shape_as_json(shape: Shape) -> JsonObject:
    """By JSON Pointer: the value that counts, or the type of one that does not."""
    shown: JsonObject = {}
    for path, mark in zip(*shape, strict=True):
        known = {"type": _TYPE_NAMES[mark]} if isinstance(mark, type) else {"value": leaf_as_json(mark)}
        shown[pointer(path)] = known  # type: ignore[assignment]
    return shown
