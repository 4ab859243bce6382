"""What a question asks for, and whether an answer gives a fact of that kind and of that field.

An answer that names none of the asked field is no answer, however true it is.
"""

import re

from pipelines.core.english.mentions import mentions
from pipelines.core.english.synonyms import related
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.said import named_in
from pipelines.core.verdict.speech import sentences
from pipelines.core.verdict.things import Place, Things, said_words

LONGEST_QUESTION = 1_500
_WHEN = re.compile(r"\b(?:when|what\s+(?:day|date|time)|which\s+(?:day|date)|until\s+when|how\s+soon)\b")
_HOW_MUCH = re.compile(
    r"\b(?:how\s+(?:much|many|high|long|far|often|big|large)|(?:cost|costs|price|total|sum)\b)"
)
_WHO = re.compile(r"\b(?:who|whose|whom)\b")


def is_asked_for(evidence: RunEvidence, things: Things) -> bool:
    """Whether the answer gives, for each thing that is asked, something of that kind; and where the question
    names a field of a thing it is about, the value of that field."""
    asked = evidence.user_instruction[:LONGEST_QUESTION].lower()
    answer = " ".join(sentences(evidence.final_response))[:LONGEST_QUESTION]
    told = mentions(answer)
    if _WHEN.search(asked) and not (told.days or told.times):
        return False
    if _HOW_MUCH.search(asked) and not (told.numbers or told.days or told.times):
        return False
    if _WHO.search(asked) and not _gives_a_name(answer, things):
        return False
    return all(_gives(answer, places) for places in _asked_fields(asked, things).values())


def _asked_fields(asked: str, things: Things) -> dict[str, list[Place]]:
    """The fields that a question names by their whole name, of the things that it names."""
    words = {other for word in said_words(asked) for other in related(word)}
    found: dict[str, list[Place]] = {}
    for thing in things.named(named_in(asked, things.facts)):
        kind = said_words(thing.entity_type.lower().replace("_", " "))
        for place in things.places(thing):
            is_named = place.words and all(not related(word).isdisjoint(words) for word in place.words)
            if is_named and not place.words <= kind and place.value is not None and place.is_so:
                found.setdefault(f"{thing.id}/{place.key}", []).append(place)
    return found


def _gives(answer: str, places: list[Place]) -> bool:
    """Whether the value of a field stands in the answer, in any spelling; a state or a yes in any words."""
    told = mentions(answer)
    if all(place.days for place in places):
        days = [day for place in places for day in place.days]
        return any(day.agrees_with(other) for one in told.days for day in one.days for other in days)
    if all(place.numbers for place in places):
        return any(
            {abs(value) for value in one.values} & place.numbers for one in told.numbers for place in places
        )
    return True  # a word: whether it is true was looked up, and how it is said is free


def _gives_a_name(answer: str, things: Things) -> bool:
    """Any text of a record that is written with a capital, or a part of it: a first name will do."""
    low = answer.lower()
    every = {id for record in things.facts.records for id in record.ids}
    parts = {part for id in every if not any(map(str.isdigit, id)) for part in id.split()}
    return any(len(part) > 2 and re.search(rf"\b{re.escape(part)}\b", low) for part in parts)
