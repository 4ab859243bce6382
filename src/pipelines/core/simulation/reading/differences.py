"""Numbers that a description tells how to work out: "capacity minus enrolled", "on hand minus reserved"."""

import re
from collections.abc import Mapping, Sequence

from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.shapes import Field
from pipelines.core.simulation.reading.replies import find_path, properties_of
from pipelines.core.simulation.reading.steps import Bound, dot
from pipelines.core.simulation.reading.tool_reading import Reading

_MINUS = re.compile(r"\s(?:minus|less)\s", re.IGNORECASE)
_NEAR = 80  # characters on either side, in which the words nearest to it are
_NUMBERS = ("integer", "number")


def differences(reading: Reading, bound: Bound) -> dict[str, str]:
    """The one number of the reply that the record does not have, by the fields that are said to make it."""
    description = reading.tool.description or ""
    found = _MINUS.search(description)
    fields = bound.collection.fields
    missing = [
        name
        for name, part in properties_of(reading.output).items()
        if _is_number(part) and find_path(fields, name) is None
    ]
    if len(missing) != 1:
        return {}
    if found is None:
        return _what_is_left(reading, bound, missing[0])
    before = description[max(found.start() - _NEAR, 0) : found.start()]
    one = _named(tokens(re.split(r"[^\w ]", before)[-1])[::-1], fields)
    other = _named(tokens(re.split(r"[^\w ]", description[found.end() : found.end() + _NEAR])[0]), fields)
    if one is None or other is None or one == other:
        return {}
    return {missing[0]: f"{dot(bound.noun, one)} - {dot(bound.noun, other)}"}


_LEFT = word_set("left remaining free unsold available spare open unused vacant remain remains")
_ROOM = word_set("capacity max maximum limit seats places total quota size allowance entitled people allowed")
_USED = word_set(
    "used taken sold enrolled booked stored reserved filled occupied spent signed attending held"
)


def _what_is_left(reading: Reading, bound: Bound, name: str) -> dict[str, str]:
    """`places_left` of a tour that has max_people and lists who signed up: the one less the other."""
    spoken = {*tokens(name), *tokens(reading.tool.name), *tokens(reading.said.summary)}
    fields = bound.collection.fields
    numbers = [one for one, shape in fields.items() if "number" in shape.kinds and not shape.keeps]
    room = [one for one in numbers if _ROOM & {*tokens(one)}]
    used = [dot(bound.noun, one) for one in numbers if _USED & {*tokens(one)}]
    used += [
        f"len({dot(bound.noun, one)})"
        for one, shape in fields.items()
        if shape.keeps == "list" and _USED & {*tokens(one)}
    ]
    if not spoken & _LEFT or len(room) != 1 or len(used) != 1:
        return {}
    return {name: f"{dot(bound.noun, room[0])} - {used[0]}"}


def _is_number(schema: Json) -> bool:
    return isinstance(schema, dict) and schema.get("type") in _NUMBERS


def _named(words: Sequence[str], fields: Mapping[str, Field]) -> str | None:
    """The number that the words nearest to `minus` name; of several the one that shares most of them."""
    near = [singular(word) for word in words[:3]]
    scored = [
        (sum(len(near) - near.index(word) for word in map(singular, tokens(name)) if word in near), name)
        for name, one in fields.items()
        if "number" in one.kinds
    ]
    best = max(scored, default=(0, ""), key=lambda pair: pair[0])
    return best[1] if best[0] > 0 else None
