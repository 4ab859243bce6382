"""Actions that an answer plainly claims or denies, by the verbs of the declared tools.

"I've refunded order 4521", "your refund has been issued", "order 9001 is cancelled"; "I could not cancel it".
Only plain statements are taken: no negation, condition, wish or future. Whether they are true is for
`contradictions`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.words import singular
from pipelines.core.verdict.words.speech import clauses, is_asserted, sentences
from pipelines.core.verdict.words.tool_words import ToolWords

_ADVERBS = r"(?:(?:\w+ly|just|now|also|already|then|gone\s+ahead\s+and|went\s+ahead\s+and)\s+)*"
_I = r"\b(?:i|we)(?:'ve|\s+have|\s+had)?\s+" + _ADVERBS
_CARRIED_OUT = "(?:processed|issued|initiated|completed|submitted|made|arranged|executed|confirmed|sent)"
#: In the passive these tell of something that was so before, or of somebody else's doing.
_HISTORY = re.compile(
    r"\b(?:already|previously|earlier|by|ago|yesterday|last|originally|since|after)\b|\d{4}-\d{2}"
)
#: "Your reservation has been booked in basic economy" tells what a record is like, and no action.
_NO_MORE = r"(?=$|[.,;!]|\s+(?:and|for|to|on|from|successfully|now)\b)"
#: A whole sentence that opens so supposes something, or tells when it would be.
_SUPPOSES = re.compile(
    r"(?:if|when|once|after|before|unless|until|assuming|suppose|in\s+case)\b", re.IGNORECASE
)
_ID = re.compile(r"\b[a-z]{0,8}[-_#]?\d{2,}\b|#\d")  # "RX-902 has been renewed" needs no noun
_DENIES = re.compile(
    r"\b(?:(?:could|did|was|were|has|have|had|do)(?:n't|\s+not)|can(?:'t|not|\s+not)|won't|(?:am|was|were|been|i'm|we're)\s+(?:\w+ly\s+)?unable\s+to"
    r"|(?:am|was|were|i'm|we're)\s+not\s+able\s+to|(?:have\s+)?failed\s+to|^unable\s+to)\b"
)
_IN_PART = re.compile(
    r"\b(?:again|another|further|both|all|every|second|twice|other|else|remaining|rest|yet|more|any)\b"
)


class Claim(NamedTuple):
    """A clause that says a thing was done, or was not, which these tools do."""

    clause: str
    sentence: str  # as the agent wrote it
    tools: tuple[ToolWords, ...]
    is_active: bool  # "I've cancelled it", not "it is cancelled"

    @property
    def past(self) -> frozenset[str]:
        return frozenset(form for tool in self.tools for form in tool.past)


def done_claims(text: str, tools: tuple[ToolWords, ...]) -> Iterator[Claim]:
    """Everything a text plainly says was done."""
    for sentence, clause in _statements(text):
        if not is_asserted(clause):
            continue
        words = {singular(word) for word in re.findall(r"[a-z]+", clause)}
        for tool in tools:
            if not tool.is_telling and tool.nouns.isdisjoint(words) and _ID.search(clause) is None:
                continue
            if _patterns(tool).active.search(clause):
                yield Claim(clause, sentence, (tool,), is_active=True)
            elif _patterns(tool).passive.search(clause) and not _HISTORY.search(clause):
                yield Claim(clause, sentence, (tool,), is_active=False)


def denials(text: str, tools: tuple[ToolWords, ...]) -> Iterator[Claim]:
    """Everything a text plainly says was not done, or cannot be."""
    for sentence, clause in _statements(text):
        denied = _DENIES.search(clause)
        if denied is None or _IN_PART.search(clause):
            continue
        near = set(re.findall(r"[a-z]+", clause[denied.end() :])[:4])
        same = tuple(tool for tool in tools if near & (tool.past | tool.doing))
        if same:
            yield Claim(clause, sentence, same, is_active=True)


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """(sentence, clause) of all that is neither a question nor a supposition."""
    for sentence in dict.fromkeys(sentences(text)):
        if not sentence.endswith("?") and not _SUPPOSES.match(sentence):
            yield from ((sentence, clause) for clause in clauses(sentence))


class _Patterns(NamedTuple):
    active: re.Pattern[str]
    passive: re.Pattern[str]


@lru_cache(maxsize=1024)
def _patterns(tool: ToolWords) -> _Patterns:
    past, doing = _any_of(tool.past), _any_of(tool.doing)
    return _Patterns(
        active=re.compile(rf"{_I}(?:{past}\b|{_CARRIED_OUT}\s+(?:\S+\s+){{0,4}}?{doing}\b)"),
        passive=re.compile(
            rf"\b(?:has|have)\s+{_ADVERBS}been\s+{_ADVERBS}{past}{_NO_MORE}"
            rf"|\b(?:is|are)\s+now\s+{past}\b|\b(?:is|are)\s+{past}\s+for\s+you\b"
            rf"|\d\s+(?:is|are)\s+{past}(?:$|[.,;!])"  # `order #9001 is cancelled`
            rf"|\b(?:was|were)\s+successfully\s+{past}\b"
            rf"|\b(?:your|the|this|a|full|partial)\s+{doing}\b(?:\s+\S+){{0,6}}?"
            rf"\s+(?:(?:has|have)\s+{_ADVERBS}been|is\s+now|was)\s+{_ADVERBS}{_CARRIED_OUT}\b"
        ),
    )


def _any_of(forms: frozenset[str]) -> str:
    return f"(?:{'|'.join(sorted(re.escape(form.replace('_', ' ')) for form in forms))})"
