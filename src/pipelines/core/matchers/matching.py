"""Matching a value against what was expected of it: literals, and the matchers `$in`, `$regex`, `$number`, …

One language for `expected_state`, `expected_calls`, `expected_answer`, the checks of constraints and eval
scenarios.

The expectation is a subset: keys it does not name are ignored. Null, missing and "" are three things, True is
not 1, and 1 is 1.0. Every matcher but `$exists` needs a value to look at: silence never counts as a match.
`$any_of` and `$all_of` look at what they hold.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from pipelines.core.limits.check_limits import LARGEST_PATTERN, MOST_PATTERN_WORK, pattern_size
from pipelines.core.matchers.matcher_form import MATCHER_NAMES as MATCHER_NAMES
from pipelines.core.matchers.matcher_form import CannotMatch as CannotMatch
from pipelines.core.matchers.matcher_form import check_expectation as check_expectation
from pipelines.core.matchers.matcher_form import compile_pattern, complaint, is_number, words
from pipelines.core.matchers.matcher_form import is_matcher as is_matcher
from pipelines.core.matchers.text_matchers import HOLDS, MEANT, text_is_within
from pipelines.core.matchers.text_matchers import with_today as with_today
from pipelines.core.text.json_text import Json, same

Path: TypeAlias = tuple[str, ...]

LONGEST_TEXT = 1_048_576  # the largest reply of a tool; nothing an agent writes may be longer


class Missing:
    """No value at all, which is not the same as null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = Missing()
Actual: TypeAlias = Json | Missing


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


def interpreted_value(expected: Json, actual: Json) -> Json:
    """What a value says in the terms of what is asked: the number of "$79.50", the day of "May 3rd".

    For whoever compares two values that both were held against one expectation; all others stay as they are.
    """
    if not isinstance(expected, dict) or not is_matcher(expected):
        return actual
    for name, expected_value in expected.items():
        if name in MEANT:
            return MEANT[name](expected_value, actual)
        if name in _OF_OPTIONS and isinstance(expected_value, list):
            fitting = (option for option in expected_value if matches(option, actual))
            return interpreted_value(next(fitting, expected_value[0] if expected_value else None), actual)
        if name == "$not":
            return interpreted_value(expected_value, actual)
    return actual


def text_distance(left: str, right: str) -> float:
    """From 0 (the same words, in any order and case) to 1 (no word in common): 1 − F1 of the words."""
    ours, theirs = Counter(words(left)), Counter(words(right))
    total = ours.total() + theirs.total()
    return 1 - 2 * (ours & theirs).total() / total if total else 0.0


# What holds


def _child(actual: Actual, key: str) -> Actual:
    return actual[key] if isinstance(actual, dict) and key in actual else MISSING


def _holds(expected: Json, actual: Actual, exact: bool = False) -> bool:
    if isinstance(expected, dict) and is_matcher(expected):
        return all(_matcher_holds(key, expected_value, actual) for key, expected_value in expected.items())
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
    wrong = complaint(name, wanted)
    if wrong is not None:
        raise CannotMatch(f"`{name}` {wrong}")
    if name == "$exists":
        return (actual is not MISSING) == wanted
    if name == "$any_of":
        return any(matches(option, actual) for option in wanted)  # type: ignore[union-attr]  # a list: complaint
    if name == "$all_of":
        return all(matches(option, actual) for option in wanted)  # type: ignore[union-attr]
    if name == "$not" and isinstance(wanted, dict) and wanted.keys() == {"$exists"}:
        return not matches(wanted, actual)
    return not isinstance(actual, Missing) and _MATCHERS[name](wanted, actual)


# In what follows `wanted` has passed `complaint`: hence the types that are not asked again.


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
    return compile_pattern(wanted).is_valid(actual)


def _at_least(wanted: Any, actual: Any) -> bool:
    return is_number(actual) and bool(actual >= wanted)


def _at_most(wanted: Any, actual: Any) -> bool:
    return is_number(actual) and bool(actual <= wanted)


def _contains(wanted: Any, actual: Json) -> bool:
    if isinstance(actual, list):
        return any(matches(wanted, item) for item in actual)
    if not isinstance(actual, str):
        return False
    if isinstance(wanted, dict) and wanted.keys() == {"$text"}:
        return text_is_within(wanted["$text"], actual)
    if isinstance(wanted, dict) and wanted.keys() <= {"$number", "$date"}:
        return bool(wanted) and matches(wanted, actual)  # these look into a text anyway
    return isinstance(wanted, str) and wanted in actual


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
    **HOLDS,
}
_OF_OPTIONS = ("$in", "$any_of", "$all_of")
