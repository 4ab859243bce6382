"""More and less of something: refuel_data, increase_limit, restock_item, over a number a record keeps."""

from collections.abc import Mapping, Sequence

from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Field
from pipelines.core.simulation.reading.records import others_of, ownership, record_of
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    arg,
    dot,
    find_one,
    name_for,
    refusal,
    require,
    text,
)
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import change_reply

_MORE = word_set("refuel refill recharge increase fill restock replenish raise topup extend grow")
_LESS = word_set("decrease reduce deduct consume lower shrink use")


def read_amount(reading: Reading) -> Drafted | None:
    """The one number given is added to, or taken from, the number that the tool's words name."""
    verb = reading.name.verb
    if verb not in _MORE and verb not in _LESS:
        return None
    numbers = [one for one in reading.arguments if one.kind == "number" and one.is_required]
    if len(numbers) != 1:
        return None
    sign = "+" if verb in _MORE else "-"
    bound = record_of(reading)
    if bound is not None:
        path = counted_field(reading, numbers[0], bound.collection.fields)
        if path is None:
            return None
        place = dot(bound.noun, *path)
        others = [one for one in others_of(reading) if one is not numbers[0]]
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
    return Drafted(steps=tuple(steps), confidence=0.7)


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
    said = {*map(singular, reading.name.nouns), *map(singular, amount.words), reading.name.verb}
    scored = [(_shared(tokens(name), said), name) for name, one in fields.items() if "number" in one.kinds]
    best = max(scored, default=(0, ""))
    # Two that fit alike: which one is meant is a guess, and a guess changes nothing.
    is_clear = [score for score, _ in scored].count(best[0]) == 1
    return (best[1],) if best[0] > 0 and is_clear else None


def _shared(words: Sequence[str], said: set[str]) -> int:
    return sum(2 if singular(word) in said else any(_akin(word, one) for one in said) for word in words)


def _akin(word: str, other: str) -> bool:
    """refueling ~ refuel."""
    return len(other) >= 4 and word.startswith(other)
