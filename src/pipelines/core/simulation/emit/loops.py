"""Comprehensions and calls of functions as code: comprehensions are loops in the plan's own function."""

import ast
from collections.abc import Callable

from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.writer import Variable, Writer
from pipelines.core.simulation.syntax.calls import parts_of
from pipelines.core.simulation.syntax.costs import round_cost
from pipelines.core.simulation.syntax.functions import FUNCTIONS, SHORT_CIRCUIT
from pipelines.core.simulation.values import check_size, elements, key_text


def list_comprehension(w: Writer, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
    found = _listed(w, node)
    [first, *others] = node.generators
    # As in the interpreter, which measures only what several loops or names have made.
    is_plain = not others and isinstance(first.target, ast.Name) and len(first.ifs) < 2
    return found if is_plain else w.result(check_size, found, w.call)


def set_comprehension(w: Writer, node: ast.SetComp) -> ast.expr:
    return w.result(FUNCTIONS["unique"].implementation, w.call, _listed(w, node))


def dict_comprehension(w: Writer, node: ast.DictComp) -> ast.expr:
    found = w.let(nodes.empty_mapping())

    def one_round() -> None:
        key, value = w.held_value(node.key), w.held_value(node.value)
        named = nodes.call(w.function(key_text), key)
        is_there = nodes.compare(value, "is not", w.missing)
        w.add(nodes.when(is_there, [nodes.assign_entry(found, named, value)]))

    _loops(w, node.generators, [node.key, node.value], one_round)
    return found


def _listed(w: Writer, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> ast.expr:
    found = w.let(nodes.list_of([]))

    def one_round() -> None:
        w.add(nodes.do(nodes.call(nodes.attribute(found, "append"), w.value(node.elt))))

    _loops(w, node.generators, [node.elt], one_round)
    return found


def short_circuit(w: Writer, function: str, node: ast.GeneratorExp) -> ast.expr:
    """`any`, `all` and `first` of a generator: the loops end with the element that decides."""
    result = w.new_name()
    w.add(nodes.assign(result, {"any": nodes.FALSE, "all": nodes.TRUE, "first": nodes.NONE}[function]))

    def one_round() -> None:
        value = w.value(node.elt)
        if function == "first":
            w.add(nodes.assign(result, value))
            w.add(nodes.BREAK)
            return
        decides, verdict = (value, nodes.TRUE) if function == "any" else (nodes.negated(value), nodes.FALSE)
        w.add(nodes.when(decides, [nodes.assign(result, verdict), nodes.BREAK]))

    _loops(w, node.generators, [node.elt], one_round, may_end=True)
    return nodes.load(result)


def _loops(
    w: Writer,
    loops: list[ast.comprehension],
    results: list[ast.expr],
    one_round: Callable[[], None],
    may_end: bool = False,
) -> None:
    """One loop inside the other; where a round `may_end` them, it breaks out of all."""
    first, *others = loops
    rounds = w.result(elements, w.value(first.iter))
    w.spend_each(round_cost(loops, results), nodes.call(w.function(len), rounds))

    def inner() -> None:
        if others:
            _loops(w, others, results, one_round, may_end)
            if may_end:
                _pass_on_the_break(w)
        else:
            one_round()

    element = w.new_name("v")
    with w.block() as body, w.names(target_variables(w, _names(first.target), element)):
        _guarded(w, first.ifs, inner)
    w.add(nodes.loop((element,), rounds, body))


def _pass_on_the_break(w: Writer) -> None:
    inner = w.body[-1]
    assert isinstance(inner, ast.For)
    inner.orelse = [nodes.CONTINUE]
    w.add(nodes.BREAK)


def _guarded(w: Writer, tests: list[ast.expr], inner: Callable[[], None]) -> None:
    if not tests:
        inner()
        return
    first, *others = tests
    test = w.value(first)
    with w.block() as passed:
        _guarded(w, others, inner)
    w.add(nodes.when(test, passed))


def _names(target: ast.expr) -> list[str]:
    targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [one.id for one in targets if isinstance(one, ast.Name)]


def target_variables(w: Writer, names: list[str], element: str) -> dict[str, Variable]:
    """One name for the element, or one for each of its parts."""
    if len(names) == 1:
        return {names[0]: Variable(nodes.load(element))}
    parts = tuple(w.new_name("v") for _ in names)
    w.add(
        nodes.assign_pair(parts, nodes.call(w.function(parts_of), nodes.load(element), nodes.own(len(names))))
    )
    return {name: Variable(nodes.load(part)) for name, part in zip(names, parts, strict=True)}


def call_of(w: Writer, node: ast.Call) -> ast.expr:
    assert isinstance(node.func, ast.Name)
    if node.func.id in SHORT_CIRCUIT and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        return short_circuit(w, node.func.id, node.args[0])
    arguments = [w.value(argument) for argument in node.args]
    return w.result(FUNCTIONS[node.func.id].implementation, w.call, *arguments)
