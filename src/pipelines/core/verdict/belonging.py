"""States and ids of a clause: whether the thing it speaks of is in that state, and whether the things that it
names together belong together."""

import re
from collections.abc import Iterator, Mapping

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.json_text import Json
from pipelines.core.verdict.facts import bare
from pipelines.core.verdict.looked_up import references
from pipelines.core.verdict.said import NEGATED, Said, named_in, names_at, says_is
from pipelines.core.verdict.things import STATE, Thing, Things

#: What cannot be, or is not any more, says nothing of how a thing is now.
_NOT_NOW = re.compile(
    r"\b(?:can(?:not|'t)?|could(?:n't)?|may|might|must|should|would|will|won't|if|unless|until|once|before|when|only"
    r"|no\s+longer|not\s+possible|unable|to\s+be|instead)\b"
)
_COMPARES = re.compile(
    r"\b(?:instead|before|was|were|previous(?:ly)?|old|than|rather|not|and|while|or)\b|→|->"
)
_OF_ALL = re.compile(r"\b(?:both|all|each|every)\b")


def strange_states(said: Said, bound: list[Thing], things: Things) -> Iterator[str]:
    """States that are said of a thing which has another, or denied of one that is in it."""
    if len(bound) != 1 or _NOT_NOW.search(said.text):
        return
    thing = bound[0]
    own = {
        part
        for state in (thing.before, thing.after)
        for value in _states(state)
        for part in (value, *value.split("_"))
    }
    denied = [state for state in dict.fromkeys(_states(thing.after)) if _says(said.text, state)]
    if NEGATED.search(_without(said.text, denied)):
        yield from denied
        return
    done = things.facts.verbs
    for key, value in thing.after.items():
        if isinstance(value, str) and not _says(said.text, value.lower()):
            others = things.vocabulary.get((thing.entity_type, key), frozenset()) - own
            yield from (
                other for other in sorted(others) if _says(said.text, other) and stem(other) not in done
            )
    near = own.union(*(_states(other.after) for other in things.linked([thing])))
    for state in sorted(things.states - near):
        if says_is(said.text, state) and not _is_said_otherwise(state, near, things):
            yield state


def _without(clause: str, states: list[str]) -> str:
    """`failed` may be a state, and denies nothing then."""
    for state in states:
        clause = re.sub(rf"\b{re.escape(state)}\b", " ", clause)
    return clause


def _says(clause: str, state: str) -> bool:
    return re.search(rf"\b{re.escape(state).replace('_', '[ _-]')}\b", clause) is not None


def _is_said_otherwise(state: str, near: set[str], things: Things) -> bool:
    """A word that calls, rules or the user use too, or that means the same as one that fits."""
    word, facts = stem(state), things.facts
    if word in facts.done.stems or word in facts.given.stems or word in facts.given.heard:
        return True
    return any(word in related(stem(other)) for other in near)


def strange_for_all(said: Said, things: Things) -> Iterator[str]:
    """`both were paid`, of a list in which some are not."""
    if not _OF_ALL.search(said.text) or NEGATED.search(said.text):
        return
    for listed in things.facts.lists:
        for state in things.states if len(listed) > 1 else ():
            held = sum(stem(state) in thing for thing in listed)
            if 0 < held < len(listed) and _says(said.text, state):
                yield state


def _states(attributes: Mapping[str, Json]) -> Iterator[str]:
    pending: list[Json] = list(attributes.values())
    for value in pending:
        if isinstance(value, (dict, list)):
            pending.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, str) and STATE.fullmatch(value):
            yield value


def strange_values(sentence: str, things: Things) -> Iterator[str]:
    """`NV206 from gate B6`, where B6 is the gate of another flight."""
    bound = things.named(named_in(sentence, things.facts))
    if not bound or _COMPARES.search(sentence.lower()):
        return
    near = _spellings([*bound, *things.linked(bound)])
    ids = {thing.id for thing in bound}
    others = [t for kind in {b.entity_type for b in bound} for t in things.of_type(kind) if t.id not in ids]
    elsewhere = _spellings(others) - near - {bare(thing.id) for thing in others}
    yield from (token for token in references(sentence) if bare(token) in elsewhere)


def _spellings(every: list[Thing]) -> set[str]:
    values = (value for thing in every for state in (thing.before, thing.after) for value in state.values())
    return {bare(value) for value in values if isinstance(value, str)}


def strange_partners(said: Said, things: Things) -> Iterator[str]:
    """Two things of different kinds that a clause names together and no record does."""
    named = names_at(said.raw, things.facts)
    if len(named) != 2 or NEGATED.search(said.text):
        return
    (_, one), (_, other) = named
    first, second = things.named(one), things.named(other)
    if len(first) != 1 or len(second) != 1 or first[0].entity_type == second[0].entity_type:
        return
    for thing, partner in ((first[0], second[0]), (second[0], first[0])):
        for key, value in thing.after.items():
            is_reference = key.lower() in (partner.entity_type.lower(), f"{partner.entity_type.lower()}_id")
            if is_reference and value is not None and partner.id not in map(str, thing.values(key)):
                yield partner.id
                return
    a, b = first[0].id.lower(), second[0].id.lower()
    if not (_reaches(a, b, things) or _reaches(b, a, things)):
        yield second[0].id


def _reaches(one: str, other: str, things: Things) -> bool:
    """Whether a record that names the first, or one that such a record names, names the second."""
    records = things.facts.records
    near = [record for record in records if one in record.ids]
    links = frozenset({one}).union(*(record.links for record in near))
    return any(other in record.ids and record.ids & links for record in records)
