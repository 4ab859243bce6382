"""From a parse to the forms of rules: it is walked with a scope, so that the same sentence is resolved for
each tool by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.language.changes import CHANGES
from pipelines.core.simulation.rules.language.clauses import CLAUSES, NAMED_TOOLS, TOOLS
from pipelines.core.simulation.rules.language.grammar import Node
from pipelines.core.simulation.rules.language.phrases import PHRASES, WORDS
from pipelines.core.simulation.rules.language.scope import CannotResolve, Scope
from pipelines.core.simulation.rules.vocabulary import Vocabulary

#: What each label of the grammar means: a function of the scope (of the vocabulary, for tools) and the part.
MEANINGS: Mapping[str, Any] = {**WORDS, **PHRASES, **CLAUSES, **CHANGES, **NAMED_TOOLS, "": None}
_CONDITIONAL = ("fails", "changes")  # clauses that a condition in front of the sentence goes with


class Part:
    """A part of a sentence: called with a scope it gives what it means there; its finds are its attributes,
    None where there is none."""

    __slots__ = ("_found", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        found: dict[str, Any] = {}
        for key, value in node.finds:
            part = Part(value) if isinstance(value, Node) else value
            if key.endswith("+"):
                found.setdefault(key[:-1], []).append(part)
            elif key and key in found:
                raise CannotResolve(f"the {key} is given twice")
            else:
                found[key] = part
        self._found = found

    def __getattr__(self, key: str) -> Any:
        return self._found.get(key)

    def __call__(self, scope: Any) -> Any:
        value = MEANINGS[self.node.label]
        result = value(scope, self) if callable(value) else value
        return result.negated() if self.no else result


class Clause(NamedTuple):
    """One thing that a sentence says, and which of its tokens say it."""

    part: Part
    when: Part | None = None  # in front of the sentence

    def forms(self, scope: Scope) -> Sequence[r.Form]:
        if self.when is None:
            return tuple(self.part(scope))
        if self.part.node.label not in _CONDITIONAL:
            raise CannotResolve("this cannot depend on a condition: remove the words before the tool")
        return tuple(self.part(replace(scope, when=self.when(scope))))


class Statement(NamedTuple):
    tools: Sequence[str]
    clauses: tuple[Clause, ...]
    must_hold_for_all: bool  # else: for those of the tools for which it means something


def meaning(node: Node, vocabulary: Vocabulary) -> Statement:
    """What a whole sentence says, and of which tools."""
    part, label = Part(node), node.label
    tools = TOOLS.get(label, NAMED_TOOLS["by_action"])(vocabulary, part)
    clauses = [*_clauses(part)] if tools else []
    return Statement(tools, tuple(clauses), must_hold_for_all=label != "never_beyond")


def _clauses(part: Part) -> Iterator[Clause]:
    if part.clauses:
        yield from (Clause(one, part.when) for one in part.clauses)
    else:
        yield Clause(part)
