"""States of things, and what they have or lack."""

from collections.abc import Iterator

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.fact import Fact, FactReader
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import tokens_of

_LEFT = word_set("left remaining available free open")


class States(FactReader):
    """How things are."""

    def read(self) -> Iterator[Fact]:
        for span in self.statement.spans:
            if not span.states or not self.is_free(span):
                continue
            kind = self.kind_of(span, [kind for kind, _ in span.states])
            if kind is None or (span.kinds and not self._is_used_as_state(span)):
                continue
            so = next(so for of, so in span.states if of == kind)
            if self.statement.is_set_to(span) and not self._is_given(so):
                continue  # what it is to become is no state that it has
            if (
                isinstance(so, m.OneOf)
                and self._is_given(so)
                and (self._is_yet_to_be(kind) or self.statement.is_set_to(span))
            ):
                so = m.OneOf(m.Field(so.field.name, None, True), so.values)
            denied, places = self.is_denied(span)
            named = self._its_field(span, so)
            yield Fact(
                so=m.negated(so) if denied else so,
                start=span.start,
                end=span.end,
                kind=kind,
                used=tokens_of([span]) | places | named,
            )

    def _is_given(self, so: m.Condition) -> bool:
        """Whether the call says what the field is to be."""
        return isinstance(so, m.OneOf) and so.field.name in self.tool.arguments

    def _is_yet_to_be(self, kind: str) -> bool:
        """Whether the call makes such a thing, so that all that is known of it is what the call gives."""
        is_found = self.words.lexicon.id_argument(self.tool, kind) is not None
        return kind in (self.tool.makes, self.tool.kind) and not is_found

    def _is_used_as_state(self, span: Span) -> bool:
        following = next((one for one in self.statement.spans if one.start >= span.end), None)
        return following is not None and bool(following.kinds)

    def _its_field(self, span: Span, so: m.Condition) -> frozenset[int]:
        """`status missing`, `at the intake stage`: the field's own name beside its value."""
        name = (
            so.field.name
            if isinstance(so, m.OneOf)
            else so.left.name
            if isinstance(so, m.Compare) and isinstance(so.left, m.Field)
            else ""
        )
        own = {singular(word) for word in words_of(name)} | {"status", "state", "stage"}
        found: set[int] = set()
        for place in (*range(span.start - 1, max(-1, span.start - 4), -1),):
            if singular(self.cursor.low(place)) in own:
                found.add(place)
        for place in range(span.end, span.end + 2):
            if singular(self.cursor.low(place)) in own:
                found.add(place)
        return frozenset(found)

    def had(self) -> Iterator[Fact]:
        """`has no seats left`, `without a licence`, `with a deposit`."""
        for span in self.statement.spans:
            if not span.fields or not self.is_free(span) or span.kinds or span.cues:
                continue
            kind = self.kind_of(span, [kind for kind, _ in span.fields])
            lead = [*self.statement.before_span(span)][:3]
            cue = next(
                (
                    one
                    for one in lead
                    if one.has(Cue.NONE, Cue.WITHOUT) or set(one.words) & {"with", "has", "have", "having"}
                ),
                None,
            )
            if kind is None or cue is None:
                continue
            path = next(path for of, path in span.fields if of == kind)
            one = self.words.lexicon.kinds[kind].fields[path]
            name = self.words.named(kind, path)
            so: m.Condition = (
                m.Compare(name, "==", m.Literal_(True)) if "boolean" in one.kinds else m.HasSome(name)
            )
            left = frozenset(
                place for place in range(span.end, span.end + 2) if self.cursor.low(place) in _LEFT
            )
            is_none = cue.has(Cue.NONE, Cue.WITHOUT)
            yield Fact(
                so=m.negated(so) if is_none else so, start=cue.start, end=span.end, kind=kind,
                used=tokens_of([span, cue]) | left,
            )  # fmt: skip
