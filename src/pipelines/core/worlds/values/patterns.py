"""Texts that a schema allows: the examples that it gives, and what a pattern matches, drawn by place."""

import re
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from pipelines.core.text.json_text import Json
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.outline import FieldOutline

LONGEST = 64
_LEAD = r"\b(?:such as|e\.g\.,?|eg\b,?|for example|for instance|example:?|format:?|like(?=\s+[`'\"A-Z0-9]))"
_EXAMPLES = re.compile(_LEAD + r"[\s:,(]*([^.;)\n]{1,120}(?:\.\S[^.;)\n]{0,60})*)", re.IGNORECASE)
_QUOTED = re.compile(r"[`'\"“‘]([^`'\"”’]{1,60})[`'\"”’]")
_BETWEEN = re.compile(r",\s*(?:and |or )?|\s+(?:and|or)\s+")


def examples_of(field: FieldOutline) -> tuple[str, ...]:
    """Values that a schema or a description gives as examples; each of those that it lists."""
    stated: Json = field.said("examples")
    listed = stated if isinstance(stated, list) else [field.said("example")]
    found = [str(one) for one in listed if isinstance(one, str | int | float) and not isinstance(one, bool)]
    for text in (field.description, field.said("description")):
        if found or not isinstance(text, str):
            continue
        examples = _EXAMPLES.search(text[:500])
        if examples is not None:
            quoted = _QUOTED.findall(examples[1])
            found = quoted or [one.strip(" -'\"`") for one in _BETWEEN.split(examples[1])]
    return tuple(dict.fromkeys(one[:LONGEST] for one in found if one))


def is_code(text: str) -> bool:
    """`KL-482-TR`, `LOA-2509`: its digits may be others."""
    return re.fullmatch(r"#?[\w/.-]*\d[\w/.-]*", text) is not None


# -- patterns

LONGEST_PATTERN = 200
LONGEST_TEXT = 64
MOST_STEPS = 2_000  # in writing one text by a pattern


def uuid_like(draw: Draw, place: str) -> str:
    digits = f"{draw.number(place):016x}{draw.number(place + '/2'):016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def fits(pattern: str, text: str) -> bool:
    from pipelines.core.matchers.matching import matches

    try:
        return matches({"$regex": pattern}, text)
    except ValueError:  # no pattern of a linear engine
        return False


def text_like(pattern: str, draw: Draw, place: str) -> str | None:
    if len(pattern) > LONGEST_PATTERN:
        return None
    try:
        # The parser of the standard library: it has no public name, and has been where it is since 3.11.
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except (re.error, RecursionError, OverflowError):
        return None
    steps = count()
    written = "".join(islice(_written(parsed, draw, place, steps), LONGEST_TEXT))
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
            for number in range(min(times, LONGEST_TEXT)):
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
