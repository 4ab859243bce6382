"""Statements that the records contradict: another name or state, none where there are some, the wrong way.

A record is held against a clause only when the clause is about it alone and says plainly that it is so.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.json_text import Json
from pipelines.core.ledger import Ledger
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.facts import Facts, bare
from pipelines.core.verdict.said import AHEAD, NEGATED, is_read, named_in, says_is, says_present, statements
from pipelines.core.verdict.speech import content_stems, sentences
from pipelines.core.verdict.tool_words import past_forms, writing_tools

LONGEST_VALUE = 60  # characters of a name or state
MOST_VALUES = 200  # of one field in the world
_SUPPOSED = re.compile(
    r"\b(?:if|unless|once|until|when|whether|before|after|only|would|could|can|may|might|must|should|will|any|orders?\s+that|needs?|requires?)\b"
    r"|\b(?:an?|any)\s+\w+\s+(?:that|which|who)\b|n't\b|\?"
)
_STOCK = frozenset(map(stem, ("stock", "available", "copies", "inventory", "vacancies", "remaining")))
_IN_STOCK = re.compile(
    r"\b(?:have|has|'ve)\s+(?:\S+\s+){0,3}?in\s+stock\b|\b(?:is|are|'s)\s+(?:\w+\s+)?(?:available|in\s+stock|on\s+(?:the\s+)?shelf)\b"
)
_OUT_OF_STOCK = re.compile(
    r"\b(?:sold\s+out|out\s+of\s+stock|not\s+(?:\w+\s+)?available|unavailable|not\s+in\s+stock|none\s+left)\b"
)
_NONE_OF = re.compile(r"\b(?:no|zero|without\s+any)\s+(?P<what>[a-z]+(?:\s+[a-z]+)?)\b")
_ALREADY = re.compile(r"\b(?:had|was|were)\s+(?:already|previously)\s+(?:been\s+)?(?P<verb>[a-z]{3,20})\b")
_OUT_OF = re.compile(r"\b(?:from|out\s+of)\s+(?:\w+\s+){0,3}?(?P<id>[a-z]{0,8}[-_#]?\d[\w-]*)")
_NOW = re.compile(r"\b(?:now|still|currently|remains?|stays?)\b")
_SOURCE = re.compile(r"(?:^|_)(?:from|source|sender)(?:_|$)")
_TARGET = re.compile(r"(?:^|_)(?:to|target|destination|dest|recipient)(?:_|$)")


class Contradiction(NamedTuple):
    sentence: str
    says: str  # what the records say instead, after "but"


class _Thing(NamedTuple):
    entity_type: str
    id: str
    before: Mapping[str, Json]
    after: Mapping[str, Json]

    def values(self, key: str) -> list[Json]:
        return [state[key] for state in (self.before, self.after) if key in state]

    def has_only(self, key: str, value: Json) -> bool:
        return all(one == value and type(one) is type(value) for one in self.values(key))


_TO_BE = re.compile(r"\bto\s+be\b")  # `33.00, still to be paid`


def contradictions(text: str, evidence: RunEvidence, facts: Facts) -> Iterator[Contradiction]:
    """Every plain statement of a text that a record named in it, or spoken of before, contradicts."""
    focus = named_in(evidence.user_instruction, facts)
    for sentence in dict.fromkeys(sentences(text)):
        evidence.keep_going()
        own = named_in(sentence, facts)
        focus = own or focus
        if sentence.endswith("?") or not is_read(sentence):
            continue
        for said in statements(sentence):
            spoken = named_in(said.raw, facts) or own
            things = _things(spoken or focus, evidence, facts)
            for thing in things if len(things) == 1 else ():
                yield from (
                    Contradiction(sentence, says) for says in _against(said.raw, thing, evidence, facts)
                )
            # That two belong together is said only by naming both: users do so who ask for what is refused.
            both = things if spoken else []
            yield from (Contradiction(sentence, says) for says in _another_partner(said.raw, both))
            yield from (Contradiction(sentence, says) for says in _wrong_way(said.raw, evidence))


def _things(focus: frozenset[str], evidence: RunEvidence, facts: Facts) -> list[_Thing]:
    """The entities that go by one of these names."""
    before = Ledger(evidence.world)
    found = {}
    for entity_type, id in facts.seen_entities:
        thing = _Thing(
            entity_type, id, before.get(entity_type, id) or {}, evidence.after.get(entity_type, id) or {}
        )
        names = {id.lower(), *(str(thing.after.get(key, "")).lower() for key in ("name", "title"))}
        if names & focus:
            found[entity_type, id] = thing
    return list(found.values())


def _against(clause: str, thing: _Thing, evidence: RunEvidence, facts: Facts) -> Iterator[str]:
    yield from _no_such_none(clause, thing)
    if _SUPPOSED.search(clause):
        return
    yield from _not_in_stock(clause, thing)
    yield from _not_before(clause, thing, evidence)
    is_of_now = AHEAD.search(clause) is None and _TO_BE.search(clause) is None
    if is_of_now and NEGATED.search(clause) is None:
        yield from _another_value(clause, thing, evidence, facts)


def _another_value(clause: str, thing: _Thing, evidence: RunEvidence, facts: Facts) -> Iterator[str]:
    """`with Dr. Brandt`, of an appointment with Dr. Shah; `is active`, of a card that is frozen."""
    words = bare_words(clause)
    is_present = _NOW.search(clause) is not None and says_present(clause)
    for key, current in thing.after.items():
        own = {str(value).lower() for value in ([current] if is_present else thing.values(key))}
        others = [*evidence.world.by_value(thing.entity_type, key)][:MOST_VALUES]
        for other in others if isinstance(current, str) else ():
            if not isinstance(other, str) or other.lower() in own or not 2 < len(other) <= LONGEST_VALUE:
                continue
            is_state = re.fullmatch(r"[a-z_]+", other) is not None
            is_told = facts.tells(thing.id, other) and not (is_present and is_state)
            if any(_says(clause, words, value) for value in own) or is_told:
                continue
            if _says(clause, words, other):
                yield f"the {key} of {thing.entity_type} {thing.id} is {current}"
        if isinstance(current, bool) and thing.has_only(key, False) and says_is(clause, key.lower()):
            yield f"{key} of {thing.entity_type} {thing.id} is false"


def _another_partner(clause: str, things: list[_Thing]) -> Iterator[str]:
    """`L-1 is now on Basic 5`, of a line that is on another plan: two things that do not belong together."""
    if len(things) != 2 or not says_present(clause) or NEGATED.search(clause):
        return
    for one, other in (things, things[::-1]):
        for key, value in one.after.items():
            is_reference = key.lower() in (f"{other.entity_type}_id", other.entity_type)
            if is_reference and isinstance(value, str) and value.lower() != other.id.lower():
                yield f"the {key} of {one.entity_type} {one.id} is {value}"


def bare_words(clause: str) -> str:
    return " " + re.sub(r"[^a-z0-9]+", " ", clause).strip() + " "


def _says(clause: str, words: str, value: str) -> bool:
    """A name anywhere; a state, which may be a common word, only where something is said to be so."""
    low = value.lower()
    if value != low or " " in value:
        return bare_words(low) in words
    return re.fullmatch(r"[a-z_]+", low) is not None and says_is(clause, low)


def _not_in_stock(clause: str, thing: _Thing) -> Iterator[str]:
    for key, value in thing.after.items():
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or _STOCK.isdisjoint(content_stems(" ".join(tokens(key))))
        ):
            continue
        is_there = _IN_STOCK.search(clause) is not None and _OUT_OF_STOCK.search(clause) is None
        if (is_there and value == 0) or (_OUT_OF_STOCK.search(clause) and value > 0):
            yield f"{key} of {thing.entity_type} {thing.id} is {value}"


def _no_such_none(clause: str, thing: _Thing) -> Iterator[str]:
    """`there are no repeats left`, of a prescription with one."""
    for found in _NONE_OF.finditer(clause):
        every = content_stems(found["what"]) - _LEFT
        first = content_stems(found["what"].split()[0]) - _LEFT
        for key, value in thing.after.items():
            named = content_stems(" ".join(tokens(key)))
            is_it = any(
                said and all(not related(word).isdisjoint(named) for word in said) for said in (every, first)
            )
            if is_it and _is_some(value) and (len(named) == 1 or every <= named):
                yield f"{key} of {thing.entity_type} {thing.id} is {_shown(value)}"
    if _NOTHING_DUE.search(clause) and not _SUPPOSED.search(clause):
        for key, value in thing.after.items():
            if (
                _is_some(value)
                and not isinstance(value, list)
                and not _DUE.isdisjoint(content_stems(" ".join(tokens(key))))
            ):
                yield f"{key} of {thing.entity_type} {thing.id} is {value}"


def _is_some(value: Json) -> bool:
    if isinstance(value, list):
        return bool(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _shown(value: Json) -> str:
    return ", ".join(map(str, value[:5])) if isinstance(value, list) else str(value)


_LEFT = frozenset(map(stem, ("left", "remaining", "outstanding", "open", "more")))
_DUE = frozenset(map(stem, ("arrears", "due", "owed", "outstanding", "debt")))
_NOTHING_DUE = re.compile(
    r"\bnothing\s+(?:\w+\s+){0,2}(?:outstanding|due|owed|owing|open|to\s+pay)\b|\bowe\s+(?:us\s+)?nothing\b|\beverything\s+is\s+paid\b"
)


def _not_before(clause: str, thing: _Thing, evidence: RunEvidence) -> Iterator[str]:
    """`had already been blocked`, of a line that the run itself blocked."""
    found = _ALREADY.search(clause)
    if found is None:
        return
    for row in evidence.writes:
        does = [tool for tool in writing_tools(evidence.tools) if tool.tool == row.tool]
        is_meant = any(found["verb"] in past_forms(verb) for tool in does for verb in tool.verbs)
        is_it = any(getattr(update, "id", None) == thing.id for update in row.updates)
        was_so = any(found["verb"] == str(value).lower() for value in thing.before.values())
        if row.succeeded and is_meant and is_it and not was_so:
            yield f"call {row.sequence} ({row.tool}) did it: {thing.entity_type} {thing.id} was not so before"


def _wrong_way(clause: str, evidence: RunEvidence) -> Iterator[str]:
    """`out of SAV-01`, where that is where the money went."""
    for found in _OUT_OF.finditer(clause):
        for row in evidence.writes:
            given = row.arguments if isinstance(row.arguments, dict) else {}
            sources = {bare(str(value)) for key, value in given.items() if _SOURCE.search(key.lower())}
            targets = {bare(str(value)) for key, value in given.items() if _TARGET.search(key.lower())}
            if row.succeeded and sources and bare(found["id"]) in targets - sources:
                yield f"call {row.sequence} ({row.tool}) went to {found['id']}, not from it"
