"""Running a plan: one call against the ledger, all of its changes or none.

A failure that the plan foresees is a reply. A plan that cannot go on (a number missing, a budget spent)
raises SimulationFailed; in either case nothing is changed.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger
from pipelines.core.simulation import places, steps
from pipelines.core.simulation.call import Call, Place
from pipelines.core.simulation.language import Plan
from pipelines.core.simulation.library.lists import sorted_by
from pipelines.core.simulation.library.numbers import whole_needed
from pipelines.core.simulation.library.world import next_id
from pipelines.core.simulation.lookups import candidates
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.simulation.syntax.calls import bind
from pipelines.core.simulation.values import (
    MISSING,
    Entity,
    Stopped,
    Value,
    as_text,
    check_size,
    elements,
    equal,
    id_text,
    is_blank,
    key_text,
    kind_of,
    leave,
)


class Outcome(NamedTuple):
    status: int
    response: Json


def run(plan: Plan, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply:
    """What the tool answers and what it would change. The ledger itself is left alone."""
    call = Call(arguments, ledger, moment)
    try:
        outcome = _run_block(plan.steps, call)
        status, response = (200, None) if outcome is None else outcome
        return SimulatedReply(
            status=status, response=response, updates=call.updates() if status < 400 else ()
        )
    except Stopped as stopped:
        raise SimulationFailed(stopped.code, f"{stopped} (at {stopped.path})") from None
    except RecursionError:
        raise SimulationFailed("plan_too_large", "the plan's values are nested too deep") from None


def _run_block(block: tuple[steps.Step, ...], call: Call) -> Outcome | None:
    step = None
    try:
        for step in block:
            call.spend()
            outcome = _DO[step.__class__](step, call)
            if outcome is not None:
                return outcome
    except Stopped as stopped:
        stopped.path = stopped.path or (step.path if step else "")
        raise
    return None


def _failed(failure: steps.Failure, call: Call) -> Outcome:
    if failure.body is not None:
        return Outcome(failure.status, leave(failure.body(call), call))
    message = as_text(failure.message(call))
    return Outcome(failure.status, {"error": {"code": failure.error, "message": message}})


# -- find -----------------------------------------------------------------------------------------------


def _find(step: steps.Find, call: Call) -> Outcome | None:
    if step.inside is not None:
        return _find_inside(step, call)
    if step.id is not None and not step.all:
        wanted = step.id(call)
        return _bind_one(step, call, _by_id(step, call, wanted), wanted)
    found = _by_ids(step, call) if step.id is not None else _matching(step, call)
    if step.all:
        call.bind(step.name, _arranged(step, call, list(found)))
        return None
    return _bind_one(step, call, _first(step, found), None)


def _first(step: steps.Find, found: Iterator[Value]) -> Value:
    if step.sort:
        return next(iter(_sorted(step, list(found))), None)
    return next(found, None)


def _bind_one(step: steps.Find, call: Call, value: Value, wanted: Value) -> Outcome | None:
    if value is None and not step.optional:
        return _failed(step.otherwise, call) if step.otherwise else _not_found(step, call, wanted)
    call.bind(step.name, value)
    return None


def _not_found(step: steps.Find, call: Call, wanted: Value) -> Outcome:
    kind = step.entity_type or step.name
    word = "".join(c if c.isalnum() else "_" for c in kind.lower()).strip("_")
    which = "" if wanted is None else f" {as_text(wanted)[:200]}"
    return Outcome(404, {"error": {"code": f"{word}_not_found", "message": f"{kind}{which} not found"}})


def _by_ids(step: steps.Find, call: Call) -> Iterator[Entity]:
    assert step.id is not None
    for id in elements(step.id(call)):
        call.spend()
        found = _by_id(step, call, id)
        if found is not None:
            yield found


def _by_id(step: steps.Find, call: Call, id: Value) -> Entity | None:
    text = id_text(id)
    if text is None:
        return None
    return call.entity(step.entity_type, text) if step.exact else call.resolve(step.entity_type, text)


def _matching(step: steps.Find, call: Call) -> Iterator[Entity]:
    where = step.where
    if where is None:
        yield from call.entities(step.entity_type)
        return
    saved = call.names.get(step.name, MISSING)
    bare, names, kind = step.is_bare, call.names, step.entity_type
    for id, attrs in _candidates(step, call):
        call.spend()
        names[step.name] = attrs if bare else call.entity(kind, id)
        if where(call):
            entity = call.entity(kind, id)
            if entity is not None:
                yield entity
    names[step.name] = saved


def _candidates(step: steps.Find, call: Call) -> Iterator[tuple[str, JsonObject]]:
    ledger = call.world()
    if step.lookup is not None:
        wanted = step.lookup.wanted(call)
        ids = candidates(ledger, step.entity_type, step.lookup.reach, wanted)
        if ids is not None:
            for id in ids:
                attrs = ledger.get(step.entity_type, id)
                if attrs is not None:
                    yield id, attrs
            return
    yield from ledger.entities(step.entity_type)


def _sorted(step: steps.Find, found: list[Value]) -> list[Value]:
    for field in reversed(step.sort):
        found = sorted_by(found, field)
    return found


def _arranged(step: steps.Find, call: Call, found: list[Value]) -> list[Value]:
    call.spend(len(found) * len(step.sort))
    ordered = _sorted(step, found)
    limit = None if step.limit is None else step.limit(call)
    if is_blank(limit):
        return check_size(ordered, call)  # type: ignore[no-any-return]
    return ordered[: max(0, whole_needed(limit, "a whole number for `limit`"))]


def _find_inside(step: steps.Find, call: Call) -> Outcome | None:
    """In a list or mapping inside an entity; the name then stands for that place."""
    assert step.inside is not None
    home = places.resolve(step.inside, call)
    container = places.read(home)
    wanted = None if step.id is None else step.id(call)
    hits = _hits_inside(step, call, container, wanted)
    if step.all:
        call.bind(step.name, _arranged(step, call, [value for _, value in hits]))
        return None
    for field in reversed(step.sort):
        hits = iter(sorted_by(hits, field, _second))
    key, value = next(hits, ("", None))
    outcome = _bind_one(step, call, value, wanted)
    if step.is_place and value is not None:
        call.bind(step.name, value, Place(entity=home.entity, keys=[*home.keys, key], name=step.name))
    return outcome


def _hits_inside(
    step: steps.Find, call: Call, container: Value, wanted: Value
) -> Iterator[tuple[Value, Value]]:
    if step.id is not None and isinstance(container, dict):
        key = id_text(wanted)
        if key in container:
            yield key, container[key]
        return
    names, before = call.names, call.names.get(step.name, MISSING)
    for key, value in _pairs(container):
        call.spend()
        names[step.name] = value
        if _is_meant(value, wanted, call) if step.id else step.where is None or step.where(call):
            yield key, value
    names[step.name] = before


def _is_meant(value: Value, id: Value, call: Call) -> bool:
    """In a list an id is the element itself or its `id`."""
    return equal(value.get("id") if isinstance(value, dict) else value, id, call)


def _second(pair: tuple[str | int, Value]) -> Value:
    return pair[1]


def _pairs(container: Value) -> list[tuple[Value, Value]]:
    if isinstance(container, dict):
        return list(container.items())
    return list(enumerate(elements(container)))


# -- the other steps ---------------------------------------------------------------------------------------


def _require(step: steps.Require, call: Call) -> Outcome | None:
    return None if step.condition(call) else _failed(step.otherwise, call)


def _let(step: steps.Let, call: Call) -> None:
    for binding in step.bindings:
        place = None if binding.place is None else places.resolve(binding.place, call)
        call.bind(binding.name, binding.value(call), place)


def _set(step: steps.Set, call: Call) -> None:
    # All values first: a step does not see its own changes, whatever the order of its keys.
    ready = [(places.resolve(change.target, call), change.value(call)) for change in step.changes]
    for place, value in ready:
        if value is not MISSING:
            places.write(place, leave(value, call), call)


def _append(step: steps.Append, call: Call) -> None:
    ready = [(places.resolve(change.target, call), change.value(call)) for change in step.changes]
    for place, value in ready:
        if value is not MISSING:
            places.append(place, leave(value, call), call)


def _unset(step: steps.Unset, call: Call) -> None:
    for target in step.targets:
        places.take(places.resolve(target, call), call)


def _take(step: steps.Take, call: Call) -> None:
    for target in step.targets:
        place = places.resolve(target, call)
        if place.keys:
            places.take(place, call)
        else:
            call.remove(place.entity)


def _add(step: steps.AddEntity, call: Call) -> None:
    attrs = leave(step.attrs(call), call)
    if not isinstance(attrs, dict):
        raise Stopped("plan_type", f"the attributes of an entity are a mapping, not {kind_of(attrs)}")
    id = next_id(call, step.entity_type) if step.id is None else key_text(step.id(call))
    if call.entity(step.entity_type, id) is not None:
        raise Stopped("plan_duplicate_id", f"{step.entity_type} {id[:100]!r} is there already")
    entity = call.add(step.entity_type, id, attrs)
    if step.name is not None:
        call.bind(step.name, entity)


def _flag(step: steps.Flag, call: Call) -> None:
    flag = step.flag(call)
    if not isinstance(flag, str) or not flag:
        raise Stopped("plan_type", f"a flag is text, not {kind_of(flag)}")
    call.set_flag(flag, step.value)


def _for_each(step: steps.ForEach, call: Call) -> Outcome | None:
    home = None if step.place is None else places.resolve(step.place, call)
    rounds = list(elements(step.source(call)))
    [*names] = step.names
    following = [] if home is None else places.of_elements(home, len(rounds), call)
    for at, element in enumerate(rounds):
        call.spend()
        if home is None:
            bind(call.names, names, element)
        else:
            following[at].name = names[0]
            call.names[names[0]] = places.read(following[at])
        outcome = _run_block(step.steps, call)
        if outcome is not None:
            return outcome
        if home is not None:
            following[at].name = None
    return None


def _if(step: steps.If, call: Call) -> Outcome | None:
    return _run_block(step.then if step.condition(call) else step.otherwise, call)


def _fail(step: steps.Fail, call: Call) -> Outcome:
    return _failed(step.failure, call)


def _return(step: steps.Return, call: Call) -> Outcome:
    return Outcome(step.status, leave(step.value(call), call))


_DO: dict[type, Callable[..., Outcome | None]] = {
    steps.Find: _find,
    steps.Require: _require,
    steps.Let: _let,
    steps.Set: _set,
    steps.Append: _append,
    steps.Unset: _unset,
    steps.AddEntity: _add,
    steps.Take: _take,
    steps.Flag: _flag,
    steps.ForEach: _for_each,
    steps.If: _if,
    steps.Fail: _fail,
    steps.Return: _return,
}
