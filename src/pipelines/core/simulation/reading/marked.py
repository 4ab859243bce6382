"""What something is marked as: "Marks the lab result as reviewed", mark_no_show, verify_driver → `verified`.

The verb need not be known. Where the description says what the record is marked as, or the name itself ends
in a state or a switch of the record, that is what changes, and nothing else does.
"""

import re
from collections.abc import Iterator

from pipelines.core.english.stems import stem
from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.reading.records import others_of, ownership, record_of
from pipelines.core.simulation.reading.states import known_states, status_of
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot, refusal, require, text, word
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import change_reply

_MARKED_AS = re.compile(
    r"\b(?:mark|set|flag|record|tag|label|put|switch|turn|move|bring|mak)(?:s|es|e|ed|ing|ked|king)?\b"
    r"[^.;]{0,80}?\b(?:as|to|into|it)\s+(?:an?\s+|the\s+|being\s+)?['\"]?([A-Za-z][\w-]*(?:\s[\w-]+)?)",
    re.IGNORECASE,
)
_BECOMES = re.compile(r"\b(?:becomes?|gets?|turns?)\s+['\"]?([A-Za-z][\w-]*(?:\s[\w-]+)?)", re.IGNORECASE)
_MARKS = word_set("mark set flag put record tag label switch turn move")
LONGEST_READ = 600  # characters of a description: what a tool does is said at its beginning


def read_marked(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None or bound.collection.form != "table":
        return None
    for said in _said(reading):
        for phrase in _phrases(said):
            changed = _switch(phrase, bound.collection) or _state(phrase, reading, bound.collection)
            if changed is not None:
                return _drafted(reading, bound, *changed)
    return None


def _said(reading: Reading) -> Iterator[str]:
    """By the description, where the name says so too; and by a name that begins with mark."""
    own = {stem(each) for each in tokens(reading.tool.name)}
    description = (reading.tool.description or "")[:LONGEST_READ]
    for pattern in (_MARKED_AS, _BECOMES):
        for match in pattern.finditer(description):
            if any(stem(each) in own for each in tokens(match[1])) or reading.name.verb in _MARKS:
                yield match[1]
    words = tokens(reading.tool.name)
    if words[0] in _MARKS and len(words) > 1:
        for at in range(1, len(words)):
            yield " ".join(words[at:])


def _phrases(said: str) -> tuple[str, ...]:
    """ "no show after" is a no show: the words that follow may belong to the sentence."""
    first, *rest = said.split()
    return (said, first) if rest else (said,)


def _switch(phrase: str, collection: Collection) -> tuple[tuple[str, ...], object] | None:
    wanted = joined(tokens(phrase))
    for name, field in collection.fields.items():
        if (
            "boolean" in field.kinds
            and joined(each for each in tokens(name) if each not in ("is", "has")) == wanted
        ):
            return (name,), True
    return None


def _state(phrase: str, reading: Reading, collection: Collection) -> tuple[tuple[str, ...], object] | None:
    path = status_of(reading, collection)
    wanted = joined(tokens(phrase))
    found = next((one for one in known_states(reading, collection) if joined(tokens(one)) == wanted), None)
    return (path, found) if path is not None and found is not None else None


def _drafted(reading: Reading, bound: Bound, path: tuple[str, ...], value: object) -> Drafted:
    place = dot(bound.noun, *path)
    shown = str(value) if isinstance(value, str) else path[-1].replace("_", " ")
    already = refusal(f"already_{word(shown)}", f"The {bound.noun.replace('_', ' ')} is already {shown}")
    literal = text(value)  # type: ignore[arg-type]
    steps: list[Step] = [
        *bound.steps,
        *ownership(bound, others_of(reading), reading),
        require(f"{place} != {literal}", already),
        {"set": {place: literal if isinstance(value, str) else True}},
        {"return": change_reply(reading, bound, changed=path)},
    ]
    return Drafted(steps=tuple(steps), confidence=0.8)
