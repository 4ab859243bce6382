"""Whether one blind call answered and changed the world as its labels say (tests/blind/tools/README.md)."""

import re
from collections.abc import Iterator
from typing import Any

from pipelines.core.text.json_text import Json, same

_TIME_ENDINGS = ("at", "on", "date", "time", "timestamp")
_TYPES: dict[str, tuple[type, ...]] = {
    "number": (int, float),
    "integer": (int,),
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_GONE = object()


def wrong_status(call: dict[str, Any], status: int) -> Iterator[str]:
    if call.get("refused"):
        if status < 400:
            yield f"status {status}, should be refused"
    elif call["error"] is None:
        if status >= 400:
            yield f"status {status}, should succeed"
    elif status != call["error"]:
        yield f"status {status}, should be {call['error']}"


# -- the reply


def wrong_reply(
    world: dict[str, Any], tool: dict[str, Any], call: dict[str, Any], reply: Json
) -> Iterator[str]:
    facts = dict(call.get("reply") or {})
    any_name = len(facts) == 1 and not tool.get("output_schema")
    for name, kind in call.get("reply_types", {}).items():
        if not any(_is_of_type(value, kind) for value in _named(reply, name)):
            yield f"no {kind} `{name}` in {reply}"
    ids, not_ids = facts.pop("ids", []), facts.pop("not_ids", [])
    if ids or not_ids:
        listed = _listed(world, reply, [*ids, *not_ids])
        if missing := [id for id in ids if str(id) not in listed]:
            yield f"not listed: {missing} in {str(reply)[:300]}"
        if strangers := [id for id in not_ids if str(id) in listed]:
            yield f"listed: {strangers}"
    for name, value in facts.items():
        values = [*_named(reply, name)]
        if not any(same(value, one) for one in (*values, *(_scalars(reply) if any_name else ()))):
            yield f"`{name}` is not {value!r} in {str(reply)[:300]}"


def _is_of_type(value: Json, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _named(reply: Json, name: str) -> Iterator[Json]:
    """Values of the field, at any depth; dots in its name are a path."""
    first, _, rest = name.partition(".")
    for key, value in _fields(reply):
        if _plain(key) == _plain(first):
            if not rest:
                yield value
            elif isinstance(value, dict):
                yield from _at(value, rest)


def _at(value: Any, path: str) -> Iterator[Json]:
    for key in path.split("."):
        matching = [name for name in value if _plain(name) == _plain(key)] if isinstance(value, dict) else []
        if not matching:
            return
        value = value[matching[0]]
    yield value


def _fields(value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        yield from value.items()
        for inner in value.values():
            yield from _fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner)


def _scalars(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _scalars(inner)
    elif isinstance(value, list):
        yield value
        for inner in value:
            yield from _scalars(inner)
    else:
        yield value


def _listed(world: dict[str, Any], reply: Json, asked: list[Any]) -> set[str]:
    """Ids of the entities that the answer lists, of the type whose ids are asked for."""
    kinds = {kind for kind, of_kind in world.items() if all(str(id) in of_kind for id in asked)}
    found = _items(world, reply)
    return {id for kind, id in found if not kinds or kind is None or kind in kinds}


def _items(world: dict[str, Any], value: Json) -> Iterator[tuple[str | None, str]]:
    if isinstance(value, dict):
        entity = _entity(world, value)
        if entity is not None:
            yield entity[0], entity[1]
        for key, inner in value.items():
            if isinstance(inner, dict):
                if any(key in of_kind for of_kind in world.values()):
                    yield None, key
                yield from _items(world, inner)
            # Inside an entity, a list of ids only refers.
            elif isinstance(inner, list) and (
                entity is None or entity[2] == 0 or any(isinstance(one, dict) for one in inner)
            ):
                yield from _items(world, inner)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, (str, int)) and not isinstance(inner, bool):
                yield None, str(inner)
            else:
                yield from _items(world, inner)


def _entity(world: dict[str, Any], item: dict[str, Any]) -> tuple[str, str, int] | None:
    """The entity that explains most of the item's fields: (type, id, how many); its own id stands first."""
    best: tuple[str, str, int] | None = None
    own = [value for name, value in item.items() if _plain(name) == "id"]
    for value in own or item.values():
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            continue
        for kind, of_kind in world.items():
            attrs = of_kind.get(str(value))
            if attrs is None:
                continue
            held = {_plain(name): one for name, one in attrs.items()}
            agreeing = sum(_plain(n) in held and same(held[_plain(n)], one) for n, one in item.items())
            if best is None or agreeing > best[2]:
                best = (kind, str(value), agreeing)
    return best


# -- the ledger


def wrong_changes(
    before: dict[str, Any], after: dict[str, Any], tool: dict[str, Any], call: dict[str, Any]
) -> Iterator[str]:
    if "changes" not in call:
        return
    explained: list[tuple[str, str, tuple[str, ...]]] = []
    differences = [*_differences(before, after)]
    for change in call["changes"]:
        place = _place_of(change, before, after, [one[1] for one in explained])
        if place is None:
            yield f"did not happen: {change}"
        else:
            explained.append(place)
    for kind, id, path, value in differences:
        if any(_covers(place, (kind, id, path)) for place in explained):
            continue
        allowed = any(_allows(one, before, (kind, id, path)) for one in call.get("may_change", ()))
        if not (allowed or _is_not_counted(path, value, tool, call)):
            shown = "removed" if value is _GONE else value
            yield f"changed too: {kind}/{id}/{'.'.join(path)} = {str(shown)[:120]}"


Place = tuple[str, str, tuple[str, ...]]


def _differences(
    before: dict[str, Any], after: dict[str, Any]
) -> Iterator[tuple[str, str, tuple[str, ...], Any]]:
    for kind in {**before, **after}:
        old, new = before.get(kind, {}), after.get(kind, {})
        for id in {**old, **new}:
            if id not in old:
                yield kind, id, (), new[id]
            elif id not in new:
                yield kind, id, (), _GONE
            else:
                for path, value in _changed(old[id], new[id], ()):
                    yield kind, id, path, value


def _changed(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(new, dict) and (isinstance(old, dict) or old is _GONE):
        known = old if isinstance(old, dict) else {}
        for name in {**known, **new}:
            yield from _changed(known.get(name, _GONE), new.get(name, _GONE), (*path, name))
    elif old is _GONE or new is _GONE or not same(old, new):
        yield path, new


def _place_of(
    change: dict[str, Any], before: dict[str, Any], after: dict[str, Any], taken: list[str]
) -> Place | None:
    """Where the change was found, None where it did not happen."""
    kind, id = change["type"], str(change.get("id", ""))
    now = after.get(kind, {})
    if "added" in change:
        new = [one for one in now if one not in before.get(kind, {}) and one not in taken]
        fits = [one for one in new if _has_all(now[one], change["added"]) and id in ("", one)]
        return (kind, fits[0], ()) if fits else None
    if change.get("removed"):
        return (kind, id, ()) if id not in now else None
    held = [*_at(now.get(id, {}), change["field"])]
    is_so = same(held[0], change["value"]) if held else change["value"] is None and id in now
    return (kind, id, tuple(change["field"].split("."))) if is_so else None


def _has_all(attrs: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(any(same(one, value) for one in _at(attrs, name)) for name, value in wanted.items())


def _covers(place: Place, found: Place) -> bool:
    length = len(place[2])
    return place[:2] == found[:2] and [*map(_plain, place[2])] == [*map(_plain, found[2][:length])]


def _allows(item: dict[str, Any], before: dict[str, Any], found: Place) -> bool:
    kind, id, _ = found
    if item.get("new_type"):
        return kind not in before
    if item.get("type", kind) != kind or str(item.get("id", id)) != id:
        return False
    field = tuple(item["field"].split(".")) if "field" in item else ()
    return _covers((kind, id, field), found)


def _is_not_counted(path: tuple[str, ...], value: Any, tool: dict[str, Any], call: dict[str, Any]) -> bool:
    """Times of change, and fields that only record an optional argument."""
    if not path or value is _GONE:
        return False
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", path[-1]).lower())
    if words and words[-1] in _TIME_ENDINGS:
        return True
    required = tool["parameters"].get("required", [])
    return any(
        same(value, given) and (_plain(name) in _plain(path[-1]) or _plain(path[-1]) in _plain(name))
        for name, given in call["arguments"].items()
        if name not in required
    )
