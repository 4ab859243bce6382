"""Deeds and causes of which nobody in a run has said a word: they are made up."""

import re

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import DEEDS, related
from pipelines.core.english.words import tokens
from pipelines.core.verdict.borne_out import RECORD_NOUNS, telling_words
from pipelines.core.verdict.cells import Scope
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.said import NEGATED, Said
from pipelines.core.verdict.speech import content_stems

_CARRIED_OUT_BY = re.compile(
    r"(?:\b(?:has|have)|'s\s+(?=(?:\w+\s+)?been\b)|'ve)\s*(?:(?:now|also|already|just|all|even|since)\s+)*(?:been\s+(?:\w+ly\s+)?)?"
    r"(?P<verb>\b[a-z]{4,20}(?:ed|ld)|sent|paid|sold)\b"
    r"|\b(?:is|are)\s+being\s+(?P<going>[a-z]{4,20}ed)\b"
)


#: What becomes of a thing in other hands than the agent's: no word for what the agent did.
_BY_OTHERS = frozenset(map(stem, ("approve", "accept", "grant", "uphold", "upheld", "deliver", "repair")))
_MONEY_MOVES = frozenset(
    map(stem, ("pay", "transfer", "refund", "credit", "reimburse", "repay", "send", "return", "charge"))
)


def unheard_deed(said: Said, facts: Facts) -> bool:
    """Whether a clause says that something was done of which no call, record, rule or reply has a word: `your
    manager has approved it`, `a router is being shipped`. Of what the calls changed nearly any verb may be
    another word for what they did; so it must be done by others, or to something that nobody knows of."""
    if facts.is_refusal or NEGATED.search(said.text) or not said.is_stated or _OWN.search(said.text):
        return False
    heard = (*(one.words for one in facts.sayings), facts.done.stems, facts.deeds.stems, facts.deeds.states)
    for found in _CARRIED_OUT_BY.finditer(said.text):
        verb = stem(found["verb"] or found["going"])
        meant = _MONEY_MOVES if verb in _MONEY_MOVES else related(verb)
        if verb not in DEEDS or any(not words.isdisjoint(meant) for words in heard):
            continue
        subject = telling_words(said.text[: found.start()]) - RECORD_NOUNS
        is_unknown = bool(subject) and not any(map(facts.everything.knows, subject))
        is_money = verb in _MONEY_MOVES and (subject <= {stem("money")} and bool(subject or said.numbers))
        if verb in _BY_OTHERS or is_unknown or is_money:
            return True
    return False


_AT_ONCE = re.compile(
    r"\b(?:immediately|at\s+once|right\s+away|straight\s+away|as\s+of\s+(?:now|today)|with\s+immediate\s+effect"
    r"|(?:has|have)\s+(?:now\s+|already\s+)?ended|(?:is|are)\s+(?:now\s+)?over)\b"
)


def is_too_soon(said: Said, scope: Scope, facts: Facts) -> bool:
    """Whether something is said to hold or to be over at once of which a reply names the day: `effective
    immediately`, where `effective_from` is in July."""
    if _AT_ONCE.search(said.text) is None:
        return False
    words, today = content_stems(said.text), facts.day_of_run()
    return any(
        not words.isdisjoint(map(stem, tokens(cell.field)))
        for cell in scope.cells
        if cell.row and cell.days and not (today and any(day.agrees_with(today) for day in cell.days))
    )


_CAUSED = re.compile(r"^(?:caused\s+by|because|due\s+to|owing\s+to)\b")


def unheard_cause(said: Said, lead_in: str, facts: Facts) -> bool:
    """Whether a clause gives a cause in words none of which anybody said: `because of engineering works`."""
    if facts.is_refusal or not said.is_stated or not (lead_in == "because" or _CAUSED.search(said.text)):
        return False
    words = {word for word in telling_words(_CAUSED.sub(" ", said.text)) if word.isalpha()}
    return len(words) > 1 and not any(facts.everything.knows(word) or facts.tells_of(word) for word in words)


_OWN = re.compile(r"^(?:and\s+|also\s+|then\s+|but\s+|so\s+)*(?:i|we|you)\b")
