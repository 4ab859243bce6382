"""Inputs and outcomes of decisions as leaves: the paths of an object, each with a scalar to compare."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from pipelines.core.evals.telemetry.masking import PLACEHOLDER
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own

Path: TypeAlias = tuple[str, ...]


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


class PathCache:
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


def is_masked(leaf: object) -> bool:
    text = leaf.decode() if isinstance(leaf, bytes) else leaf
    return isinstance(text, str) and PLACEHOLDER.search(text) is not None


def constant_fields(some: Sequence[Fields]) -> dict[Path, Leaf]:
    """The fields that all have, with the same value."""
    found: dict[Path, Leaf] | None = None
    for fields in dict.fromkeys(some):
        own = dict(zip(fields.paths, fields.values, strict=True))
        found = own if found is None else {p: v for p, v in found.items() if p in own and own[p] == v}
    return found or {}
