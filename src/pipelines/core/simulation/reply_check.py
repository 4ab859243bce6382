"""Checks a reply against its schema and the ledger: its fields of an entity must equal the entity's.

The check is cheap, because it runs on every call, and careful, because a plan may compute a field: only
objects that clearly describe one entity are compared, and only in the fields that they share with it.
"""

import copy
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol

from pipelines.core.ledger.ledger import Add, Attributes, Ledger, LedgerUpdate
from pipelines.core.ledger.ledger_schema import LedgerSchema, update_problems
from pipelines.core.simulation.expr import Expr, parse
from pipelines.core.simulation.expr.nodes import Constant, Field, Item, MappingOf, Name, Slice
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.text.json_text import Json, JsonObject, same
from pipelines.core.text.problems import Problem

MAX_OBJECTS = 50  # looked at in one reply: a long list is one query's answer, alike all the way down


class CheckedTool(Protocol):
    """A tool, as far as its replies are concerned."""

    @property
    def name(self) -> str: ...
    @property
    def input_schema(self) -> JsonObject: ...
    def response_problems(self, response: Json) -> list[Problem]: ...


def reply_problems(
    response: Json,
    *,
    tool: CheckedTool,
    ledger_after: Ledger,
    computed: Collection[str] = (),
    arguments: Mapping[str, Json] | None = None,
) -> list[Problem]:
    """All problems of a successful reply; `computed` are fields that the plan computes itself."""
    found = tool.response_problems(response)
    if not isinstance(response, (dict, list)) or not response:
        return found
    kinds = _id_keys(tuple(ledger_after.entity_types()))
    about = _spoken_of(tool, kinds)
    echoed = frozenset(str(value) for value in (arguments or {}).values() if isinstance(value, (str, int)))
    for path, value, named in _objects(response, kinds, ledger_after):
        if named is not None and (named.kind in about or not _may_be_another(value, named, ledger_after)):
            found += _disagreements(path, value, named, computed)
        elif named is None:
            found += _inventions(path, value, kinds, ledger_after, echoed)
    return found


def contradictions(
    response: Json,
    ledger: Ledger,
    computed: Collection[str] = (),
    updates: Collection[LedgerUpdate] = (),
) -> list[Problem]:
    """Where the reply and the ledger (after the call, with its updates) disagree, as JSON Pointers."""
    kinds = _id_keys(tuple(ledger.entity_types()))
    found: list[Problem] = []
    for path, value, named in _objects(response, kinds, ledger):
        if named is not None and (wrong := _disagreements(path, value, named, computed)):
            found += wrong if not _is_about_added_entity(value, updates) else ()
    return found


def described_records(response: Json, ledger: Ledger) -> list[tuple[str, str]]:
    """The records whose fields a reply gives, by type and id."""
    kinds = _id_keys(tuple(ledger.entity_types()))
    return [(named.kind, named.id) for _, _, named in _objects(response, kinds, ledger) if named is not None]


def with_ledger_values(
    response: Json,
    ledger: Ledger,
    computed: Collection[str] = (),
    updates: Collection[LedgerUpdate] = (),
) -> Json:
    """The reply with what the ledger (after the call) holds in place of all that contradicts it."""
    copied = copy.deepcopy(response)
    kinds = _id_keys(tuple(ledger.entity_types()))
    for _, value, named in list(_objects(copied, kinds, ledger)):
        if named is not None and not _is_about_added_entity(value, updates):
            value.update({name: named.attrs[name] for name in _differing(value, named, computed)})
    return copied


def _is_about_added_entity(value: JsonObject, updates: Collection[LedgerUpdate]) -> bool:
    """A refund that the call adds names its order and has an amount of its own: the reply may be about it."""
    for added in (update.attrs for update in updates if isinstance(update, Add)):
        shared = value.keys() & added.keys()
        if shared and all(same(value[name], added[name]) for name in shared):
            return True
    return False


def may_contradict(response: Json, ledger: Ledger, updates: Iterable[LedgerUpdate]) -> bool:
    """Whether it is worth a look: many replies are flat and name no entity, so nothing is to be compared."""
    if not isinstance(response, dict) or not _is_flat(response):
        return True
    kinds = ledger.entity_types()
    for update in updates:  # one that the call itself brings into the world may be named, too
        if isinstance(update, Add) and update.entity_type not in kinds:
            return True
    return not _names_nothing(response, _id_keys(tuple(kinds)))


def _is_flat(value: JsonObject) -> bool:
    kinds = set(map(type, value.values()))  # a generator would take three times as long
    return dict not in kinds and list not in kinds


