"""Ids and names that a sentence gives: which nobody knows, which stand in another record or in the place of
another, and which things it names together that nothing else does."""

import re
from collections.abc import Iterator
from itertools import combinations

from pipelines.core.english.mentions import mentions
from pipelines.core.english.stems import stem
from pipelines.core.simulation.reading.words import singular, tokens
from pipelines.core.verdict.bound import Reading
from pipelines.core.verdict.cells import Cells, Scope, Thing, scalars
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.known import is_nothing
from pipelines.core.verdict.records import bare
from pipelines.core.verdict.said import NEGATED, Said, is_stated, names_at, says_present
from pipelines.core.verdict.values import SUPPOSED, Strange

_REPLACES = re.compile(r"\b(?:instead|than|rather|was|were|previous(?:ly)?|old|or|originally)\b|→|->")
_REFERENCE = re.compile(r"#?[a-z0-9][a-z0-9_\-./@:]*[a-z0-9]|#\d", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}")
_BEFORE_IT = re.compile(r"(?P<word>[a-z]+)(?:\s+(?:is|was|to|number|no\.?|now|:))*\W{0,2}$")


def references(sentence: str) -> Iterator[str]:
    """Words with digits in them that are no number, day or time."""
    taken = iter([*mentions(sentence).spans(), (len(sentence), len(sentence))])
    start, end = next(taken)
    for token in _REFERENCE.finditer(sentence):
        while end <= token.start():
            start, end = next(taken)
        if token.end() <= start and any(map(str.isdigit, token[0])):
            yield token[0]


def strange_references(sentence: str, scope: Scope, cells: Cells) -> Iterator[Strange]:
    """Ids and addresses that nobody gave; that stand in another record; or in the place of another."""
    facts, low = cells.facts, sentence.lower()
    for found in _ADDRESS.finditer(low):
        if bare(found[0]) not in facts.names and bare(found[0]) not in facts.asked_bare:
            is_false = any("@" in id for record in facts.records for id in record.ids)
            yield Strange(found[0], Reading.FALSE if is_false else Reading.OPEN, "another address")
    own = {bare(str(cell.value)) for cell in scope.cells} | {thing.id.lower() for thing in scope.own}
    is_plain = not _REPLACES.search(low) and not NEGATED.search(low) and "?" not in low
    for token in references(sentence):
        name = bare(token)
        if "@" in token or not name:
            continue
        if not _is_known(name, facts):
            held = _in_its_place(token, low, scope)
            is_meant = _shape(token) in facts.shapes or _is_called_id(token, low, cells) or bool(held)
            is_false = is_meant and is_stated(low)
            reading = Reading.FALSE if is_false else Reading.OPEN
            yield Strange(token, reading, held or "other ids" if is_false else "")
        elif is_plain and scope.own and name not in own and not cells.named({token.lower()}):
            held = _in_its_place(token, low, scope)
            if held:
                yield Strange(token, Reading.FALSE, held)
            elif name in facts.names and name not in facts.asked_bare:
                yield Strange(token, Reading.OPEN)


def _is_called_id(token: str, low: str, cells: Cells) -> bool:
    """`ticket T-999`, `your refund number is RF-999`: said to be the id of something."""
    lead = low[: low.index(token.lower())].rstrip("# ")
    if _ID_OF.search(lead):
        return True
    last = re.findall(r"[a-z]+", lead)[-1:]
    kinds = {word for kind in cells.evidence.after.entity_types() for word in tokens(kind)}
    return bool(last) and (last[0] in kinds or singular(last[0]) in kinds)


_ID_OF = re.compile(
    r"\b(?:confirmation|reference|refund|ticket|case|tracking|transaction|booking|reservation|receipt)\s+"
    r"(?:id|number|no\.?|code|reference)(?:\s+(?:is|was)|:)?\s*$"
)


def unknown_ids(said: Said, cells: Cells) -> Iterator[Strange]:
    """`order 4512`, where there is no such order: digits behind the kind of thing are its id."""
    for one in said.numbers:
        written = said.sentence[one.start : one.end]
        is_id = written.isdigit() and len(written) > 2 and one.currency is None and is_stated(said.text)
        if is_id and not NEGATED.search(said.text) and _is_called_id(written, said.sentence.lower(), cells):
            digits = cells.facts.digits.split()
            is_there = any(
                cells.evidence.after.resolve_id(kind, written) for kind in cells.evidence.after.entity_types()
            )
            if not _is_known(written, cells.facts) and written not in digits and not is_there:
                yield Strange(written, Reading.FALSE, "other ids")


