"""Whether the service waits for the user: asks to confirm, asks for something, or is about to act."""

import re
from functools import lru_cache

from pipelines.core.persona.values import Value
from pipelines.core.verdict.words.speech import content_stems, sentences

LAST_SENTENCES = 6  # a question is followed by little
_CONFIRM = re.compile(
    r"\b(?:confirm|shall (?:i|we)|should (?:i|we)|may (?:i|we)|"
    r"(?:can|could) (?:i|we) (?:go|proceed|do|take|cancel|refund|book)|"
    r"(?:do|would) you (?:want|like)(?: me| us)? to|like me to|go ahead|proceed|"
    r"(?:is|does|are) (?:that|this|these|it) (?:correct|right|ok(?:ay)?|fine|all right|alright|acceptable)|"
    r"(?:does|would) (?:that|this|it) work|are you sure|do you agree|sounds? (?:good|right|ok(?:ay)?)|"
    r"ok(?:ay)? (?:with you|if|to)|(?:reply|say|answer)(?: with)? [\"'“]?yes|yes or no)\b",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\b(?:anything|something|what) else\b|\bfurther (?:help|questions|assistance)\b"
    r"|\b(?:other|more) (?:questions|help|assistance)\b|\bhow (?:was|did)\b"
    r"|\b(?:feel free|don't hesitate|do not hesitate|happy to help)\b"
    r"|\b(?:need|have) any(?:thing)? (?:more|other|further|questions?)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(?:please|could you|can you|kindly|i(?:'ll| will)? need|i(?:'d| would) need|let me know|tell me|"
    r"send me|"
    r"provide|share|which|what is|what's|may i have|can i have|can i get)\b",
    re.IGNORECASE,
)
_ABOUT_TO_ACT = re.compile(
    r"\b(?:i(?:'ll| will)|i(?:'m| am) going to|we(?:'ll| will)) (?:now |just |go ahead and |first )*"
    r"(?:process|cancel|refund|check|look|issue|submit|start|book|update|transfer|verify|do|create|place|"
    r"make|send|change|reset|restart|delete|close|apply|reschedule)\b"
    r"(?![^.?!]{0,80}\b(?:once|if|after|when) you\b)"
    r"|\b(?:one|just a|give me a) (?:moment|second|minute)\b|\bplease (?:hold|wait|bear with)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def waits_for_user(service: str) -> bool:
    """Of the service's last message: a person who left now would leave in the middle."""
    last = [one for one in sentences(service)[-LAST_SENTENCES:] if not _CLOSING.search(one)]
    asks = any("?" in one or _CONFIRM.search(one) or _TELL_ME.search(one) for one in last if _is_request(one))
    return asks or any(_ABOUT_TO_ACT.search(one) for one in last[-2:])


def asks_for(service: str, fact: str) -> bool:
    """Whether a message asks for what a fact tells: a request that shares a word with it."""
    about = content_stems(fact)
    kinds = [question for fact_pattern, question in _ASKED_BY if fact_pattern.search(fact)]
    return any(
        about & content_stems(one) or any(question.search(one) for question in kinds)
        for one in sentences(service)
        if _ASKS.search(one) and not _CLOSING.search(one)
    )


_LEAD = r"^\W*(?:(?:so|then|and|now|just|first|kindly|please)\b,? ?){0,3}"
_REQUEST = re.compile(
    rf"\bplease\b|{_LEAD}(?:confirm|reply|say|answer|tell|let (?:me|us) know|choose|pick|send|give)\b",
    re.IGNORECASE,
)
# "Let me know if something changes" waits for nothing.
_TELL_ME = re.compile(
    r"\b(?:tell|send|give|show) (?:me|us)\b"
    r"|\blet (?:me|us) know\b(?! if\b| should\b| when(?:ever)? you need\b)"
    r"|\bplease (?:provide|share|tell|choose|pick|select|specify|state|enter|reply|describe|answer)\b"
    rf"|{_LEAD}(?:choose|pick|select) \w",
    re.IGNORECASE,
)
_WHEN = re.compile(r"\bwhen\b|\bwhat (?:day|date|time)\b", re.IGNORECASE)
_TIMELY = re.compile(
    r"\b(?:\w+day|ago|yesterday|last (?:week|month|year)|since|morning|evening)\b", re.IGNORECASE
)
_WHERE = re.compile(r"\bwhere\b|\bwhat (?:place|address|street|city|town)\b", re.IGNORECASE)
_ADDRESS_WORDS = re.compile(
    r"\b(?:address|street|road|avenue|lane|square|floor|lives?|living|stay(?:s|ing)|located|delivered to)\b",
    re.IGNORECASE,
)
_PHONE = re.compile(r"\b(?:phone|mobile|telephone|cell)\b", re.IGNORECASE)
_CALL_WORDS = re.compile(
    r"\bphone|\bmobile\b|\bnumber\b[^.?!]{0,40}\b(?:call|reach|ring|text|contact)\b"
    r"|\b(?:call|reach|ring|text|contact) you\b",
    re.IGNORECASE,
)
#: What a fact tells, and how it is asked for in other words.
_ASKED_BY = ((_TIMELY, _WHEN), (_ADDRESS_WORDS, _WHERE), (_PHONE, _CALL_WORDS))
#: What is asked for, by what kind of thing it is.
_KINDS = (
    (re.compile(r"\b(?:dates?|when|days?|until|since|from)\b", re.IGNORECASE), "day"),
    (
        re.compile(r"\b(?:how much|amount|price|cost|sum|limit|income|salary|paid?)\b", re.IGNORECASE),
        "amount",
    ),
    (re.compile(r"\b(?:e-?mail|address|contact)\b", re.IGNORECASE), "address"),
)


def asks_for_kind(service: str, value: Value) -> bool:
    """ "What is the date of the first payment?" asks for a day, whatever the fact calls it."""
    kind = "day" if value.days else "amount" if value.amounts else "address" if "@" in value.key else ""
    return any(
        pattern.search(one)
        for one in sentences(service)
        if _ASKS.search(one) and not _CLOSING.search(one)
        for pattern, kind_asked in _KINDS
        if kind_asked == kind
    )


def _is_request(sentence: str) -> bool:
    return "?" in sentence or _REQUEST.search(sentence) is not None
