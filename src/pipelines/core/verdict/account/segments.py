"""An answer cut into segments: what stands between commas, colons and conjunctions, as tokens."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed
from pipelines.core.english.mentions import mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.words import word_set
from pipelines.core.verdict.account.lexicon import DENIALS, SUBJECTS, WEEKDAYS
from pipelines.core.verdict.cells import Cell

Mention = Dated | Timed | Quantity

LONGEST_LABEL = 4  # words before a colon that only name what stands behind it
_TOKEN = re.compile(r"(?:[^\W_]|[#@])[\w#@./'&+-]*|[,;:()|—–=→!?]|\.(?=\s|$)|-(?=\s)")
_BREAKS = frozenset(",;|—–-!?.→=")
_ENDS = frozenset(";.!?")
_JOINS = word_set("and but so because since which who while whereas although though however therefore plus")
_OF_MONTH = re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)")


class Token(NamedTuple):
    text: str  # in lower case
    start: int
    end: int
    is_capital: bool = False
    mention: Mention | None = None
    is_value: bool = False  # all of a text that stands in a record

    @property
    def is_word(self) -> bool:
        return self.mention is None and not self.is_value

    def is_like(self, cell: Cell) -> bool:
        """Whether the cell holds a value of the same sort."""
        held = {Quantity: cell.numbers, Dated: cell.days, Timed: cell.minutes}
        return self.mention is not None and bool(held[type(self.mention)])

    def is_held_by(self, cell: Cell) -> bool:
        one = self.mention
        if isinstance(one, Dated):
            return any(day.agrees_with(other) for day in one.days for other in cell.days)
        if isinstance(one, Timed):
            return not one.minutes.isdisjoint(cell.minutes)
        of_month = _OF_MONTH.fullmatch(self.text)
        if of_month is not None:  # `the 17th`
            return any(day.day == int(of_month["day"]) for day in cell.days)
        return one is not None and any(abs(value).normalize() in cell.numbers for value in one.values)


class Segment(NamedTuple):
    tokens: tuple[Token, ...]
    sentence: str
    labels: int = 0  # how many of the tokens stand before a colon, and name what is behind it
    is_heading: bool = False  # words before a colon, with nothing behind it

    @property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens if token.is_word]

    @property
    def is_denied(self) -> bool:
        return any(word in DENIALS or word.endswith("n't") for word in self.words)

    @property
    def names_one(self) -> bool:
        """Whether it speaks of a certain record or day."""
        return any(
            token.is_value
            or isinstance(token.mention, Dated)
            or (token.is_word and any(map(str.isdigit, token.text)))
            for token in self.tokens
        )

    @property
    def written(self) -> str:
        """As the agent wrote it; what names it stands far before it in a list."""
        label, rest = self.tokens[: self.labels], self.tokens[self.labels :]
        pieces = [self.sentence[part[0].start : part[-1].end] for part in (label, rest) if part]
        return ": ".join(pieces)


def segments(sentence: str, values: re.Pattern[str] | None) -> Iterator[Segment]:
    """`values` finds the texts of records, which may hold commas and numbers: `4 Mill Row, Harwick`."""
    tokens: list[Token] = []
    label: list[Token] = []
    for token in _tokens(sentence, values):
        if token.is_word and token.text == ":":
            if _is_label(tokens):
                label = tokens
            elif tokens:
                yield Segment((*label, *tokens), sentence, len(label))
                label = []
            tokens = []
        elif token.is_word and token.text in _BREAKS | _JOINS:
            if token.text == "," and tokens and tokens[-1].text in WEEKDAYS:
                continue  # `Thursday, 11 June`
            if tokens:
                yield Segment((*label, *tokens), sentence, len(label))
                tokens = []
            label = [] if token.text in _ENDS else label
        else:
            tokens.append(token)
    if tokens:
        yield Segment((*label, *tokens), sentence, len(label))
    elif label:
        yield Segment(tuple(label), sentence, is_heading=True)


def _is_label(tokens: list[Token]) -> bool:
    is_plain = all(token.mention is None and token.text not in SUBJECTS for token in tokens)
    return is_plain and len(tokens) <= LONGEST_LABEL


def _tokens(sentence: str, values: re.Pattern[str] | None) -> Iterator[Token]:
    taken: list[Token] = []
    for match in values.finditer(sentence.lower()) if values is not None else ():
        start, end = match.span()
        taken.append(Token(match[0], start, end, sentence[start].isupper(), None, True))
    spans = [(one.start, one.end) for one in taken]
    found = mentions(sentence)
    every: list[Mention] = [*found.days, *found.times, *found.numbers]
    for one in every:
        if not any(start < one.end and one.start < end for start, end in spans):
            taken.append(Token(sentence[one.start : one.end].lower(), one.start, one.end, False, one))
    at = 0
    for token in sorted(taken, key=lambda one: one.start):
        yield from _words(sentence, at, token.start)
        yield token
        at = token.end
    yield from _words(sentence, at, len(sentence))


def _words(sentence: str, start: int, end: int) -> Iterator[Token]:
    for match in _TOKEN.finditer(sentence, start, end):
        text = match[0].rstrip(".'-/&+") if len(match[0]) > 1 else match[0]
        if text:
            yield Token(text.lower(), match.start(), match.start() + len(text), text[:1].isupper())
