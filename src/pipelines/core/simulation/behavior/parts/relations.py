"""Whose a thing is, and how many others refer to it."""

from collections.abc import Iterator, Sequence

from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.fact import Fact, FactReader
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import Statement, tokens_of


class Relations(FactReader):
    """What ties records to one another, and to whoever calls."""

    def doers(self) -> Iterator[Fact]:
        """`only by the cleaner it was assigned to`, `by its own instructor and by no one else`."""
        is_bounded = any(one.has(Cue.ONLY, Cue.OWN) for one in self.statement.spans)
        if self.tool.kind is None or not (is_bounded or self.statement.is_sole):
            return
        for span in self.statement.spans:
            persons = [kind for kind in span.kinds if kind != self.tool.kind and self._may_call(kind)]
            lead = self.cursor.lows[max(0, span.start - 3) : span.start]
            is_doer = "by" in lead or "only" in lead or "but" in lead
            if not persons or not is_doer or not self.is_free(span):
                continue
            if any(one.states and 0 <= span.start - one.end <= 1 for one in self.statement.spans):
                continue  # active cleaners: what they are like, not who they are
            following = self.cursor.lows[span.end : span.end + 8]
            ends = next(
                (at for at, low in enumerate(following) if low in ("can", "may", ",", "and")), len(following)
            )
            of = self._belonging_to(persons[0])
            if of is None:
                continue
            so = m.Related(of, persons[0])
            end = span.end + ends
            within = [one for one in self.statement.spans if span.end <= one.start < end and one.kinds]
            if not all({of, self.tool.kind} & set(one.kinds) for one in within):
                continue  # the manager of whoever filed it
            yield Fact(so=so, start=span.start, end=span.end, used=frozenset(range(span.start, end)))
            return

    def other_doers(self) -> Iterator[Fact]:
        """`Other donors have no right to cancel it`."""
        for span in self.statement.spans:
            of = next((self._belonging_to(kind) for kind in span.kinds if self._may_call(kind)), None)
            if of is None or not is_another_doer(self.statement, span) or not self.is_free(span):
                continue
            so = m.negated(m.Related(of, next(kind for kind in span.kinds if self._may_call(kind))))
            start = span.start - 1
            yield Fact(so=so, start=start, end=span.end, used=frozenset(range(start, span.end)))
            return

    def _may_call(self, kind: str) -> bool:
        """A person, or what the call names beside the thing that it is about: a carrier, a museum."""
        return kind in self.words.folk or self.words.lexicon.id_argument(self.tool, kind) is not None

    def made_by_them(self) -> Iterator[Fact]:
        """`can cancel the bookings they made, but not those of other members`."""
        if not any(one.has(Cue.ONLY) for one in self.statement.spans):
            return
        for span in self.statement.spans:
            theirs = self.cursor.low(span.end) in ("they", "he", "she")
            if self.tool.kind not in span.kinds or not theirs or not self.is_free(span):
                continue
            before = (kind for one in self.statement.before_span(span) for kind in one.kinds)
            person = next((kind for kind in before if self._may_call(kind)), None)
            if person is None or self._belonging_to(person) != self.tool.kind:
                continue
            verb = range(span.end, span.end + 2)
            so = m.Related(self.tool.kind, person)
            yield Fact(so=so, start=span.start, end=span.end + 2, used=tokens_of([span]).union(verb))
            return

    def belonging(self) -> Iterator[Fact]:
        """`if the bike belongs to the customer making it`: one thing that the call names is another's."""
        for span in self.statement.with_cue(Cue.OWN):
            if span.words[0] not in ("belongs", "belong") or not self.is_free(span):
                continue
            before = next((one for one in self.statement.before_span(span) if one.kinds), None)
            after = next((one for one in self.statement.spans if one.start >= span.end and one.kinds), None)
            if before is None or after is None or after.start - span.end > 1:
                continue
            links = self.words.lexicon.links
            pairs = [(of, to) for of in before.kinds for to in after.kinds if (of, to) in links]
            if len(pairs) == 1 and self._may_call(pairs[0][1]):
                making = self.cursor.after(
                    after.end, "making it", "making the", "who makes it", "who is making"
                )
                end = making if making is not None else after.end
                used = tokens_of([before]) | frozenset(range(span.start, end))
                yield Fact(so=m.Related(*pairs[0]), start=before.start, end=end, used=used)

    def _belonging_to(self, person: str) -> str | None:
        """The kind of thing that is there before the call and says who such a person is."""
        lexicon = self.words.lexicon
        role = lexicon.kinds.roles[person].role if person in lexicon.kinds.roles else ""
        kinds = dict.fromkeys(
            kind for kind in (self.tool.kind, *self.statement.kinds) if kind and kind != self.tool.makes
        )
        found = [
            kind for kind in kinds
            if (kind, person) in lexicon.links or (role and (role,) in lexicon.kinds[kind].fields)
        ]  # fmt: skip
        return found[0] if found else None

    def owners(self) -> Iterator[Fact]:
        for place in range(self.cursor.end):
            if place in self.used or self.cursor.low(place) not in (
                "the",
                "by",
                "their",
                "another",
                "other",
                "someone",
                "somebody",
                "its",
                "whoever",
            ):
                continue
            for thing, end in self.statement.phrases.thing(place):
                is_free = self.used.isdisjoint(range(place, end))
                owned = any(isinstance(one, (m.Owns, m.Related)) for one in _leaves(thing.so))
                if owned and is_free and len(thing.so) == 1:
                    so = self._of_those_named(thing.so[0])
                    yield Fact(so=so, start=place, end=end, kind="", used=frozenset(range(place, end)))
                    break

    def _of_those_named(self, so: m.Condition) -> m.Condition:
        """`Potters … their own firings`: whose they are is said by what names a potter."""
        match so:
            case m.Owns(str(noun), None, None):
                links = self.words.lexicon.links
                persons = [kind for kind in self.statement.kinds if (noun, kind) in links]
                return m.Related(noun, persons[0]) if len(persons) == 1 else so
        return so


def is_another_doer(statement: Statement, span: Span) -> bool:
    """Whether it is said of other persons than the one it is of that they cannot do it."""
    following = next((one for one in statement.spans if one.start == span.end), None)
    is_other = statement.cursor.low(span.start - 1) in ("other", "another")
    is_person = any(kind in statement.words.folk for kind in span.kinds)
    return is_other and is_person and following is not None and following.has(Cue.FORBID)


def _leaves(so: Sequence[m.Condition]) -> Iterator[m.Condition]:
    for one in so:
        yield one.part if isinstance(one, m.Not) else one
