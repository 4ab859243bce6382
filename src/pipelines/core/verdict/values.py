"""Names, states and references of a clause, each bound to a cell of what is spoken of.

The world's own vocabulary of a field tells what its values are. A value that the thing does not hold, nor
anything that belongs to it, is not bound; in the place of the thing's own value it is false.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.states import GOING_ON
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import tokens, word_set
from pipelines.core.verdict.borne_out import ENTERED
from pipelines.core.verdict.bound import Reading
from pipelines.core.verdict.cells import STATE, Cell, Cells, Scope, When, said_words
from pipelines.core.verdict.said import NEGATED, Said, is_stated, names_at, says_is
from pipelines.core.verdict.speech import content_stems
from pipelines.core.verdict.tool_words import writing_tools

SUPPOSED = re.compile(
    r"\b(?:if|unless|once|as\s+soon\s+as|until|when|whether|before|after|only|would|could|can|may|might|must|should|any|needs?|requires?"
    r"|an?\s+\w+\s+(?:that|which|who)|will|shall|asked|wanted)\b|'ll\b|\?"
)
_COMPARES = re.compile(
    r"\b(?:instead|before|was|were|had|previous(?:ly)?|old|than|rather|from|while|or|other|another|compared|like|originally|original(?!\s+(?:means|method|payment|form|card))"
    r"|alternative\w*|besides?|except|also)\b|→|->"
)
_QUOTED = re.compile(r"\"[^\"]*\"")
_PAST = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|from|instead|old|formerly|originally|until|no\s+longer|rather|than)\b|→|->"
)
_NO_DEED = re.compile(r"\bno\s+(?:[a-z]+\s+){1,2}(?:was|were|has\s+been|have\s+been)\s+[a-z]+\b")
_NONE_OF = re.compile(r"\b(?:no|zero|without(?:\s+any)?)\s+(?P<what>[a-z]+(?:\s+[a-z]+)?)\b")


MOST_NAMED = 6  # things that one clause says the same of


class Strange(NamedTuple):
    """Something said that is not bound."""

    phrase: str
    reading: Reading
    instead: str = ""


def strange_values(said: Said, scope: Scope, cells: Cells) -> Iterator[Strange]:
    """Names and states that the clause gives to what it speaks of, and that this has not."""
    clause = said.raw
    plain = _QUOTED.sub(" ", clause)  # a title may hold any word: "Bread Without Hurry"
    # Where no call did anything, `no order was placed` denies a deed, and no field.
    texts = [_NO_DEED.sub(" ", text) if not cells.evidence.writes else text for text in (clause, said.text)]
    yield from dict.fromkeys(strange for text in texts for strange in _denied(text, scope))
    yield from _undone(clause, scope, cells)
    yield from _too_early(said.text, scope, cells)
    if SUPPOSED.search(plain):
        return
    values = _said_values(clause, cells)
    bare_clause = plain
    for value in values:
        bare_clause = bare_clause.replace(value.replace("_", " "), " ")
    is_denied = NEGATED.search(bare_clause) is not None
    yield from _exchanged(clause, values, scope, cells)
    named = {name for _, names in names_at(clause, cells.facts) for name in names}
    for value, fields in values.items():
        if value in named or is_denied:
            continue
        found = _read(value, fields, clause, scope, cells)
        is_of_other = value in cells.proper_names and not names_at(said.sentence, cells.facts)
        if found is not None:  # whose name it is not, is only sure where somebody is named
            yield found._replace(reading=Reading.OPEN) if is_of_other else found


def _exchanged(
    clause: str, values: dict[str, list[tuple[str, str]]], scope: Scope, cells: Cells
) -> Iterator[Strange]:
    """`T-1 belongs to Ann and T-2 to Bob`, where it is the other way round: as many things as values of one
    field, each by turns."""
    things = [
        (at, found[0]) for at, names in names_at(clause, cells.facts) if len(found := cells.named(names)) == 1
    ]
    for field in {field for fields in values.values() for field in fields}:
        own = [
            (at, thing) for at, thing in things if thing.entity_type == field[0] and field[1] in thing.after
        ]
        said = sorted(
            (clause.find(value.replace("_", " ")), value) for value in values if field in values[value]
        )
        if len(own) < 2 or len(own) != len(said):
            continue
        for (_, thing), (_, value) in zip(own, said, strict=True):
            if value not in {str(each).lower() for each in thing.values(field[1])}:
                yield Strange(value, Reading.FALSE, f"{field[1]} of {thing.id} {thing.after[field[1]]}")


def _said_values(clause: str, cells: Cells) -> dict[str, list[tuple[str, str]]]:
    """The values of the world's fields that a clause says, with the fields; none within another."""
    found: dict[str, list[tuple[str, str]]] = {}
    for field, values in cells.texts.items():
        for value in values:
            if is_said(clause, value):
                found.setdefault(value, []).append(field)
    return {
        value: fields
        for value, fields in found.items()
        if not any(value != other and value in other for other in found)
    }


