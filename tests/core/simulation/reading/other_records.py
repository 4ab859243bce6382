"""The same world with other records: ids renamed, records added and removed, values changed.

What a plan may depend on is kept: the types and their fields, the kinds of value in each field, the words
that states, kinds and roles are told in, and which field refers to which type."""

import copy
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.domain.references import references_in

State = dict[str, dict[str, dict[str, Any]]]
Path = tuple[str, ...]

_CODED = re.compile(r"[a-z]+(?:[_-][a-z]+)*")
_TOLD_IN_WORDS = (
    "status",
    "state",
    "stage",
    "phase",
    "kind",
    "type",
    "category",
    "priority",
    "level",
    "role",
)
_DATED = re.compile(r"\d{4}-\d\d(-\d\d)?(.*)", re.DOTALL)


def other_records(state: State, random: Random) -> State:
    """Ids renamed, records that nobody needs removed, others added, numbers and texts changed."""
    refers = {(one.entity_type, one.path): one.to for one in references_in(World.from_initial_state(state))}
    words = _vocabularies(state)
    body = copy.deepcopy(state)
    _remove(body, refers, words, random)
    _add(body, random)
    names = {kind: {id: _renamed(id, random) for id in of_kind} for kind, of_kind in body.items()}
    found: State = {}
    for kind, of_kind in body.items():
        found[kind] = {}
        for id, attrs in of_kind.items():
            new = names[kind][id]
            while new in found[kind]:
                new = _renamed(id, random)
            names[kind][id] = new
            found[kind][new] = attrs
    return {
        kind: {
            id: _changed(attrs, (), kind, id, names, refers, words, random) for id, attrs in of_kind.items()
        }
        for kind, of_kind in found.items()
    }


def _scalars(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _scalars(part, (*path, name))
    elif isinstance(value, list):
        yield path, "[]"
        for part in value:
            yield from _scalars(part, path)
    else:
        yield path, value


def _vocabularies(state: State) -> set[tuple[str, Path]]:
    """Texts that are told in words of code, all of them; and states, kinds and roles, however spelled."""
    seen: dict[tuple[str, Path], list[str]] = {}
    for kind, of_kind in state.items():
        for attrs in of_kind.values():
            for path, value in _scalars(attrs):
                if isinstance(value, str) and value != "[]":
                    seen.setdefault((kind, path), []).append(value)
    return {
        place
        for place, values in seen.items()
        if place[1][-1].lower().endswith(_TOLD_IN_WORDS) or all(map(_CODED.fullmatch, values))
    }


def _remove(body: State, refers: dict[Any, str], words: set[Any], random: Random) -> None:
    """Records that nobody refers to, unless a field would then be of another kind."""
    pointed = {
        (refers[kind, path], str(value))
        for kind, of_kind in body.items()
        for attrs in of_kind.values()
        for path, value in _scalars(attrs)
        if (kind, path) in refers
    }
    for kind, of_kind in body.items():
        for id in random.sample(list(of_kind), len(of_kind)):
            rest = [attrs for other, attrs in of_kind.items() if other != id]
            told = {feature for attrs in rest for feature in _features(kind, attrs, refers, words)}
            own = {*_features(kind, of_kind[id], refers, words)}
            if rest and (kind, id) not in pointed and own <= told and random.random() < 0.5:
                del of_kind[id]


def _features(kind: str, attrs: Any, refers: dict[Any, str], words: set[Any]) -> Iterator[Any]:
    for path, value in _scalars(attrs):
        yield path, type(value).__name__ if value != "[]" else "list"
        if (kind, path) in words:
            yield path, value
        if (kind, path) in refers:
            yield path, "refers", value is not None


def _add(body: State, random: Random) -> None:
    """Copies under ids of their own, which are renamed with all others."""
    for of_kind in body.values():
        if len(of_kind) == 1:
            continue  # what stands for a service is one
        for id in random.sample(list(of_kind), random.randint(0, len(of_kind))):
            new = _renamed(id, random)
            if new not in of_kind:
                attrs = copy.deepcopy(of_kind[id])
                of_kind[new] = {
                    name: type(value)(new) if str(value) == id else value for name, value in attrs.items()
                }


def _renamed(id: str, random: Random) -> str:
    """Of the same shape: LOT-17 becomes LOT-83; a word gets more letters."""
    if not re.search(r"\d", id):
        return id + "".join(random.choices("bcdfgz", k=3)) if id != "self" else id
    return re.sub(r"\d+", lambda found: _digits(len(found[0]), random), id)


def _digits(length: int, random: Random) -> str:
    return str(random.randint(1, 9)) + "".join(random.choices("0123456789", k=length + 1))


def _changed(
    value: Any,
    path: Path,
    kind: str,
    id: str,
    names: dict[str, dict[str, str]],
    refers: dict[Any, str],
    words: set[Any],
    random: Random,
) -> Any:
    if isinstance(value, dict):
        return {
            name: _changed(part, (*path, name), kind, id, names, refers, words, random)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [_changed(part, path, kind, id, names, refers, words, random) for part in value]
    if value is None or isinstance(value, bool):
        return value
    old = next((old for old, new in names[kind].items() if new == id), None)
    if len(path) == 1 and old is not None and str(value) == old:
        return type(value)(id)
    if (kind, path) in refers:
        return type(value)(names[refers[kind, path]].get(str(value), str(value)))
    if (kind, path) in words:
        return value
    if isinstance(value, (int, float)):
        return type(value)(random.randint(2, 900_000)) if isinstance(value, int) else random.random() * 900
    if found := _DATED.fullmatch(value):
        day = f"-{random.randint(10, 28)}" if found[1] else ""
        return f"20{random.randint(20, 30)}-{random.randint(10, 12)}{day}{found[2]}"
    if re.search(r"\d", value):
        return re.sub(r"\d", lambda _: random.choice("123456789"), value)
    return "Q" + "".join(random.choices("bcdfghjklmn", k=6)) + " " + "x" * random.randint(1, 3)
