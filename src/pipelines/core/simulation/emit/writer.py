"""The function being written: its statements so far, its variables, and the constants it is handed.

What costs budget is written by `spend`, `spend_each` and `charge` alone.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.values import MISSING, Budget, Value

# What is known of a variable's value before the plan runs: an Entity, any mapping, or nothing.
Known: TypeAlias = Literal["entity", "mapping", "value"]

# Writes what may fail, cost budget or be read twice, and returns what is left to read: an expression that
# cannot fail, to be used once and before anything is changed.
Visitor: TypeAlias = Callable[..., ast.expr]

CALL = "call"  # the parameter: one call while its plan runs
STEP = "at"  # the number of the step that runs


class Variable(NamedTuple):
    code: ast.expr  # how it is read
    known: Known = "value"
    # Where only attributes are at hand, not an Entity (`emit.reading`): the type, and for one entity its id.
    bare: ast.expr | None = None
    id: ast.expr | None = None


class Writer:
    """Writes into one block at a time; `block` opens one inside."""

    def __init__(self, visitors: Mapping[type[ast.expr], Visitor]) -> None:
        self._visitors = visitors
        self.body: list[ast.stmt] = []
        self.scope: dict[str, Variable] = {}
        self.constants: dict[str, object] = {}
        self._texts: dict[str, ast.expr] = {}
        self._by_identity: dict[int, ast.expr] = {}
        self._names = 0
        self.read: set[str] = set()  # the plan's names that are read somewhere
        self.call = nodes.load(CALL)
        self.missing = self.constant(MISSING)
        left = nodes.attribute(self.call, "steps_left")
        more = nodes.do(nodes.call(self.constant(Budget.next_slice), self.call))
        self._look = nodes.when(nodes.compare(left, "<", nodes.ZERO), [more])

    # -- names and constants

    def new_name(self, letter: str = "t") -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def constant(self, value: Value) -> ast.expr:
        """A value handed in by reference, under a name of ours."""
        if value.__class__ is str and value in self._texts:
            return self._texts[value]
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        if value.__class__ is str:
            self._texts[value] = nodes.load(name)
        return nodes.load(name)

    def function(self, function: object) -> ast.expr:
        """Likewise, and once however often it is used."""
        known = self._by_identity.get(id(function))
        if known is None:
            known = self._by_identity[id(function)] = self.constant(function)
        return known

    # -- expressions

    def value(self, node: ast.expr) -> ast.expr:
        return self._visitors[type(node)](self, node)

    def held_value(self, node: ast.expr) -> ast.expr:
        return self.held(self.value(node))

    # -- statements

    def add(self, statement: ast.stmt) -> None:
        self.body.append(statement)

    def run(self, function: object, *arguments: ast.expr) -> None:
        self.body.append(nodes.do(nodes.call(self.function(function), *arguments)))

    def let(self, value: ast.expr) -> ast.expr:
        """The value in a variable: evaluated here and now."""
        name = self.new_name()
        self.body.append(nodes.assign(name, value))
        return nodes.load(name)

    def result(self, function: object, *arguments: ast.expr) -> ast.expr:
        return self.let(nodes.call(self.function(function), *arguments))

    def held(self, value: ast.expr) -> ast.expr:
        """The value as something that can be read twice, or later."""
        return value if isinstance(value, nodes.Name) else self.let(value)

    @contextmanager
    def block(self) -> Iterator[list[ast.stmt]]:
        """Statements written meanwhile go into a block of their own."""
        outer, self.body = self.body, []
        try:
            yield self.body
        finally:
            self.body = outer

    @contextmanager
    def names(self, bound: Mapping[str, Variable]) -> Iterator[None]:
        """These names stand for these variables meanwhile: inside a comprehension, or a search."""
        outer = self.scope
        self.scope = {**outer, **bound}
        try:
            yield
        finally:
            self.scope = outer

    # -- budget

    def spend(self, units: int) -> None:
        self.charge(units)
        self.body.append(self._look)

    def charge(self, units: int) -> None:
        """Without a look whether that was more than there is: the next `spend` will see it."""
        self.body.append(nodes.subtract_attribute(self.call, "steps_left", nodes.own(units)))

    def spend_each(self, units: int, count: ast.expr) -> None:
        total = nodes.times(nodes.own(units), count)
        self.body.append(nodes.do(nodes.call(nodes.attribute(self.call, "spend"), total)))
