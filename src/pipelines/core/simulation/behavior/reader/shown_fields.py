"""Which fields a reply shows: `never returns the e-mail address`, `returns only name and tier`."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.inflection import verb_forms
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import NO_NAMES
from pipelines.core.simulation.behavior.things import ToolWords, find_field

Found = tuple[tuple[c.Clause, ...], int]


def _forms(*verbs: str) -> frozenset[str]:
    return frozenset(form for verb in verbs for form in verb_forms(verb))


_SHOWING = _forms(
    "return", "show", "include", "expose", "reveal", "contain", "disclose", "display", "give", "list"
)
_HIDING = _forms("omit", "hide", "strip", "exclude", "redact", "remove", "leave")
_MASKING = _forms("mask", "obfuscate", "redact")
_NEVER = ("never", "does not", "do not", "must not", "must never", "will not", "may not", "may never")
_UNSEEN = tuple(
    f"{be} {never} {shown}"
    for be in ("is", "are", "must", "may")
    for never in ("never", "not", "never be", "not be")
    for shown in ("returned", "shown", "exposed", "revealed", "included", "disclosed", "displayed")
)
_FROM = word_set("from in by of the its any a results result response responses reply replies output")
_EVERYONE = m.Who(everyone=True)


@dataclass(kw_only=True)
class ShownFields:
    phrases: Phrases

    @property
    def cursor(self) -> Cursor:
        return self.phrases.cursor

    def read(self, at: int) -> Iterator[Found]:
        named = named_tools(self.phrases, at)
        if named is not None:
            yield from self.of_tools(named[0], named[1])
            return
        for fields, start in self._fields(at, ()):
            if (end := self.cursor.after(start, *_UNSEEN)) is not None:
                yield (c.Hide(fields, _EVERYONE),), end
            masked = self.cursor.after(start, "is masked", "are masked", "is always masked")
            if masked is not None and len(fields) == 1:
                keep, end = self._kept(masked)
                yield (c.Mask(fields[0], keep, _EVERYONE),), end

    def of_tools(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[Found]:
        cursor, who = self.cursor, m.Who(names=tuple(tool.name for tool in tools))
        denied = cursor.after(at, *_NEVER)
        if denied is not None and cursor.low(denied) in _SHOWING:
            for fields, end in self._fields(denied + 1, tools):
                yield (c.Hide(fields, who),), self._past_from(end)
        if cursor.low(at) in _HIDING:
            start = at + 1 + (cursor.low(at + 1) == "out")
            for fields, end in self._fields(start, tools):
                yield (c.Hide(fields, who),), self._past_from(end)
        only = cursor.low(at) in _SHOWING and cursor.low(at + 1) == "only"
        only = only or (cursor.low(at) == "only" and cursor.low(at + 1) in _SHOWING)
        if only:
            for fields, end in self._fields(at + 2, tools):
                yield (c.Show(fields, who),), end
        if cursor.low(at) in _MASKING:
            for fields, end in self._fields(at + 1, tools):
                if len(fields) == 1:
                    keep, last = self._kept(end)
                    yield (c.Mask(fields[0], keep, who),), last

    def _past_from(self, at: int) -> int:
        end = self.cursor.past(at, _FROM)
        return end if end > at and self.cursor.low(at) in ("from", "in") else at

    def _kept(self, at: int) -> tuple[int, int]:
        """`except the last 2 digits`."""
        start = self.cursor.after(
            at, "except for the last", "except the last", "except its last", "but the last", "to the last"
        )
        number = self.cursor.number(start) if start is not None else None
        if number is None:
            return 4, at
        return int(number[0]), self.cursor.past(number[1], word_set("digits characters"))

    def _fields(self, at: int, tools: tuple[ToolWords, ...]) -> Iterator[tuple[tuple[m.Field, ...], int]]:
        """Fields that the replies have, joined by commas and `and`."""
        for name, end in self._field(at, tools):
            joined = self.cursor.after(end, ", and", ", or", "and", "or", "nor", ",")
            for rest, last in self._fields(joined, tools) if joined is not None else ():
                yield (name, *rest), last
            yield (name,), end

    def _field(self, at: int, tools: tuple[ToolWords, ...]) -> Iterator[tuple[m.Field, int]]:
        cursor, lexicon = self.cursor, self.phrases.words.lexicon
        start = cursor.past(at, word_set("the a an any its their his her"))
        for kind, end in self.phrases.kinds_at(start):
            if cursor.low(end) == "'s":
                start = end + 1
                break
            del kind
        own = {tool.kind for tool in tools}
        kinds = [kind for kind in lexicon.kinds.values() if not own or kind.name in own]
        for length in (3, 2, 1):
            said = cursor.words(start, start + length)
            if len(said) != length or NO_NAMES & set(said):
                continue
            phrase = " ".join(said)
            known = any(find_field(kind.fields, phrase, similar=False) for kind in kinds)
            if known or any(phrase.replace(" ", "_") in tool.output for tool in tools):
                end = start + length
                end += cursor.low(end) in ("field", "fields", "address", "addresses", "attribute")
                yield m.Field(phrase), end
                return
