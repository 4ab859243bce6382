"""One statement of a sentence: its spans, which of them a reading uses, and whether any word is left over."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.spans import Span, spans
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.vocabulary import Vocabulary
from pipelines.core.simulation.behavior.scope import Scope, Unresolved
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Token


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a statement lays down, and the tokens that say so."""

    clauses: tuple[c.Clause, ...]
    used: frozenset[int]
    tools: tuple[ToolWords, ...]


@dataclass(kw_only=True)
class Statement:
    tokens: Sequence[Token]
    words: Vocabulary
    before: tuple[ToolWords, ...] = ()  # the tools of the statement before
    named: tuple[ToolWords, ...] = ()  # called by name elsewhere in the sentence, as what it is all about
    outcome: m.Outcome | None = None  # what refused calls are answered with
    is_answered: bool = False  # whether the answer stands in this very statement
    is_sole: bool = False  # whether all else is refused, as the next one says: `anyone else is turned away`

    @cached_property
    def spans(self) -> list[Span]:
        return spans(self.tokens, self.words)

    @cached_property
    def cursor(self) -> Cursor:
        return Cursor(tokens=self.tokens)

    @cached_property
    def phrases(self) -> Phrases:
        return Phrases(cursor=self.cursor, words=self.words)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind for span in self.spans for kind in span.kinds))

    def with_cue(self, *cues: Cue) -> list[Span]:
        return [span for span in self.spans if span.has(*cues)]

    def tool(self, name: str) -> ToolWords:
        return self.words.lexicon.tools[name.lower()]

    def before_span(self, span: Span) -> Iterator[Span]:
        """The spans before one, nearest first."""
        yield from (one for one in reversed(self.spans) if one.end <= span.start)

    def is_set_to(self, span: Span) -> bool:
        """Whether a state is one that something is brought to: `set to filed`, `moves on to lost`."""
        lead = self.cursor.lows[max(0, span.start - 4) : span.start]
        return lead[-1:] == ["to"] and not _SETTING.isdisjoint(lead)

    # -- what is related to the tools

    def reaches(self, tool: ToolWords, kind: str) -> bool:
        """Whether a call of the tool is about such a thing, or names or leads to one."""
        if kind in (tool.kind, tool.makes, tool.called):
            return True
        known = self.words.lexicon.kinds.get(kind)
        if known is None or not known.fields:
            return True
        try:
            Scope(tool=tool, lexicon=self.words.lexicon, reaches_far=True).base(kind)
        except Unresolved:
            return any(
                (one, kind) in self.words.lexicon.links or (kind, one) in self.words.lexicon.links
                for one in filter(None, (tool.kind, tool.makes))
            )
        return True

    # -- is every word accounted for

    def leaves(self, reading: Reading) -> list[Span]:
        """The spans that a reading does not account for."""
        own = {word for tool in reading.tools for word in _own_words(tool)}
        left = [span for span in self.spans if not self._is_accounted(span, reading, own)]
        return [] if left and self._are_aside(left) else left

    def _are_aside(self, left: Sequence[Span]) -> bool:
        """Whether what is left only says again what the rule says (`…, and not any longer`), or that what
        stands in the way is gone then (`until the hold has been lifted`).
        """
        until = next((span for span in self.spans if span.words[-1] in ("until", "till")), None)
        if until is not None and left[0].start > until.start and self.with_cue(Cue.FORBID):
            return not any(
                span.quantity or span.states or span.choices or span.text for span in left
            ) and all(span.stands_for_something or span.cues for span in left)
        comma = max((at for at, low in enumerate(self.cursor.lows) if low == ","), default=None)
        is_last = comma is not None and left[0].start > comma
        behind = [span for span in self.spans if comma is not None and span.start > comma]
        return is_last and all(span.has(Cue.NOT, Cue.NONE) or span.is_neutral for span in behind)

    def _is_accounted(self, span: Span, reading: Reading, own: set[str]) -> bool:
        places = range(span.start, span.end)
        if any(place in reading.used for place in places):
            return True
        if span.is_neutral:
            return True
        if span.words == ("one",):  # as an article; `has to be the one that …` is another record's
            is_another = self.cursor.lows[span.start - 2 : span.start] in (["be", "the"], ["is", "the"])
            return not (is_another and self.cursor.low(span.end) in ("that", "which"))
        if span.quantity is not None or span.has(*_TELLING):
            return False
        if (span.states or span.choices or span.text is not None) and not span.kinds:
            return False
        if all(stem(singular(word)) in own for word in span.words):
            return True
        if span.kinds and any(self.reaches(tool, kind) for tool in reading.tools for kind in span.kinds):
            return True
        names = {tool.name for tool in reading.tools}
        return bool(span.deeds) and any(deed.tool in names for deed in span.deeds)


_SETTING = word_set("set sets setting move moves moved moving change changes changed changing switched put")
_TELLING = (
    Cue.FORBID, Cue.MUST, Cue.ONLY, Cue.UNLESS, Cue.NOT, Cue.NONE, Cue.WITHOUT, Cue.ABSENT, Cue.DEFAULT,
    Cue.MORE, Cue.LESS, Cue.SORTED, Cue.UNIQUE, Cue.ONCE, Cue.PAST, Cue.FUTURE,
)  # fmt: skip


def _own_words(tool: ToolWords) -> Iterator[str]:
    """What a tool is called and described by."""
    yield from (stem(singular(word)) for word in (*tool.words, *tool.described))
    for name in filter(None, (tool.kind, tool.makes)):
        yield from (stem(singular(word)) for word in words_of(name))


def tokens_of(found: Iterable[Span]) -> frozenset[int]:
    return frozenset(place for span in found for place in range(span.start, span.end))


def modifier_of(statement: Statement, span: Span) -> frozenset[int]:
    """`a licence plate`, `a documented reason`: a word between the article and what is given."""
    before = next(statement.before_span(span), None)
    if before is None or before.end != span.start or statement.cursor.low(before.start - 1) not in _ARTICLES:
        return frozenset()
    is_plain = not (before.cues or before.kinds or before.states or before.quantity or before.arguments)
    return tokens_of([before]) if is_plain and len(before.words) == 1 else frozenset()


_ARTICLES = frozenset(("a", "an", "the", "no", "two"))
