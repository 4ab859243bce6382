"""Words for values, fields and moments, and the nouns of a tool's description."""

import re
from collections.abc import Collection, Sequence
from itertools import takewhile

from pipelines.core.english.words import is_plural, singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.verbs import OP_OF_VERB
from pipelines.core.text.json_text import Json
from pipelines.core.worlds.outline import MOMENT_ENDS, FieldOutline
from pipelines.core.worlds.values.measures import unit_of

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}(?:Z|\+00:00)?")
NEW = word_set("new updated")
_ACRONYMS = word_set("eta etd iban vat vin sku url isbn dob ip pin")
_SPOKEN = {
    "qty": "quantity",
    "no": "number",
    "ref": "reference",
    "phone": "phone number",
    "email": "e-mail address",
    "starts": "start",
    "ends": "end",
    "begins": "start",
}
_LONGEST_PHRASE = 12  # words of a description that a request takes over
#: What may stand in front of a noun and behind it, and what ends what is said of it.
_DETERMINERS = word_set("a an the one this that another given existing specific some any")
_BEHIND = word_set(
    "to for of in on at with from as into and or by until off out again back up down over between under "
    "after before"
)
#: Behind which the value itself may stand.
BEFORE_VALUES = word_set("to at on until from")
OTHERS = word_set("another new different later other")
MOMENT_NOUNS = word_set("time date day")
_ENDS = re.compile(r"\s*(?:[,;:(–—]| (?:so that|which|who|that|if|when|unless|once|using|by its) )")


def said(value: Json) -> str:
    """A value as a person writes it; still to be copied exactly."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{label(tokens(name))} {said(each)}" for name, each in value.items())
    if isinstance(value, list):
        return listed([said(each) for each in value])
    moment = _MOMENT.fullmatch(str(value))
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return f"{moment[1]} at {moment[2]} UTC" if moment is not None else str(whole)


def label(words: Sequence[str]) -> str:
    """A field as people call it: `weight` of weight_kg, `start` of starts_at, `due date` of due_on."""
    kept = [*words[:-1]] if unit_of(tuple(words)) is not None else [*words]
    if len(kept) > 1 and kept[0] in ("is", "has"):
        kept = kept[1:]
    if len(kept) > 1 and kept[-1] in ("at", "on", "for") and not is_clause(tuple(kept)):
        end = {"on": "date"}.get(kept.pop(), "time")
        kept += [end] if kept[-1] not in (*_SPOKEN, "start", "end") else []
    if kept == ["valid", "until"]:
        kept = ["end", "of", "validity"]
    kept[-1] = _SPOKEN.get(kept[-1], kept[-1])
    return " ".join(word.upper() if word in _ACRONYMS else word for word in kept)


def is_clause(words: Sequence[str]) -> bool:
    """`arrives_on`: said as it stands."""
    return len(words) == 2 and words[1] in ("on", "at") and is_plural(words[0]) and words[0] not in _SPOKEN


def bare_words(words: tuple[str, ...], last: str) -> tuple[str, ...]:
    """`new_address` is said as the address, `card_limit` of a card as its limit."""
    kept = tuple(word for word in words if word not in NEW) or words
    return kept[1:] if len(kept) > 1 and kept[0] == last else kept


def when_asked(one: FieldOutline, thing: str) -> str:
    """`When was order O-1 placed?` of placed_at, `When does it start?` of starts_at."""
    first, end = one.words[0], one.words[-1]
    if len(one.words) == 2 and first in ("starts", "ends", "expires", "begins", "closes", "opens"):
        return f"When does {thing} {singular(first)}?"
    if len(one.words) == 2 and end in ("at", "on") and first.endswith("ed"):
        return f"When was {thing} {first}?"
    if first == "due" and end in MOMENT_ENDS:
        return f"When is {thing} due?"
    return (
        f"How long is {thing} valid?" if first == "valid" else f"What is the {label(one.words)} of {thing}?"
    )


def verb_of(one: Argument) -> str:
    return "are" if is_plural(one.words[-1]) and one.kind == "text" else "is"


def listed(parts: Sequence[str]) -> str:
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def command_in(description: str, verb: str) -> list[str]:
    """The words of its first sentence in the imperative; none where it is no command, or a long one."""
    sentence = re.split(r"(?<=[^\s.])[.!?]+(?:\s|$)", " ".join(description.split()), maxsplit=1)[0]
    words = _ENDS.split(sentence, maxsplit=1)[0].split()
    first = words[0].lower() if 1 < len(words) <= _LONGEST_PHRASE else ""
    is_third = first.endswith("s") and not first.endswith("ss")
    if is_third and words[1].lower() not in _DETERMINERS:
        return []  # "Orders of a customer": nothing says that it is a verb
    first = singular(first) if is_third else first
    return [first, *words[1:]] if first in OP_OF_VERB or first == verb else []


def noun_phrase(words: Sequence[str], nouns: Collection[str]) -> tuple[int, int] | None:
    """From its article to the noun, where nothing shows that more belongs to it: a customer record."""
    for at, word in enumerate(words):
        is_end = at + 1 == len(words) or words[at + 1].lower() in _BEHIND
        if at and is_end and singular(word.lower()) in nouns:
            before = takewhile(
                lambda back: words[back].lower() not in _BEHIND, range(at - 1, max(0, at - 5), -1)
            )
            start = next((back for back in before if words[back].lower() in _DETERMINERS), None)
            if start is not None:
                return start, at + 1
            if is_plural(word) and words[at - 1].lower() in _BEHIND:
                return at, at + 1  # a donation of items
    return None
