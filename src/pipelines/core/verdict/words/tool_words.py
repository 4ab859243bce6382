"""The declared tools as an agent's sentences speak of them: which verb each stands for, in which forms."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import plural, singular, word_set
from pipelines.core.simulation.domain.tool_names import read_tool_name, without_generic
from pipelines.core.tools.tools_schema import Tool

# Verbs that say what was done even without naming the thing: "I've refunded it". The others ("sent",
# "paid", "transferred you to") are also said of other things, and count only beside a noun of their tool.
_TELLING = word_set(
    "refund reimburse cancel void withdraw deactivate suspend revoke archive unsubscribe terminate delete "
    "purchase"
)
_SAME = (
    word_set("refund reimburse"),
    word_set("cancel void"),
    word_set("delete remove erase"),
    word_set("update modify change edit amend alter"),
    word_set("book reserve"),
    word_set("buy purchase"),
)
_PAST = {"withdraw": "withdrew", "write": "wrote", "freeze": "froze", "give": "gave", "take": "took"}
#: Nouns for the doing of it, where they are not the verb itself (`refund`) or its -ing form.
_NOUNS = {
    "approve": "approval",
    "cancel": "cancellation",
    "delete": "deletion",
    "deliver": "delivery",
    "modify": "modification",
    "pay": "payment",
    "reimburse": "reimbursement",
    "reserve": "reservation",
    "revoke": "revocation",
    "ship": "shipment",
    "subscribe": "subscription",
    "suspend": "suspension",
    "terminate": "termination",
    "withdraw": "withdrawal",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolWords:
    """A tool that changes something, by its verb."""

    tool: str
    verb: str
    verbs: frozenset[str]  # the verb and what means the same
    nouns: frozenset[str]  # singular
    past: frozenset[str]  # refunded, reimbursed
    doing: frozenset[str]  # refund, refunds, refunding, reimbursement

    @property
    def is_telling(self) -> bool:
        return self.verb in _TELLING

    def is_asked_in(self, words: frozenset[str]) -> bool:
        """Whether a text with these words speaks of what the tool does."""
        return bool(words & (self.doing | self.past))


def writing_tools(tools: Iterable[Tool]) -> tuple[ToolWords, ...]:
    """The tools that change something: those whose names say that they only read are left out."""
    return _writing_tools(tuple((tool.name, tool.description) for tool in tools))


def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", text.lower()))


@lru_cache(maxsize=256)  # the tools of an agent are the same in every run of a batch
def _writing_tools(named: tuple[tuple[str, str], ...]) -> tuple[ToolWords, ...]:
    found = []
    for name, description in named:
        read = read_tool_name(name, description)
        if read.reads() or not read.verb:
            continue
        verbs = next((same for same in _SAME if read.verb in same), frozenset({read.verb}))
        nouns = [*read.nouns, *(word for _, words in read.complements for word in words)]
        found.append(
            ToolWords(
                tool=name,
                verb=read.verb,
                verbs=verbs,
                nouns=frozenset(singular(noun) for noun in without_generic(nouns)),
                past=frozenset(form for verb in verbs for form in past_forms(verb)),
                doing=frozenset(form for verb in verbs for form in _action_nouns(verb)),
            )
        )
    return tuple(found)


def past_forms(verb: str) -> set[str]:
    """`cancelled` and `canceled`, `sent`, `withdrew` and `withdrawn`."""
    forms = {participle(verb), _PAST.get(verb, participle(verb))}
    return forms | {re.sub(r"([lt])\1ed$", r"\1ed", form) for form in forms}


def _action_nouns(verb: str) -> set[str]:
    bare = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb
    doubled = re.sub(r"(?<=[aeiou])([lpt])$", r"\1\1", bare)
    nouns = {verb, _NOUNS.get(verb, verb)}
    return nouns | {plural(noun) for noun in nouns} | {bare + "ing", doubled + "ing"}
