"""Moments: how far a call is from one, and whether one is over."""

from collections.abc import Iterator

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.fact import Fact, FactReader, gives_moment
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import tokens_of
from pipelines.core.simulation.behavior.reader import times

_BEFORE = ("before", "prior to", "ahead of", "in advance of")
_AFTER = ("after", "since", "following", "of", "from", "past")
_AHEAD = ("ahead", "in advance", "in the future", "from now", "from today", "away")
_STARTING = word_set("start starts from begin begins check_in in pickup departure first")


class Moments(FactReader):
    """Windows of time, and what has passed."""

    def read(self) -> Iterator[Fact]:
        for span in self.statement.spans:
            if span.quantity is None or span.quantity.duration is None or not self.is_free(span):
                continue
            yield from self._window(span, span.quantity.duration)
        yield from self._over()

    def _window(self, span: Span, duration: m.Duration) -> Iterator[Fact]:
        cursor = self.cursor
        op, start = self._op_before(span)
        for ways, is_ahead in ((_BEFORE, True), (_AFTER, False)):
            begin = cursor.after(span.end, *ways)
            if begin is None:
                continue
            event = self._event(begin)
            if event is not None:
                turned = op
                if is_ahead and (op == "<=" and self._is_deadline(start, span.start)):
                    turned = ">="
                field, end = event
                so = m.Age(field, turned, duration, None, is_ahead)
                yield Fact(
                    so=so, start=start, end=end, kind=field.owner or "", used=frozenset(range(start, end))
                )
                return
        ahead = cursor.after(span.end, *_AHEAD)
        dates = [name for name in self.tool.arguments if gives_moment(self.tool, name)]
        dates = dates if len(dates) < 2 else [name for name in dates if _STARTING & set(words_of(name))]
        if ahead is not None and len(dates) == 1:
            so = m.Age(m.Field(dates[0], None, True), op, duration, None, True)
            yield Fact(so=so, start=start, end=ahead, used=frozenset(range(start, ahead)))

    def _op_before(self, span: Span) -> tuple[m.Op, int]:
        cursor = self.cursor
        for length in (4, 3, 2, 1):
            at = span.start - length
            if at < 0:
                continue
            for op, end in cursor.comparison(at):
                if end == span.start:
                    return op, at
            if (
                cursor.after(
                    at,
                    "within",
                    "within the first",
                    "in the last",
                    "during the last",
                    "in the final",
                    "during the final",
                    "for",
                    "until",
                    "during the first",
                    "up until",
                    "for up to",
                    "not later than",
                    "at the latest",
                )
                == span.start
            ):
                return "<=", at
        return ">=", span.start

    def _is_deadline(self, start: int, end: int) -> bool:
        said = " ".join(self.cursor.lows[start:end])
        return said in ("until", "up to", "no later than", "up until", "not later than", "at the latest")

    def _event(self, at: int) -> tuple[m.Field, int] | None:
        start = self.cursor.past(at, frozenset(("its", "their", "the", "that")))
        own = self.words.lexicon.kinds.get(self.tool.kind or "")
        if self.cursor.low(start) in ("date", "day", "time") and own is not None and len(own.dates()) == 1:
            return self.words.named(own.name, own.dates()[0]), start + 1
        kinds = [kind for kind in (self.tool.kind, self.tool.makes) if kind]
        near = [*dict.fromkeys((*self.statement.kinds, *kinds))]
        near = [
            kind
            for kind in near
            if kind in self.words.lexicon.kinds and self.statement.reaches(self.tool, kind)
        ]
        ruling = self.statement.with_cue(Cue.FORBID, Cue.ALLOW, Cue.MUST, Cue.NONE, Cue.ONLY, Cue.UNLESS)
        stop = min((span.start for span in ruling if span.start > at), default=self.cursor.end)
        for place in range(at, min(at + 5, stop)):
            for field, end in times.event(self.statement.phrases, place, near):
                if field.owner is None or self.statement.reaches(self.tool, field.owner):
                    return field, min(end, stop)
        return None

    def _over(self) -> Iterator[Fact]:
        """`a day that has already passed`, `whose expiry date has gone by`."""
        for span in self.statement.with_cue(Cue.PAST, Cue.FUTURE):
            if not self.is_free(span):
                continue
            op: m.Op = "<" if span.has(Cue.PAST) else ">"
            denied, places = self.is_denied(span)
            near = [one for one in self.statement.before_span(span) if span.start - one.end <= 5]
            for one in near:
                dated = [
                    (kind, path)
                    for kind, path in one.fields
                    if path in self.words.lexicon.kinds[kind].dates()
                ]
                kind = self.kind_of(one, [kind for kind, _ in dated]) if dated else None
                given = [name for name in self.tool.arguments if kind and gives_moment(self.tool, name)]
                if kind is not None and given and kind == self.tool.kind:
                    return  # whether the moment that is given or the one that is kept is meant is not clear
                if kind is not None:
                    path = next(path for of, path in dated if of == kind)
                    so = m.Compare(self.words.named(kind, path), op, m.Now())
                    used = tokens_of([span, one]) | places
                    yield Fact(
                        so=m.negated(so) if denied else so,
                        start=one.start,
                        end=span.end,
                        kind=kind,
                        used=used,
                    )
                    break
            else:
                dates = [name for name in self.tool.arguments if gives_moment(self.tool, name)]
                around = {self.cursor.low(place) for place in range(span.start - 5, span.start)}
                if len(dates) == 1 and around & {"day", "date", "time", "moment", "slot", "in"}:
                    so = m.Compare(m.Field(dates[0], None, True), op, m.Now())
                    yield Fact(so=so, start=span.start, end=span.end, used=tokens_of([span]) | places)
