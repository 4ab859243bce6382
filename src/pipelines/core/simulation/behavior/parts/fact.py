"""A fact that a statement tells, and what all readers of facts share: what is used already, and which kind of
thing is meant.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import Statement, tokens_of
from pipelines.core.simulation.behavior.things import ToolWords

JOINS = frozenset(
    ("or", "and", "nor", ",", "either", "neither", "be", "is", "are", "been", "has", "have", "the", "a")
)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A condition, where its words stand, and the kind of thing it is of ("" for what is given)."""

    so: m.Condition
    start: int
    end: int
    kind: str = ""
    used: frozenset[int] = frozenset()


class FactReader:
    """What is said of the calls of one tool; `used` are the places whose words mean something already."""

    def __init__(self, statement: Statement, tool: ToolWords, used: set[int]) -> None:
        self.statement, self.tool, self.used = statement, tool, used
        self.words, self.cursor = statement.words, statement.cursor

    def is_free(self, span: Span) -> bool:
        return not any(place in self.used for place in range(span.start, span.end))

    def kind_of(self, span: Span, kinds: Sequence[str]) -> str | None:
        """Of several kinds that have such a state or field the one that is spoken of, else what the tool is
        about, else the one it reaches."""
        kinds = [*dict.fromkeys(kinds)]
        near = [
            kind
            for one in sorted(self.statement.spans, key=lambda one: abs(one.start - span.start))
            if one is not span
            for kind in one.kinds
        ]
        for kind in near:
            if kind in kinds and self.statement.reaches(self.tool, kind):
                return kind
        own = [kind for kind in (self.tool.makes, self.tool.kind) if kind in kinds]
        if own:
            return own[0]
        reached = [kind for kind in kinds if self.statement.reaches(self.tool, kind)]
        return reached[0] if len(reached) == 1 else None

    def is_denied(self, span: Span) -> tuple[bool, frozenset[int]]:
        """Whether `not`, `never` or `no longer` stands right before it, and where."""
        for one in self.statement.before_span(span):
            if one.has(Cue.NOT):
                return True, tokens_of([one])
            if not (set(one.words) <= JOINS | {"in", "on", "an", "yet", "it", "they"}) or "and" in one.words:
                break
        return False, frozenset()


def is_number(tool: ToolWords, name: str) -> bool:
    return tool.arguments[name].get("type") in ("integer", "number")


def gives_moment(tool: ToolWords, name: str) -> bool:
    schema = tool.arguments[name]
    said = words_of(name)
    return schema.get("type") in ("string", None) and (
        schema.get("format") in ("date", "date-time")
        or bool(said and said[-1] in ("at", "on", "date", "time", "day"))
    )
