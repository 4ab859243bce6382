"""`find` as code: a search is a loop in the plan's own function, with `where` written into it."""

import ast
from collections.abc import Callable
from typing import TypeAlias

from pipelines.core.simulation import actions, places
from pipelines.core.simulation.call import Place
from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.changing import place_of
from pipelines.core.simulation.emit.ending import failure, name_rule
from pipelines.core.simulation.emit.naming import Naming
from pipelines.core.simulation.emit.writer import Variable, Writer
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.costs import HIT

Hit: TypeAlias = Callable[[ast.expr, ast.expr], None]  # writes what is done with the id and attributes found


def find(w: Writer, naming: Naming, step: steps.Find) -> None:
    if step.inside is not None:
        _find_inside(w, naming, step, step.inside)
        return
    kind = w.constant(step.entity_type)
    if step.name in naming.bare:
        _find_bare(w, naming, step)
    elif step.id is not None:
        _find_by_id(w, naming, step, step.id.tree)
    elif step.where is None:
        _bind_all(w, naming, step, w.result(actions.all_of, kind, w.call))
    elif step.all:
        _bind_all(w, naming, step, _all_matching(w, step, step.where.tree))
    elif step.sort:
        found = _all_matching(w, step, step.where.tree)
        first = w.result(actions.first_in_order, found, w.constant(step.sort), w.call)
        _bind_one(w, naming, step, first, nodes.NONE)
    else:
        _bind_one(w, naming, step, _first_matching(w, step, step.where.tree), nodes.NONE)


def _find_by_id(w: Writer, naming: Naming, step: steps.Find, id: ast.expr) -> None:
    kind, id_node = w.constant(step.entity_type), w.held_value(id)
    if step.all:
        found = w.result(actions.by_ids, kind, id_node, nodes.own(step.exact), w.call)
        _bind_all(w, naming, step, found)
        return
    look = actions.by_exact_id if step.exact else actions.by_id
    is_text = nodes.compare(nodes.attribute(id_node, "__class__"), "is", w.function(str))
    known = nodes.call(nodes.attribute(w.call, "entity" if step.exact else "resolve"), kind, id_node)
    found = w.let(nodes.either(is_text, known, nodes.call(w.function(look), kind, id_node, w.call)))
    _bind_one(w, naming, step, found, id_node)


def _bind_all(w: Writer, naming: Naming, step: steps.Find, found: ast.expr) -> None:
    ordered = w.result(actions.sort_found, found, w.constant(step.sort), w.call)
    limit = nodes.NONE if step.limit is None else w.value(step.limit.tree)
    naming.bind(w, step.name, nodes.call(w.function(actions.limit_found), ordered, limit, w.call))


def _bind_one(w: Writer, naming: Naming, step: steps.Find, found: ast.expr, wanted: ast.expr) -> None:
    if not step.optional:
        _fail_without(w, step, found, wanted)
    naming.bind(w, step.name, found)


def _fail_without(w: Writer, step: steps.Find, found: ast.expr, wanted: ast.expr) -> None:
    with w.block() as nothing:
        if step.otherwise is not None:
            failure(w, step.otherwise, step.rule)
        else:
            name_rule(w, step.rule)
            kind = w.constant(step.entity_type or step.name)
            w.add(nodes.give(nodes.call(w.function(actions.not_found), kind, wanted, w.call)))
    w.add(nodes.when(nodes.compare(found, "is", nodes.NONE), nothing))


def _candidates(w: Writer, step: steps.Find) -> ast.expr:
    kind = w.constant(step.entity_type)
    if step.lookup is None:
        return nodes.call(w.function(actions.scan), kind, w.call)
    wanted_node = w.value(step.lookup.wanted.tree)
    return nodes.call(w.function(actions.narrow), kind, w.constant(step.lookup.reach), wanted_node, w.call)


def _all_matching(w: Writer, step: steps.Find, where: ast.expr, are_bare: bool = False) -> ast.expr:
    found = w.let(nodes.list_of([]))

    def hit(id: ast.expr, attrs: ast.expr) -> None:
        def keep(value: ast.expr) -> None:
            w.add(nodes.do(nodes.call(nodes.attribute(found, "append"), value)))

        keep(attrs) if are_bare else _as_entity(w, step, id, keep)

    _search(w, step, where, hit)
    return found


def _first_matching(w: Writer, step: steps.Find, where: ast.expr) -> ast.expr:
    found = w.new_name()
    w.add(nodes.assign(found, nodes.NONE))

    def end(entity: ast.expr) -> None:
        w.add(nodes.assign(found, entity))
        w.add(nodes.BREAK)

    _search(w, step, where, lambda id, attrs: _as_entity(w, step, id, end))
    return nodes.load(found)


def _as_entity(w: Writer, step: steps.Find, id: ast.expr, then: Callable[[ast.expr], None]) -> None:
    entity = w.let(nodes.call(nodes.attribute(w.call, "entity"), w.constant(step.entity_type), id))
    with w.block() as there:
        then(entity)
    w.add(nodes.when(nodes.compare(entity, "is not", nodes.NONE), there))


