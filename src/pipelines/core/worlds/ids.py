"""Ids as the tools show them: by pattern or format, like an example in a description, else `ORD-4821`."""

import re
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from pipelines.core.english.words import tokens
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.examples import example_of
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.values import Place, person_at

LONGEST_PATTERN = 200
LONGEST_ID = 64
MOST_STEPS = 2_000  # in writing one id by a pattern


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
    if isinstance(pattern, str) and len(pattern) <= LONGEST_PATTERN and field.kind == "text":
        drawn = _from_pattern(pattern, draw, f"{place}/0")
        if drawn is not None:
            numbers = _numbered(drawn, count, draw, place)
            yield from (one for one in numbers if _fits(pattern, one))
            for at in range(count * 20):
                yield _from_pattern(pattern, draw, f"{place}/{at}") or drawn
            return
    if field.said("format") == "uuid":
        yield from (_uuid(draw, f"{place}/{at}") for at in range(count))
    example = example_of(field)
    if example is not None and own.is_person and re.fullmatch(r"[a-z]+[._][a-z]+[._]?\d+", example):
        yield from (_by_name(own, at, example, draw) for at in range(count * 2))
    if example is not None and _is_scrambled(example):
        yield from (_scrambled(example, draw, f"{place}/{at}") for at in range(count * 4))
    if example is not None and any(map(str.isdigit, example)):
        yield from _numbered(example, count, draw, place)
    if field.words[-1] in ("symbol", "ticker"):
        yield from (_letters(4, draw, f"{place}/{at}") for at in range(count * 4))
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


def _by_name(own: TypeOutline, number: int, example: str, draw: Draw) -> str:
    """`sara_doe_496`: made of somebody's name."""
    first, last = person_at(draw, Place(own, number, f"{own.name}/{number}"))
    digits = re.sub(r"\D", "", example)
    tail = draw.between(10 ** (len(digits) - 1), 10 ** len(digits) - 1, f"id/{own.name}/{number}")
    mark = "." if "." in example else "_"
    return f"{first}{mark}{last}{mark}{tail}".lower().replace(" ", "").replace("'", "")


def _is_scrambled(example: str) -> bool:
    """`8JX2WO`: letters and digits in no order."""
    runs = re.findall(r"\d+", example)
    return re.fullmatch(r"[A-Z0-9]{5,12}", example) is not None and 0 < max(map(len, runs), default=0) < 3


def _scrambled(example: str, draw: Draw, place: str) -> str:
    return "".join(
        draw.pick("23456789" if each.isdigit() else "ABCDEFGHJKLMNPQRSTUVWXYZ", f"{place}/{at}")
        for at, each in enumerate(example)
    )


def _uuid(draw: Draw, place: str) -> str:
    digits = f"{draw.number(place):016x}{draw.number(place + '/2'):016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def _letters(n: int, draw: Draw, place: str) -> str:
    consonants, vowels = "BCDFGHKLMNPRSTVXZ", "AEIOU"
    return "".join(draw.pick(vowels if at % 2 else consonants, f"{place}/{at}") for at in range(n))


def _fits(pattern: str, text: str) -> bool:
    from pipelines.core.matching import matches

    try:
        return matches({"$regex": pattern}, text)
    except ValueError:  # no pattern of a linear engine
        return False


# -- a text that a pattern allows


def _from_pattern(pattern: str, draw: Draw, place: str) -> str | None:
    try:
        # The parser of the standard library: it has no public name, and has been where it is since 3.11.
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except (re.error, RecursionError, OverflowError):
        return None
    steps = count()
    written = "".join(islice(_written(parsed, draw, place, steps), LONGEST_ID))
    return written or None


def _written(parsed: Any, draw: Draw, place: str, steps: Iterator[int]) -> Iterator[str]:
    """Character by character; counts within counts multiply, so no more than so many steps are taken."""
    for at, (op, argument) in enumerate(parsed):
        if next(steps) > MOST_STEPS:
            return
        here = f"{place}.{at}"
        name = str(op)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "IN":
            yield draw.pick(_members(argument), here)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = argument
            times = draw.between(least, min(int(most), max(least, 8)), here)
            for number in range(min(times, LONGEST_ID)):
                if next(steps) > MOST_STEPS:
                    return
                yield from _written(inner, draw, f"{here}.{number}", steps)
        elif name == "SUBPATTERN":
            yield from _written(argument[-1], draw, here, steps)
        elif name == "BRANCH":
            yield from _written(draw.pick(argument[1], here), draw, here, steps)
        elif name == "ANY":
            yield "x"


def _members(members: Any) -> str:
    found = ""
    for op, argument in members:
        name = str(op)
        if name == "LITERAL":
            found += chr(argument)
        elif name == "RANGE":
            found += "".join(map(chr, range(argument[0], min(argument[1], argument[0] + 60) + 1)))
        elif name == "CATEGORY":
            found += {"CATEGORY_DIGIT": "0123456789", "CATEGORY_SPACE": " "}.get(
                str(argument), "abcdef0123456789"
            )
        elif name == "NEGATE":
            return "x0a"
    return found or "x"
