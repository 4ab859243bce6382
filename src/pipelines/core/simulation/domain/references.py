"""Which fields of a world refer to which type: a field whose values are ids of a type points there."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from pipelines.core.english.words import joined, singular, tokens, word_set
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.domain.fields import MAX_DEPTH
from pipelines.core.text.json_text import Json, JsonObject

LOOKED_AT = 100  # records per type: references are alike all the way down
#: What stands at the end of the name of an id.
ID_WORDS = word_set("id ids uuid guid number no code key slug ref reference identifier")
_PARTS = word_set("by to for from with")
_MOSTLY = 0.8  # of a field's values have to be ids of the type: a world may have a dangling one


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A field of one type that holds ids of another."""

    entity_type: str
    path: tuple[str, ...]
    to: str
    noun: tuple[str, ...]  # what the field calls the thing: `member_id` → member, `assigned_to` → assigned to
    share: float  # 1, or less where ids of several types look alike
    in_list: bool = False  # the field keeps many: `orders`, but also `watch_list`


def references_in(world: World, asked: Collection[str] = ()) -> tuple[Reference, ...]:
    """`asked`: nouns of ids that the tools ask for, run together: fields called so may hold plain numbers."""
    return tuple(
        found
        for kind, entities in world.entities.items()
        for path, values in _values_by_path(list(islice(entities.values(), LOOKED_AT))).items()
        for found in _references(kind, path, values, world, asked)
    )


def noun_of_id(name: str) -> tuple[str, ...]:
    """`order_id` → order, `line_ids` → line, `sku` → sku."""
    words = tokens(name)
    kept = words[:-1] if len(words) > 1 and words[-1] in ID_WORDS else words
    return (*kept[:-1], singular(kept[-1]))


def _references(
    kind: str, path: tuple[str, ...], values: list[Json], world: World, asked: Collection[str]
) -> Iterator[Reference]:
    # A plain number is a reference only where its field is named like an id, or like somebody's part in it
    # (`borrowed_by`): a quantity of 3 is not record 3.
    is_named = tokens(path[-1])[-1] in ID_WORDS | _PARTS or joined(noun_of_id(path[-1])) in asked
    if any(isinstance(value, int) for value in values) and not is_named:
        return
    known = [
        other
        for other, entities in world.entities.items()
        if sum(str(value) in entities for value in values) >= _MOSTLY * len(values)
    ]
    others = [other for other in known if other != kind] or known
    if _is_own_id(kind, path, world):
        return
    in_list = _keeps_list(world.entities[kind].values(), path)
    for other in others:
        yield Reference(
            entity_type=kind,
            path=path,
            to=other,
            noun=noun_of_id(path[-1]),
            share=1 / len(others),
            in_list=in_list,
        )


def _is_own_id(kind: str, path: tuple[str, ...], world: World) -> bool:
    """The field that repeats the record's own key refers to nothing else."""
    sample = islice(world.entities[kind].items(), LOOKED_AT)
    return len(path) == 1 and all(str(attrs.get(path[0], id)) == id for id, attrs in sample)


def _values_by_path(records: list[JsonObject]) -> dict[tuple[str, ...], list[Json]]:
    found: dict[tuple[str, ...], list[Json]] = {}
    for record in records:
        for path, value in _scalars(record, ()):
            found.setdefault(path, []).append(value)
    return found


def _keeps_list(records: Iterable[JsonObject], path: tuple[str, ...]) -> bool:
    return any(isinstance(_follow(record, path), list) for record in islice(records, LOOKED_AT))


def _follow(value: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _scalars(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Texts and whole numbers with the names that lead to them; the elements of a list share its name."""
    if isinstance(value, dict):
        if len(path) < MAX_DEPTH:
            for name, part in value.items():
                yield from _scalars(part, (*path, name))
    elif isinstance(value, list):
        for element in value[:LOOKED_AT]:
            yield from _scalars(element, path)
    elif path and isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
        yield path, value
