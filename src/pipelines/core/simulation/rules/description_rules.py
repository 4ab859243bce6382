"""Rules from a tool's own description: "Only planned firings can be cancelled."

The description is parsed in the published language; a missing tool name is added ("Fails if the kiln is
broken."). A restriction that cannot be parsed is reported.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.english.words import word_set
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.domain.arguments import ToolLike
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.read import Reader
from pipelines.core.simulation.rules.language.text import sentences
from pipelines.core.simulation.rules.rule import Origin, Require, Rule
from pipelines.core.simulation.rules.trial import try_rules
from pipelines.core.simulation.rules.vocabulary import Vocabulary

LONGEST_READ = 2_000  # characters of a description
MOST_READ = 8  # parts of one
_PARTS = re.compile(r"[;()]|\s[-–—]\s")
#: Words of the grammar that say that calls fail. A description without one restricts nothing.
_REFUSES = word_set("cannot unless fail fails refuses refused rejects rejected requires must denied")
_DENIED = re.compile(
    r"\b(?:can|may)(?:n't| not| never| no longer)\b|\bonly (?:if|when|works|for|\w+ \w+ can)\b"
)


#: What the agent is told to do restricts no call.
_ADDRESSED = word_set("you your please agent agents assistant")


class DescribedRules(NamedTuple):
    rules: tuple[Rule, ...] = ()
    not_read: tuple[str, ...] = ()  # what restricts calls and is not enforced, as it stands


def may_restrict(description: str) -> bool:
    """Whether it has words for calls that fail."""
    low = description[:LONGEST_READ].lower()
    return bool(_REFUSES & set(re.findall(r"[a-z]+", low)) or _DENIED.search(low))


def read_description(
    tool: ToolLike, vocabulary: Vocabulary, world: World, may_read: Callable[[], bool] = lambda: True
) -> DescribedRules:
    """Stops once `may_read` says no, or after MOST_READ parts; the rest is reported as not read."""
    reader = Reader(vocabulary)
    rules: list[Rule] = []
    not_read: list[str] = []
    for number, restriction in enumerate(_restrictions(tool)):
        if number == MOST_READ or not may_read():
            not_read.append(f"{restriction}, and what follows")
            break
        found = next(
            (
                rule_read
                for frame in _frames(restriction, tool.name)
                if (rule_read := _read(frame, tool, reader))
            ),
            (),
        )
        rules += (replace(rule, sentence=restriction, origin=Origin.DESCRIPTION) for rule in found)
        not_read += [] if found else [restriction]
    placed = try_rules(rules, vocabulary, world).applied
    lost = [rule.sentence for rule in rules if rule not in placed]
    return DescribedRules(placed, (*not_read, *lost))


def _restrictions(tool: ToolLike) -> Iterator[str]:
    for number, sentence in enumerate(sentences((tool.description or "")[:LONGEST_READ])):
        is_advice = bool(_ADDRESSED & set(re.findall(r"[a-z]+", sentence.lower())))
        for place, part in enumerate(_PARTS.split(sentence) if not is_advice else ()):
            clause = part.strip(" .,:")
            # "Reject an application." The first verb of all says what the tool does.
            if clause and may_restrict(clause.partition(" ")[2] if number == place == 0 else clause):
                yield clause


def _frames(said: str, tool: str) -> Iterator[str]:
    """The sentence as it stands, then with the tool put in where it is left out."""
    yield said
    low = said[0].lower() + said[1:]
    if low.split()[0].strip(",") in (GRAMMAR.starts["Clause"] or ()):
        yield f"{tool} {low}"


def _read(frame: str, tool: ToolLike, reader: Reader) -> tuple[Rule, ...]:
    """Only what refuses calls of this tool: what the tool changes is its plan's to say."""
    reading = reader.read(frame)
    own = [rule for rule in reading.rules if rule.covers(tool.name) and isinstance(rule.form, Require)]
    is_whole = reading.is_read and len(own) == len(reading.rules)
    return tuple(replace(rule, tools=(tool.name,)) for rule in own) if is_whole else ()