def _read(
    value: str, fields: list[tuple[str, str]], clause: str, scope: Scope, cells: Cells
) -> Strange | None:
    is_state = STATE.fullmatch(value) is not None and value not in cells.proper_names
    holding = [cell for cell in scope.cells if str(cell.value).lower() == value]
    named_so = [c for c in scope.cells if value in tokens(c.field) and scope.is_own(c)] if is_state else []
    if any(map(_is_some, named_so)):
        return None  # `60.00 has been paid`, of a record with `paid: 60`
    if any(c.days for c in named_so) and _CAME_TRUE.search(clause):
        return None  # `was shipped`, of one that was received since, with `shipped_on`
    if is_state:  # of what only belongs to the thing, a state is said where its kind or field is named
        words = said_words(clause)
        holding = [cell for cell in holding if scope.is_own(cell) or cell.row or cell.words & words]
    is_past = _PAST.search(_without_passive(clause)) is not None
    if any(cell.when in (When.IS, When.GIVEN, When.TOLD) for cell in holding):
        return None
    is_past = is_past or re.search(r"\b(?:was|were)\b", clause) is not None  # `was locked`, of what was
    if any(cell.when is When.WAS and is_past for cell in holding) or any(
        cell.when is When.TRIED and not _STAYS.search(clause) for cell in holding
    ):
        return None
    own = [
        thing
        for thing in scope.own
        if any(key in thing.after for kind, key in fields if kind == thing.entity_type)
    ]
    keys = {key for kind, key in fields for thing in own if kind == thing.entity_type}
    held = {str(thing.after.get(key)).lower() for thing in own for key in keys if key in thing.after}
    # Two values of one field never mean the same.
    near = {
        str(cell.value).lower()
        for cell in scope.cells
        if ((cell.when is When.IS and scope.is_own(cell)) or cell.when is When.TOLD)
        and isinstance(cell.value, str)
        and str(cell.value).lower() not in held
    }
    if is_state and not own and not cells.facts.refused.stems.isdisjoint(map(stem, value.split("_"))):
        return None  # so the backend said as it refused
    if is_state and _means_the_same(value, near, cells.deeds(scope.ids)):
        return None
    in_place = not is_state or says_is(clause, value) or _stands_for_field(clause, value, fields)
    if not own:
        return Strange(value, Reading.OPEN) if in_place or not is_state else None
    was_so = any(cell.when is When.WAS for cell in holding)
    if (
        in_place
        and not was_so
        and len(own) == 1
        and not _COMPARES.search(_without_passive(clause))
        and is_stated(clause)
    ):
        key = sorted(keys)[0]
        return Strange(value, Reading.FALSE, f"{key} {own[0].after.get(key)}")
    return Strange(value, Reading.OPEN) if in_place else None


def strange_plurals(sentence: str, cells: Cells) -> Iterator[Strange]:
    """`Both orders, A-1 and A-2, are ready`, where one of them is not. Its clauses have one thing each, so
    the sentence is looked at whole."""
    low = sentence.lower()
    verb = _ARE.search(low)
    if verb is None or NEGATED.search(low) or SUPPOSED.search(low) or not is_stated(low):
        return
    named = [
        thing for at, names in names_at(low[: verb.start()], cells.facts) for thing in cells.named(names)
    ]
    things = named if len(named) > 1 else [*cells.things] if _EVERY.search(low[: verb.start()]) else []
    said = _NEXT.split(low[verb.start() :])[0]
    for (kind, key), values in cells.texts.items():
        own = [thing for thing in things if thing.entity_type == kind and key in thing.after]
        for value in values if 1 < len(own) <= MOST_NAMED else ():
            others = [thing for thing in own if value not in {str(v).lower() for v in thing.after.values()}]
            if others and STATE.fullmatch(value) and says_is(said, value):
                told = f"{key} of {others[0].id} {others[0].after[key]}"
                yield Strange(value, Reading.FALSE if len(named) > 1 else Reading.OPEN, told)


