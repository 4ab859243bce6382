"""Comprehensions and calls of functions: the only things in an expression that repeat."""

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expression_text import BadExpression, Complaint, did_you_mean
from pipelines.core.simulation.syntax.compiler import CONSTANTS, GIVEN_NAMES, Compiler, Evaluate
from pipelines.core.simulation.syntax.costs import round_cost
from pipelines.core.simulation.syntax.functions import FUNCTIONS, SHORT_CIRCUIT, Function
from pipelines.core.simulation.values import (
    MISSING,
    Stopped,
    Value,
    check_size,
    elements,
    key_text,
    kind_of,
)

Produce: TypeAlias = Callable[[Call], Iterator[Value]]


def list_comprehension(compiler: Compiler, node: ast.ListComp | ast.GeneratorExp) -> Evaluate:
    [first, *others] = node.generators
    if not others and isinstance(first.target, ast.Name) and len(first.ifs) < 2:
        return _plain_comprehension(compiler, first, node.elt)
    produce = _producer(compiler, node.generators, [node.elt])
    return lambda call: check_size(list(produce(call)), call)


def set_comprehension(compiler: Compiler, node: ast.SetComp) -> Evaluate:
    produce = _producer(compiler, node.generators, [node.elt])
    unique = FUNCTIONS["unique"].implementation
    return lambda call: unique(call, list(produce(call)))


def dict_comprehension(compiler: Compiler, node: ast.DictComp) -> Evaluate:
    produce = _producer(compiler, node.generators, [node.key, node.value])
    return lambda call: {key_text(key): value for key, value in produce(call) if value is not MISSING}


def _plain_comprehension(compiler: Compiler, loop: ast.comprehension, element: ast.expr) -> Evaluate:
    """One loop over one name, the common case, without the cost of a generator."""
    source = compiler.compile(loop.iter)
    [name] = _targets(compiler, loop.target)
    inside = compiler.within([name])
    test = inside.compile(loop.ifs[0]) if loop.ifs else None
    result = inside.compile(element)
    cost = round_cost([loop], [element])

    def build(call: Call) -> Value:
        rounds = elements(source(call))
        call.spend(cost * len(rounds))
        bound = call.names
        before = bound.get(name, MISSING)
        found = []
        # An error in here ends the call, so only the way out restores what the name stood for.
        for bound[name] in rounds:
            if test is None or test(call):
                found.append(result(call))
        bound[name] = before
        return found

    return build


def _producer(compiler: Compiler, loops: list[ast.comprehension], yields: list[ast.expr]) -> Produce:
    """One value a round; a list of values where a round yields two."""
    first, *others = loops
    source = compiler.compile(first.iter)
    names = _targets(compiler, first.target)
    inside = compiler.within(names)
    tests = inside.all(first.ifs)
    deeper = _producer(inside, others, yields) if others else _result(inside.all(yields))
    cost = round_cost(loops, yields)

    def produce(call: Call) -> Iterator[Value]:
        rounds = elements(source(call))
        call.spend(cost * len(rounds))
        bound = call.names
        before = {name: bound.get(name, MISSING) for name in names}
        try:
            for element in rounds:
                bind(bound, names, element)
                if all(test(call) for test in tests):
                    yield from deeper(call)
        finally:  # also when whoever asked has heard enough
            bound.update(before)

    return produce


def _result(parts: list[Evaluate]) -> Produce:
    if len(parts) == 1:
        [only] = parts
        return lambda call: iter((only(call),))
    return lambda call: iter(([part(call) for part in parts],))


def _targets(compiler: Compiler, node: ast.expr) -> list[str]:
    targets = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if len(names) != len(targets):
        hint = "for x in …, or for key, value in items(…)"
        raise BadExpression(Complaint("a comprehension binds plain names", hint))
    for name in names:
        if name in GIVEN_NAMES or name in CONSTANTS:
            compiler.complain(f"`{name}` cannot be bound again", "choose another name")
    return names


def bind(bound: dict[str, Value], names: list[str], element: Value) -> None:
    """One name for the element, or one for each of its parts: `for key, value in items(x)`."""
    if len(names) == 1:
        bound[names[0]] = element
        return
    bound.update(zip(names, parts_of(element, len(names)), strict=True))


def parts_of(element: Value, count: int) -> list[Value]:
    if not isinstance(element, list) or len(element) != count:
        what = f"{len(element)} parts" if isinstance(element, list) else kind_of(element)
        raise Stopped("plan_type", f"{count} names cannot stand for {what}")
    return element


def call_of(compiler: Compiler, node: ast.Call) -> Evaluate:
    if not isinstance(node.func, ast.Name):
        raise BadExpression(_no_method(node.func))
    function = FUNCTIONS.get(node.func.id)
    if function is None:
        compiler.complain(f"there is no function `{node.func.id}`", did_you_mean(node.func.id, FUNCTIONS))
        return lambda call: None
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise BadExpression(Complaint("arguments stand in order, without names or `*`", function.signature))
    if not function.fewest <= len(node.args) <= function.most:
        count = f"{len(node.args)} argument{'' if len(node.args) == 1 else 's'}"
        compiler.complain(f"`{function.name}` is given {count}", f"write {function.signature}")
    _check_entity_type(compiler, function, node.args)
    if function.takes_tool and node.args:
        _check_tool(compiler, function, node.args[0])
    return _application(compiler, function, node.args)


def _application(compiler: Compiler, function: Function, arguments: list[ast.expr]) -> Evaluate:
    decide = SHORT_CIRCUIT.get(function.name)
    if decide is not None and len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp):
        produce = _producer(compiler, arguments[0].generators, [arguments[0].elt])
        return lambda call: decide(produce(call))
    run, parts = function.implementation, compiler.all(arguments)
    if len(parts) == 1:
        [only] = parts
        return lambda call: run(call, only(call))
    return lambda call: run(call, *[part(call) for part in parts])


def _no_method(target: ast.expr) -> Complaint:
    if isinstance(target, ast.Attribute) and target.attr in FUNCTIONS:
        return Complaint("values have no methods", f"write {FUNCTIONS[target.attr].signature}")
    return Complaint("only functions of the language can be called", "the reference of plans lists them")


def _check_entity_type(compiler: Compiler, function: Function, arguments: list[ast.expr]) -> None:
    known, first = compiler.entity_types, arguments[0] if arguments else None
    if known is None or not isinstance(first, ast.Constant) or not function.takes_entity_type:
        return
    if first.value not in known:
        compiler.complain(f"there is no entity type {first.value!r}", did_you_mean(str(first.value), known))


def _check_tool(compiler: Compiler, function: Function, named: ast.expr) -> None:
    """A literal: which tools a run remembers is known before its first call."""
    if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
        hint = f"write {function.name}('refund_order')"
        compiler.complain(f"`{function.name}` takes the name of a tool, in quotes", hint)
    elif compiler.tools is not None and named.value not in compiler.tools:
        compiler.complain(f"there is no tool {named.value!r}", did_you_mean(named.value, compiler.tools))
