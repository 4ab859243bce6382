"""Compiling a syntax tree, node by node, into functions over a call; problems are collected on the way."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NoReturn, TypeAlias

from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expression_text import BadExpression, Complaint
from pipelines.core.simulation.values import Value

Evaluate: TypeAlias = Callable[[Call], Value]


class Given(ast.Constant):
    """A value as JSON holds it: a number with a point stays a float, which in an expression is a decimal."""


class Formula(NamedTuple):
    """A value that an author wrote: its checked tree, and the function that evaluates it."""

    tree: ast.expr
    evaluate: Evaluate


CONSTANTS: Mapping[str, bool | None] = {"null": None, "true": True, "false": False}
GIVEN_NAMES = frozenset({"args", "now", "today"})  # bound in every plan, never by it


@dataclass(kw_only=True, slots=True)
class Compiler:
    visitors: "Mapping[type[ast.AST], Callable[..., Evaluate]]"
    names: frozenset[str]  # bound where the expression stands
    arguments: frozenset[str] | None  # of the tool; None where they are not known
    entity_types: frozenset[str] | None
    tools: frozenset[str] | None = None  # the agent's; None where they are not known
    complaints: list[Complaint] = field(default_factory=list)

    def compile(self, node: ast.AST) -> Evaluate:
        visit = self.visitors.get(type(node))
        if visit is None:
            refuse(node)
        return visit(self, node)

    def all(self, nodes: list[ast.expr]) -> list[Evaluate]:
        return [self.compile(node) for node in nodes]

    def within(self, names: list[str]) -> "Compiler":
        """For the inside of a comprehension, where more names are bound; complaints go to the same list."""
        return replace(self, names=self.names | set(names))

    def complain(self, message: str, hint: str | None = None) -> None:
        self.complaints.append(Complaint(message, hint))


_FORBIDDEN: Mapping[type[ast.AST], Complaint] = {
    ast.Lambda: Complaint(
        "lambdas are not part of the language", "write a comprehension: [x.price for x in items]"
    ),
    ast.NamedExpr: Complaint("`:=` is not part of the language", "bind names with a `let` step"),
    ast.Starred: Complaint("`*` works only inside a list: [*a, b]"),
    ast.Tuple: Complaint("tuples are not part of the language", "write a list: [a, b]"),
    ast.Set: Complaint("sets are not part of the language", "write a list: [a, b]"),
    ast.BitOr: Complaint("`|` is not part of the language", "write `or`; for mappings merge(a, b)"),
    ast.BitAnd: Complaint("`&` is not part of the language", "write `and`"),
    ast.Invert: Complaint("`~` is not part of the language", "write `not`"),
}


def refuse(node: ast.AST) -> NoReturn:
    unknown = Complaint(f"{type(node).__name__} is not part of the language")
    raise BadExpression(_FORBIDDEN.get(type(node), unknown))
