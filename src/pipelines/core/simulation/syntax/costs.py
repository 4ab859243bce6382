"""What the parts of a plan cost, in units of budget: by kind of step, node and function, before it runs.

A unit stands for some 50 ns at worst (docs/decisions/0012-plan-budget.md). A step is charged once, when it
begins, for every node in it, also those that a condition then passes over; what is inside a loop is charged
for all its rounds when the loop begins. What depends on the size of a value is charged where the value is
at hand: in `values`, `places`, `actions` and `library`.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pipelines.core.simulation.call import ENTITY
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.compiler import Formula
from pipelines.core.simulation.syntax.lookups import Lookup

STEP = 10
ROUND = 4  # of a comprehension or a search
EACH = 12  # a round of `for`
PATH = 60  # from a name into an entity, with the copies on the way
CHANGE = 60
SEARCH = 40
HIT = ENTITY  # what a search finds becomes an entity
FAILURE = 40

_NODES: Mapping[type[ast.AST], int] = {
    ast.Name: 1,
    ast.Constant: 1,
    ast.Attribute: 2,
    ast.Subscript: 8,
    ast.Slice: 30,
    ast.List: 6,
    ast.Dict: 10,
    ast.JoinedStr: 10,
    ast.FormattedValue: 4,
    ast.BinOp: 10,
    ast.UnaryOp: 14,
    ast.BoolOp: 1,
    ast.IfExp: 1,
    ast.Starred: 4,
    ast.ListComp: 6,
    ast.GeneratorExp: 6,
    ast.SetComp: 10,
    ast.DictComp: 6,
    ast.Call: 6,
    ast.Eq: 3,
    ast.NotEq: 4,
    ast.Is: 3,
    ast.IsNot: 4,
    ast.In: 16,
    ast.NotIn: 16,
    ast.Lt: 4,
    ast.LtE: 4,
    ast.Gt: 4,
    ast.GtE: 4,
    ast.Pow: 600,
}
_SHOWN = 80  # `{x:.2f}`
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)

# Beside the node itself. What is not here takes no longer than an ordinary call.
_FUNCTIONS: Mapping[str, int] = {
    "abs": 10, "round": 40, "floor": 30, "ceil": 30, "number": 30, "int": 50, "float": 40, "sqrt": 60,
    "log": 1_000, "significant": 80, "mean": 20, "median": 40, "stdev": 150, "pstdev": 150,
    "min": 10, "max": 10, "sum": 6, "calculate": 20,
    "str": 4, "pad": 10, "replace": 10, "contains": 8, "starts_with": 8, "ends_with": 8, "like": 10,
    "words": 10, "same_id": 20, "title": 10, "split": 6, "join": 6,
    "days_between": 80, "add_days": 80, "add_months": 80, "add_minutes": 80, "is_before": 60,
    "date_part": 40, "format_date": 40,
    "entity": 30, "exists": 30, "entities": 10, "ids": 10, "calls": 10, "new_id": 150, "uuid": 120,
    "token": 400, "random_int": 60, "unique": 6, "sort": 20, "top": 20, "pick": 10, "without": 10,
    "merge": 10,
}  # fmt: skip


def cost_of(tree: ast.expr) -> int:
    """Of evaluating an expression once, without the rounds of its loops."""
    total, pending = 0, [tree]
    while pending:
        node: ast.AST = pending.pop()
        total += _NODES.get(type(node), 0)
        if isinstance(node, _COMPREHENSIONS):
            pending.append(node.generators[0].iter)
            continue
        if isinstance(node, ast.Constant):
            total += len(node.value) >> 4 if isinstance(node.value, str) else 0
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            total += _FUNCTIONS.get(node.func.id, 0)
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            total += _SHOWN
        pending += ast.iter_child_nodes(node)  # type: ignore[arg-type]  # operators are nodes too
    return total


def round_cost(loops: list[ast.comprehension], results: Iterable[ast.expr]) -> int:
    """Of one round of the first loop, without the rounds of those inside it."""
    first, *others = loops
    inside = [others[0].iter] if others else list(results)
    names = len(first.target.elts) if isinstance(first.target, (ast.Tuple, ast.List)) else 0
    return ROUND + 2 * names + sum(map(cost_of, [*first.ifs, *inside]))


def with_cost(step: steps.Step) -> steps.Step:
    """The step with its price. Blocks inside it have steps with prices of their own."""
    cost = STEP + _KINDS.get(type(step), 0) + sum(_parts(step))
    if not isinstance(step, steps.Find):
        return replace(step, cost=cost)
    where = 0 if step.where is None else cost_of(step.where.tree)
    # The search itself is charged for candidate by candidate.
    lookup_cost = 0 if step.is_bare or step.inside is not None else ENTITY
    return replace(step, cost=cost - where, round_cost=ROUND + lookup_cost + where)


_KINDS: Mapping[type, int] = {steps.Find: SEARCH, steps.AddEntity: SEARCH + CHANGE, steps.Flag: CHANGE}


def _parts(value: Any) -> Iterable[int]:
    """The price of every expression and path of a step itself."""
    if isinstance(value, Formula):
        yield cost_of(value.tree)
    elif isinstance(value, Lookup):
        yield cost_of(value.wanted.tree)
    elif isinstance(value, tuple):
        for part in value:
            if not isinstance(part, steps.Step):
                yield from _parts(part)
    elif is_dataclass(value):
        yield _OWN.get(type(value), 0)
        for field in fields(value):
            yield from _parts(getattr(value, field.name))


_OWN: Mapping[type, int] = {steps.Path: PATH, steps.Change: CHANGE, steps.Failure: FAILURE}
