"""What a simulated user knows, what it tells only when asked, and what it does not know.

Read from the persona's text, line by line. Plain sentences are known. Headings sort the lines below them:

    A customer in a hurry.
    Known: the order number is 4521
    Only when asked:
    - my e-mail is ada@example.com
    Unknown: the tracking number

So does a sentence that says of itself "only if asked", or that the person does not know something.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

LONGEST_FACT = 500  # characters
MOST_FACTS = 100


class Knowledge(StrEnum):
    KNOWN = "known"
    WHEN_ASKED = "when_asked"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    id: str  # F1, F2, …: what an answer names it by
    text: str
    knowledge: Knowledge = Knowledge.KNOWN


_HEADINGS = {
    Knowledge.KNOWN: r"known(?: facts)?|facts(?: known)?|knows|you know",
    Knowledge.WHEN_ASKED: (
        r"(?:tell |say |give |reveal )?only (?:when|if) asked(?: for it)?|when asked|if asked|withheld"
    ),
    Knowledge.UNKNOWN: (
        r"unknown(?: facts)?|not known|does not know|doesn't know|you do not know|you don't know"
    ),
}
_HEADING = {
    knowledge: re.compile(rf"(?:[-*#]\s*)*(?:{words})\s*:\s*", re.IGNORECASE)
    for knowledge, words in _HEADINGS.items()
}
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'])")
_ONLY_ASKED = re.compile(
    r"(?:\b(?:only|not|never)|n't)\b[^.]{0,80}\b(?:if|when|unless|until|once|before)\b[^.]{0,30}\bask",
    re.IGNORECASE,
)
_NOT_KNOWN = re.compile(
    r"\b(?:do(?:es)?\s+not|do(?:es)?n't|did(?:\s+not|n't)|cannot|can't|no longer)\s+"
    r"(?:know|remember|recall|have|find)\b|\bforgot(?:ten)?\b|\bhas\s+no\s+idea\b|\bis\s+unknown\b",
    re.IGNORECASE,
)


def facts_in(persona: str | None) -> tuple[Fact, ...]:
    """The facts of a persona's text, numbered in its order."""
    found = list(_sentences_with_knowledge(persona or ""))[:MOST_FACTS]
    return tuple(
        Fact(id=f"F{number}", text=text[:LONGEST_FACT], knowledge=knowledge)
        for number, (text, knowledge) in enumerate(found, start=1)
    )


def _sentences_with_knowledge(persona: str) -> Iterator[tuple[str, Knowledge]]:
    heading_above: Knowledge | None = None
    for line in persona.splitlines():
        if not line.strip():
            heading_above = None
            continue
        heading, rest = _under_heading(line)
        if heading is not None and not rest:
            heading_above = heading
            continue
        is_item = _BULLET.match(line) is not None
        heading_above = heading_above if is_item or heading is not None or line[:1].isspace() else None
        for sentence in _SENTENCE.split(_BULLET.sub("", rest).strip()):
            if sentence.strip():
                yield sentence.strip(), heading or heading_above or _knowledge_of(sentence)


def _under_heading(line: str) -> tuple[Knowledge | None, str]:
    for knowledge, pattern in _HEADING.items():
        match = pattern.match(line.strip())
        if match is not None:
            return knowledge, line.strip()[match.end() :].strip()
    return None, line


def _knowledge_of(sentence: str) -> Knowledge:
    if _ONLY_ASKED.search(sentence):
        return Knowledge.WHEN_ASKED
    return Knowledge.UNKNOWN if _NOT_KNOWN.search(sentence) else Knowledge.KNOWN
