"""What a search finds: an expression, how long it is, and what must hold for it to be known at all."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.values import MISSING

WORD = 4.0  # what a short text costs as a constant
CHARACTERS = 6.0  # of a longer text, for each unit


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    expr: n.Expr
    cost: float
    #: Conditions under which the expression was seen at all: a table of seen values has no other answers.
    seen: tuple[n.Expr, ...] = ()
    #: Rows that it does not explain, where a majority decided.
    missed: frozenset[int] = field(default_factory=frozenset)

    def within(self, expr: n.Expr, *others: "Found", cost: float = 0.0) -> "Found":
        """As part of a longer expression."""
        parts = (self, *others)
        return Found(
            expr=expr,
            cost=cost + sum(one.cost for one in parts),
            seen=tuple(dict.fromkeys(test for one in parts for test in one.seen)),
            missed=frozenset().union(*(one.missed for one in parts)),
        )

    def only_if(self, test: n.Expr) -> "Found":
        """Its conditions matter only where the test holds."""
        conditions = tuple(m.any_of(test.negated(), one) for one in self.seen)
        return replace(self, seen=conditions) if self.seen else self


def constant_cost(value: Value) -> float:
    if value is MISSING or value is None or isinstance(value, bool) or value in ("", 0, 1):
        return 1.5
    if isinstance(value, (int, float)):
        return 2.5 if abs(value) <= 10 else 4.5
    if isinstance(value, str):
        return WORD if len(value) <= 12 else WORD + len(value) / CHARACTERS
    parts: Sequence[Any] = list(value.values()) if isinstance(value, dict) else value
    return 1.5 + sum(1 + constant_cost(part) for part in parts)


#: What a field that is not there gives: a reply leaves out its key.
NOTHING = n.Field(n.MappingOf(()), "nothing")


def constant(value: Value) -> Found:
    return Found(expr=NOTHING if value is MISSING else m.constant(value), cost=constant_cost(value))
