"""States and ids of a clause: whether the thing it speaks of is in that state, and whether the things that it
names together belong together."""

import re
from collections.abc import Iterator, Mapping

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.json_text import Json
from pipelines.core.verdict.said import NEGATED, Said, names_at
from pipelines.core.verdict.things import STATE, Thing, Things, said_words

#: What cannot be, or is not any more, says nothing of how a thing is now.
_NOT_NOW = re.compile(
    r"\b(?:can(?:not|'t)?|could(?:n't)?|may|might|must|should|would|will|won't|if|unless|until|once|before|when|only"
    r"|no\s+longer|not\s+possible|unable|to\s+be|was|were|had|from|instead|previously|used\s+to)\b"
)
_OF_SEVERAL = re.compile(r"\b(?:and|or|both|all|from|to|instead|than|while|other|another|not)\b|[,+→]")


def strange_states(said: Said, bound: list[Thing], things: Things) -> Iterator[str]:
    """States that are said of a thing which has another, or denied of one that is in it."""
    if len(bound) != 1 or _NOT_NOW.search(said.text):
        return
    own = set(_states(bound[0].before)) | set(_states(bound[0].after))
    linked = {state for other in _linked(bound[0], said, things) for state in _states(other.after)}
    is_denied = NEGATED.search(said.text) is not None
    for state in sorted(things.states):
        if not re.search(rf"\b{re.escape(state).replace('_', '[ _-]')}\b", said.text):
            continue
        means_same = any(stem(state) in related(stem(other)) for other in own | linked)
        if (is_denied and state in set(_states(bound[0].after))) or (
            not is_denied
            and state not in own | linked
            and not means_same
            and not _is_said_otherwise(state, things)
        ):
            yield state


def _states(attributes: Mapping[str, Json]) -> Iterator[str]:
    pending: list[Json] = list(attributes.values())
    for value in pending:
        if isinstance(value, (dict, list)):
            pending.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, str) and STATE.fullmatch(value):
            yield value


def _linked(thing: Thing, said: Said, things: Things) -> list[Thing]:
    """Those that the thing refers to, of kinds that the clause names."""
    names = frozenset(str(value).lower() for value in thing.after.values() if isinstance(value, str))
    words = said_words(said.text)
    return [other for other in things.named(names) if stem(other.entity_type.lower()) in words]


def _is_said_otherwise(state: str, things: Things) -> bool:
    """A word that calls, rules or the user use too is not said as a state."""
    word = stem(state)
    return word in things.facts.done.stems or word in things.facts.given.stems


def strange_partners(said: Said, things: Things) -> Iterator[str]:
    """Two things of different kinds that a clause names together and no record does."""
    named = names_at(said.raw, things.facts)
    if len(named) != 2 or NEGATED.search(said.text):
        return
    (_, one), (_, other) = named
    first, second = things.named(one), things.named(other)
    if len(first) != 1 or len(second) != 1 or first[0].entity_type == second[0].entity_type:
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
