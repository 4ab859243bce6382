"""The interpreter of plans: step by step, with expressions as functions over the call.

It says what a plan means. Calls are answered by the code emitted from the plan (`emit`), which must agree
with it in every reply, update, error and unit of budget; a plan that cannot be emitted is run here.
"""

from collections.abc import Callable, Generator, Iterable

from pipelines.core.simulation import actions, places
from pipelines.core.simulation.actions import Outcome
from pipelines.core.simulation.call import Call, Place
from pipelines.core.simulation.library.world import next_id
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.calls import parts_of
from pipelines.core.simulation.syntax.costs import EACH, HIT
from pipelines.core.simulation.values import MISSING, Stopped, Value, key_text, leave
from pipelines.core.text.json_text import JsonObject


def run_block(block: tuple[steps.Step, ...], call: Call) -> Outcome | None:
    step = None
    try:
        for step in block:
            call.spend(step.cost)
            outcome = _STEP_RUNNERS[step.__class__](step, call)
            if outcome is not None:
                return outcome
    except Stopped as stopped:
        stopped.path = stopped.path or (step.path if step else "")
        raise
    return None


def _failure_outcome(failure: steps.Failure, rule: str | None, call: Call) -> Outcome:
    call.rule = rule
    if failure.body is not None:
        return Outcome(failure.status, leave(failure.body.evaluate(call), call))
    return actions.failure_outcome(failure.status, failure.error, failure.message.evaluate(call), call)


# -- find -----------------------------------------------------------------------------------------------


def _find(step: steps.Find, call: Call) -> Outcome | None:
    if step.inside is not None:
        return _find_inside(step, call)
    kind = step.entity_type
    if step.id is not None:
        id_value = step.id.evaluate(call)
        if not step.all:
            look = actions.by_exact_id if step.exact else actions.by_id
            return _bind_one(step, call, look(kind, id_value, call), id_value)
        return _bind_all(step, call, actions.by_ids(kind, id_value, step.exact, call))
    if step.all:
        found = (
            actions.all_of(kind, call)
            if step.where is None
            else list(_matching(step, step.where.evaluate, call))
        )
        return _bind_all(step, call, found)
    assert step.where is not None
    hits = _matching(step, step.where.evaluate, call)
    value = actions.first_in_order(list(hits), step.sort, call) if step.sort else next(hits, None)
    hits.close()
    return _bind_one(step, call, value, None)


def _bind_all(step: steps.Find, call: Call, found: list[Value]) -> Outcome | None:
    ordered = actions.sort_found(found, step.sort, call)
    limit = None if step.limit is None else step.limit.evaluate(call)
    call.bind(step.name, actions.limit_found(ordered, limit, call))
    return None


def _bind_one(step: steps.Find, call: Call, value: Value, wanted: Value) -> Outcome | None:
    if value is None and not step.optional:
        if step.otherwise is not None:
            return _failure_outcome(step.otherwise, step.rule, call)
        call.rule = step.rule
        return actions.not_found(step.entity_type or step.name, wanted, call)
    call.bind(step.name, value)
    return None


def _matching(step: steps.Find, where: Callable[[Call], Value], call: Call) -> Generator[Value, None, None]:
    names, kind, before = call.names, step.entity_type, call.names.get(step.name, MISSING)
    try:
        for id, attrs in _candidates(step, call):
            call.spend(step.round_cost)
            names[step.name] = attrs if step.is_bare else call.entity(kind, id)
            if where(call):
                call.steps_left -= HIT
                entity = call.entity(kind, id)
                if entity is not None:
                    yield entity
    finally:  # also when the first hit was enough
        names[step.name] = before


def _candidates(step: steps.Find, call: Call) -> Iterable[tuple[str, JsonObject]]:
    if step.lookup is None:
        return actions.scan(step.entity_type, call)
    wanted_value = step.lookup.wanted.evaluate(call)
    return actions.narrow(step.entity_type, step.lookup.reach, wanted_value, call)


