"""Numbers that count nothing: an id or a part of one, of a name or an address, the day of a month, `one` for
a thing."""

import re
from functools import cached_property
from itertools import pairwise

from pipelines.core.english.dates import Day
from pipelines.core.english.numbers import ORDINALS, Quantity
from pipelines.core.english.stems import stem
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.cells import Cells, Scope
from pipelines.core.verdict.records import bare
from pipelines.core.verdict.said import Said

ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_ENDING = re.compile(r"\b(?:ending(?:\s+in|\s+with)?|ends\s+(?:in|with)|last\s+(?:four|4)(?:\s+digits)?)\s*$")
_IN_LINE = re.compile(r"\s*(?:in\s+(?:line|the\s+queue)|on\s+the\s+(?:waiting\s+)?list|floor|place)\b")
_JUST = re.compile(r"\b(?:just|only|exactly)\s*$")
PLACES = frozenset(map(stem, ("position", "rank", "place", "queue", "round", "version", "attempt", "turn")))


class NumbersInNames:
    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._facts = cells.facts

    def cover(self, one: Quantity, said: Said, scope: Scope) -> bool:
        """An id, a part of a name or address, the day of a month, `one` for a thing."""
        sentence = said.sentence
        written = sentence[one.start : one.end]
        if one.currency:
            return False
        if bare(written) in self._facts.subjects:
            return True
        is_count = (
            _JUST.search(sentence[: one.start].lower()) and self._facts.lists and not self._facts.is_refusal
        )
        if written.lower() == "one" and not is_count:
            return True
        if self._is_part_of_id(one, sentence):
            return True
        if (
            written.lower() in ORDINALS
            and not _IN_LINE.match(sentence, one.end)
            and not PLACES & {w for c in scope.cells if c.numbers for w in c.words}
        ):
            return True  # `first`, of nothing that has a place in an order
        ordinal = ORDINAL.fullmatch(written)
        if ordinal is not None:
            return any(day.day == int(ordinal[1]) for cell in scope.cells for day in cell.days)
        first = written.lower().split()[0]
        before = re.findall(r"[\w']+", sentence[max(0, one.start - 40) : one.start].lower())[-1:]
        after = re.findall(r"[\w']+", sentence[one.end : one.end + 40].lower())[:1]
        pairs = {(word, first) for word in before} | {(first, word) for word in after}
        return not pairs.isdisjoint(self._pairs_in_texts)

    def _is_part_of_id(self, one: Quantity, sentence: str) -> bool:
        """`555-0186`; `ending in 4471`; `21.11`, of what has the 21st of November."""
        token = re.search(r"[\w-]*$", sentence[: one.start])
        rest = re.match(r"[\w-]*", sentence[one.start :])
        spelled = (token[0] if token else "") + (rest[0] if rest else "")
        whole = bare(spelled)
        digits = re.sub(r"\D", "", sentence[one.start : one.end])
        if "-" in spelled and (whole in self._facts.names or whole in self._facts.asked_bare):
            return True
        if _ENDING.search(sentence[: one.start].lower()):
            return any(each.endswith(digits) for each in self._facts.digits.split())
        parts = sentence[one.start : one.end].split(".")
        if len(parts) == 2 and all(part.isdigit() and 0 < int(part) <= 31 for part in parts):
            return self._facts.everything.has_day([Day(int(parts[1]), int(parts[0]))])
        return False

    @cached_property
    def _pairs_in_texts(self) -> frozenset[tuple[str, str]]:
        """Two words in a row, one of them a number, of names and other short texts: `Mill Road 22`; and a
        number that is kept as a text behind the name of its field: `room 2`."""
        cells = self._cells.scope(frozenset()).cells
        found = {
            (tokens(cell.field)[-1], cell.value)
            for cell in cells
            if isinstance(cell.value, str) and cell.value.isdigit() and tokens(cell.field)
        }
        for text in {id for record in self._facts.records for id in record.ids if " " in id}:
            for pair in pairwise(re.findall(r"[\w']+", text)):
                if any(map(str.isdigit, pair)) and not all(map(str.isdigit, pair)):
                    found.add(pair)
        return frozenset(found)
