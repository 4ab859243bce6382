"""Strict JSON: what is read is what the standard library reads, and the doubtful is refused."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.text.json_text import MAX_DEPTH, InvalidJson, depth, dumps, loads, pointer, same

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(documents, st.booleans(), st.sampled_from([None, 1]))
def test_agrees_with_the_standard_library(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert same(loads(text), json.loads(text))
    assert same(loads(text.encode()), json.loads(text))


@given(documents)
def test_what_is_written_is_read_back(value):
    assert same(loads(dumps(value)), value)
    assert dumps(loads(dumps(value))) == dumps(value)


@given(
    st.binary(max_size=40)
    | st.text(max_size=40)
    | st.text(st.sampled_from('{}[]",:\\u00d8 1eENa.-'), max_size=30)
)
def test_anything_gives_a_value_or_invalid_json(raw):
    try:
        value = loads(raw)
    except InvalidJson as error:
        assert str(error)  # noqa: PT017
    else:
        assert same(value, json.loads(raw))


def escaped(text):
    return "".join(f"\\u{ord(character):04x}" for character in text)


TWICE = {
    "plainly": '{"a": 1, "a": 2}',
    "with equal values": '{"a": 1, "a": 1}',
    "deep inside": '[{"b": {"a": 1, "a": 2}}]',
    "hidden by an escape": '{"a": 1, "\\u0061": 2}',
    "both escaped": '{"\\u0061": 1, "\\u0061": 2}',
    "hidden by a short escape": '{"\\/": 1, "/": 2}',
    "a newline in two spellings": '{"\\n": 1, "\\u000a": 2}',
    "among quotes in text": '{"a": "\\"", "a": "\\""}',
    "made up for by quotes that are written longer": '{"a": 1, "a": "\\u0022"}',
    "an empty key": '{"": 1, "": 2}',
    "inside of what a later one replaces": '{"b": {"a": 1, "a": 2}, "b": 5}',
}


@pytest.mark.parametrize("text", TWICE.values(), ids=TWICE)
def test_a_key_that_stands_twice_is_refused(text):
    with pytest.raises(InvalidJson, match="twice"):
        loads(text)


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=4), min_size=1, max_size=4), st.data())
def test_no_key_can_be_repeated_in_any_spelling(body, data):
    again = data.draw(st.sampled_from(sorted(body)))
    spelled = data.draw(st.sampled_from([json.dumps(again), json.dumps(again, ensure_ascii=False)]))
    if again and all(ord(character) < 0x10000 for character in again):
        spelled = data.draw(st.sampled_from([spelled, f'"{escaped(again)}"']))
    text = json.dumps(body)[:-1] + f", {spelled}: " + json.dumps(data.draw(st.text(max_size=4))) + "}"
    with pytest.raises(InvalidJson, match="twice"):
        loads(text)


REFUSED = {
    "NaN": ('{"a": NaN}', "NaN is not JSON"),
    "Infinity": ("[Infinity]", "Infinity is not JSON"),
    "minus Infinity": ("-Infinity", "-Infinity is not JSON"),
    "a number past any double": ("1e400", "not valid JSON"),
    "half a surrogate": ('"\\ud800"', "not valid JSON"),
    "half a surrogate in text": ('"\ud800"', "not UTF-8"),
    "a trailing comma": ("[1,]", "not valid JSON"),
    "single quotes": ("{'a': 1}", "not valid JSON"),
    "two documents": ("{} {}", "not valid JSON"),
    "a comment": ("{} // x", "not valid JSON"),
    "a control character": ('"a\nb"', "not valid JSON"),
    "nothing": ("", "empty"),
    "white space": (" \n", "empty"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "not valid JSON"),
    "bytes that are not UTF-8": (b'{"a": "\xff"}', "not UTF-8 text (byte 7)"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    "far too deep": ("[" * 100_000 + "]" * 100_000, ""),
    "far too deep and never closed": ("[" * 100_000, ""),
    "far too deep in objects": ('{"a":' * 5_000 + "1" + "}" * 5_000, ""),
}


@pytest.mark.parametrize(("raw", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_why(raw, says):
    with pytest.raises(InvalidJson) as refused:
        loads(raw)
    assert says in str(refused.value)


def nested(levels):
    return "[" * levels + "]" * levels


def test_depth_is_allowed_to_its_limit():
    assert depth(loads(nested(MAX_DEPTH))) == MAX_DEPTH
    with pytest.raises(InvalidJson, match="deeper than 64"):
        loads(nested(MAX_DEPTH + 1))
    wide = "[" + ",".join(["[]"] * 500) + "]"
    assert depth(loads(wide)) == 2


def test_brackets_in_text_are_not_depth():
    assert loads(json.dumps("[" * 1_000)) == "[" * 1_000


def test_decimals_are_written_as_numbers():
    assert dumps({"a": Decimal("86.4"), "b": Decimal("3.00")}) == b'{"a":86.4,"b":3}'


EQUAL = [(1, 1.0, True), (True, 1, False), (False, 0, False), (None, False, False), ("1", 1, False)]
EQUAL += [([1, 2], [1, 2.0], True), ([True], [1], False), ({"a": 0}, {"a": False}, False), ({}, [], False)]


@pytest.mark.parametrize(("left", "right", "equal"), EQUAL)
def test_equality_is_that_of_json(left, right, equal):
    assert same(left, right) == same(right, left) == equal


def test_pointers_escape_what_they_must():
    assert pointer([]) == ""
    assert pointer(["a/b", 0, "c~d", ""]) == "/a~1b/0/c~0d/"


NESTED = st.recursive(
    st.integers() | st.sampled_from(["[", "]}", '"', "\\", '\\"[']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", '"{', "\\"]), inner),
    max_leaves=30,
)


@given(NESTED, st.integers(MAX_DEPTH - 3, MAX_DEPTH + 3))
def test_depth_is_judged_from_the_text_as_from_the_value(value, more):
    for _ in range(more - 2):
        value = [value, 0]
    text = json.dumps(value)
    if depth(value) > MAX_DEPTH:
        with pytest.raises(InvalidJson):
            loads(text)
    else:
        assert loads(text) == value
