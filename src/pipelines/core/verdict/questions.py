"""What a question asks for, and whether an answer gives a fact of that kind and of that field.

An answer that names none of the asked field is no answer, however true it is.
"""

import re

from pipelines.core.english.mentions import mentions
from pipelines.core.english.synonyms import related
from pipelines.core.verdict.cells import Cell, Cells, When, said_words
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.said import named_in
from pipelines.core.verdict.speech import sentences

LONGEST_QUESTION = 1_500
_WHEN = re.compile(r"\b(?:when|what\s+(?:day|date|time)|which\s+(?:day|date)|until\s+when|how\s+soon)\b")
_HOW_MUCH = re.compile(
    r"\b(?:how\s+(?:much|many|high|long|far|often|big|large)|(?:cost|costs|price|total|sum)\b)"
)
_WHO = re.compile(r"\b(?:who|whose|whom)\b")


def is_asked_for(evidence: RunEvidence, cells: Cells) -> bool:
    """Whether the answer gives, for each thing that is asked, something of that kind; and where the question
    names a field of a thing it is about, the value of that field."""
    asked = evidence.user_instruction[:LONGEST_QUESTION].lower()
    answer = " ".join(sentences(evidence.final_response))[:LONGEST_QUESTION]
    told = mentions(answer)
    if _WHEN.search(asked) and not (told.days or told.times):
        return False
    if _HOW_MUCH.search(asked) and not (told.numbers or told.days or told.times):
        return False
    if _WHO.search(asked) and not _gives_a_name(answer, cells):
        return False
    return all(_gives(answer, fields) for fields in _asked_fields(asked, cells).values())


def _asked_fields(asked: str, cells: Cells) -> dict[str, list[Cell]]:
    """The fields that a question names by their whole name, of the things that it names."""
    words = {other for word in said_words(asked) for other in related(word)}
    found: dict[str, list[Cell]] = {}
    scope = cells.scope(named_in(asked, cells.facts))
    kinds = {word for thing in scope.own for word in said_words(thing.entity_type.lower().replace("_", " "))}
    for cell in scope.cells if scope.own else ():
        is_named = cell.words and all(not related(word).isdisjoint(words) for word in cell.words)
        is_now = cell.when is When.IS and cell.record in scope.ids and cell.value is not None
        if is_named and is_now and not cell.words <= kinds:
            found.setdefault(f"{cell.record}/{cell.field}", []).append(cell)
    return found


def _gives(answer: str, asked: list[Cell]) -> bool:
    """Whether the value of a field stands in the answer, in any spelling; a state or a yes in any words."""
    told = mentions(answer)
    if all(cell.days for cell in asked):
        days = [day for cell in asked for day in cell.days]
        return any(day.agrees_with(other) for one in told.days for day in one.days for other in days)
    if all(cell.numbers for cell in asked):
        return any(
            {abs(value) for value in one.values} & cell.numbers for one in told.numbers for cell in asked
        )
    return True  # a word: whether it is true was looked up, and how it is said is free


def _gives_a_name(answer: str, cells: Cells) -> bool:
    """Any text of a record that is written with a capital, or a part of it: a first name will do."""
    low = answer.lower()
    every = {id for record in cells.facts.records for id in record.ids}
    parts = {part for id in every if not any(map(str.isdigit, id)) for part in id.split()}
    return any(len(part) > 2 and re.search(rf"\b{re.escape(part)}\b", low) for part in parts)
