"""Ids as the tools show them: by pattern or format, like an example in a description, else `ORD-4821`."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pipelines.core.english.words import tokens
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.values.patterns import examples_of, fits, is_code, text_like, uuid_like


def ids_of(own: TypeOutline, count: int, draw: Draw) -> list[str]:
    """As many different ids as asked for."""
    place = f"id/{own.name}"
    field = own.field(own.id_field) or FieldOutline(name="id", kind="text")
    found: dict[str, None] = {}
    for at, id in enumerate(_candidates(own, field, count, draw, place)):
        found[id] = None
        if len(found) == count:
            break
        if at > count * 20:  # a pattern that allows only a few: numbers are added to what it gives
            break
    missing = count - len(found)
    base = next(iter(found), "id")
    return [*found, *(f"{base}-{number}" for number in range(2, missing + 2))]


def _candidates(own: TypeOutline, field: FieldOutline, count: int, draw: Draw, place: str) -> Iterator[str]:
    pattern = field.said("pattern")
    if isinstance(pattern, str) and field.kind == "text":
        drawn = text_like(pattern, draw, f"{place}/0")
        if drawn is not None:
            numbers = _numbered(drawn, count, draw, place)
            yield from (one for one in numbers if fits(pattern, one))
            for at in range(count * 20):
                yield text_like(pattern, draw, f"{place}/{at}") or drawn
            return
    if field.said("format") == "uuid":
        yield from (uuid_like(draw, f"{place}/{at}") for at in range(count))
    example = next((one for one in examples_of(field) if is_code(one)), None)
    if example is not None and any(map(str.isdigit, example)):
        yield from _numbered(example, count, draw, place)
    prefix = "" if field.kind == "whole" else f"{_prefix(own.name)}-"
    yield from _numbered(f"{prefix}{1000}", count, draw, place)


def _prefix(name: str) -> str:
    """ORD of order, PMET of payment_method."""
    words = tokens(name)
    return ("".join(word[0] for word in words[:-1]) + words[-1][: 3 if len(words) == 1 else 4]).upper()


def _numbered(example: str, count: int, draw: Draw, place: str) -> Iterator[str]:
    """Ids like the example: its last run of digits counts up in steps from somewhere."""
    runs = list(re.finditer(r"\d+", example))
    if not runs:
        return
    last = max(runs, key=lambda run: (len(run[0]), run.start()))
    width = max(len(last[0]), len(str(count * 10)))
    least = 10 ** (width - 1)
    step = draw.between(1, max(1, min(17, 6 * least // max(count, 1))), f"{place}/step") | 1
    first = least + draw.below(3 * least, f"{place}/first")
    for at in range(count):
        yield f"{example[: last.start()]}{first + at * step:0{width}d}{example[last.end() :]}"


def next_ids(own: TypeOutline, known: Sequence[str], count: int, draw: Draw) -> list[str]:
    """Ids like those that are there: the last run of digits goes on."""
    if not known:
        return ids_of(own, count, draw)
    used_ids = set(known)
    numbered = [
        (int(found[-1]), id) for id in known if (found := re.findall(r"\d+", id)) and len(found[-1]) < 16
    ]
    if not numbered:
        numbers = range(2, 2 + count + len(known))
        return [id for number in numbers if (id := f"{known[0]}-{number}") not in used_ids][:count]
    highest, like = max(numbered)
    steps = [abs(one[0] - other[0]) for one, other in pairwise(numbered)]
    step = max(1, min(steps, default=1))
    step = step if step <= 20 else 7
    new: list[str] = []
    number = highest
    while len(new) < count:
        number += step
        at = list(re.finditer(r"\d+", like))[-1]
        id = f"{like[: at.start()]}{number:0{len(at[0])}d}{like[at.end() :]}"
        if id not in used_ids:
            new.append(id)
    return new
