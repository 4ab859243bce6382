"""What is given in a call: that it is there, one of some values, on or off."""

from collections.abc import Iterator

from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import NEUTRAL, Cue
from pipelines.core.simulation.behavior.parts.fact import JOINS, Fact, FactReader, is_number
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import modifier_of, tokens_of


class GivenValues(FactReader):
    """What is said of arguments."""

    def listed(self) -> Iterator[Fact]:
        """`grade is one of A, B or C`: several values of what is given."""
        for span in self.statement.spans:
            names = [name for tool, name in span.arguments if tool == self.tool.name]
            values, end, used = (
                self._values(span, names[0]) if names and self.is_free(span) else ((), 0, frozenset())
            )
            if len(values) < 2 and names and self.is_free(span) and not is_number(self.tool, names[0]):
                values, end, used = self._named_values(span.end)
            if len(values) > 1:
                field = m.Field(names[0], None, True)
                yield Fact(
                    so=m.OneOf(field, values), start=span.start, end=end, used=tokens_of([span]) | used
                )

    def _named_values(self, at: int) -> tuple[tuple[m.Value, ...], int, frozenset[int]]:
        """`is one of red, green or blue`: values that nobody has yet, as a list of single words."""
        start = self.cursor.past(
            at, frozenset(("is", "are", "be", "must", "can", "may", "have", "has", "to", ":", "="))
        )
        listed = self.cursor.after(start, "one of", "either", "any of", "one of :") or start
        found: list[m.Value] = []
        place = listed
        while place < self.cursor.end and self.cursor.tokens[place].is_word():
            if self.cursor.low(place) in NEUTRAL and not self.cursor.tokens[place].text.isupper():
                break
            found.append(self.cursor.tokens[place].text)
            joined = self.cursor.after(place + 1, ", or", ", and", "or", "and", ",")
            if joined is None:
                place += 1
                break
            place = joined
        is_list = len(found) > 2 or (len(found) == 2 and listed > start)
        return (
            (tuple(found), place, frozenset(range(at, place)))
            if is_list and start > at
            else ((), at, frozenset())
        )

    def given(self) -> Iterator[Fact]:
        for span in self.statement.spans:
            names = [name for tool, name in span.arguments if tool == self.tool.name]
            if not names or not self.is_free(span):
                continue
            field = m.Field(names[0], None, True)
            values, end, used = self._values(span, names[0])
            if values:
                yield Fact(
                    so=m.OneOf(field, values), start=span.start, end=end, used=tokens_of([span]) | used
                )
                continue
            before = next(self.statement.before_span(span), None)
            lead = [*self.statement.before_span(span)][:4]
            missing = next(
                (one for one in lead if one.has(Cue.WITHOUT) or (one.has(Cue.NONE) and one is before)), None
            )
            is_asked = any(one.has(Cue.MUST, Cue.GIVE) for one in self.statement.spans)
            if missing is not None:
                yield Fact(
                    so=m.negated(m.Present(field)),
                    start=missing.start,
                    end=span.end,
                    used=tokens_of([span, missing]) | modifier_of(self.statement, span),
                )
            elif is_asked and not span.kinds:
                given = frozenset(
                    place for one in self.statement.with_cue(Cue.GIVE) for place in range(one.start, one.end)
                )
                used = tokens_of([span]) | given | modifier_of(self.statement, span)
                yield Fact(so=m.Present(field), start=span.start, end=span.end, used=used)

    def _values(self, span: Span, name: str) -> tuple[tuple[m.Value, ...], int, frozenset[int]]:
        """The values that follow an argument: `graded excellent, good, fair or poor`."""
        found: list[m.Value] = []
        used: set[int] = set()
        end = span.end
        for one in self.statement.spans:
            if one.start < span.end:
                continue
            spelled = [
                value for tool, argument, value in one.choices if tool == self.tool.name and argument == name
            ]
            kept = self.words.lexicon.kinds.get(self.tool.makes or self.tool.kind or "")
            field = kept.fields.get((name,)) if kept is not None else None
            known = {
                str(value).casefold(): value
                for value in (field.values if field is not None else ())
                if isinstance(value, str)
            }
            said = " ".join(one.words)
            value: m.Value | None = (
                spelled[0]
                if spelled
                else one.text
                if one.text is not None
                else known.get(said) or known.get(said.replace(" ", "_"))
            )
            if (
                value is None
                and len(found) > 1
                and not one.stands_for_something
                and set(self.cursor.lows[end : one.start]) & {"or", "and", ","}
            ):
                value = self.cursor.tokens[one.start].text  # the last one of a list
            if value is not None:
                found.append(value)
                used |= tokens_of([one])
                end = one.end
            elif (found and not set(one.words) <= JOINS) or one.quantity is not None or one.has(Cue.FORBID):
                break
        return tuple(found), end, frozenset(used)
