"""What a matcher must look like: `{"$in": […]}`, `{"$number": 5}`, … One language for oracles and contracts.

`check_expectation` tells all that is malformed in an expectation. What each matcher means is in `matching`.
"""

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache

import jsonschema_rs

from pipelines.core.matchers.relative_days import parse_day
from pipelines.core.text.authored import did_you_mean, kind, quote_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem

LONGEST_PATTERN = 1_000  # characters: what a person would still read
MOST_TOLERANCE = 1e15

# The linear-time engine: no pattern of an author and no text of an agent can make a check hang. It has no
# lookaround and no backreferences; a pattern that compiles to more than this is refused like a broken one.
_LINEAR = jsonschema_rs.RegexOptions(size_limit=2**20, dfa_size_limit=2**21)

NUMBER_SHAPE = '79.5, {"value": 79.5, "tolerance": 0.5} or {"$gte": 70, "$lte": 80}'
DATE_SHAPE = '"2026-05-03", "tomorrow", "in 7 days" or {"day": "2026-05-03", "order": "dmy"}'
_SIMILAR_SHAPE = 'needs {"text": "…", "max_distance": 0.3}'
_SOME_DAY = date(2026, 5, 1)  # to ask whether words name a day; which one they name does not matter


class CannotMatch(ValueError):
    """The match cannot be decided: the expectation is malformed, or the text is too long."""


def is_matcher(expected: Json) -> bool:
    return isinstance(expected, dict) and any(key.startswith("$") for key in expected)


def check_expectation(expected: Json, *, path: str = "") -> list[Problem]:
    """What is malformed in an expectation; paths are JSON Pointers under `path`."""
    match expected:
        case list():
            items = enumerate(expected)
            return [p for at, item in items for p in check_expectation(item, path=f"{path}/{at}")]
        case dict() if is_matcher(expected):
            return [found for key in expected for found in _check_matcher(key, expected, path)]
        case dict():
            below = expected.items()
            return [p for key, item in below for p in check_expectation(item, path=path + pointer([key]))]
        case _:
            return []


def complaint(name: str, wanted: Json) -> str | None:
    """What is wrong with one matcher, as words that follow its name."""
    check = _COMPLAINTS.get(name)
    if check is not None:
        return check(wanted)
    if name.startswith("$"):
        return f"is not a matcher; there are {quote_names(MATCHER_NAMES)}"
    return "is mixed with a matcher; an object has either fields or matchers, not both"


@lru_cache(maxsize=256)  # patterns of the oracles in use; one may take a megabyte
def compile_pattern(pattern: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_LINEAR)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_matcher(name: str, whole: JsonObject, path: str) -> list[Problem]:
    place, expected = path + pointer([name]), whole[name]
    wrong = complaint(name, expected)
    if wrong is not None:
        hint = did_you_mean(name, MATCHER_NAMES) if name not in MATCHER_NAMES else _HINTS.get(name)
        return [Problem(path=place, message=f"`{name}` {wrong}", hint=hint)]
    return check_expectation(expected, path=place) if name in _NESTING else []


# Each matcher's own


def _options(wanted: Json) -> str | None:
    return None if isinstance(wanted, list) and wanted else "needs a non-empty array of options"


def _expectations(wanted: Json) -> str | None:
    return None if isinstance(wanted, list) and wanted else "needs a non-empty array of expectations"


def _number_complaint(wanted: Json) -> str | None:
    return None if is_number(wanted) else f"needs a number, not {kind(wanted)}"


def _flag_complaint(wanted: Json) -> str | None:
    return None if isinstance(wanted, bool) else f"needs true or false, not {kind(wanted)}"


def _something(wanted: Json) -> str | None:
    return "needs a text that is not empty" if wanted == "" else None


def _anything(wanted: Json) -> str | None:
    return None