def _in_its_place(token: str, low: str, scope: Scope) -> str:
    """What the field holds whose name stands before a reference: `from gate B6`."""
    lead = _BEFORE_IT.search(low[: low.index(token.lower())])
    word = stem(lead["word"]) if lead is not None else "-"
    held = [
        cell
        for cell in scope.cells
        if word in cell.words and isinstance(cell.value, str) and any(map(str.isdigit, cell.value))
    ]
    if not held or any(bare(token) in _names_in(str(cell.value)) for cell in held):
        return ""
    return f"{word} {held[0].value}"


def _names_in(value: str) -> set[str]:
    """The whole, and each word of it: `OUT-7, expected today`."""
    return {bare(value), bare(value).lstrip("0"), *map(bare, value.split())}


def _is_known(name: str, facts: Facts) -> bool:
    is_short = name[0].isdigit() and f"0{name}" in facts.names  # "9D" for `09D`
    return is_short or name in facts.names or name in facts.asked_bare or name in facts.words_with_digits


def _shape(text: str) -> str:
    return re.sub(r"\d", "9", text.lower().lstrip("#"))


def _wrong_way(clause: str, cells: Cells) -> Iterator[Strange]:
    """`out of SAV-01`, where that is where the money went."""
    for found in _OUT_OF.finditer(clause):
        for row in cells.evidence.writes:
            given = row.arguments.items() if isinstance(row.arguments, dict) else ()
            sources = {bare(str(value)) for key, value in given if _SOURCE.search(key.lower())}
            targets = {bare(str(value)) for key, value in given if _TARGET.search(key.lower())}
            if row.succeeded and sources and bare(found["id"]) in targets - sources:
                yield Strange(found[0], Reading.FALSE, f"{found['id']} as where it went to")


_OUT_OF = re.compile(r"\b(?:from|out\s+of)\s+(?:\w+\s+){0,3}?(?P<id>[a-z]{0,8}[-_#]?\d[\w-]*)")
_SOURCE = re.compile(r"(?:^|_)(?:from|source|sender)(?:_|$)")
_TARGET = re.compile(r"(?:^|_)(?:to|target|destination|dest|recipient)(?:_|$)")


def strange_partners(said: Said, cells: Cells) -> Iterator[Strange]:
    """Two things of different kinds that a clause names together and no record, call or reply does."""
    if NEGATED.search(said.text) or SUPPOSED.search(said.text):
        return
    yield from _wrong_way(said.raw, cells)
    named = [cells.named(names) for _, names in names_at(said.raw, cells.facts)]
    single = [things[0] for things in named if len(things) == 1][:6]
    for one, other in combinations(dict.fromkeys((t.entity_type, t.id) for t in single), 2):
        a = next(t for t in single if (t.entity_type, t.id) == one)
        b = next(t for t in single if (t.entity_type, t.id) == other)
        if a.entity_type == b.entity_type:
            continue
        held = _referred(a, b) or _referred(b, a)
        if held and (says_present(said.raw) or _HAS_BEEN.search(said.raw)):
            yield Strange(b.id, Reading.FALSE, held)
        elif held or not _belong_together(a, b, cells):
            yield Strange(b.id, Reading.OPEN)


_HAS_BEEN = re.compile(r"\b(?:has|have)\s+(?:now\s+)?been\b")


def _referred(one: Thing, other: Thing) -> str:
    """What a thing's field for another kind of thing holds, where that is not this one, and no other field
    holds this one either: `addons: [PN4]`, beside `panel: PN3`."""
    if other.id.lower() in {str(value).lower() for _, value in scalars(one.after)}:
        return ""
    for key, value in one.after.items():
        is_reference = key.lower() in (other.entity_type.lower(), f"{other.entity_type.lower()}_id")
        held = {str(each).lower() for each in one.values(key)}
        if not is_reference or not isinstance(value, str) or is_nothing(value):
            continue
        is_id = any(map(str.isdigit, value)) == any(map(str.isdigit, other.id))  # not `violin`
        if is_id and other.id.lower() not in held:
            return f"{key} {value}"
    return ""


def _belong_together(a: Thing, b: Thing, cells: Cells) -> bool:
    first, second = a.id.lower(), b.id.lower()
    records = cells.facts.records
    near = [record for record in records if first in record.ids]
    links = frozenset({first}).union(*(record.links for record in near))
    return any(second in record.ids and record.ids & links for record in records)
