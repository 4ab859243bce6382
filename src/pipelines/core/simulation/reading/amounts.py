"""More and less of something: refuel_data, increase_limit, restock_item, over a number a record keeps."""

import re
from collections.abc import Mapping, Sequence

from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Field
from pipelines.core.simulation.reading.descriptions import LONGEST_SUMMARY
from pipelines.core.simulation.reading.records import noun_of, ownership
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    arg,
    bind,
    dot,
    find_one,
    name_for,
    refusal,
    require,
    text,
)
from pipelines.core.simulation.reading.targets import subject_of
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import change_reply

_MORE = word_set("refuel refill recharge increase fill restock replenish raise topup extend grow")
_LESS = word_set("decrease reduce deduct consume lower shrink use")
_TAKES = re.compile(
    r"\b(?:takes?|taking)\b[^.;]{0,40}\b(?:off|out|from)\b|\b(?:reduc|deduct|subtract|lower|debit)(?:e?s|ing|e)?\b"
    r"|\bpay(?:s|ment)?\b[^.;]{0,20}\b(?:towards|against|off|down)\b"
)
_ADDS = re.compile(r"\b(?:adds?|tops? up|increas(?:e|es|ing)|credits?)\b")


def read_amount(reading: Reading) -> Drafted | None:
    """The one number given is added to, or taken from, the number that the tool's words name."""
    sign = _sign(reading)
    numbers = [one for one in reading.arguments if one.kind == "number" and one.is_required]
    if sign is None or len(numbers) != 1 or numbers[0].words[0] in ("new", "to"):
        return None
    bound = _counting(reading, numbers[0])
    if bound is not None:
        counted = counted_field(reading, numbers[0], bound.collection.fields) or ()
        place = dot(bound.noun, *counted)
        others = [one for one in reading.arguments if one is not numbers[0] and arg(one.name) not in bound.id]
        checks = [*bound.steps, *ownership(bound, others, reading)]
        answer = change_reply(reading, bound)
    elif reading.service is not None:
        path = counted_field(reading, numbers[0], reading.service.fields)
        if path is None:
            return None
        holder = name_for(reading.service.entity_type)
        place = dot(holder, *path)
        checks = [find_one(holder, reading.service.entity_type, text(reading.service.id))]
        answer = {path[-1]: place}
    else:
        return None
    steps = [*checks, *_moved(numbers[0], place, sign), {"return": answer}]
    note = f"`{place}` is the number that changes, by the words of name and description"
    return Drafted(steps=tuple(steps), notes=(note,), confidence=0.7)


def _sign(reading: Reading) -> str | None:
    """By the verb, else by what the description says happens to the number."""
    if reading.name.verb in _MORE:
        return "+"
    if reading.name.verb in _LESS:
        return "-"
    said = reading.said.summary[:LONGEST_SUMMARY].lower()
    if _TAKES.search(said):
        return "-"
    return "+" if _ADDS.search(said) else None


def _counting(reading: Reading, amount: Argument) -> Bound | None:
    """Of the records that are given, the one with such a number: `dispense(medication_id, patient_id, …)`."""
    for argument in reading.arguments:
        found = subject_of(reading.name, [argument], reading.known, reading.service)
        if found is None or argument is amount or not found.collection.of_records:
            continue
        if counted_field(reading, amount, found.collection.fields) is not None:
            return bind(found.collection, arg(argument.name), noun_of(found.collection))
    return None


def _moved(amount: Argument, place: str, sign: str) -> list[Step]:
    given = arg(amount.name)
    positive = refusal("invalid_amount", f"{amount.name} must be more than 0", 400)
    steps: list[Step] = [require(f"{given} > 0", positive)]
    if sign == "-":
        short = refusal("not_enough", f"Only {{{place}}} is left")
        steps.append(require(f"default({place}, 0) >= {given}", short))
    return [*steps, {"set": {place: f"default({place}, 0) {sign} {given}"}}]


def counted_field(reading: Reading, amount: Argument, fields: Mapping[str, Field]) -> tuple[str, ...] | None:
    """The numeric field that shares most words with the tool's name and the argument."""
    numbers = [name for name, one in fields.items() if "number" in one.kinds]
    if amount.name in numbers:
        return (amount.name,)
    named = {*map(singular, reading.name.nouns), *map(singular, amount.words), reading.name.verb}
    for said in (named, {*map(singular, tokens(reading.said.summary))}):
        scored = [(_shared(tokens(name), said), name) for name in numbers]
        best = max(scored, default=(0, ""))
        # Two that fit alike: which one is meant is a guess, and a guess changes nothing.
        if best[0] > 0:
            return (best[1],) if [score for score, _ in scored].count(best[0]) == 1 else None
    return None


def _shared(words: Sequence[str], said: set[str]) -> int:
    return sum(2 if singular(word) in said else any(_akin(word, one) for one in said) for word in words)


def _akin(word: str, other: str) -> bool:
    """refueling ~ refuel."""
    return len(other) >= 4 and word.startswith(other)