_ARE = re.compile(r"\b(?:are|were|have)\s+(?:(?:both|all|each|now|already|been)\s+)*(?=[a-z])")
_EVERY = re.compile(r"\b(?:both|all)\b")
_NEXT = re.compile(r"[;:,]|\s(?:but|while|and|whereas)\s")  # what follows may be said of others


def _undone(clause: str, scope: Scope, cells: Cells) -> Iterator[Strange]:
    """`V-2 is withdrawn`, where no call has withdrawn it and nothing says that it is: a state by the name of
    what a declared tool does is a deed."""
    if (
        len(scope.own) != 1
        or SUPPOSED.search(clause)
        or NEGATED.search(clause)
        or _COMPARES.search(_without_passive(clause))
    ):
        return
    near = {word for cell in scope.cells for word in _text_stems(cell.value)} | cells.deeds(scope.ids)
    near |= ENTERED if cells.evidence.writes else frozenset()
    worked = {row.tool for row in cells.evidence.calls if row.succeeded}
    for tool in writing_tools(cells.evidence.tools):
        for form in tool.past if tool.tool not in worked else ():
            word = stem(form)
            is_said = says_is(clause, form) and word not in _LIKE_STATES
            if is_said and near.isdisjoint(related(word)):
                tried = [row for row in cells.evidence.calls if row.tool == tool.tool]
                thing = scope.own[0]
                yield Strange(
                    form, Reading.FALSE if tried else Reading.OPEN, f"no call that did so to {thing.id}"
                )
                return


#: How a thing ends up that was asked for, claimed, ordered or billed.
_OUTCOMES = (
    "approved",
    "accepted",
    "granted",
    "upheld",
    "paid",
    "settled",
    "delivered",
    "resolved",
    "refunded",
)
_NOT_YET = GOING_ON | word_set(
    "requested submitted queued draft unpaid overdue under_review in_review received filed in_transit due"
)


def _too_early(clause: str, scope: Scope, cells: Cells) -> Iterator[Strange]:
    """`your claim has been approved`, of one that is under review."""
    is_said_so = not (SUPPOSED.search(clause) or NEGATED.search(clause) or _COMPARES.search(clause))
    if len(scope.own) != 1 or not is_said_so or not is_stated(clause):
        return
    told = [cell for cell in scope.cells if cell.when is not When.WAS and isinstance(cell.value, str)]
    near = {word for cell in told for word in _text_stems(cell.value)} | cells.deeds(scope.ids)
    states = [cell for cell in told if tokens(cell.field)[-1] in ("status", "state") and scope.is_own(cell)]
    for outcome in _OUTCOMES:
        is_field = any(outcome in tokens(c.field) and _is_some(c) for c in scope.cells)  # `paid: 60`
        if states and says_is(clause, outcome) and near.isdisjoint(related(stem(outcome))):
            if not is_field and all(str(cell.value).lower() in _NOT_YET for cell in states):
                yield Strange(outcome, Reading.FALSE, states[0].told())
            return


#: Of what is `fully booked` or `closed today` nobody has booked or closed it in the run.
_LIKE_STATES = frozenset(map(stem, ("booked", "closed", "reserved", "opened", "scheduled", "listed")))


def _text_stems(value: object) -> frozenset[str]:
    return (
        frozenset(map(stem, re.findall(r"[a-z]+", value.lower()))) if isinstance(value, str) else frozenset()
    )


def _stands_for_field(clause: str, value: str, fields: list[tuple[str, str]]) -> bool:
    """`as fine`, `: fine`, `a fine grade`, `grade fine`: in the place of a field's value."""
    spelled = _spelled(value)
    if re.search(rf"(?::|\bas)\s+(?:an?\s+)?{spelled}(?=\W*$|\s*[(|,;])", clause):
        return True
    if re.fullmatch(rf"\W*(?:(?:now|already|currently|still)\s+)?{spelled}\W*", clause):
        return value != "done"  # `ST-71: 12 September, confirmed, 57.00`
    words = {word for _, key in fields for word in tokens(key)}
    named = "|".join(sorted(map(re.escape, words)))
    return (
        re.search(rf"\b{spelled}\s+(?:{named})\b|\b(?:{named}):?\s+(?:is\s+|was\s+)?{spelled}\b", clause)
        is not None
    )


