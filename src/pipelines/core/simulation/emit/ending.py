"""Ends of a plan as code: replies and failures, as pairs of a status and a response."""

from pipelines.core.simulation import actions, steps
from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.writer import Writer
from pipelines.core.simulation.syntax.compiler import Formula
from pipelines.core.simulation.values import leave


def failure(w: Writer, told: steps.Failure) -> None:
    if told.body is not None:
        reply(w, told.status, told.body)
        return
    message = w.value(told.message.tree)
    status, error = w.constant(told.status), w.constant(told.error)
    w.add(nodes.give(nodes.call(w.function(actions.failed), status, error, message)))


def reply(w: Writer, status: int, body: Formula) -> None:
    left = nodes.call(w.function(leave), w.value(body.tree), w.call)
    w.add(nodes.give(nodes.pair(w.constant(status), left)))