def _find_inside(step: steps.Find, call: Call) -> Outcome | None:
    """In a list or mapping inside an entity; the name then stands for that place."""
    assert step.inside is not None
    home = places.resolve(step.inside, call)
    container = places.read(home)
    id_value = None if step.id is None else step.id.evaluate(call)
    by_id = step.id is not None
    hits = actions.hits_by_id(container, id_value, call) if by_id else _matching_inside(step, container, call)
    if step.all:
        return _bind_all(step, call, actions.values_of(hits))
    key, value = actions.first_hit(hits, step.sort, call)
    hits.close()
    outcome = _bind_one(step, call, value, id_value)
    if step.is_place and value is not None:
        call.bind(step.name, value, Place(entity=home.entity, keys=[*home.keys, key], name=step.name))
    return outcome


def _matching_inside(
    step: steps.Find, container: Value, call: Call
) -> Generator[tuple[Value, Value], None, None]:
    names, before = call.names, call.names.get(step.name, MISSING)
    try:
        for key, value in actions.pairs(container, call):
            call.spend(step.round_cost)
            names[step.name] = value
            if step.where is None or step.where.evaluate(call):
                yield key, value
    finally:  # also when the first hit was enough
        names[step.name] = before


# -- the other steps ---------------------------------------------------------------------------------------


def _require(step: steps.Require, call: Call) -> Outcome | None:
    return None if step.condition.evaluate(call) else _failure_outcome(step.otherwise, step.rule, call)


def _let(step: steps.Let, call: Call) -> None:
    for binding in step.bindings:
        place = None if binding.place is None else places.resolve(binding.place, call)
        call.bind(binding.name, binding.value.evaluate(call), place)


def _set(step: steps.Set, call: Call) -> None:
    # All values first: a step does not see its own changes, whatever the order of its keys.
    ready = [(places.resolve(change.target, call), change.value.evaluate(call)) for change in step.changes]
    for place, value in ready:
        places.set_value(place, value, call)


def _append(step: steps.Append, call: Call) -> None:
    ready = [(places.resolve(change.target, call), change.value.evaluate(call)) for change in step.changes]
    for place, value in ready:
        places.append_value(place, value, call)


def _unset(step: steps.Unset, call: Call) -> None:
    for target in step.targets:
        places.take(places.resolve(target, call), call)


def _take(step: steps.Take, call: Call) -> None:
    for target in step.targets:
        places.remove(places.resolve(target, call), call)


def _add(step: steps.AddEntity, call: Call) -> None:
    attrs = actions.attributes(step.attrs.evaluate(call), call)
    id = next_id(call, step.entity_type) if step.id is None else key_text(step.id.evaluate(call))
    entity = actions.add(step.entity_type, id, attrs, call)
    if step.name is not None:
        call.bind(step.name, entity)


def _flag(step: steps.Flag, call: Call) -> None:
    actions.set_flag(step.flag.evaluate(call), step.value, call)


def _for_each(step: steps.ForEach, call: Call) -> Outcome | None:
    home = None if step.place is None else places.resolve(step.place, call)
    rounds = actions.rounds(step.source.evaluate(call), call)
    names = step.names
    following = [] if home is None else places.element_places(home, len(rounds), call)
    for at, element in enumerate(rounds):
        call.spend(EACH)
        if home is not None:
            places.follow(following[at], names[0], call)
        elif len(names) == 1:
            call.bind(names[0], element)
        else:
            for name, part in zip(names, parts_of(element, len(names)), strict=True):
                call.bind(name, part)
        outcome = run_block(step.steps, call)
        if outcome is not None:
            return outcome
        if home is not None:
            places.release(following[at], call)
    return None


def _if(step: steps.If, call: Call) -> Outcome | None:
    return run_block(step.then if step.condition.evaluate(call) else step.otherwise, call)


def _fail(step: steps.Fail, call: Call) -> Outcome:
    return _failure_outcome(step.failure, step.rule, call)


def _return(step: steps.Return, call: Call) -> Outcome:
    call.rule = step.rule
    return Outcome(step.status, leave(step.value.evaluate(call), call))


_STEP_RUNNERS: dict[type, Callable[..., Outcome | None]] = {
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
