"""Where the emitted function keeps what a plan's names stand for."""

import ast

from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.bindings import names_of
from pipelines.core.simulation.emit.writer import Known, Variable, Writer
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.compiler import GIVEN_NAMES

_TODAY = slice(10)


class Naming:
    def __init__(self, w: Writer, block: tuple[steps.Step, ...]) -> None:
        found = names_of(block)
        self._places = found.places
        self._ids = {name: w.new_name("v") for name, step in found.bare.items() if not step.all}
        self.bare = frozenset(found.bare)
        self._variables = {name: w.new_name("v") for name in (*GIVEN_NAMES, *found.known)}
        self._in_call = nodes.load("names")
        w.scope = {name: Variable(self._read(w, name), known) for name, known in found.known.items()}
        for name, step in found.bare.items():
            id = nodes.load(self._ids[name]) if name in self._ids else None
            known: Known = "value" if step.all else "mapping"
            w.scope[name] = Variable(self._read(w, name), known, w.constant(step.entity_type), id)
        given = {name: Variable(nodes.load(self._variables[name])) for name in GIVEN_NAMES}
        w.scope |= given | {"args": given["args"]._replace(known="mapping")}

    def _read(self, w: Writer, name: str) -> ast.expr:
        if name in self._places:
            return nodes.entry(self._in_call, w.constant(name))
        return nodes.load(self._variables[name])

    def prologue(self, w: Writer) -> list[ast.stmt]:
        """What the plan uses of what the call brings along, in variables."""
        now = nodes.attribute(nodes.attribute(w.call, "moment"), "now")
        given = {
            "args": nodes.attribute(w.call, "arguments"),
            "now": now,
            "today": nodes.entry(now, w.constant(_TODAY)),
        }
        found = [
            nodes.assign(self._variables[name], value) for name, value in given.items() if name in w.read
        ]
        if self._places:
            found.append(nodes.assign(self._in_call.id, nodes.attribute(w.call, "names")))
        return found

    def bind_bare(self, w: Writer, name: str, id: ast.expr, attrs: ast.expr) -> None:
        """For one entity of which only the attributes are needed."""
        w.add(nodes.assign(self._ids[name], id))
        w.add(nodes.assign(self._variables[name], attrs))

    def bind(self, w: Writer, name: str, value: ast.expr, place: ast.expr | None = None) -> None:
        if name not in self._places:
            w.add(nodes.assign(self._variables[name], value))
            return
        arguments = [w.constant(name), value] + ([] if place is None else [place])
        w.add(nodes.do(nodes.call(nodes.attribute(w.call, "bind"), *arguments)))
