"""Names and states that a clause gives to a thing which has another: `with Marcus`, of a class of Ines.

clause -> the things it speaks of -> each of their text fields -> another value of that field in the clause.
The world's own vocabulary of a field tells what its values are; a word in the place of none of them is not
read here. One that the records of the thing tell in any other place contradicts nothing.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import singular, tokens
from pipelines.core.verdict.facts import bare
from pipelines.core.verdict.looked_up import LeftOver, references
from pipelines.core.verdict.said import NEGATED, Said, named_in, names_at, says_is
from pipelines.core.verdict.things import STATE, Thing, Things, field_words, said_words

LONGEST_VALUE = 60  # characters of a name or state
_SUPPOSED = re.compile(
    r"\b(?:if|unless|once|until|when|whether|before|after|only|would|could|can|may|might|must|should|any|needs?|requires?"
    r"|an?\s+\w+\s+(?:that|which|who)|not|never|no)\b|n't\b|\?"
)
_AHEAD = re.compile(r"\b(?:will|shall|going\s+to)\b|'ll\b")
_COMPARES = re.compile(
    r"\b(?:instead|before|was|were|had|previous(?:ly)?|old|than|rather|from|while|or|other|another|compared|than|like|original(?:ly)?"
    r"|alternative\w*|besides?|except|also|asked|wanted|mentioned|user|you\s+said)\b|→|->"
)
_KEPT = re.compile(r"\b(?:kept|keeps?|still|remains?|stays?|unchanged|as\s+before)\b")
_BESIDE = r"(?:on|by|in|with|via|as|for|using)\s+(?:(?:a|an|the|his|her|their|your|my|our)\s+)?"


class OtherValue(NamedTuple):
    said: str
    instead: str  # what the field holds


def other_values(said: Said, focus: frozenset[str], things: Things) -> Iterator[OtherValue]:
    """Values that the clause gives, of a field that holds another for all things that it speaks of."""
    clause = said.raw
    plain = _QUOTED.sub(" ", clause)  # a title may hold any word: "Bread Without Hurry"
    if _SUPPOSED.search(plain) or NEGATED.search(plain):
        return
    yield from _misnamed(clause, things)
    named = things.named(named_in(clause, things.facts))
    here = named or things.named(named_in(said.sentence, things.facts)) or things.named(focus)
    near = [*here, *things.linked(here)] if here else []
    told = _told(near)
    for (entity_type, key), values in things.texts.items():
        spoken = [thing for thing in here if _has(thing, entity_type, key)]
        is_here = bool(spoken)
        spoken = spoken or [thing for thing in near if _has(thing, entity_type, key)]
        if not spoken:
            every = things.of_type(entity_type)
            spoken = every if len(every) == 1 and _has(every[0], entity_type, key) else []
        # Of a thing only near to what is spoken of, a state is said where the thing or its field is named.
        is_meant = is_here or not _field(entity_type, key).isdisjoint(said_words(clause))
        values = values if is_meant else frozenset(value for value in values if not STATE.fullmatch(value))
        if spoken:
            yield from _of_field(clause, key, values - told, spoken, things)
            if is_here and key.lower() in _STATUS:
                yield from _of_outcome(clause, key, spoken, things)
        if len(named) > 1 and _TOGETHER.search(clause):
            yield from _of_some_only(clause, key, [thing for thing in named if _has(thing, entity_type, key)])


_FROM = re.compile(r"\bfrom\b(?!.*\bto\b)")
_BEFORE_IT = re.compile(r"(?P<word>[a-z]+)(?:\s+(?:is|was|to|number|no\.?|now|:))*\W{0,2}$")


def other_references(sentence: str, focus: frozenset[str], things: Things) -> Iterator[LeftOver]:
    """`from gate B6`, `seat 05C`: the word before a reference is that of a field which holds another."""
    low = sentence.lower()
    if _COMPARES.search(_FROM.sub(" ", low)) or NEGATED.search(low) or "?" in low:
        return
    here = things.named(named_in(sentence, things.facts)) or things.named(focus)
    near = [*here, *things.linked(here)]
    for token in references(sentence):
        lead = _BEFORE_IT.search(low[: low.index(token.lower())])
        word = stem(lead["word"]) if lead is not None else ""
        held = [
            str(value).lower()
            for thing in near
            for key, value in thing.after.items()
            if isinstance(value, str) and word in field_words(key) and any(map(str.isdigit, value))
            if tokens(key)[-1] not in ("id", "ids") and not things.named(frozenset({value.lower()}))
        ]
        if things.named(frozenset({token.lower()})):
            continue
        if held and not any(bare(token) in (bare(value), bare(value).lstrip("0")) for value in held):
            yield LeftOver(token, sentence, f"{word} {' and '.join(sorted(set(held))[:3])}", True)


_QUOTED = re.compile(r"\"[^\"]*\"")


def _misnamed(clause: str, things: Things) -> Iterator[OtherValue]:
    """`Sunita Bell (DR-7)`, where DR-7 is somebody else."""
    named = names_at(clause, things.facts)
    for (start, one), (at, other) in pairwise(named):
        first, second = things.named(one), things.named(other)
        if len(first) == 1 == len(second) and first[0].entity_type == second[0].entity_type:
            between = clause[start:at]
            name = str(first[0].after.get("name", "")).lower()
            is_beside = bool(name) and re.fullmatch(rf"{re.escape(name)}\W{{1,3}}", between) is not None
            if is_beside and first[0].id != second[0].id and first[0].id.lower() != name:
                yield OtherValue(name, f"name {second[0].after.get('name')}")


_STATUS = ("status", "state", "stage")
_TOGETHER = re.compile(r"\b(?:both|all|each)\b")
#: How things end, or get on, in most trades: said of a thing whose state is another, one of these is untrue.
_OUTCOMES = (
    *(
        "approved",
        "rejected",
        "denied",
        "accepted",
        "delivered",
        "shipped",
        "dispatched",
        "paid",
        "refunded",
        "repaired",
    ),
    *(
        "fixed",
        "completed",
        "complete",
        "finished",
        "closed",
        "resolved",
        "released",
        "cancelled",
        "canceled",
        "withdrawn",
    ),
    *(
        "expired",
        "returned",
        "mailed",
        "sold",
        "settled",
        "granted",
        "declined",
        "suspended",
        "activated",
        "terminated",
    ),
)


def _of_outcome(clause: str, key: str, spoken: list[Thing], things: Things) -> Iterator[OtherValue]:
    """`CL-2 has been approved`, of a claim with the state `submitted`."""
    facts = things.facts
    own = {str(value).lower() for thing in spoken for value in thing.values(key)}
    if _AHEAD.search(clause) or _COMPARES.search(_without_passive(clause)) or len(spoken) > 1:
        return
    told = _told([*spoken, *things.linked(spoken)])
    for outcome in _OUTCOMES:
        is_said = says_is(clause, outcome) or re.search(rf"^\S+:\s+{outcome}\W*$", clause) is not None
        if not is_said or _means_the_same(outcome, own | told):
            continue
        lead = clause.partition(outcome)[0]
        if _TO_BE.search(lead) or not _is_subject(lead, spoken[0]):
            continue
        word = stem(outcome)
        is_told = any(other in facts.done.stems for other in related(word))
        if not is_told and not facts.deeds.knows(word):
            yield OtherValue(outcome, f"{key} {spoken[0].after.get(key)}")


_TO_BE = re.compile(r"\b(?:to|be|being)\s+(?:\w+\s+)?$|\bto\s+be\b")
_IT = re.compile(r"(?:^|\b(?:and|so|that|as|since|because|now)\s+)(?:it|it's|that|this|that's)\b")


def _is_subject(lead: str, thing: Thing) -> bool:
    """Whether what stands before a state is the thing: by its id, its kind, or as `it`."""
    kind = _field(thing.entity_type, thing.entity_type)
    return thing.id.lower() in lead or _IT.search(lead) is not None or not kind.isdisjoint(said_words(lead))


def _of_some_only(clause: str, key: str, named: list[Thing]) -> Iterator[OtherValue]:
    """`both DL-12 and DL-11 are won`, of which one is."""
    states = {str(thing.after.get(key)).lower() for thing in named}
    for state in sorted(states) if len(states) > 1 else ():
        is_said = STATE.fullmatch(state) is not None and _is_said(clause, state)
        if is_said and not any(_is_said(clause, other) for other in states - {state}):
            yield OtherValue(f"all {state}", f"{key} {' and '.join(sorted(states))}")


def _has(thing: Thing, entity_type: str, key: str) -> bool:
    return thing.entity_type == entity_type and isinstance(thing.after.get(key), str)


def _told(near: list[Thing]) -> frozenset[str]:
    """Every text of the things spoken of and of those they refer to, as it was and as it is."""
    values = (value for thing in near for state in (thing.before, thing.after) for value in state.values())
    return frozenset(value.lower() for value in values if isinstance(value, str))


def _of_field(
    clause: str, key: str, values: frozenset[str], spoken: list[Thing], things: Things
) -> Iterator[OtherValue]:
    own = {str(value).lower() for thing in spoken for value in thing.values(key)}
    now = {str(thing.after.get(key)).lower() for thing in spoken}
    if (
        _KEPT.search(clause)
        and not _COMPARES.search(clause)
        and not any(_is_said(clause, value) for value in now)
    ):
        for value in sorted(own - now):
            if _is_said(clause, value) and len(value) > 2:
                yield OtherValue(value, f"{key} {' and '.join(sorted(now))}")
    if any(_is_said(clause, value) for value in own):
        return
    words = _field(spoken[0].entity_type, key)
    for value in sorted(values - own):
        is_reference = tokens(key)[-1] == "id"  # what a refused call was given is told beside the thing, too
        if not is_reference and any(things.facts.tells(thing.id, value) for thing in spoken):
            continue
        if not is_reference and _means_the_same(value, own):
            continue
        if _gives(clause, value, words):
            shown = " and ".join(sorted({str(thing.after.get(key)) for thing in spoken}))
            yield OtherValue(value, f"{key} {shown}")


@lru_cache(maxsize=1024)
def _field(entity_type: str, key: str) -> frozenset[str]:
    """Words for the field and for the kind of thing."""
    words = said_words(" ".join(tokens(key))) | said_words(" ".join(map(singular, tokens(entity_type))))
    return frozenset(other for word in words for other in related(word))


def _gives(clause: str, value: str, field: frozenset[str]) -> bool:
    """Whether a clause says that the field is so: a name anywhere, a state only in the place of one."""
    if not _is_said(clause, value):
        return False
    if not STATE.fullmatch(value) or "-" in value:
        return not _COMPARES.search(clause)
    if _AHEAD.search(clause) or _COMPARES.search(_without_passive(clause)):
        return False
    spelled = re.escape(value).replace("_", r"[\s_-]")
    if says_is(clause, value) or re.search(rf"(?::|\bas)\s+(?:an?\s+)?{spelled}\W*$", clause):
        return True
    following = re.search(rf"\b{spelled}\s+(?P<what>[a-z]+)", clause)
    if following is not None and stem(following["what"]) in field:
        return True
    is_a_thing = not value.endswith(("ed", "ing", "en"))
    return is_a_thing and re.search(rf"\b{_BESIDE}{spelled}(?:\s+now)?\W*$", clause) is not None


def _without_passive(clause: str) -> str:
    """`was delivered` tells how a thing is, not how it was before."""
    return re.sub(r"\b(?:was|were)\s+(?=(?:\w+ly\s+|already\s+)?[a-z]+ed\b)", "is ", clause)


def _is_said(clause: str, value: str) -> bool:
    if value.replace("_", " ")[:3] not in clause:
        return False
    return _spelling(value).search(clause) is not None


@lru_cache(maxsize=4096)
def _spelling(value: str) -> re.Pattern[str]:
    """As it stands, with spaces for marks; of a person's name the first name will do."""
    spelled = re.escape(value).replace("_", r"[\s_-]")
    return re.compile(rf"(?<![\w-]){spelled}(?![\w-]|\.\w)")


def _means_the_same(value: str, own: set[str]) -> bool:
    words = {stem(part) for part in re.split(r"[_\s-]", value)}
    for other in own:
        theirs = {stem(part) for part in re.split(r"[_\s-]", other)}
        if words & theirs or any(not related(word).isdisjoint(theirs) for word in words):
            return True
    return False
