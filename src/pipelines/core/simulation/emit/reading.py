"""Which entities a plan only reads: no `Entity` has to be made for them, the ledger's attributes will do.

Then the plan changes no entity at all, and uses the name for nothing but fields and as the whole reply.
Whatever else could tell the two apart (a function, a comparison, a text) makes it an entity again.
"""

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.compiler import Formula
from pipelines.core.simulation.syntax.lookups import Lookup

_CHANGES = (steps.Set, steps.Append, steps.Unset, steps.AddEntity, steps.Take)


def changes_entities(block: tuple[steps.Step, ...]) -> bool:
    return any(isinstance(step, _CHANGES) for step in _every_step(block))


def bare_finds(block: tuple[steps.Step, ...]) -> dict[str, steps.Find]:
    """By the names they bind; a name that is bound twice is the caller's affair."""
    every = list(_every_step(block))
    whole = set().union(*map(_entities_in, every))
    finds = (step for step in every if isinstance(step, steps.Find))
    return {step.name: step for step in finds if step.name not in whole and _may_be_bare(step)}


def _may_be_bare(step: steps.Find) -> bool:
    by_ids, first_in_order = step.all and step.id is not None, not step.all and bool(step.sort)
    if step.inside is not None or step.optional or by_ids or first_in_order:
        return False
    return all(field.removeprefix("-").partition(".")[0] != "id" for field in step.sort)


def _every_step(block: tuple[steps.Step, ...]) -> Iterator[steps.Step]:
    for step in block:
        yield step
        if isinstance(step, steps.ForEach):
            yield from _every_step(step.steps)
        elif isinstance(step, steps.If):
            yield from _every_step(step.then)
            yield from _every_step(step.otherwise)


def _entities_in(step: steps.Step) -> set[str]:
    """Names that the step uses otherwise than for a field."""
    if isinstance(step, steps.Return) and isinstance(step.value.tree, ast.Name):
        return set()
    used: set[str] = set()
    for part in _parts(step):
        used |= {part.root} if isinstance(part, steps.Path) else _used_whole(part)
    # Inside its own `where` the name stands for the candidate, which is another matter.
    return used - {step.name} if isinstance(step, steps.Find) else used


def _parts(value: Any) -> Iterator[ast.expr | steps.Path]:
    """Every expression and path of a step itself; the steps inside it come on their own."""
    if isinstance(value, Formula):
        yield value.tree
    elif isinstance(value, Lookup):
        yield value.wanted.tree
    elif isinstance(value, tuple):
        for part in value:
            if not isinstance(part, steps.Step):
                yield from _parts(part)
    elif is_dataclass(value):
        if isinstance(value, steps.Path):
            yield value
        for field in fields(value):
            yield from _parts(getattr(value, field.name))


def _used_whole(tree: ast.expr) -> set[str]:
    nodes = list(ast.walk(tree))
    of_fields = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in of_fields}
