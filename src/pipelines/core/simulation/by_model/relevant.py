"""Selects the part of a world that a model is shown for one call: all of it where it fits. Of a larger one
records that the call names, linked records, records that the run changed, then all records of the types that
the tool or the behaviour text names, and whatever else there is room for. The rest is counted by type.

However large the world: ids and links are looked up in indexes, words are looked for in a bounded number of
records.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from pipelines.core.english.words import singular, tokens
from pipelines.core.ledger.ledger import Attributes, Ledger, World
from pipelines.core.simulation.domain.references import Reference
from pipelines.core.text.json_text import Json, JsonObject, dumps

MOST_CHARACTERS = 24_000
LONGEST_ENTITY = 4_000  # a longer one is shown cut, and what was cut cannot be changed
MOST_ENTITIES = 200
MOST_LINKED = 20  # over one field
MOST_SEARCHED = 2_000  # records that are looked through for words
LARGEST_INDEXED = 20_000  # records of a type that are indexed while a call waits: some tens of milliseconds
MOST_VALUES = 50  # of the arguments
MOST_FLAGS = 100
MOST_TYPES = 100
MOST_FIELDS = 40
SINGLE_TYPES = 10  # types of one record, such as a session: always shown
_CUT_TEXT, _CUT_LIST = 200, 5
_WORD = re.compile(r"\w{3,}")

EntityKey = tuple[str, str]  # type and id


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownWorld:
    """What stands in the question, and which records the answer may therefore speak of."""

    world: JsonObject
    entities: frozenset[EntityKey]
    cut: frozenset[EntityKey] = frozenset()
    is_whole: bool = True  # there is no other record
    related: frozenset[str] = frozenset()  # types that the call may change without naming a record of them


def shown_world(
    arguments: JsonObject,
    ledger: Ledger,
    *,
    kind: str | None,
    references: Iterable[Reference],
    spoken: frozenset[str] = frozenset(),
    first: Iterable[EntityKey] = (),
) -> ShownWorld:
    """`kind` is what the tool is about, where that is known, and `spoken` are the words that are said of it.
    The records in `first` are shown before all others."""
    references = tuple(references)
    relevant = _chosen(arguments, ledger, kind, spoken, references)
    chosen = [*dict.fromkeys([*first, *islice(_distinct(relevant), MOST_ENTITIES * 2)])]
    entities: dict[str, JsonObject] = {}
    named: list[EntityKey] = []
    cut: list[EntityKey] = []
    room_left = MOST_CHARACTERS
    for one in chosen:
        attrs = ledger.get(*one)
        if attrs is None or len(named) >= MOST_ENTITIES:
            continue
        written, is_cut = _fitting(attrs)
        size = len(dumps(written)) + len(one[1]) + 4
        if size > room_left:
            continue
        room_left -= size
        entities.setdefault(one[0], {})[one[1]] = written
        named.append(one)
        cut += [one] if is_cut else []
    is_whole = len(named) == sum(ledger.count(each) for each in ledger.entity_types())
    world: JsonObject = {"shown": {**entities}}
    if not is_whole:
        world["not_shown"] = _rest(ledger, entities)
    flags = ledger.flags()[:MOST_FLAGS]
    return ShownWorld(
        world=world | ({"flags": [*flags]} if flags else {}),
        entities=frozenset(named),
        cut=frozenset(cut),
        is_whole=is_whole,
        related=_related(ledger, kind, spoken, references),
    )


def _related(
    ledger: Ledger, kind: str | None, spoken: frozenset[str], references: tuple[Reference, ...]
) -> frozenset[str]:
    """The types that the tool or the text names, and those one link away."""
    types_meant = {each for each in ledger.entity_types() if each == kind or is_spoken_of(each, spoken)}
    links = ({one.entity_type, one.to} for one in references)
    return frozenset(types_meant.union(*(ends for ends in links if ends & types_meant)))


@lru_cache(maxsize=256)  # tools and behaviour texts of running agents
def spoken_words(name: str, description: str, behavior: str) -> frozenset[str]:
    """The words by which a tool and the behaviour text speak of types, in the singular."""
    words = [*tokens(name), *re.findall(r"[a-z]+", f"{description} {behavior}".lower())]
    return frozenset(map(singular, words))


@lru_cache(maxsize=4096)
def _words_of(kind: str) -> frozenset[str]:
    return frozenset(map(singular, tokens(kind)))


def is_spoken_of(kind: str, spoken: frozenset[str]) -> bool:
    return _words_of(kind) <= spoken


def _chosen(
    arguments: JsonObject,
    ledger: Ledger,
    kind: str | None,
    spoken: frozenset[str],
    references: tuple[Reference, ...],
) -> Iterator[EntityKey]:
    """The most relevant first; the same may come again."""
    types = ledger.entity_types()[:MOST_TYPES]
    values = list(islice(_scalars(arguments), MOST_VALUES))
    named = [one for value in values for one in _with_id(value, types, ledger, kind)]
    yield from named
    yield from _singles(types, ledger)
    linked = list(dict.fromkeys(one for name in named for one in _links(name, ledger, references)))
    yield from linked
    for name in linked[:MOST_LINKED]:
        yield from _pointed_at(name, ledger, references)
    for each in types:
        changed = ledger.changed(each)
        yield from ((each, id) for id in [*changed][-MOST_LINKED:])
    words = list(dict.fromkeys(word for value in values for word in _WORD.findall(str(value).lower())))[:20]
    room_left = MOST_SEARCHED
    for each in [kind] if kind in types else types:
        yield from _with_words(words, each or "", ledger, room_left)
        room_left -= min(room_left, len(ledger.world.entities.get(each or "", ())))
    small = sorted((each for each in types if ledger.count(each) <= MOST_ENTITIES), key=ledger.count)
    types_meant = [each for each in small if each == kind or is_spoken_of(each, spoken)]
    for each in types_meant:
        yield from _all_of(each, ledger)
    for each in types_meant:
        for one in _all_of(each, ledger):
            yield from _pointed_at(one, ledger, references)
    for each in [*([kind] if kind is not None else []), *small, *types]:
        yield from _all_of(each, ledger)


def _all_of(kind: str, ledger: Ledger) -> Iterator[EntityKey]:
    yield from ((kind, id) for id, _ in islice(ledger.entities(kind), MOST_ENTITIES))


def _distinct(keys: Iterable[EntityKey]) -> Iterator[EntityKey]:
    seen = set[EntityKey]()
    for key in keys:
        if key not in seen:
            seen.add(key)
            yield key


def _scalars(value: Json) -> Iterator[str | int]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _scalars(part)
    elif isinstance(value, list):
        for part in value:
            yield from _scalars(part)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        yield value


def _with_id(value: str | int, types: list[str], ledger: Ledger, kind: str | None) -> list[EntityKey]:
    id = str(value)
    if len(id) > 200:
        return []
    found = [(each, id) for each in types if ledger.get(each, id) is not None]
    if found or (kind is None and len(types) > 10):
        return found
    types_searched = [
        each for each in ([kind] if kind in types else types) if each and _is_indexed(each, ledger)
    ]
    spelled = [(each, ledger.resolve_id(each, value)) for each in types_searched]
    return [(each, hit) for each, hit in spelled if hit is not None]


def _is_indexed(kind: str, ledger: Ledger) -> bool:
    """Whether looking a record up by anything but its id is quick, also the first time."""
    return len(ledger.world.entities.get(kind, ())) <= LARGEST_INDEXED


def _singles(types: list[str], ledger: Ledger) -> Iterator[EntityKey]:
    single = [each for each in types if len(ledger.world.entities.get(each, ())) == 1]
    for each in single[:SINGLE_TYPES]:
        yield from ((each, id) for id, _ in islice(ledger.entities(each), 1))


def _links(name: EntityKey, ledger: Ledger, references: tuple[Reference, ...]) -> Iterator[EntityKey]:
    """What a record points at, and what points at it."""
    yield from _pointed_at(name, ledger, references)
    kind, id = name
    for one in references:
        if one.to == kind and len(one.path) == 1 and not one.in_list and _is_indexed(one.entity_type, ledger):
            hits = ledger.find_by_value(one.entity_type, one.path[0], id)
            yield from ((one.entity_type, hit) for hit in hits[:MOST_LINKED])


def _pointed_at(name: EntityKey, ledger: Ledger, references: tuple[Reference, ...]) -> Iterator[EntityKey]:
    attrs = ledger.get(*name)
    for one in references if attrs is not None else ():
        if one.entity_type == name[0]:
            values = islice(_scalars([*_at(attrs, one.path)]), MOST_LINKED)
            yield from (
                (one.to, str(value)) for value in values if ledger.get(one.to, str(value)) is not None
            )


def _at(value: Json, path: tuple[str, ...]) -> Iterator[Json]:
    """The values at a path, of every element where a list stands on the way."""
    if isinstance(value, list):
        for part in value[:MOST_LINKED]:
            yield from _at(part, path)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _at(value[path[0]], path[1:])


def _with_words(words: list[str], kind: str, ledger: Ledger, most: int) -> Iterator[EntityKey]:
    """Records in which such words stand, those with most of them first."""
    if not words or not most:
        return
    counted = [
        (sum(word in text for word in words), place, id)
        for place, (id, text) in enumerate(_searchable(ledger.world, kind)[:most])
    ]
    hits = sorted((-count, place, id) for count, place, id in counted if count)
    yield from ((kind, id) for _, _, id in hits[:MOST_LINKED])


def _searchable(world: World, kind: str) -> list[tuple[str, str]]:
    """The seeded records of a type as text; made once for all runs in this world."""
    key = ("searchable", kind)
    found: list[tuple[str, str]] | None = world.derived.get(key)
    if found is None:
        some = islice(world.entities.get(kind, {}).items(), MOST_SEARCHED)
        found = world.derived[key] = [
            (id, dumps(attrs).decode()[:LONGEST_ENTITY].lower()) for id, attrs in some
        ]
    return found


def _fitting(attrs: Attributes) -> tuple[JsonObject, bool]:
    if len(dumps(attrs)) <= LONGEST_ENTITY:
        return attrs, False
    cut = shortened(attrs)
    assert isinstance(cut, dict)
    while len(dumps(cut)) > LONGEST_ENTITY and len(cut) > 1:
        cut = dict(islice(cut.items(), len(cut) // 2))
    return cut, True


def shortened(value: Json, depth: int = 0) -> Json:
    """With long texts and lists cut, and what lies too deep left out."""
    if isinstance(value, str):
        return value if len(value) <= _CUT_TEXT else value[:_CUT_TEXT] + " …"
    if isinstance(value, list):
        return [] if depth > 3 else [shortened(part, depth + 1) for part in value[:_CUT_LIST]]
    if isinstance(value, dict):
        some = islice(value.items(), MOST_FIELDS)
        return {} if depth > 3 else {key: shortened(part, depth + 1) for key, part in some}
    return value


def _rest(ledger: Ledger, entities: dict[str, JsonObject]) -> JsonObject:
    rest: JsonObject = {}
    for kind in ledger.entity_types()[:MOST_TYPES]:
        count = ledger.count(kind) - len(entities.get(kind, {}))
        if count > 0:
            example = next(ledger.entities(kind), None)
            fields = list(islice(example[1], MOST_FIELDS)) if example is not None else []
            rest[kind] = {"count": count, "fields": [*fields]}
    return rest
