"""Changes as code. A field of an entity is set directly; every other path goes through a `Place`."""

import ast
from collections.abc import Callable

from pipelines.core.simulation import actions, places
from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.fields import constant_value
from pipelines.core.simulation.emit.naming import Naming
from pipelines.core.simulation.emit.writer import Writer
from pipelines.core.simulation.library.world import next_id
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.values import key_text


def place_of(w: Writer, path: steps.Path) -> ast.expr:
    """The place a path means now."""
    root = w.held(w.scope[path.root].code)
    home = w.result(places.home_of, root, w.constant(path.root), w.call)
    keys = [_key(w, key.tree, path.text) for key in path.keys]
    return w.result(places.inside, home, nodes.list_of(keys))


def _key(w: Writer, node: ast.expr, text: str) -> ast.expr:
    known = constant_value(node)
    if known.__class__ in (str, int):
        return w.constant(known)
    return w.result(places.key_in, w.value(node), w.constant(text))


def set_values(w: Writer, step: steps.Set) -> None:
    # All values first: a step does not see its own changes, whatever the order of its keys.
    ready = [_ready_to_set(w, change) for change in step.changes]
    for write in ready:
        write()


def _ready_to_set(w: Writer, change: steps.Change) -> Callable[[], None]:
    target = change.target
    field = constant_value(target.keys[0].tree) if len(target.keys) == 1 else None
    variable = w.scope[target.root]
    if variable.known != "entity" or not isinstance(field, str):
        place, value = place_of(w, target), w.held_value(change.value.tree)
        return lambda: w.run(places.set_value, place, value, w.call)
    entity = w.held(variable.code)
    with w.block() as removed:
        w.run(places.home_of, entity, w.constant(target.root), w.call)
    w.add(nodes.when(nodes.attribute(entity, "removed"), removed))
    value = w.held_value(change.value.tree)
    return lambda: w.run(places.set_field, entity, w.constant(field), value, w.call)


def append_values(w: Writer, step: steps.Append) -> None:
    ready = [(place_of(w, change.target), w.held_value(change.value.tree)) for change in step.changes]
    for place, value in ready:
        w.run(places.append_value, place, value, w.call)


def unset(w: Writer, step: steps.Unset) -> None:
    for target in step.targets:
        w.run(places.take, place_of(w, target), w.call)


def take(w: Writer, step: steps.Take) -> None:
    for target in step.targets:
        w.run(places.remove, place_of(w, target), w.call)


def add(w: Writer, naming: Naming, step: steps.AddEntity) -> None:
    kind = w.constant(step.entity_type)
    attrs = w.result(actions.attributes, w.value(step.attrs.tree), w.call)
    if step.id is None:
        id = w.result(next_id, w.call, kind)
    else:
        id = w.result(key_text, w.value(step.id.tree))
    entity = w.result(actions.add, kind, id, attrs, w.call)
    if step.name is not None:
        naming.bind(w, step.name, entity)


def flag(w: Writer, step: steps.Flag) -> None:
    w.run(actions.set_flag, w.value(step.flag.tree), nodes.own(step.value), w.call)
