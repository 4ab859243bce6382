"""Paths of ledger adapters: RFC 9535 without what could take long, and a walk that always ends."""

from contextlib import suppress

import jsonpath_rfc9535 as package
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.text.json_path import MAX_STEPS, InvalidPath, Steps, TooManySteps, compile_path

ORDER = {
    "order_id": 4521,
    "status": "shipped",
    "lines": [
        {"sku": "A", "price": 10, "tags": ["new"]},
        {"sku": "B", "price": 25.5, "gift": True},
        {"sku": "C", "price": None},
    ],
    "a.b": {"c": [[1, 2], [3]]},
}

FOUND = {
    "$": [ORDER],
    "$.order_id": [4521],
    "$['a.b'].c[-1][0]": [3],
    "$.nothing": [],
    "$.lines[7]": [],
    "$.status.length": [],
    "$.lines[*].sku": ["A", "B", "C"],
    "$.lines[::2].sku": ["A", "C"],
    "$.lines[0, 2]['sku', 'price']": ["A", 10, "C", None],
    "$..price": [10, 25.5, None],
    "$.lines[?@.price > 10].sku": ["B"],
    "$.lines[?@.price == null].sku": ["C"],
    "$.lines[?!@.gift && @.tags].sku": ["A"],
    "$.lines[?@.gift == true || @.sku == 'C'].sku": ["B", "C"],
    "$.lines[?length(@.tags) >= 1].sku": ["A"],
    "$.lines[?count(@.*) == 2].sku": ["C"],
    "$.lines[?value(@['sku']) == $.lines[1].sku].price": [25.5],
    "$.lines[?@.missing == @.absent].sku": ["A", "B", "C"],
    "$.lines[?@.sku <= 'B'].sku": ["A", "B"],
    "$.lines[?@.price == 10.0].sku": ["A"],
    "$[?@[0]].*": [*ORDER["lines"]],
}


@pytest.mark.parametrize("path", FOUND)
def test_a_path_finds_what_the_standard_says(path):
    assert compile_path(path).found_in(ORDER, Steps()) == FOUND[path]
    assert package.find(path, ORDER).values() == FOUND[path]


names = st.sampled_from(["a", "b", "c"])
values = st.recursive(
    st.none() | st.integers(-2, 2) | st.sampled_from([0.5, "a", "b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
singular = st.lists(
    st.builds(".{}".format, names) | st.builds("[{}]".format, st.integers(-2, 2)), min_size=1, max_size=2
).map("".join)
comparable = st.builds("@{}".format, singular) | st.sampled_from(
    ["1", "'a'", "null", "length(@.a)", "$.a", "@"]
)
tests_of_one = st.one_of(
    st.builds("{} {} {}".format, comparable, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), comparable),
    st.builds("@{}".format, singular),
    st.builds("count(@.{}) > 1".format, st.just("*")),
    st.builds("!@{}".format, singular),
)
filters = st.builds("[?{} {} {}]".format, tests_of_one, st.sampled_from(["&&", "||"]), tests_of_one)
segments = st.one_of(
    singular, filters, st.sampled_from([".*", "..a", "..*", "[0:2]", "[::-1]", "['a', 1, *]", "..[0]"])
)


@given(st.lists(segments, max_size=4).map("".join), values)
def test_it_finds_what_the_package_itself_finds(tail, value):
    path = "$" + tail
    assert compile_path(path).found_in(value, Steps(10**9)) == package.find(path, value).values()


REFUSED = {
    "nothing": ("", "expected '$'"),
    "no root": ("order_id", "expected '$', found 'o"),
    "an end too soon": ("$.", "character 3"),
    "a pattern": ("$[?match(@.a, 'a.*')]", "'match' is not defined"),
    "another pattern": ("$.a[?search(@.a, '(a|aa)+b')]", "'search' is not defined"),
    "a descent in a filter": ("$[?@..a]", "`..` inside a filter"),
    "a descent from the root in a filter": ("$..[?count($..*) > 1]", "`..` inside a filter"),
    "a descent in a filter in a filter": ("$[?@[?@..a]]", "`..` inside a filter"),
    "a descent in a comparison": ("$[?1 == count(@..a) || @.b]", "`..` inside a filter"),
    "too long": ("$." + "a" * 511, "513 characters"),
    "too deep": ("$[?" + "(" * 99 + "@.a" + ")" * 99 + "]", "nested deeper"),
    "open brackets alone": ("$" + "[" * 500, "nested deeper"),
    "a literal alone": ("$[?true]", "RFC 9535"),
    "a surrogate": ("$['\\ud800']", "RFC 9535"),
    "an index past every array": ("$[99999999999999999999]", "out of range"),
}


@pytest.mark.parametrize(("path", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_allowed_path_is_refused_with_its_place(path, said):
    with pytest.raises(InvalidPath) as refused:
        compile_path(path)
    assert said in str(refused.value)


@given(st.text(max_size=60) | st.text(alphabet="$.@[]()?*'\"&|!=<>,:01a-", max_size=60))
def test_any_text_is_a_path_or_is_refused(text):
    with suppress(InvalidPath):
        assert compile_path("$" + text).text == "$" + text


def test_what_can_lead_to_one_place_only_is_known():
    one = ("$", "$.a[0]['b']")
    several = ("$.*", "$..a", "$[0:1]", "$[?@.a]", "$[0, 1]")
    assert all(compile_path(path).is_singular for path in one)
    assert not any(compile_path(path).is_singular for path in several)


MANY = [{"a": n, "text": "x" * 400} for n in range(400)]
BOMBS = {
    "filters in filters": ("$[?@[?$[?$[?$[?@.a]]]]]", MANY),
    "descents in a row": ("$..*..*..*..*", [[[[[[n] * 6] * 6] * 6] * 6] for n in range(4)]),
    "wildcards over the root in a filter": ("$[?count($.*.*) > 3 && count($.*.*) > 3]", MANY),
    "literals only, many times": ("$[?" + " || ".join(["1 == 2"] * 40) + "]", list(range(100_000))),
    "large values compared again and again": ("$[?$[0] == $[1]]", [MANY, list(MANY), *range(1000)]),
    "long texts compared again and again": (
        "$[?$[0] == $[1]]",
        ["x" * 300_000, "y" * 300_000, *range(99)],
    ),
    "many selectors": ("$[" + ",".join("*" * 200) + "]", MANY),
}


@pytest.mark.parametrize(("path", "value"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_ends_after_its_steps(path, value):
    steps = Steps()
    with pytest.raises(TooManySteps):
        compile_path(path).found_in(value, steps)
    assert steps.left < 0


def test_an_honest_reply_is_far_from_the_bound():
    page = {"orders": [{"id": n, "total": n * 2, "state": "open"} for n in range(1000)]}
    steps = Steps()
    assert len(compile_path("$.orders[?@.state == 'open'].id").found_in(page, steps)) == 1000
    assert steps.left > MAX_STEPS / 2
