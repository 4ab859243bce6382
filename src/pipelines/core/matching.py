"""Matching an output against what was expected of it: literals, and the matchers `$in`, `$regex`, `$not`, …

The expectation is a subset: keys it does not name are ignored. Null, missing and "" are three things, True is
not 1, and 1 is 1.0. Every matcher but `$exists` needs a value to look at: silence never counts as a match.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import jsonschema_rs

from pipelines.core.authored import did_you_mean, kind, quoted
from pipelines.core.check_limits import LARGEST_PATTERN, MOST_PATTERN_WORK, pattern_size
from pipelines.core.json_text import Json, JsonObject, pointer, same
from pipelines.core.problems import Problem

Path: TypeAlias = tuple[str, ...]

LONGEST_PATTERN = 1_000  # characters: what a person would still read
LONGEST_TEXT = 1_048_576  # the largest reply of a tool; nothing an agent writes may be longer

# The linear-time engine: no pattern of an author and no text of an agent can make a check hang. It has no
# lookaround and no backreferences; a pattern that compiles to more than this is refused like a broken one.
_LINEAR = jsonschema_rs.RegexOptions(size_limit=2**20, dfa_size_limit=2**21)


class Missing:
    """No value at all, which is not the same as null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = Missing()
Actual: TypeAlias = Json | Missing


class CannotMatch(ValueError):
    """There is no telling whether it matches: the expectation is malformed, or the text is too long."""


class Leaf(NamedTuple):
    """One thing the expectation asks, and whether it holds."""

    path: Path  # into the actual value; indexes as text
    expected: Json
    actual: Actual
    holds: bool


class MatchResult(NamedTuple):
    matched: bool  # every leaf holds
    score: float  # the share of leaves that hold: shown, never counted
    mismatches: tuple[Leaf, ...]


def match(expected: Json, actual: Actual, *, exact: bool = False) -> MatchResult:
    """Whether `actual` is what was expected; with `exact`, keys that were not expected count against it."""
    found = list(leaves(expected, actual, exact=exact))
    missed = tuple(leaf for leaf in found if not leaf.holds)
    return MatchResult(not missed, 1 - len(missed) / len(found), missed)


def matches(expected: Json, actual: Actual) -> bool:
    return all(leaf.holds for leaf in leaves(expected, actual))


def leaves(expected: Json, actual: Actual, *, path: Path = (), exact: bool = False) -> Iterator[Leaf]:
    """The leaves one by one (literals, arrays, matchers), for whoever weighs them; there is always one."""
    if not isinstance(expected, dict) or not expected or is_matcher(expected):
        yield Leaf(path, expected, actual, _holds(expected, actual, exact))
        return
    for key, below in expected.items():
        yield from leaves(below, _child(actual, key), path=(*path, key), exact=exact)
    if exact and isinstance(actual, dict):
        for key in (key for key in actual if key not in expected):
            yield Leaf((*path, key), {"$exists": False}, actual[key], False)


def assign(options: Sequence[Collection[int]]) -> list[int | None]:
    """A choice for each from its options, no two alike, for as many as can have one; None for the others."""
    taken_by: dict[int, int] = {}

    def place(who: int, refused: set[int]) -> bool:
        for choice in options[who]:
            if choice in refused:
                continue
            refused.add(choice)
            holder = taken_by.get(choice)
            if holder is None or place(holder, refused):
                taken_by[choice] = who
                return True
        return False

    for who in range(len(options)):
        place(who, set())
    chosen = {who: choice for choice, who in taken_by.items()}
    return [chosen.get(who) for who in range(len(options))]


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


def text_distance(left: str, right: str) -> float:
    """From 0 (the same words, in any order and case) to 1 (no word in common): 1 − F1 of the words."""
    ours, theirs = Counter(_words(left)), Counter(_words(right))
    total = ours.total() + theirs.total()
    return 1 - 2 * (ours & theirs).total() / total if total else 0.0


# What holds


def _child(actual: Actual, key: str) -> Actual:
    return actual[key] if isinstance(actual, dict) and key in actual else MISSING


def _holds(expected: Json, actual: Actual, exact: bool = False) -> bool:
    if isinstance(expected, dict) and is_matcher(expected):
        return all(_matcher_holds(key, wanted, actual) for key, wanted in expected.items())
    if isinstance(actual, Missing):
        return False
    if isinstance(expected, dict) and not expected:
        return isinstance(actual, dict) and not (exact and actual)
    if isinstance(expected, list):
        is_as_long = isinstance(actual, list) and len(actual) == len(expected)
        return is_as_long and all(
            match(item, other, exact=exact).matched
            for item, other in zip(expected, actual, strict=True)  # type: ignore[arg-type]  # a list: is_as_long
        )
    return same(expected, actual)


