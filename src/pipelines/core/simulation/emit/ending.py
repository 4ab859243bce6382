"""Ends of a plan as code: replies and failures, as pairs of a status and a response."""

import ast

from pipelines.core.simulation import actions
from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.writer import Writer
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.compiler import Formula
from pipelines.core.simulation.values import leave, leave_all_attributes, leave_attributes


def failure(w: Writer, told: steps.Failure, rule: str | None) -> None:
    if told.body is not None:
        reply(w, told.status, told.body, rule)
        return
    name_rule(w, rule)
    message = w.value(told.message.tree)
    status, error = w.constant(told.status), w.constant(told.error)
    w.add(nodes.give(nodes.call(w.function(actions.failure_outcome), status, error, message, w.call)))


def reply(w: Writer, status: int, body: Formula, rule: str | None) -> None:
    name_rule(w, rule)
    w.add(nodes.give(nodes.pair(w.constant(status), _left_value(w, body.tree))))


def name_rule(w: Writer, rule: str | None) -> None:
    """For people, not for the reply: which rule answers the call."""
    if rule is not None:
        w.add(nodes.set_attribute(w.call, "rule", w.constant(rule)))


def _left_value(w: Writer, tree: ast.expr) -> ast.expr:
    variable = w.scope.get(tree.id) if isinstance(tree, ast.Name) else None
    if variable is None or variable.bare is None:
        return nodes.call(w.function(leave), w.value(tree), w.call)
    leave_it = leave_all_attributes if variable.known == "value" else leave_attributes
    return nodes.call(w.function(leave_it), variable.bare, variable.code, w.call)
