"""Does a reply contradict the ledger? An object that names an entity must not say otherwise than the entity does.

Cheap, because it runs on every call; and careful, because a plan may well compute a field: only objects that
clearly speak of one entity are compared, and only in the fields that they share with it.
"""

from collections.abc import Iterator

from pipelines.core.json_text import Json, JsonObject, same
from pipelines.core.ledger import Attributes, Ledger
from pipelines.core.problems import Problem

MAX_OBJECTS = 50  # looked at in one reply: a long list is one query's answer, alike all the way down


def contradictions(response: Json, ledger: Ledger) -> list[Problem]:
    """Where the reply and the ledger (after the call) disagree; paths are JSON Pointers into the reply."""
    kinds = {f"{kind}_id": kind for kind in ledger.entity_types()}
    found: list[Problem] = []
    for looked_at, (path, value) in enumerate(_objects(response, "")):
        if looked_at >= MAX_OBJECTS:
            break
        spoken_of = _entity(value, kinds, ledger)
        if spoken_of is not None:
            found += _disagreements(path, value, *spoken_of)
    return found


def _objects(value: Json, path: str) -> Iterator[tuple[str, JsonObject]]:
    """The reply's own objects, not those inside an entity's attributes."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            if isinstance(inner, list):
                yield from _objects(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value[:MAX_OBJECTS]):
            if isinstance(inner, dict):
                yield f"{path}/{index}", inner


def _entity(
    value: JsonObject, kinds: dict[str, str], ledger: Ledger
) -> tuple[str, str, Attributes] | None:
    """The one entity an object is about: named by id, and sharing most of the object's other fields.

    `{order_id, user_id, status}` names an order and its user; it is about the order, whose fields it has.
    """
    best: tuple[int, str, str, Attributes] | None = None
    for key, kind in kinds.items():
        id = value.get(key)
        if isinstance(id, str) and (attrs := ledger.get(kind, id)) is not None:
            shared = len(value.keys() & attrs.keys())
            if best is None or shared > best[0]:
                best = shared, kind, id, attrs
    if best is None or best[0] * 2 < len(value):
        return None
    return best[1:]


def _disagreements(path: str, value: JsonObject, kind: str, id: str, attrs: Attributes) -> list[Problem]:
    return [
        Problem(path=f"{path}/{name}", message=f"is {said!r:.60}, but {kind} {id} has {attrs[name]!r:.60}")
        for name, said in value.items()
        if name in attrs and not same(said, attrs[name])
    ]
