"""What a tool's description says about its behaviour, in the phrases in which people write such things."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.numbers import quantities
from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.tool_names import first_sentence

_QUOTE = r"['\"‘’“”`]"
_BECOMES = re.compile(
    r"\b(?:status|state)\b[^.;]{0,40}?\b(?:changed?|updated?|set|marked|moved|becomes?|turned)\b"
    r"(?: to| as)?\s*"
    rf"{_QUOTE}([^'\"‘’“”`]+){_QUOTE}",
    re.IGNORECASE,
)
_CANNOT_IF = re.compile(
    r"\bif\b[^.;,]{0,40}?\b(?:is|are|has been|have been)\s+(?:already\s+)?([^.;,]{1,60}),"
    r"[^.;]{0,30}?\b(?:cannot|can not|can't|may not|must not)\b",
    re.IGNORECASE,
)
_REFUND = re.compile(
    r"\b(?:payments?|amounts?|money|price|cost)\b[^.;]{0,40}\brefunded\b|\brefund(?:s|ed)?\b[^.;]{0,30}\b(?:payment|amount|paid)\b",
    re.IGNORECASE,
)
_LISTS_IDS = re.compile(
    r"\b(?:list of|all)(?: the| all)?(?: \w+){0,2} (?:ids|identifiers|symbols|codes)\b", re.IGNORECASE
)
_BY = re.compile(r"\bby (?:up to |an? additional |another |a further )?$", re.IGNORECASE)
_LONGEST_BY = 24  # characters
LONGEST_SUMMARY = 500  # of which an amount is read: descriptions may be hostile
_MEASURES = word_set(
    "% percent point points unit units cent cents second seconds minute minutes hour hours day days week"
    " weeks month months quarter quarters year years night nights degree degrees step steps"
    " level levels mile miles km kg"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """The parts of a description that a plan can enforce."""

    summary: str  # the first sentence
    becomes: str | None  # "status will be changed to 'cancelled'"
    forbidden_states: tuple[str, ...]  # "if the order is already processed or delivered, it cannot be …"
    refunds: bool  # "the payment will be refunded"
    lists_ids: bool  # "a list of stock symbols", "all order ids"
    amount: str | None = None  # "by 14 days": what it changes by, in so many words


def read_description(description: str | None) -> Said:
    text = _flat(description or "")
    becomes = _BECOMES.search(text)
    summary = first_sentence(text)
    return Said(
        summary=summary,
        becomes=becomes.group(1) if becomes else None,
        forbidden_states=tuple(_forbidden(text)),
        refunds=_REFUND.search(text) is not None,
        lists_ids=_LISTS_IDS.search(summary) is not None,
        amount=_changed_by(summary),
    )


def _changed_by(summary: str) -> str | None:
    """The amount that something is changed by; "by 5 pm" is when, and "by 3 people" who."""
    summary = summary[:LONGEST_SUMMARY]
    for one in quantities(summary):
        before = summary[max(0, one.start - _LONGEST_BY) : one.start]
        if _BY.search(before) and (one.unit in _MEASURES or one.currency is not None):
            return f"by {summary[one.start : one.end]} {one.unit}".strip()
    return None


def content_words(description: str | None) -> tuple[str, ...]:
    return tokens(_flat(description or ""))


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _forbidden(text: str) -> Iterator[str]:
    for found in _CANNOT_IF.finditer(text):
        for state in re.split(r"\s+or\s+|,\s*", found.group(1)):
            word = state.strip(" '\"").lower()
            if word and len(word.split()) <= 3:
                yield word