def update_check(updates: Iterable[LedgerUpdate], schema: LedgerSchema | None) -> list[Problem]:
    """What the updates of a call have against a declared ledger schema; nothing without one."""
    return [] if schema is None else [one for update in updates for one in update_problems(schema, update)]


class _AnyField(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


#: What a plan computes whose author asserts all that it answers.
ANY_FIELD: frozenset[str] = _AnyField()


def computed_in(body: Json) -> frozenset[str]:
    """Fields that a plan's returns work out rather than read: they may differ from the ledger and mean it."""
    if isinstance(body, list):
        return frozenset().union(*map(computed_in, body))
    if not isinstance(body, dict):
        return frozenset()
    if body.get("asserted") is True and "steps" in body:
        return ANY_FIELD
    own = _worked_out(body["return"]) if "return" in body else frozenset()
    return own.union(*(computed_in(body[key]) for key in ("steps", "do", "then", "else") if key in body))


def _worked_out(value: Json) -> frozenset[str]:
    if isinstance(value, list):
        return frozenset().union(*map(_worked_out, value))
    if isinstance(value, dict):
        own = {key for key, part in value.items() if not _is_read(part)}
        return frozenset(own - {"..."}).union(*map(_worked_out, value.values()))
    found = _parsed(value) if isinstance(value, str) else None
    mappings = [node for node in found.walk() if isinstance(node, MappingOf)] if found is not None else []
    keys = [key.value for one in mappings for key, _ in one.entries if isinstance(key, Constant)]
    return frozenset(key for key in keys if isinstance(key, str))


def _is_read(part: Json) -> bool:
    """An expression that is a name and the fields below it; literal text is not."""
    if isinstance(part, dict):
        return part.keys() != {"text"}
    found = _parsed(part) if isinstance(part, str) else None
    while isinstance(found, (Field, Item, Slice)):
        found = found.of
    return not isinstance(part, str) or isinstance(found, Name)


def _parsed(written: str) -> Expr | None:
    try:
        return parse(written)
    except BadExpression:
        return None


# -- objects and the entities they name ---------------------------------------------------------------------


class _Named(NamedTuple):
    kind: str
    id: str
    attrs: Attributes


@lru_cache(maxsize=256)
def _id_keys(kinds: tuple[str, ...]) -> dict[str, str]:
    """The keys that name an entity of a type: `order_id`, `orderId`."""
    keys: dict[str, str] = {}
    for kind in kinds:
        keys[f"{kind}_id"] = kind
        keys.setdefault(f"{kind}Id", kind)
        if kind.endswith("s"):  # a world may say `orders` where its replies say `order_id`
            keys.setdefault(f"{kind[:-1]}_id", kind)
    return keys


def _spoken_of(tool: CheckedTool, kinds: Mapping[str, str]) -> set[str]:
    """The types a tool is about: their ids are among its arguments, or its name has them."""
    properties = tool.input_schema.get("properties")
    property_schemas = properties if isinstance(properties, dict) else {}
    return {
        kind for key, kind in kinds.items() if key in property_schemas or kind.lower() in tool.name.lower()
    }


def _objects(
    response: Json, kinds: Mapping[str, str], ledger: Ledger
) -> Iterator[tuple[str, JsonObject, _Named | None]]:
    """The reply's own objects and the entities they name; not the objects inside an entity's attributes."""
    if isinstance(response, list):
        yield from _elements(response, "", kinds, ledger)
        return
    if not isinstance(response, dict):
        return
    named = _entity(response, kinds, ledger)
    yield "", response, named
    inside = _inside(response, named, kinds, ledger)
    first = next(inside, None)
    if first is None or (named is None and _is_like_an_entity(response, kinds, ledger)):
        return
    yield first
    yield from inside


def _inside(
    response: JsonObject, named: _Named | None, kinds: Mapping[str, str], ledger: Ledger
) -> Iterator[tuple[str, JsonObject, _Named | None]]:
    for key, part in response.items():
        if named is not None and key in named.attrs:
            continue
        if isinstance(part, list):
            yield from _elements(part, f"/{key}", kinds, ledger)
        elif isinstance(part, dict) and not _names_nothing(part, kinds):
            yield f"/{key}", part, _entity(part, kinds, ledger)


def _elements(
    listed: list[Json], path: str, kinds: Mapping[str, str], ledger: Ledger
) -> Iterator[tuple[str, JsonObject, _Named | None]]:
    for index, element in enumerate(listed[:MAX_OBJECTS]):
        if isinstance(element, dict) and not _names_nothing(element, kinds):
            yield f"{path}/{index}", element, _entity(element, kinds, ledger)


def _names_nothing(value: JsonObject, kinds: Mapping[str, str]) -> bool:
    """No key of it could be the id of an entity: there is nothing to compare it with."""
    return "id" not in value and kinds.keys().isdisjoint(value)


def _is_like_an_entity(value: JsonObject, kinds: Mapping[str, str], ledger: Ledger) -> bool:
    """An entity's attributes, without its id or of one that is gone: what is inside is its own affair."""
    keys = value.keys() - kinds.keys() - {"id"}
    return any(
        keys <= example.keys()
        for kind in ledger.entity_types()
        if (example := _example(kind, ledger)) is not None
    )


def _example(kind: str, ledger: Ledger) -> Attributes | None:
    seeded = ledger.world.entities.get(kind)
    if seeded:
        return next(iter(seeded.values()))
    first = next(ledger.entities(kind), None)
    return first[1] if first is not None else None


def _entity(value: JsonObject, kinds: Mapping[str, str], ledger: Ledger) -> _Named | None:
    """The one entity an object is about: named by id, and sharing most of the object's other fields.

    `{order_id, user_id, status}` names an order and its user; it is about the order, whose fields it has.
    """
    if _names_nothing(value, kinds):
        return None
    best: _Named | None = None
    most = -1
    own = value.get("id")
    for key, id in value.items():  # in the object's own order: of two that fit alike the first is meant
        kind = kinds.get(key)
        if kind is None or (own is not None and own != id):  # what has an id of its own only refers to others
            continue
        attrs = ledger.get(kind, id) if isinstance(id, str) else None
        if attrs is not None and (shared := len(value.keys() & attrs.keys())) > most:
            best, most = _Named(kind, str(id), attrs), shared
    if best is None and isinstance(own, str):
        best = _by_bare_id(own, value, kinds, ledger)
        most = len(value.keys() & best.attrs.keys()) if best is not None else -1
    return best if best is not None and most * 2 >= len(value) - ("id" in value) else None


def _by_bare_id(id: str, value: JsonObject, kinds: Mapping[str, str], ledger: Ledger) -> _Named | None:
    """`{id: …}` names whatever has that id, if only one thing has and the fields are its own."""
    hits = [
        _Named(kind, id, attrs)
        for kind in dict.fromkeys(kinds.values())
        if (attrs := ledger.get(kind, id)) is not None and attrs.keys() & value.keys()
    ]
    return hits[0] if len(hits) == 1 else None


def _may_be_another(value: JsonObject, named: _Named, ledger: Ledger) -> bool:
    """An object that is all of it fields of another type may be one of those, its own id left out."""
    keys = value.keys()
    for kind in ledger.entity_types():
        example = _example(kind, ledger) if kind != named.kind else None
        if example is not None and keys <= example.keys():
            return True
    return False


def _disagreements(path: str, value: JsonObject, named: _Named, computed: Collection[str]) -> list[Problem]:
    return [
        Problem(
            path=f"{path}/{name}",
            message=f"is {value[name]!r:.60}, but {named.kind} {named.id} has {named.attrs[name]!r:.60}",
        )
        for name in _differing(value, named, computed)
    ]


def _differing(value: JsonObject, named: _Named, computed: Collection[str]) -> list[str]:
    attrs = named.attrs
    if value is attrs:
        return []
    return [
        name
        for name, value_here in value.items()
        if name in attrs
        and value_here is not attrs[name]
        and name not in computed
        and not same(value_here, attrs[name])
    ]


# -- what is not there ------------------------------------------------------------------------------------


def _inventions(
    path: str, value: JsonObject, kinds: Mapping[str, str], ledger: Ledger, echoed: Collection[str]
) -> list[Problem]:
    """A record that the ledger does not have: an id like the type's own, beside fields of the type."""
    for key, id in value.items():
        kind = kinds.get(key)
        if kind is None:
            continue
        if not isinstance(id, str) or id in echoed or id in ledger.world.entities.get(kind, ()):
            continue
        first = next(ledger.entities(kind), None)
        if first is None or not _describes(value, first[1], key) or _shape(id) != _shape(first[0]):
            continue
        if ledger.resolve_id(kind, id) is None:
            return [Problem(path=f"{path}/{key}", message=f"there is no {kind} {id!r:.60} in the ledger")]
    return []


def _describes(value: JsonObject, attrs: Attributes, key: str) -> bool:
    """More than an id: at least half of the other fields, and one of them, are the type's."""
    others = value.keys() - {key, "id"}
    return 0 < len(others) <= 2 * len(others & attrs.keys())


@lru_cache(maxsize=4096)
def _shape(id: str) -> str:
    """`o-101` and `o-7` are alike: a letter, a hyphen, digits."""
    return re.sub(r"\d+", "9", re.sub(r"[A-Za-z]+", "a", id))