def _pattern(wanted: Json) -> str | None:
    if not isinstance(wanted, str):
        return f"needs a pattern, not {kind(wanted)}"
    if len(wanted) > LONGEST_PATTERN:
        return f"has {len(wanted):,} characters; at most {LONGEST_PATTERN:,} are allowed"
    try:
        compile_pattern(wanted)
    except jsonschema_rs.ValidationError:
        return (
            f"`{wanted}` is not a usable pattern (lookaround, backreferences and very large "
            "repeats are not supported)"
        )
    return None


def _similar(wanted: Json) -> str | None:
    if not isinstance(wanted, dict) or wanted.keys() != {"text", "max_distance"}:
        return _SIMILAR_SHAPE
    text, most = wanted["text"], wanted["max_distance"]
    if not isinstance(text, str) or not words(text):
        return f"{_SIMILAR_SHAPE} with a text that has words"
    is_share = is_number(most) and 0 <= most < 1  # type: ignore[operator]
    return None if is_share else "needs a `max_distance` from 0 to below 1 (1 would match any text)"


def _text(wanted: Json) -> str | None:
    if not isinstance(wanted, str):
        return f"needs a text, not {kind(wanted)}"
    return None if wanted.strip() else "needs a text that is not empty"


def _number(wanted: Json) -> str | None:
    if is_number(wanted):
        return None
    if not isinstance(wanted, dict):
        return f"needs a number, or an object with one, not {kind(wanted)}"
    ends = wanted.keys() & {"$gte", "$lte"}
    unknown = wanted.keys() - {"value", "tolerance", "decimal", "$gte", "$lte"}
    if unknown:
        return f"has unknown keys: {quote_names(sorted(unknown))}"
    if bool(ends) == ("value" in wanted):
        return "needs either `value` or a range of `$gte` and `$lte`"
    for name in wanted.keys() - {"decimal"}:
        if not is_number(wanted[name]):
            return f"needs a number as `{name}`, not {kind(wanted[name])}"
    if "tolerance" in wanted and (ends or not 0 <= wanted["tolerance"] <= MOST_TOLERANCE):  # type: ignore[operator]
        return "takes a `tolerance` of 0 or more, beside `value`"
    if "decimal" in wanted and wanted["decimal"] not in (".", ","):
        return 'takes "." or "," as `decimal`, the mark before a fraction'
    return None


def _date(wanted: Json) -> str | None:
    if isinstance(wanted, str):
        wanted = {"day": wanted}
    if not isinstance(wanted, dict):
        return f"needs a day, not {kind(wanted)}"
    unknown = wanted.keys() - {"day", "order", "today"}
    if unknown:
        return f"has unknown keys: {quote_names(sorted(unknown))}"
    day, today = wanted.get("day"), wanted.get("today")
    if not isinstance(day, str) or parse_day(day, _SOME_DAY) is None:
        return "needs a `day` of the calendar"
    if "today" in wanted and (not isinstance(today, str) or parse_day(today, None) is None):
        return "needs a day such as 2026-05-01 as `today`"
    if "order" in wanted and wanted["order"] not in ("dmy", "mdy"):
        return 'takes "dmy" or "mdy" as `order`, for days such as 03/05/2026'
    return None


_COMPLAINTS: dict[str, Callable[[Json], str | None]] = {
    "$in": _options,
    "$any_of": _expectations,
    "$all_of": _expectations,
    "$text": _text,
    "$number": _number,
    "$date": _date,
    "$regex": _pattern,
    "$gte": _number_complaint,
    "$lte": _number_complaint,
    "$contains": _something,
    "$not": _anything,
    "$similar": _similar,
    "$exists": _flag_complaint,
}
MATCHER_NAMES = tuple(_COMPLAINTS)
_NESTING = frozenset({"$in", "$any_of", "$all_of", "$contains", "$not"})  # what they hold are expectations
_HINTS = {"$number": NUMBER_SHAPE, "$date": DATE_SHAPE, "$text": '{"$text": "order shipped"}'}
