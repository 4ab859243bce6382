"""The words beside a mention, and the fields that they name.

A field is named by words of its own name, by words that can stand for these, or by what it is for: `you get
35.00 back` speaks of `refunded` and not of `balance`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed
from pipelines.core.english.mentions import MARK
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import word_set
from pipelines.core.verdict.cells import Cell, said_words
from pipelines.core.verdict.said import Said
from pipelines.core.verdict.speech import content_stems

Mention = Dated | Timed | Quantity
BEFORE, AFTER = 8, 3  # words that say what a mention is
#: What fields are for, by words of their names and of sentences. A field of a marked role is never meant by
#: an amount that is only said beside a thing: `the class costs 40.00`, not its credit limit.
_ROLES = {
    "back": "refund refunded reimburse reimbursed credit credited back repaid returned",
    "kept": "fee penalty deducted kept retained withheld surcharge keep keeps",
    "whole": "total overall altogether together sum grand subtotal",
    "rate": "nightly daily hourly monthly weekly yearly rate per each apiece",
    "left": "balance remaining remain remains left outstanding owed owe due unpaid arrears available free",
    "off": "discount reduction rebate saved saving off",
    "paid": "paid deposit prepaid advance",
    "limit": "limit cap max maximum min minimum ceiling threshold",
    "start": "start starts begin begins from arrival arrive arrives pickup departure depart departs since",
    "end": "end ends out until till through expiry expire expires expired deadline return leave close by",
}
_MARKED = frozenset({"left", "off", "paid", "limit"})
_ROLE_OF: dict[str, frozenset[str]] = {}
for _role, _words in _ROLES.items():
    for _word in _words.split():
        _ROLE_OF[stem(_word)] = _ROLE_OF.get(stem(_word), frozenset()) | {_role}


@lru_cache(maxsize=4096)
def roles(words: frozenset[str]) -> frozenset[str]:
    return frozenset(role for word in words for role in _ROLE_OF.get(word, ()))


def is_marked(words: frozenset[str]) -> bool:
    return not _MARKED.isdisjoint(roles(words))


_SUBJECT = re.compile(r"\b(?:it|that's|which|you|you're|i|we|they|this|rather\s+than|instead\s+of)\b")
_FURTHER = re.compile(r"\b(?:and|plus|with|but|which|so|rather|instead)\b|[,;(|]")


_AS = re.compile(r"\bas\s+(?:the|an?|your)\s+(?P<what>[a-z]+)")  # `520.00 to your card as the deposit`


class Beside(NamedTuple):
    lead: str  # of the clause, from the mention before
    following: str  # up to the next mention
    clause: str
    unit: str  # what it counts
    near: frozenset[str]  # stems right beside it, its unit among them
    wide: frozenset[str]  # stems of the whole clause

    @property
    def both(self) -> str:
        return f"{self.lead} {self.following}"

    def names(self, cell: Cell) -> int:
        """How many words of a field are said beside the mention."""
        return sum(not related(word).isdisjoint(self.near) for word in cell.words)

    def names_wholly(self, cell: Cell) -> bool:
        return bool(cell.words) and self.names(cell) == len(cell.words)

    def means(self, cell: Cell) -> bool:
        """Whether the field is named, or is for what is said."""
        return self.names(cell) > 0 or not roles(self.near).isdisjoint(roles(cell.words))


def beside(said: Said, one: Mention) -> Beside:
    starts = [start for start, _ in said.leads]
    at = starts.index(one.start) if one.start in starts else 0
    pieces = said.text.split(MARK)
    # In the row of a table "|" stands between columns: only a column's own head, and what the row is of,
    # are said of its value (`Estimate | amount: 689.00`).
    head, *columns = pieces[at].split("|")
    lead = f"{head if not at else ''} {columns[-1]}" if columns else head
    following = pieces[at + 1].partition("|")[0] if at + 1 < len(pieces) else ""
    before = next((other for other in said.numbers if at and other.start == starts[at - 1]), None)
    if before is not None and before.unit:
        lead = lead.lstrip().removeprefix(before.unit)  # it belongs to the number before
    unit = unit_of(one, following) if isinstance(one, Quantity) else ""
    if not content_stems(_ID.sub(" ", lead)) and not content_stems(unit) and at:
        lead = f"{pieces[0]} {lead}"  # `new balances: A-1 20.00 and A-2 30.00`
    own = _SUBJECT.split(lead)[-1]  # what stands before `it` or `you` is said of something else
    as_what = _AS.search(following)
    near = " ".join((*own.split()[-BEFORE:], unit, *_FURTHER.split(following)[0].split()[:AFTER]))
    near += f" {as_what['what']}" if as_what is not None else ""
    return Beside(
        lead, following, said.text, unit, said_words(near), said_words(said.text) | said_words(unit)
    )


def unit_of(one: Quantity, following: str) -> str:
    """What a number counts: `three more weeks`."""
    if one.unit not in _FILLERS:
        return one.unit
    words = re.findall(r"[a-z]+", following)
    return next((word for word in words[:3] if word not in _FILLERS), one.unit)


_FILLERS = word_set("more extra additional further full whole other new free")
_ID = re.compile(r"\b[a-z]{1,8}[-_#]\w*\d[\w-]*|\b(?:and|or|to|from|down|up|by)\b")


def best(cells: Iterable[Cell], near: Beside) -> list[Cell]:
    """The cells whose fields the words name best; none where they name no field."""
    named = [(near.names(cell), near.names_wholly(cell), cell) for cell in cells]
    most = max((count for count, wholly, _ in named if wholly), default=0)
    return [cell for count, wholly, cell in named if wholly and count == most] if most else []


MONEY = frozenset(
    map(stem, ("amount", "price", "cost", "charge", "value", "rent", "premium", "salary", "copay", "tuition"))
)


def is_money(cell: Cell) -> bool:
    """By its fraction or its name; `frames: 36` is none."""
    return isinstance(cell.value, float) or bool(roles(cell.words)) or bool(cell.words & MONEY)
