"""What a tool's own description says of calls that fail: "Only planned firings can be cancelled."

It is behaviour text about one tool, so that a sentence which leaves the tool out ("Fails if the kiln is
broken.", "The kiln must not be broken.", "Archived kilns cannot be chosen.") is read with its name put in.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.english.words import word_set
from pipelines.core.ledger import World
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.read import is_addressed, read_of_tool
from pipelines.core.simulation.behavior.reader.vocabulary import Vocabulary
from pipelines.core.simulation.behavior.rules import Behavior, Require, Rule
from pipelines.core.simulation.behavior.things import ToolLike
from pipelines.core.simulation.behavior.tokens import sentences
from pipelines.core.simulation.behavior.trial import tried

LONGEST_READ = 2_000  # characters of a description
MOST_READ = 8  # parts of one that say which calls fail: each may take some tens of milliseconds
_PARTS = re.compile(r"[;()]|\s[-–—]\s")
_REFUSES = word_set(
    "cannot must unless fail fails failing refuses refused rejects rejected forbidden denied "
    "declined error errors raises exceed exceeds requires impossible"
)
_DENIED = re.compile(
    r"\b(?:can|may|could)(?:n't| not| never| no longer)\b"
    r"|\b(?:is|are)(?:n't| not| never) (?:allowed|possible|permitted|accepted)\b"
)
#: What "only" allows; without one of these it tells of something else: "Only the fields given are changed."
_ALLOWS = word_set("can may works work possible allowed accepted if when for")
_WITHOUT_SUBJECT = word_set(
    "fails raises refuses rejects requires works returns responds errors throws needs only not"
)
_MUST = r"(?:must|has to|have to|needs to|need to)"
_INDICATIVE = (
    (re.compile(rf"\b{_MUST} not be\b"), "is not"),
    (re.compile(rf"\b{_MUST} be\b"), "is"),
    (re.compile(rf"\b{_MUST} have\b"), "has"),
)
_MUST_NOT = re.compile(rf"\b{_MUST} not (?!be\b)")
#: "Archived kilns cannot be chosen": whatever the verb, what cannot be done with them is this tool's deed.
_BARRED = re.compile(
    r"^(?P<such>.+?) (?:(?:can ?not|can't|may not|must not) be|(?:is|are) (?:not|never)|aren't|isn't) \w+$"
)


class Described(NamedTuple):
    rules: tuple[Rule, ...] = ()
    not_read: tuple[str, ...] = ()  # what restricts calls and found no place, as it stands


def read_described(
    tool: ToolLike, vocabulary: Vocabulary, world: World, may_read: Callable[[], bool] = lambda: True
) -> Described:
    """Nothing further is read once `may_read` says no, or past so many: that is told as what is not read."""
    rules: list[Rule] = []
    not_read: list[str] = []
    for number, said in enumerate(_restrictions(tool, vocabulary.lexicon)):
        if number == MOST_READ or not may_read():
            not_read.append(f"{said}, and what follows")
            break
        frames = (_read(frame, tool, vocabulary) for frame in _frames(said, tool.name))
        found = next((made for made in frames if made), ())
        rules += (replace(rule, sentence=said, tools=(tool.name,)) for rule in found)
        not_read += [] if found else [said]
    placed = tried(Behavior(rules=tuple(rules)), vocabulary.lexicon, world).behavior
    return Described(placed.rules, (*not_read, *placed.not_understood))


def _restrictions(tool: ToolLike, lexicon: Lexicon) -> Iterator[str]:
    """The parts of the description that say which calls fail. What the agent is told to do restricts none."""
    for number, sentence in enumerate(sentences((tool.description or "")[:LONGEST_READ])):
        for place, part in enumerate(_PARTS.split(sentence)) if not is_addressed(sentence, lexicon) else ():
            said = part.strip(" .,:")
            # "Reject an application." The first verb of all says what the tool does.
            is_first = number == place == 0
            if said and may_restrict(said.partition(" ")[2] if is_first else said):
                yield said


def may_restrict(description: str) -> bool:
    """Whether it has words for calls that fail."""
    low = description[:LONGEST_READ].lower()
    spoken = set(re.findall(r"[a-z]+", low))
    return bool(spoken & _REFUSES or _DENIED.search(low) or ("only" in spoken and spoken & _ALLOWS))


def _frames(said: str, tool: str) -> Iterator[str]:
    """The sentence as it stands, then with the tool put in where it is left out."""
    yield said
    low = said[0].lower() + said[1:]
    if low.split()[0].strip(",") in _WITHOUT_SUBJECT:
        yield f"{tool} {low}"
    if _MUST_NOT.search(low):
        yield f"{tool} fails if {_MUST_NOT.sub('', low)}"
    for must, is_so in _INDICATIVE:
        if must.search(low):
            yield f"{tool} only works if {must.sub(is_so, low)}"
            break
    barred = _BARRED.match(low)
    if barred is not None:
        yield f"{tool} fails for {barred['such']}"


def _read(frame: str, tool: ToolLike, vocabulary: Vocabulary) -> tuple[Rule, ...]:
    """Only what refuses calls: what the tool changes is its plan's to say."""
    rules = read_of_tool(frame, tool.name, vocabulary)
    fits = all(rule.covers(tool.name) and isinstance(rule.body, Require) for rule in rules)
    return rules if fits else ()
