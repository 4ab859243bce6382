"""What is wrong with a simulated user's words: each is a reason to ask again, then to give the run up.

An agent that fails because its user made up an order number has not failed. So everything here is about the
user alone, and is found by looking words up, not by asking another model.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

from pipelines.core.persona.calendar import named_days
from pipelines.core.persona.facts import Knowledge
from pipelines.core.persona.scratchpad import scratchpad_in
from pipelines.core.persona.service_words import service_words_in
from pipelines.core.persona.talk import SERVICE, Talk, UserWords
from pipelines.core.persona.values import KnownValues, values_in
from pipelines.core.persona.waiting import asks_for, asks_for_kind, waits_for_user
from pipelines.core.text.problems import Problem
from pipelines.core.verdict.words.speech import content_stems

QUOTED_WORDS = 6  # of the behaviour text in a row: fewer stand in anybody's sentence
COPIED_SHARE = 0.8  # of the words of the service's last message, in its order
SHORTEST_COPIED = 8  # words
REVEALED_SHARE, FEWEST_WORDS = 0.6, 3  # of a fact's own words, for it to be told without a number


class FaultKind(StrEnum):
    EMPTY = "empty"  # says nothing
    MADE_UP = "made_up"  # an id, amount or day from nowhere
    REVEALED_EARLY = "revealed_early"  # told before anybody asked
    ROLE_FLIPPED = "role_flipped"  # speaks as the service
    SCRATCHPAD = "scratchpad"  # shows its thinking, its instructions or their format
    BEHAVIOR_LEAKED = "behavior_leaked"  # knows the backend's rules
    STOPPED_EARLY = "stopped_early"  # ends while the service waits for it; harmless where it says something
    UNKNOWN_FACT = "unknown_fact"  # rests on a fact that it was not given


class Fault(NamedTuple):
    kind: FaultKind
    message: str

    def as_problem(self) -> Problem:
        return Problem(path="/message", message=self.message)


# Models write either; what is looked for is spelt with the plain one.
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})
_WORDS = re.compile(r"[a-z0-9']+")
_IDENTIFIER = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")


def faults_in(words: UserWords, talk: Talk) -> list[Fault]:
    """Everything that is wrong; an ignored stop is not among it (`is_stop_ignored`)."""
    if not words.says_something:
        return list(_empty_message(words, talk))
    message = words.message.translate(_APOSTROPHES)
    return [
        *_unknown_facts(words, talk),
        *_made_up_values(message, talk),
        *_early_facts(message, talk),
        *_service_words(message, talk),
        *_shows_its_thinking(message, talk),
        *_leaked_rules(message, talk),
    ]


def is_stop_ignored(words: UserWords, talk: Talk) -> bool:
    """Whether the user ends it while the service waits for a word of theirs: what they say is sent."""
    return words.stop and words.says_something and waits_for_user(talk.last_of_service)


def _empty_message(words: UserWords, talk: Talk) -> Iterator[Fault]:
    if not words.stop:
        yield Fault(FaultKind.EMPTY, "is empty, and the conversation is not ended")
    elif waits_for_user(talk.last_of_service):
        says = "is empty, though the service waits for an answer: give one, and do not stop yet"
        yield Fault(FaultKind.STOPPED_EARLY, says)


def _unknown_facts(words: UserWords, talk: Talk) -> Iterator[Fault]:
    known = {fact.id for fact in talk.facts}
    strange = [each for each in words.facts_used if each not in known]
    if strange:
        says = f"rests on facts that do not exist: {', '.join(strange[:5])}"
        yield Fault(FaultKind.UNKNOWN_FACT, says)


def _made_up_values(message: str, talk: Talk) -> Iterator[Fault]:
    texts = [talk.opening, *_service_messages(talk), *(line.text for line in talk.lines)]
    known = KnownValues(texts, days=named_days(texts, talk.today))
    for value in values_in(message):
        if not known.holds(value):
            yield Fault(
                FaultKind.MADE_UP,
                f"says “{value.written}”, which stands in no fact, nor in what was said:"
                " say that you do not have it",
            )


def _early_facts(message: str, talk: Talk) -> Iterator[Fault]:
    said_values = KnownValues([message])
    open_to_all = KnownValues([talk.opening, *(line.text for line in talk.lines)])
    questions = [line.text for line in talk.lines if line.by == SERVICE]
    for fact in talk.facts:
        if fact.knowledge is not Knowledge.WHEN_ASKED:
            continue
        early_values = [
            value
            for value in values_in(fact.text)
            if said_values.holds(value) and not open_to_all.holds(value)
        ]
        is_told = bool(early_values) or _reveals_in_words(fact.text, message, talk)
        was_asked = any(
            asks_for(text, fact.text) or any(asks_for_kind(text, value) for value in early_values)
            for text in questions
        )
        if is_told and not was_asked:
            what = early_values[0].written if early_values else fact.text
            yield Fault(
                FaultKind.REVEALED_EARLY, f"tells “{what}” ({fact.id}), which nobody has asked for yet"
            )


def _reveals_in_words(fact: str, message: str, talk: Talk) -> bool:
    """Most of the words that only this fact has stand in the message."""
    known_stems = content_stems(" ".join([talk.opening, *(line.text for line in talk.lines)]))
    own = content_stems(fact) - known_stems
    return len(own) >= FEWEST_WORDS and len(own & content_stems(message)) >= REVEALED_SHARE * len(own)


def _service_words(message: str, talk: Talk) -> Iterator[Fault]:
    words = service_words_in(message, talk)
    if words is not None:
        says = f"“{words}” is what the service would say: you are the person who writes to it"
        yield Fault(FaultKind.ROLE_FLIPPED, says)
    elif _is_copy(message, talk.last_of_service):
        yield Fault(FaultKind.ROLE_FLIPPED, "repeats the service's own message")


def _shows_its_thinking(message: str, talk: Talk) -> Iterator[Fault]:
    words = scratchpad_in(message, talk)
    if words is not None:
        says = f"“{words}” does not belong in a message: write what the person says, alone"
        yield Fault(FaultKind.SCRATCHPAD, says)


def _leaked_rules(message: str, talk: Talk) -> Iterator[Fault]:
    """Words of the behaviour text that the person cannot have from elsewhere."""
    if not talk.behavior:
        return
    talk_text = " ".join(
        [talk.opening, *_service_messages(talk), *(line.text for line in talk.lines)]
    ).lower()
    rules = talk.behavior.lower()
    for match in _IDENTIFIER.finditer(message.lower()):
        if match[0] in rules and match[0] not in talk_text:
            says = f"“{match[0]}” is a word of the backend, which no user knows"
            yield Fault(FaultKind.BEHAVIOR_LEAKED, says)
            return
    quoted = _runs(message) & _runs(talk.behavior) - _runs(talk_text)
    if quoted:
        says = f"“{' '.join(min(quoted))}” is the backend's own rule, which no user knows"
        yield Fault(FaultKind.BEHAVIOR_LEAKED, says)


def _service_messages(talk: Talk) -> list[str]:
    return [fact.text for fact in talk.facts if fact.knowledge is not Knowledge.UNKNOWN]


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORDS.findall(text.lower())
    return {tuple(words[at : at + QUOTED_WORDS]) for at in range(len(words) - QUOTED_WORDS + 1)}


def _is_copy(message: str, other: str) -> bool:
    mine, theirs = _WORDS.findall(message.lower())[:400], _WORDS.findall(other.lower())[:400]
    if len(mine) < SHORTEST_COPIED or len(theirs) < SHORTEST_COPIED:
        return False
    return SequenceMatcher(None, mine, theirs, autojunk=False).ratio() >= COPIED_SHARE