def _denied(clause: str, scope: Scope) -> Iterator[Strange]:
    """`isn't insured` of what is; `no discount`, where one was given; a flag that is false, said to be so."""
    words = said_words(clause)
    for cell in scope.cells:
        if cell.when is not When.IS and cell.when is not When.TOLD:
            continue
        if (
            isinstance(cell.value, str)
            and STATE.fullmatch(cell.value.lower())
            and scope.ids
            and cell.record in scope.ids
        ):
            if says_is_not(clause, cell.value.lower()) and not SUPPOSED.search(clause):
                yield Strange(f"not {cell.value}", Reading.FALSE, f"{cell.field} {cell.value}")
        elif isinstance(cell.value, bool) and cell.words and cell.record in scope.ids:
            word = " ".join(cell.field.lower().split("_"))
            if cell.value and says_is_not(clause, word):
                yield Strange(f"not {word}", Reading.FALSE, f"{cell.field} is true")
            elif (
                not cell.value
                and says_is(clause, word)
                and not _TO_BE.search(clause)
                and not SUPPOSED.search(clause)
                and not NEGATED.search(clause)
            ):
                yield Strange(word, Reading.FALSE, f"{cell.field} is false")
        is_told = scope.is_own(cell) or bool(cell.row)
        is_said = cell.value is False and is_told and _says_all(words, cell)
        is_said = is_said and tokens(cell.field)[-1] in clause  # not `scanning`, of `scanned: false`
        if (
            is_said
            and not NEGATED.search(clause)
            and not SUPPOSED.search(clause)
            and not _TO_BE.search(clause)
        ):
            is_plain = cell.row and scope.ids and is_stated(clause) and _CAME_TRUE.search(clause)
            reading = Reading.FALSE if is_plain else Reading.OPEN
            yield Strange(cell.field, reading, f"{cell.field} is false")
    yield from _untold(clause, scope)
    for found in _NONE_OF.finditer(clause) if scope.ids else ():
        if _REST_FOLLOWS.match(clause, found.end()) or found[0].endswith((" left", " free", " available")):
            continue  # whether it is used up is looked up by itself
        every, first = content_stems(found["what"]), content_stems(found["what"].split()[0])
        for cell in scope.cells:
            if cell.when in (When.IS, When.TOLD) and cell.words and _is_some(cell) and scope.is_own(cell):
                is_it = any(
                    s and all(not related(w).isdisjoint(cell.words) for w in s) for s in (every, first)
                )
                if is_it and not isinstance(cell.value, str):
                    is_whole = len(cell.words) == 1 or every <= cell.words or bool(cell.row and first)
                    is_whole = is_whole and not _is_nothing_elsewhere(cell, scope)
                    yield Strange(found[0], Reading.FALSE if is_whole else Reading.OPEN, cell.told())
                    return


def _is_nothing_elsewhere(cell: Cell, scope: Scope) -> bool:
    """Whether another thing that is spoken of has nothing there: of which one it is said is not plain."""
    same = (each for each in scope.cells if each.field == cell.field and each.record != cell.record)
    return any(not _is_some(each) for each in same)


#: `your credit has been returned`, of a reply with `credit_returned: false`
_CAME_TRUE = re.compile(r"\b(?:has|have)\s+(?:now\s+|also\s+)?been\b|\b(?:was|were)\b")
_STAYS = re.compile(r"\b(?:stays?|remains?|still|keeps?)\b")
_TO_BE = re.compile(r"\bto\s+be\s+\w+(?:ed|en|id)\b")  # not yet


_REST_FOLLOWS = re.compile(r"\s*(?:(?:is|are|was|were)\s+)?(?:left|free|available|remain\w*|open)\b")


def _says_all(words: frozenset[str], cell: Cell) -> bool:
    """Whether every word of the field is among those of a clause."""
    return bool(cell.words) and cell.words <= words


def _untold(clause: str, scope: Scope) -> Iterator[Strange]:
    """`free of charge`, where a fee was taken; `can't be refunded`, of what was."""
    free = FREE.search(clause)
    says_there_are = (
        _IN_STOCK.search(clause) and not _OUT_OF_STOCK.search(clause) and not SUPPOSED.search(clause)
    )
    for cell in scope.cells:
        is_none = cell.value == 0 and not isinstance(cell.value, bool) and cell.when is When.IS
        if is_none and says_there_are and cell.words & _STOCK and scope.is_own(cell):
            yield Strange("available", Reading.FALSE, cell.told())
        if (
            cell.when not in (When.IS, When.TOLD)
            or not _is_some(cell)
            or not (scope.is_own(cell) or cell.row)
        ):
            continue
        stood = cell._replace(when=When.IS, row=0) in scope.cells and not scope.has_changed(cell)
        if free is not None and cell.row and cell.words & CHARGED and not (stood and cell.when is When.TOLD):
            is_of_it = _FREE_IT.search(clause) is not None and is_stated(clause) and scope.is_single
            yield Strange(free[0], Reading.FALSE if is_of_it else Reading.OPEN, cell.told())
            return
        if _OUT_OF_STOCK.search(clause) and cell.words & _STOCK and scope.is_own(cell):
            yield Strange("not available", Reading.FALSE, cell.told())
        if isinstance(cell.value, bool) and cell.record not in scope.ids:
            continue  # a flag of one of many
        done = [word for word in tokens(cell.field) if word.endswith("ed") and word in clause]
        for word in done:
            if re.search(rf"(?:\b(?:not|never|cannot|no)|n't)\s+(?:\w+\s+){{0,3}}?{word}\b", clause):
                yield Strange(f"not {word}", Reading.OPEN, cell.told())
                return


