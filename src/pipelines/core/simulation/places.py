"""Places inside entities: reads, writes and removes values at any depth.

The ledger's values are never changed in place: the containers along a path are copied on write, and names
that refer to places then refer to the new values.
"""

from pipelines.core.simulation.call import Call, Place
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.values import (
    MISSING,
    Entity,
    Stopped,
    Value,
    is_blank,
    key_text,
    kind_of,
    leave,
)
from pipelines.core.text.json_text import Json

# In units of budget, by measure.
_MADE = 16  # a place
_READ = 3  # one key of a place followed
_KNOWN = 12  # a place compared with another


def resolve(path: steps.Path, call: Call) -> Place:
    """The place a path means now, with its computed keys looked up."""
    home = home_of(call.names[path.root], path.root, call)
    return inside(home, [key_in(key.evaluate(call), path.text) for key in path.keys])


def home_of(root: Value, name: str, call: Call) -> Place:
    """Where the value of a name stands: an entity, or a place inside one."""
    if isinstance(root, Entity):
        home = Place(entity=root, keys=[], name=None)
    else:
        known = call.places.get(name)
        if known is None:
            raise Stopped(
                "plan_not_a_place", f"`{name}` is {kind_of(root)} of its own, not part of an entity"
            )
        home = known
        call.steps_left -= 2 * _READ * len(home.keys)
    if home.entity.removed:
        raise Stopped("plan_not_a_place", f"{home.entity.kind} {home.entity.id!r} was removed before")
    return home


def inside(home: Place, keys: list[str | int]) -> Place:
    return Place(entity=home.entity, keys=[*home.keys, *keys], name=None)


def key_in(value: Value, text: str) -> str | int:
    """A key that a path computes."""
    if is_blank(value):
        raise Stopped("plan_type", f"a key in `{text}` is {kind_of(value)}")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return key_text(value)


def read(place: Place) -> Value:
    value: Value = place.entity
    for key in place.keys:
        if isinstance(value, dict):
            value = value.get(str(key), MISSING)
        elif isinstance(value, list) and isinstance(key, int):
            value = value[key] if -len(value) <= key < len(value) else MISSING
        else:
            return MISSING
    return value


def write(place: Place, value: Json, call: Call) -> None:
    container, key = _open_container(place, call)
    if isinstance(container, list):
        container[_position(container, key)] = value
    else:
        container[str(key)] = value
    _mark_changed(place.entity, call)


def append(place: Place, value: Json, call: Call) -> None:
    current = read(place)
    if not (is_blank(current) or isinstance(current, list)):
        raise Stopped("plan_type", f"`append` needs a list, not {kind_of(current)}")
    call.spend(len(current or ()) >> 2)
    write(place, [*(current or ()), value], call)


def set_value(place: Place, value: Value, call: Call) -> None:
    if value is not MISSING:
        write(place, leave(value, call), call)


def set_field(entity: Entity, key: str, value: Value, call: Call) -> None:
    """`set_value` where the place is a field of the entity itself."""
    if value is not MISSING:
        entity[key] = leave(value, call)
        _mark_changed(entity, call)


def append_value(place: Place, value: Value, call: Call) -> None:
    if value is not MISSING:
        append(place, leave(value, call), call)


def remove(place: Place, call: Call) -> None:
    """An entity, or a value inside one."""
    if place.keys:
        take(place, call)
    else:
        call.remove(place.entity)


def take(place: Place, call: Call) -> None:
    """Away with the value; nothing happens where there is none."""
    if read(place) is MISSING:
        return
    container, key = _open_container(place, call)
    call.spend(_KNOWN * (len(call.places) + len(call.following)))
    if isinstance(container, dict):
        del container[str(key)]
        _forget(place, call)
    else:
        position = _position(container, key)
        del container[position]
        _close_gap(place, position, call)
    _mark_changed(place.entity, call)


def element_places(home: Place, count: int, call: Call) -> list[Place]:
    """A place for each element of a list, known to the call so that removals move them along."""
    call.spend((_MADE + 2 * _READ * len(home.keys)) * count)
    found = [Place(entity=home.entity, keys=[*home.keys, index], name=None) for index in range(count)]
    call.following.update((id(place), place) for place in found)
    return found


def follow(place: Place, name: str, call: Call) -> None:
    """The name stands for the place of an element as long as its round lasts, unless that was removed."""
    call.bind(name, read(place))
    if id(place) in call.following:
        place.name = name
        call.places[name] = place


def release(place: Place, call: Call) -> None:
    """Its round is over."""
    if place.name is not None and call.places.get(place.name) is place:
        del call.places[place.name]
    call.following.pop(id(place), None)


def _open_container(place: Place, call: Call) -> tuple[dict[str, Json] | list[Json], str | int]:
    """The container of the place, with copies made along the way, and the key in it."""
    container: Value = place.entity
    for key in place.keys[:-1]:
        if isinstance(container, list):
            position = _position(container, key)
            inner = container[position]
            container[position] = copied = _copy_child(inner, key, call)
        else:
            copied = container[str(key)] = _copy_child(container.get(str(key)), key, call)
        container = copied
    return container, place.keys[-1]


def _copy_child(value: Value, key: str | int, call: Call) -> Value:
    if isinstance(value, dict):
        call.spend(8 + (len(value) >> 1))
        return dict(value)
    if isinstance(value, list):
        call.spend(8 + (len(value) >> 2))
        return list(value)
    if value is None:
        return {}
    raise Stopped("plan_type", f"`{key}` is {kind_of(value)}, which has no fields to change")


def _position(container: list[Json], key: str | int) -> int:
    if not isinstance(key, int):
        raise Stopped("plan_type", f"a position in a list must be a whole number, not {key!r}")
    if not -len(container) <= key < len(container):
        raise Stopped("plan_type", f"position {key} is outside a list of {len(container)}")
    return key % len(container)


def _is_under(known: Place, place: Place) -> bool:
    if known.entity is not place.entity:
        return False
    start = known.keys[: len(place.keys)]
    return start == place.keys or list(map(str, start)) == list(map(str, place.keys))


def _known_places(call: Call) -> list[Place]:
    """Every place once: that of the element whose round it is has a name, too."""
    by_identity = {id(place): place for place in call.places.values()} | call.following
    return list(by_identity.values())


def _forget(place: Place, call: Call) -> None:
    """What stood there or below it stands nowhere any more."""
    for name in [name for name, known in call.places.items() if _is_under(known, place)]:
        del call.places[name]
    for key in [key for key, known in call.following.items() if _is_under(known, place)]:
        del call.following[key]


def _close_gap(place: Place, position: int, call: Call) -> None:
    """After an element left a list, names for the elements behind it stand one position lower."""
    home = Place(entity=place.entity, keys=place.keys[:-1], name=None)
    depth = len(home.keys)
    removed = []
    for known in _known_places(call):
        index = known.keys[depth] if len(known.keys) > depth and _is_under(known, home) else None
        if index == position:
            removed.append(known)
        elif isinstance(index, int) and index > position:
            known.keys[depth] = index - 1
    for known in removed:
        if known.name is not None and call.places.get(known.name) is known:
            del call.places[known.name]
        call.following.pop(id(known), None)


def _mark_changed(entity: Entity, call: Call) -> None:
    call.touch(entity)
    if call.places:
        for name, known in call.places.items():
            if known.entity is entity:
                call.spend(_READ * len(known.keys))
                call.names[name] = read(known)