def _matcher_holds(name: str, wanted: Json, actual: Actual) -> bool:
    complaint = _complaint(name, wanted)
    if complaint is not None:
        raise CannotMatch(f"`{name}` {complaint}")
    if name == "$exists":
        return (actual is not MISSING) == wanted
    if name == "$not" and isinstance(wanted, dict) and wanted.keys() == {"$exists"}:
        return not matches(wanted, actual)
    return not isinstance(actual, Missing) and _MATCHERS[name](wanted, actual)


# In what follows `wanted` has passed `_complaint`: hence the types that are not asked again.


def _is_in(wanted: Any, actual: Json) -> bool:
    return any(matches(option, actual) for option in wanted)


def _fits_pattern(wanted: Any, actual: Json) -> bool:
    if not isinstance(actual, str):
        return False
    if len(actual) > LONGEST_TEXT:
        raise CannotMatch(f"a text of {len(actual):,} characters is too long to search")
    # Linear, but by the size of the pattern: `1[01]{400}2` takes seconds for a megabyte, all others waiting.
    if len(actual.encode()) * (pattern_size(wanted) or LARGEST_PATTERN) > MOST_PATTERN_WORK:
        raise CannotMatch(f"a text of {len(actual):,} characters is too long for the pattern `{wanted[:80]}`")
    return _compiled(wanted).is_valid(actual)


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _at_least(wanted: Any, actual: Any) -> bool:
    return _is_number(actual) and bool(actual >= wanted)


def _at_most(wanted: Any, actual: Any) -> bool:
    return _is_number(actual) and bool(actual <= wanted)


def _contains(wanted: Any, actual: Json) -> bool:
    if isinstance(actual, list):
        return any(matches(wanted, item) for item in actual)
    return isinstance(actual, str) and isinstance(wanted, str) and wanted in actual


def _is_similar(wanted: Any, actual: Json) -> bool:
    return isinstance(actual, str) and text_distance(wanted["text"], actual) <= wanted["max_distance"]


def _is_not(wanted: Any, actual: Json) -> bool:
    return not matches(wanted, actual)


_MATCHERS: dict[str, Callable[[Any, Json], bool]] = {
    "$in": _is_in,
    "$regex": _fits_pattern,
    "$gte": _at_least,
    "$lte": _at_most,
    "$contains": _contains,
    "$not": _is_not,
    "$similar": _is_similar,
}
MATCHER_NAMES = (*_MATCHERS, "$exists")


@lru_cache(maxsize=256)  # patterns of the oracles in use; one may take a megabyte
def _compiled(pattern: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_LINEAR)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


# What is malformed


def _check_matcher(name: str, whole: JsonObject, path: str) -> list[Problem]:
    place, wanted = path + pointer([name]), whole[name]
    complaint = _complaint(name, wanted)
    if complaint is not None:
        hint = did_you_mean(name, MATCHER_NAMES) if name not in MATCHER_NAMES else None
        return [Problem(path=place, message=f"`{name}` {complaint}", hint=hint)]
    return check_expectation(wanted, path=place) if name in ("$in", "$contains", "$not") else []


def _complaint(name: str, wanted: Json) -> str | None:
    match name:
        case "$in":
            return None if isinstance(wanted, list) and wanted else "needs a non-empty array of options"
        case "$gte" | "$lte":
            return None if _is_number(wanted) else f"needs a number, not {kind(wanted)}"
        case "$exists":
            return None if isinstance(wanted, bool) else f"needs true or false, not {kind(wanted)}"
        case "$contains":
            return "needs a text that is not empty" if wanted == "" else None
        case "$regex":
            return _pattern_complaint(wanted)
        case "$similar":
            return _similar_complaint(wanted)
        case "$not":
            return None
    if name.startswith("$"):
        return f"is no matcher; there are {quoted(MATCHER_NAMES)}"
    return "stands beside a matcher; an object holds fields or matchers, not both"


def _pattern_complaint(wanted: Json) -> str | None:
    if not isinstance(wanted, str):
        return f"needs a pattern, not {kind(wanted)}"
    if len(wanted) > LONGEST_PATTERN:
        return f"has {len(wanted):,} characters; at most {LONGEST_PATTERN:,} are allowed"
    try:
        _compiled(wanted)
    except jsonschema_rs.ValidationError:
        return f"`{wanted}` is not a usable pattern (lookaround, backreferences and huge repeats are not)"
    return None


def _similar_complaint(wanted: Json) -> str | None:
    shape = 'needs {"text": "…", "max_distance": 0.3}'
    if not isinstance(wanted, dict) or wanted.keys() != {"text", "max_distance"}:
        return shape
    text, most = wanted["text"], wanted["max_distance"]
    if not isinstance(text, str) or not _words(text):
        return f"{shape} with a text that has words"
    is_share = _is_number(most) and 0 <= most < 1  # type: ignore[operator]
    return None if is_share else "needs a `max_distance` from 0 to below 1 (1 would match any text)"
