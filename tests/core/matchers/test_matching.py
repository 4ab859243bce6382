"""Matchers: a table for each, and what must hold of all of them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.matchers.matching import (
    LONGEST_TEXT,
    MISSING,
    CannotMatch,
    assign,
    check_expectation,
    leaves,
    match,
    matches,
    text_distance,
)

LONG = "a" * (LONGEST_TEXT + 1)

CASES = {
    "the same text": ("refunded", "refunded", True),
    "other case": ("refunded", "Refunded", False),
    "1 is 1.0": (1, 1.0, True),
    "true is not 1": (True, 1, False),
    "1 is not true": (1, True, False),
    "null is null": (None, None, True),
    "null is not missing": (None, MISSING, False),
    "null is not empty text": (None, "", False),
    "empty text is not missing": ("", MISSING, False),
    "extra keys are ignored": ({"a": 1}, {"a": 1, "b": 2}, True),
    "a missing key": ({"a": 1, "b": None}, {"a": 1}, False),
    "nested": ({"a": {"b": {"$gte": 2}}}, {"a": {"b": 3, "c": 4}}, True),
    "an object where text is": ({"a": {"b": 1}}, {"a": "b"}, False),
    "an empty object is any object": ({}, {"a": 1}, True),
    "an empty object is no text": ({}, "a", False),
    "arrays item by item": ([1, {"$gte": 2}], [1, 3], True),
    "a longer array": ([1], [1, 2], False),
    "an array in another order": ([1, 2], [2, 1], False),
    "no array": ([], None, False),
    "in": ({"$in": ["a", None]}, None, True),
    "in, matchers too": ({"$in": [{"$gte": 5}, "none"]}, 7, True),
    "not in": ({"$in": ["a", "b"]}, "c", False),
    "in, missing": ({"$in": ["a", None]}, MISSING, False),
    "regex finds": ({"$regex": "refund(ed)?"}, "was refunded", True),
    "regex anchored": ({"$regex": "^refunded$"}, "was refunded", False),
    "regex any case": ({"$regex": "(?i)REFUND"}, "refund", True),
    "regex on a number": ({"$regex": "5"}, 5, False),
    "at least": ({"$gte": 5}, 5, True),
    "below": ({"$gte": 5}, 4.99, False),
    "within": ({"$gte": 1, "$lte": 2}, 1.5, True),
    "above": ({"$gte": 1, "$lte": 2}, 3, False),
    "text is no number": ({"$gte": 5}, "7", False),
    "true is no number": ({"$lte": 5}, True, False),
    "contains text": ({"$contains": "mug"}, "a blue mug", True),
    "contains an item": ({"$contains": {"sku": "m-1"}}, [{"sku": "m-2"}, {"sku": "m-1", "n": 2}], True),
    "contains no item": ({"$contains": 3}, [1, 2], False),
    "contains a number in text": ({"$contains": 3}, "3", False),
    "exists, though null": ({"$exists": True}, None, True),
    "does not exist": ({"$exists": True}, MISSING, False),
    "is absent": ({"$exists": False}, MISSING, True),
    "is not absent": ({"$exists": False}, "", False),
    "not": ({"$not": "a"}, "b", True),
    "not, but is": ({"$not": {"$in": ["a", "b"]}}, "b", False),
    "not needs a value": ({"$not": "a"}, MISSING, False),
    "not exists": ({"$not": {"$exists": True}}, MISSING, True),
    "similar": (
        {"$similar": {"text": "Order 4521 was refunded", "max_distance": 0.3}},
        "order 4521 refunded",
        True,
    ),
    "not similar": ({"$similar": {"text": "Order 4521 was refunded", "max_distance": 0.3}}, "no idea", False),
    "several matchers must all hold": ({"$regex": "a", "$not": "ab"}, "ab", False),
}


@pytest.mark.parametrize(("expected", "actual", "holds"), CASES.values(), ids=CASES)
def test_what_matches(expected, actual, holds):
    assert check_expectation(expected) == []
    assert match(expected, actual).matched is holds
    assert matches(expected, actual) is holds


def test_mismatches_tell_path_expected_and_actual():
    result = match({"a": 1, "b": {"c": {"$gte": 5}}, "d": "x"}, {"a": 1, "b": {"c": 2}})
    assert not result.matched
    assert result.score == pytest.approx(1 / 3)
    assert [(leaf.path, leaf.expected, leaf.actual) for leaf in result.mismatches] == [
        (("b", "c"), {"$gte": 5}, 2),
        (("d",), "x", MISSING),
    ]


def test_exact_counts_what_was_not_expected():
    assert match({"a": 1}, {"a": 1, "b": 2}, exact=True).mismatches[0].path == ("b",)
    assert match({"a": {"b": 1}}, {"a": {"b": 1}}, exact=True).matched
    assert not match({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, exact=True).matched
    assert not match({}, {"a": 1}, exact=True).matched


MALFORMED = {
    "unknown matcher": ({"a": {"$eq": 5}}, "/a/$eq", "is not a matcher"),
    "mixed with fields": ({"a": {"$gte": 5, "b": 1}}, "/a/b", "is mixed with a matcher"),
    "in without options": ({"$in": []}, "/$in", "non-empty"),
    "in is text": ({"$in": "ab"}, "/$in", "array"),
    "gte of text": ({"$gte": "5"}, "/$gte", "number"),
    "gte of true": ({"$gte": True}, "/$gte", "number"),
    "exists is text": ({"$exists": "yes"}, "/$exists", "true or false"),
    "contains nothing": ({"$contains": ""}, "/$contains", "not empty"),
    "broken pattern": ({"$regex": "("}, "/$regex", "not a usable pattern"),
    "lookahead": ({"$regex": "a(?=b)"}, "/$regex", "not a usable pattern"),
    "huge repeat": ({"$regex": "(a{1000}){1000}"}, "/$regex", "not a usable pattern"),
    "pattern is a number": ({"$regex": 5}, "/$regex", "a number"),
    "long pattern": ({"$regex": "a" * 1001}, "/$regex", "1,001"),
    "similar without distance": ({"$similar": {"text": "a"}}, "/$similar", "max_distance"),
    "similar to anything": ({"$similar": {"text": "a", "max_distance": 1}}, "/$similar", "below 1"),
    "similar to nothing": ({"$similar": {"text": " ", "max_distance": 0.5}}, "/$similar", "words"),
    "inside in": ({"$in": [{"$eq": 1}]}, "/$in/0/$eq", "is not a matcher"),
    "inside not": ({"$not": {"$gte": "x"}}, "/$not/$gte", "number"),
    "inside an array": ([{"$eq": 1}], "/0/$eq", "is not a matcher"),
}


@pytest.mark.parametrize(("expected", "place", "says"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_expectation_is_named_where_it_is_wrong(expected, place, says):
    (problem,) = check_expectation(expected)
    assert problem.path == place
    assert says in problem.message


@pytest.mark.parametrize(("expected", "place", "says"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_expectation_is_never_silently_unmet(expected, place, says):
    # A value for which every part of the expectation is looked at.
    actual = {"a": 5} if "a" in expected else [5] if isinstance(expected, list) else "text"
    with pytest.raises(CannotMatch):
        match(expected, actual)


def test_a_matcher_that_does_not_exist_gets_a_hint():
    (problem,) = check_expectation({"$contain": 1})
    assert problem.hint == "did you mean `$contains`?"


def test_a_text_too_long_to_search_is_an_error_rather_than_a_mismatch():
    with pytest.raises(CannotMatch, match="too long"):
        match({"$regex": "b"}, LONG)


def test_no_pattern_can_make_a_match_hang():
    started = time.perf_counter()
    assert not matches({"$regex": "^(a+)+$"}, "a" * 50_000 + "b")
    assert not matches({"$regex": "(a|a)*(a|a)*(a|a)*c"}, "a" * 5_000)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [("a b", "B a", 0), ("a b", "c d", 1), ("a b c d", "a b", 1 / 3), ("", "", 0), ("", "a", 1)],
)
def test_text_distance(left, right, distance):
    assert text_distance(left, right) == pytest.approx(distance)


@pytest.mark.parametrize(
    ("options", "chosen"),
    [([[0, 1], [0]], [1, 0]), ([[0], [0]], [0, None]), ([[], [2]], [None, 2]), ([], [])],
)
def test_assign_gives_each_its_own(options, chosen):
    assert assign(options) == chosen


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text(max_size=3)
json_values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=12,
)
literals = json_values.filter(lambda value: check_expectation(value) == [] and "$" not in repr(value))


@given(literals)
def test_every_literal_matches_itself_exactly(value):
    assert match(value, value, exact=True).matched


@given(literals, json_values)
def test_not_is_the_opposite_wherever_there_is_a_value(expected, actual):
    assert matches({"$not": expected}, actual) is not matches(expected, actual)


@given(literals, json_values)
def test_the_score_is_full_exactly_when_matched(expected, actual):
    result = match(expected, actual)
    assert 0 <= result.score <= 1
    assert (result.score == 1) is result.matched
    assert list(leaves(expected, actual))
