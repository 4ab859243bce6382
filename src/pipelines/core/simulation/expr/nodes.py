"""The nodes of an expression, and what can be asked of any of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
ComparisonSign: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"]
ArithmeticSign: TypeAlias = Literal["+", "-", "*", "/", "//", "%", "**"]
_OPPOSITE: Mapping[str, ComparisonSign] = {
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}


class Path(NamedTuple):
    """A value that an expression reads: the name it starts from and the fields below it."""

    root: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expr:
    def __str__(self) -> str:
        from pipelines.core.simulation.expr.write import written  # the writer knows the nodes

        return written(self)

    def children(self) -> Iterator["Expr"]:
        for name in self.__dataclass_fields__:  # not fields(): thousands of rules are walked through
            yield from _expressions_in(getattr(self, name))

    def walk(self) -> Iterator["Expr"]:
        """This node and every node below it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def refs(self) -> tuple[Path, ...]:
        """What it reads, each once, in order; what a comprehension binds is its own."""
        return tuple(dict.fromkeys(_refs(self, frozenset())))

    def roots(self) -> frozenset[str]:
        return frozenset(path.root for path in self.refs())

    def calls(self) -> Iterator["Call"]:
        return (node for node in self.walk() if isinstance(node, Call))

    def negated(self) -> "Expr":
        """What holds where this does not. The order of two values is never turned round: values that cannot
        be compared are neither more nor less."""
        if isinstance(self, Not):
            return self.part
        if isinstance(self, Compare) and len(self.rest) == 1 and self.rest[0].sign in _OPPOSITE:
            [one] = self.rest
            return Compare(self.first, (Compared(_OPPOSITE[one.sign], one.value),))
        if isinstance(self, Constant) and isinstance(self.value, bool):
            return Constant(not self.value)
        return Not(self)

    def replaced(self, by: Mapping[str, "Expr"]) -> "Expr":
        """With other expressions where these names are read."""
        return _replaced(self, by) if self.roots() & by.keys() else self


@dataclass(frozen=True, slots=True)
class Constant(Expr):
    value: Scalar

    def __eq__(self, other: object) -> bool:
        # In Python 1 == True == 1.0; here they are different constants.
        return isinstance(other, Constant) and self._typed == other._typed

    def __hash__(self) -> int:
        return hash(self._typed)

    @property
    def _typed(self) -> tuple[type, Scalar]:
        return type(self.value), self.value


@dataclass(frozen=True, slots=True)
class Name(Expr):
    name: str


@dataclass(frozen=True, slots=True)
class Field(Expr):
    of: Expr
    key: str


@dataclass(frozen=True, slots=True)
class Item(Expr):
    """`list[0]`, `mapping[args.key]`."""

    of: Expr
    at: Expr


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    of: Expr
    start: Expr | None
    end: Expr | None


class Compared(NamedTuple):
    sign: ComparisonSign
    value: Expr


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """`a < b`, or a chain: `1 <= a < 9`."""

    first: Expr
    rest: tuple[Compared, ...]


@dataclass(frozen=True, slots=True)
class And(Expr):
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Expr):
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not(Expr):
    part: Expr


@dataclass(frozen=True, slots=True)
class Arithmetic(Expr):
    left: Expr
    sign: ArithmeticSign
    right: Expr


@dataclass(frozen=True, slots=True)
class Negative(Expr):
    part: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Expr):
    """`then if test else otherwise`."""

    test: Expr
    then: Expr
    otherwise: Expr


class Loop(NamedTuple):
    names: tuple[str, ...]
    source: Expr
    tests: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Comprehension(Expr):
    shape: Literal["list", "generator", "set", "mapping"]
    results: tuple[Expr, ...]  # one; key and value for a mapping
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Spread(Expr):
    """`*part` in a list."""

    part: Expr


@dataclass(frozen=True, slots=True)
class ListOf(Expr):
    parts: tuple[Expr, ...]


class Entry(NamedTuple):
    key: Expr | None  # None: the value is a mapping that is spread here
    value: Expr


@dataclass(frozen=True, slots=True)
class MappingOf(Expr):
    entries: tuple[Entry, ...]


class FormattedValue(NamedTuple):
    """A value inside a text; `spec` is `.2f` or `,.2f`, or empty."""

    value: Expr
    spec: str = ""


@dataclass(frozen=True, slots=True)
class Format(Expr):
    """A text with values in it."""

    parts: tuple[str | FormattedValue, ...]


def path_of(expr: Expr) -> Path | None:
    """The path that a node is, where it is nothing else."""
    keys: list[str] = []
    while isinstance(expr, Field):
        keys.append(expr.key)
        expr = expr.of
    return Path(expr.name, tuple(reversed(keys))) if isinstance(expr, Name) else None


def _expressions_in(value: Any) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _expressions_in(part)


def _refs(expr: Expr, bound: frozenset[str]) -> Iterator[Path]:
    path = path_of(expr)
    if path is not None:
        if path.root not in bound:
            yield path
    elif isinstance(expr, Comprehension):
        for loop in expr.loops:
            yield from _refs(loop.source, bound)  # looked up before the loop's own names are bound
            bound = bound | set(loop.names)
            for test in loop.tests:
                yield from _refs(test, bound)
        for result in expr.results:
            yield from _refs(result, bound)
    else:
        for child in expr.children():
            yield from _refs(child, bound)


def _replaced(expr: Expr, by: Mapping[str, Expr]) -> Expr:
    if isinstance(expr, Name):
        return by.get(expr.name, expr)
    if isinstance(expr, Comprehension):
        return _comprehension_replaced(expr, by)
    return rebuilt(expr, lambda part: _replaced(part, by))


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The node with each node directly below it changed."""
    return replace(expr, **{each.name: _changed(getattr(expr, each.name), change) for each in fields(expr)})


def _changed(value: Any, change: Callable[[Expr], Expr]) -> Any:
    if isinstance(value, Expr):
        return change(value)
    if isinstance(value, tuple):
        parts = [_changed(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _comprehension_replaced(expr: Comprehension, by: Mapping[str, Expr]) -> Comprehension:
    loops = []
    for loop in expr.loops:
        source = _replaced(loop.source, by)
        by = {name: one for name, one in by.items() if name not in loop.names}
        loops.append(Loop(loop.names, source, tuple(_replaced(test, by) for test in loop.tests)))
    results = tuple(_replaced(result, by) for result in expr.results)
    return Comprehension(expr.shape, results, tuple(loops))
