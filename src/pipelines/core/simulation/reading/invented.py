"""Which fields of a read plan's reply are invented: each of them is named in the notes of every reply."""

from collections.abc import Iterator

from pipelines.core.simulation.expr.make import Draft, expressions_in
from pipelines.core.simulation.expr.nodes import Call, Constant


def invented_in(body: Draft) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_names(body)))


def _names(body: Draft) -> Iterator[str]:
    """Of `invented({'type': 'string'}, 'city', args)`, city."""
    for expression in expressions_in(body):
        for one in expression.calls():
            match one:
                case Call(function="invented", arguments=(_, Constant(value=str(name)), *_)):
                    yield name
