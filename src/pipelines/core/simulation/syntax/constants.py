"""Parts of an expression that need nothing from the call, such as `10 ** 10 ** 10` or `'a' + 1`.

They are tried when the plan is saved: what can only fail is refused then, not found out in a run.
"""

import ast
from collections.abc import Iterator

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.compiler import CONSTANTS, Evaluate
from pipelines.core.simulation.syntax.functions import IMPURE
from pipelines.core.simulation.values import Stopped

_TRIAL_STEPS = 5_000  # saving a plan must stay quick; whatever takes longer is left to the run's own budget


_COMPUTED = (
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.Subscript,
    ast.Attribute,
)


def constant_parts(node: ast.AST) -> Iterator[ast.expr]:
    """The largest parts that compute something and are the same whatever the call is."""
    if isinstance(node, _COMPUTED) and not _free_names(node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from constant_parts(child)


def why_it_fails(evaluate: Evaluate) -> str | None:
    """What stops a constant part, or None if it has a value or takes too long to tell."""
    trial = Call({}, Ledger(World({})), Moment(seed="", call_number=0, now="2000-01-01"))
    trial.allow(_TRIAL_STEPS)
    try:
        evaluate(trial)
    except Stopped as stopped:
        return None if stopped.code == "plan_budget" else str(stopped)
    except RecursionError:
        return None
    return None


def _free_names(node: ast.AST, bound: frozenset[str] = frozenset(CONSTANTS)) -> set[str]:
    """Names that the part does not bind itself; what looks at the ledger or draws chance counts as one."""
    if isinstance(node, ast.Name):
        return {node.id} - bound
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return ({node.func.id} & IMPURE).union(*(_free_names(argument, bound) for argument in node.args))
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        return _free_in_comprehension(node, bound)
    return set().union(*(_free_names(child, bound) for child in ast.iter_child_nodes(node)))


def _free_in_comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, bound: frozenset[str]
) -> set[str]:
    """What a loop goes over is looked up before its names are bound: in `x for x in x.items` they differ."""
    found: set[str] = set()
    for loop in node.generators:
        found |= _free_names(loop.iter, bound)
        bound |= {name.id for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
        found = found.union(*(_free_names(test, bound) for test in loop.ifs))
    results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    return found.union(*(_free_names(result, bound) for result in results))