FREE = re.compile(
    r"\bfree\s+of\s+charge\b|\bfor\s+free\b|\b(?:at|with|without)\s+(?:no|any)?\s*(?:extra\s+|additional\s+)?(?:cost|charge|fee)s?\b"
    r"|\bnothing\s+(?:was|is|has\s+been|will\s+be)\s+charged\b|(?:\bnot|n't|\bnever)\s+(?:be\s+|been\s+)?(?:charged|cost)\b"
    r"|\b(?:neither|none)\b[^,;]{0,30}\bcosts?\b[^,;]{0,12}\b(?:cent|penny|thing|anything)\b"
    r"|\b(?:costs?|owe|pay|charged?)\s+(?:you\s+)?nothing\b|\b(?:is|was|were)\s+free\b(?!\s+(?:to|on|at|from|again))"
)
#: Said of what was just done, and not of what others are.
_FREE_IT = re.compile(
    r"\bfree\s+of\s+charge\b|\bno\s+(?:extra\s+)?(?:cost|charge|fee)\b|\b(?:is|was)\s+free\b|\bpay\s+nothing\b"
    r"|\bnothing\s+(?:was|is|has\s+been|will\s+be)\s+charged\b|(?:\bnot|n't)\s+(?:be\s+|been\s+)?charged\b"
)
_STOCK = frozenset(map(stem, ("stock", "available", "copies", "inventory", "vacancies", "remaining")))
_IN_STOCK = re.compile(
    r"\b(?:have|has|'ve)\s+(?:\S+\s+){0,3}?in\s+stock\b|\b(?:is|are|'s)\s+(?:\w+\s+)?(?:available|in\s+stock|on\s+(?:the\s+)?shelf)\b"
)
_OUT_OF_STOCK = re.compile(
    r"\b(?:sold\s+out|out\s+of\s+stock|not\s+(?:\w+\s+)?available|unavailable|not\s+in\s+stock|none\s+left)\b"
)
CHARGED = frozenset(map(stem, ("fee", "charge", "charged", "cost", "surcharge", "penalty")))


def _is_some(cell: Cell) -> bool:
    return cell.value is True or (
        isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool) and cell.value > 0
    )


def says_is_not(clause: str, state: str) -> bool:
    """`has not shipped yet`, `isn't active`. Not `could not be shipped`: that tells of a try."""
    if state.replace("_", " ")[:4] not in clause:
        return False
    is_not = r"\b(?:is|was|has)(?:n't|\s+not)\s+(?:yet\s+|been\s+|actually\s+|currently\s+)*"
    return re.search(rf"{is_not}\"?{_spelled(state)}\b", clause) is not None


def _without_passive(clause: str) -> str:
    """`was delivered` tells how a thing is, not how it was before."""
    return re.sub(r"\b(?:was|were)\s+(?=(?:\w+ly\s+|already\s+)?[a-z]+ed\b)", "is ", clause)


def _means_the_same(value: str, own: set[str], done: frozenset[str]) -> bool:
    words = {stem(part) for part in re.split(r"[_\s-]", value)}
    if words & done:
        return True
    for other in own:
        theirs = {stem(part) for part in re.split(r"[_\s-]", other)}
        if words & theirs or any(not related(word).isdisjoint(theirs) for word in words):
            return True
    return False


def is_said(clause: str, value: str) -> bool:
    if value.replace("_", " ")[:3] not in clause:
        return False
    return _pattern(value).search(clause) is not None


@lru_cache(maxsize=4096)
def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){_spelled(value)}(?![\w-]|\.\w)")


def _spelled(value: str) -> str:
    return re.escape(value).replace("_", r"[\s_-]")
