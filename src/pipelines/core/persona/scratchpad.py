"""What shows a simulated user's thinking, its instructions or their format: nothing a person would send."""

import re

from pipelines.core.persona.talk import Talk

_TAGS = re.compile(
    r"</?\s*(?:think|thinking|thought|scratchpad|reasoning|analysis|reflection|plan|inner|data-[0-9a-f]+)\b",
    re.IGNORECASE,
)
_NOTES = re.compile(
    r"^\W{0,4}(?:thought|thinking|reasoning|analysis|internal|scratchpad|strategy|plan|goal|note to self|"
    r"reason|stop|message|facts?_?used|(?:user|customer|client|caller|me)(?:\s*\([^)\n]{0,40}\))?)\W{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKETED = re.compile(
    r"[\[(*]\s*(?:thinks?|thinking|internal|pauses?|waits?|as the (?:user|customer)|stop|end of|note)\b",
    re.IGNORECASE,
)
_OUT_OF_ROLE = re.compile(
    r"\b(?:simulated user|user simulator|simulation|my persona|the persona|"
    r"(?:stay|remain|am|being) in character|"
    r"role-?play(?:ing)?|my instructions|system prompt|(?:my|the) (?:known|given) facts|"
    r"as an? (?:ai|language model|llm)|when_asked|facts_used|"
    r"i (?:can|should|could|will|must)(?: now| not)? (?:share|reveal|disclose|withhold|hold back))\b"
    r"|^\s*[{\[]\s*\"",
    re.IGNORECASE,
)
# The other side as somebody who is spoken about, and the person as somebody who is played.
_ABOUT_THE_TALK = re.compile(
    r"\bthe (?:agent|assistant|representative|other side)"
    r" (?:is (?:now )?asking|(?:now |just )?asks|has (?:now |just )?asked|wants me to|is waiting)\b"
    r"|\bthe (?:user|customer|person) (?:would|should) (?:now )?"
    r"(?:say|answer|reply|respond|give|reveal|tell)\b"
    r"|\bi (?:may|should|must) now (?:give|tell|mention|say|answer|reply|respond)\b",
    re.IGNORECASE,
)
_FACT_LABEL = re.compile(r"\bF\d{1,3}\b")


def scratchpad_in(message: str, talk: Talk) -> str | None:
    """The words that do not belong in a message, as they stand in it."""
    for pattern in (_TAGS, _NOTES, _BRACKETED, _OUT_OF_ROLE, _ABOUT_THE_TALK):
        match = pattern.search(message)
        if match is not None:
            return match[0].strip()
    return _label_of_a_fact(message, talk)


def _label_of_a_fact(message: str, talk: Talk) -> str | None:
    """ "B1 (F2)": the number a fact has in the question, unless the talk knows such a word ("error F28")."""
    talk_text = " ".join(
        [talk.opening, *(fact.text for fact in talk.facts), *(line.text for line in talk.lines)]
    )
    labels = set(_FACT_LABEL.findall(talk_text))
    given = {fact.id for fact in talk.facts} - labels
    return next((label for label in _FACT_LABEL.findall(message) if label in given), None)