def _search(w: Writer, step: steps.Find, where: ast.expr, hit: Hit) -> None:
    id, attrs = w.new_name("v"), w.new_name("v")
    candidates = w.let(_candidates(w, step))
    with w.block() as one_round:
        w.spend(step.round_cost)
        candidate = Variable(nodes.load(attrs), "mapping")
        if not step.is_bare:
            kind = w.constant(step.entity_type)
            candidate = Variable(w.let(nodes.call(nodes.attribute(w.call, "entity"), kind, nodes.load(id))))
        with w.names({step.name: candidate}):
            holds = w.value(where)
        with w.block() as fitting:
            w.charge(HIT)
            hit(nodes.load(id), nodes.load(attrs))
        w.add(nodes.when(holds, fitting))
    w.add(nodes.loop((id, attrs), candidates, one_round))


# -- entities of which only the attributes are needed


def _find_bare(w: Writer, naming: Naming, step: steps.Find) -> None:
    if step.id is not None:
        _find_bare_by_id(w, naming, step, step.id.tree)
    elif step.where is None:
        found = w.result(actions.attributes_of_all, w.constant(step.entity_type), w.call)
        _bind_all(w, naming, step, found)
    elif step.all:
        _bind_all(w, naming, step, _all_matching(w, step, step.where.tree, are_bare=True))
    else:
        found = w.scope[step.name].code
        naming.bind_bare(w, step.name, nodes.NONE, nodes.NONE)

        def hit(id: ast.expr, attrs: ast.expr) -> None:
            naming.bind_bare(w, step.name, id, attrs)
            w.add(nodes.BREAK)

        _search(w, step, step.where.tree, hit)
        _fail_without(w, step, found, nodes.NONE)


def _find_bare_by_id(w: Writer, naming: Naming, step: steps.Find, id: ast.expr) -> None:
    kind, id_node, found = w.constant(step.entity_type), w.held_value(id), w.scope[step.name].code
    is_text = nodes.compare(nodes.attribute(id_node, "__class__"), "is", w.function(str))
    get = nodes.attribute(nodes.attribute(w.call, "ledger"), "get")
    naming.bind_bare(w, step.name, id_node, nodes.either(is_text, nodes.call(get, kind, id_node), nodes.NONE))
    with w.block() as otherwise:
        look = actions.attributes_by_exact_id if step.exact else actions.attributes_by_id
        hit = w.result(look, kind, id_node, w.call)
        naming.bind_bare(w, step.name, nodes.entry(hit, nodes.ZERO), nodes.entry(hit, nodes.ONE))
        _fail_without(w, step, found, id_node)
    w.add(nodes.when(nodes.compare(found, "is", nodes.NONE), otherwise))


# -- in a list or mapping inside an entity


def _find_inside(w: Writer, naming: Naming, step: steps.Find, inside: steps.Path) -> None:
    home = place_of(w, inside)
    container = w.result(places.read, home)
    id_node = nodes.NONE if step.id is None else w.held_value(step.id.tree)
    if step.id is not None:
        hits = w.result(actions.hits_by_id, container, id_node, w.call)
    else:
        # The first in no order is the first of all: the search ends with it.
        hits = _matching_inside(w, step, container, is_one_enough=not step.all and not step.sort)
    if step.all:
        _bind_all(w, naming, step, w.result(actions.values_of, hits))
        return
    first = w.result(actions.first_hit, hits, w.constant(step.sort), w.call)
    key, value = w.let(nodes.entry(first, nodes.ZERO)), w.let(nodes.entry(first, nodes.ONE))
    _bind_one(w, naming, step, value, id_node)
    if step.is_place:
        stands = nodes.call(w.function(_place_under), home, key)
        bind = nodes.call(nodes.attribute(w.call, "bind"), w.constant(step.name), value, stands)
        w.add(nodes.when(nodes.compare(value, "is not", nodes.NONE), [nodes.do(bind)]))


def _place_under(home: Place, key: str | int) -> Place:
    return places.inside(home, [key])


def _matching_inside(w: Writer, step: steps.Find, container: ast.expr, is_one_enough: bool) -> ast.expr:
    found, key, value = w.let(nodes.list_of([])), w.new_name("v"), w.new_name("v")
    pair = nodes.pair(nodes.load(key), nodes.load(value))
    with w.block() as one_round:
        w.spend(step.round_cost)
        with w.names({step.name: Variable(nodes.load(value))}):
            holds = nodes.TRUE if step.where is None else w.value(step.where.tree)
        hit = [nodes.do(nodes.call(nodes.attribute(found, "append"), pair))]
        w.add(nodes.when(holds, [*hit, nodes.BREAK] if is_one_enough else hit))
    w.add(nodes.loop((key, value), nodes.call(w.function(actions.pairs), container, w.call), one_round))
    return found
