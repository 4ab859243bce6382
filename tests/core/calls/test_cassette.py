"""Cassettes: how a call is found again, read from a file, missed, and compared with what is answered now."""

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.calls.cassette import (
    MAX_LINE_BYTES,
    RecordedCall,
    call_key,
    differences,
    nearest_recording,
    read_lines,
)
from pipelines.core.calls.cassette_masking import mask_arguments, mask_call
from pipelines.core.text.json_text import dumps, same
from pipelines.core.text.problems import MOST_SHOWN, Problem

ORDER = RecordedCall(
    tool="get_order", arguments={"order_id": "4521"}, status=200, response={"status": "paid"}
)

SAME = {
    "the order of keys": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "a whole number written as a decimal": ({"n": 1, "deep": [{"m": 2.0}]}, {"n": 1.0, "deep": [{"m": 2}]}),
    "minus nothing": ({"n": -0.0}, {"n": 0}),
}
OTHER = {
    "a text": ({"n": 1}, {"n": "1"}),
    "a truth": ({"n": 1}, {"n": True}),
    "null and nothing": ({"n": None}, {}),
    "another order in a list": ({"n": [1, 2]}, {"n": [2, 1]}),
    "ids past what a decimal holds": ({"n": 2**53}, {"n": 2**53 + 1}),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_what_asks_the_same_is_one_call(one, other):
    assert call_key("f", one) == call_key("f", other)


@pytest.mark.parametrize(("one", "other"), OTHER.values(), ids=OTHER)
def test_what_asks_another_thing_is_another_call(one, other):
    assert call_key("f", one) != call_key("f", other)
    assert call_key("f", one) != call_key("g", one)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([1.0, 2.5, "a", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(objects, objects)
def test_calls_are_one_where_their_arguments_are_the_same_json(one, other):
    assert (call_key("f", one) == call_key("f", other)) == same(one, other)


outcomes = st.one_of(
    st.fixed_dictionaries({"status": st.integers(200, 599), "response": values}),
    st.fixed_dictionaries({"failure": st.sampled_from(["No answer came.", "reset"])}),
)


@given(objects, outcomes, st.integers(1, 9), st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple))
def test_a_call_is_what_its_line_says(arguments, outcome, occurrence, notes):
    call = RecordedCall(
        tool="f",
        arguments=arguments,
        occurrence=occurrence,
        notes=notes,
        endpoint="orders",
        is_masked=True,
        **outcome,
    )
    assert RecordedCall.from_stored(call.as_line()) == call
    assert read([call.as_line()]) == ((call,), [])


EDITED = b"""{"tool": "get_order", "arguments": {"order_id": "1"}, "response": {"status": "paid"}}

{"tool": "get_order", "arguments": {"order_id": "1"}, "response": 1, "status": 20}
{"tool": "get_order", "arguments": [], "respnse": {}}
not JSON
{"tool": "get_order", "arguments": {"order_id": "1"}, "failure": "reset", "response": 1}
[1]
{"tool": "get_order", "arguments": {"order_id": "1"}, "occurrence": 1.0, "response": null}
{"tool": "get_order", "arguments": {"order_id": "1"}, "occurrence": 1, "response": null}
{"arguments": {}, "occurrence": 0, "response": {"a": 1, "a": 2}}
"""


class Read(NamedTuple):
    calls: tuple[RecordedCall, ...]
    problems: list[Problem]


def read(lines: Iterable[bytes | str]) -> Read:
    problems: list[Problem] = []
    return Read(tuple(read_lines(lines, problems)), problems)


def test_everything_that_is_wrong_with_an_edited_file_is_named_by_its_line():
    problems = read(EDITED.splitlines()).problems
    said = [(problem.path, problem.message) for problem in problems]
    assert [place for place, _ in said] == [
        *(
            "line 3",
            "line 4",
            "line 4",
            "line 4",
            "line 5",
            "line 6",
            "line 7",
            "line 8",
            "line 9",
            "line 10",
        ),
    ]
    for place, part in {
        0: "`status` must be",
        1: "unknown field `respnse`",
        2: "`arguments` must be a JSON object, not an array",
        3: "`response` is missing",
        4: "is not valid JSON",
        5: "has no `response`",
        6: "must be a JSON object, not an array",
        8: "is the same call as line 1: get_order, occurrence 1",
        9: "occurs twice",
    }.items():
        assert part in said[place][1], said[place]
    assert problems[1].hint == "did you mean `response`?"


@given(st.lists(st.binary(max_size=40) | st.text(max_size=40) | objects.map(dumps), max_size=5))
def test_any_file_is_read_or_its_lines_are_named(lines):
    assert all(problem.path.startswith("line ") for problem in read(lines).problems)


RECORDED = [
    ORDER,
    RecordedCall(tool="get_order", arguments={"order_id": "77", "lang": "de"}, status=200),
    RecordedCall(tool="ping", arguments={}, status=200),
    RecordedCall(tool="ping", arguments={}, occurrence=2, status=200),
]
MISSED = {
    "another value": ("get_order", {"order_id": "4522"}, 1, 'has other arguments: `order_id` was "4521".'),
    "one argument more": ("get_order", {"order_id": "4521", "x": 1}, 1, "`x` was not given."),
    "one argument less": ("get_order", {"lang": "de", "order_id": "77"} | {"z": 1}, 1, "`z` was not given."),
    "an argument that is not given now": ("get_order", {}, 1, '`order_id` was "4521", and is not given now.'),
    "a tool without recordings": ("refund", {}, 1, "The cassette has no call of refund."),
    "once more than recorded": ("ping", {}, 3, "it was recorded 2 times, and this is the 3rd time."),
    "twice": ("get_order", {"order_id": "4521"}, 2, "it was recorded once, and this is the 2nd time."),
}


@pytest.mark.parametrize(("tool", "arguments", "occurrence", "said"), MISSED.values(), ids=MISSED)
def test_a_missed_call_is_told_the_nearest_one(tool, arguments, occurrence, said):
    assert nearest_recording(tool, arguments, occurrence, RECORDED).endswith(said)


def test_a_line_that_is_too_long_is_named_and_not_read():
    line = b'{"tool": "t", "response": "' + b"x" * MAX_LINE_BYTES + b'"}'
    found = read([line, ORDER.as_line()])
    (problem,) = found.problems
    assert problem.path == "line 1"
    assert problem.message == f"has {len(line):,} bytes; at most {MAX_LINE_BYTES:,} are allowed"
    assert found.calls == (ORDER,)


def test_a_file_of_nothing_but_mistakes_is_not_read_to_its_end():
    lines = iter([b"{}"] * 10_000)
    assert len(read(lines).problems) < MOST_SHOWN + 10
    assert sum(1 for _ in lines) > 8_000


def test_differences_are_named_by_their_path():
    recorded = {"a": 1, "list": [1, {"b": "x"}], "gone": None, "it's": True}
    now = {"a": 1.0, "list": [1, {"b": "y"}, 3], "new": [], "it's": 1}
    assert [(found.path, found.how, found.recorded, found.now) for found in differences(recorded, now)] == [
        ("$.list[1].b", "changed", "x", "y"),
        ("$.list[2]", "added", None, 3),
        ("$.gone", "removed", None, None),
        ("$['it\\'s']", "changed", True, 1),
        ("$.new", "added", None, []),
    ]


@given(values, values)
def test_responses_differ_somewhere_unless_they_are_the_same(one, other):
    assert (list(differences(one, other)) == []) == same(one, other)


SECRET = "hunter2-staging-9f"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
SHAPES = {
    "a JSON Web Token": JWT,
    "a key with a known prefix": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "a model's key": "sk-proj-abcDEF1234567890abcDEF",
    "a password in a URL": "postgres://app:s3cr3t-pw@db.internal/app",
    "a header": "Authorization: Bearer abcdef1234567890abcdef",
    "a private key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PRIVATE KEY-----",
}


def test_the_value_of_a_credential_is_hidden_wherever_it_stands():
    call = RecordedCall(
        tool="f",
        arguments={"key": SECRET},
        status=200,
        response={"echo": [f"key {SECRET}"], SECRET: 1},
        notes=(f"asked with {SECRET}",),
    )
    line = mask_call(call, [SECRET]).as_line()
    assert SECRET not in line
    assert '"masked":true' in line
    assert mask_call(call, []).as_line().count(SECRET) == 4
    failed = RecordedCall(tool="f", arguments={}, failure=f"refused {SECRET}")
    assert SECRET not in mask_call(failed, [SECRET]).as_line()


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES)
def test_what_has_the_shape_of_a_secret_is_hidden_the_same_way_everywhere(secret):
    call = RecordedCall(tool="f", arguments={"a": secret}, status=200, response=f"got {secret} ok")
    hidden = mask_call(call)
    core = secret.split("Bearer ")[-1].split("://")[-1].split("@")[0]
    assert core not in hidden.as_line()
    assert mask_call(hidden).as_line() == hidden.as_line()
    # A token that a masked reply gave is found again when the agent sends it back.
    assert mask_arguments(mask_arguments({"a": secret})) == mask_arguments({"a": secret})


def test_two_tokens_stay_two_and_ids_stay_as_they_are():
    other = JWT.replace("dozj", "abcj")
    assert mask_arguments({"t": JWT}) != mask_arguments({"t": other})
    ids = {"id": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "uuid": "3f0e"}
    call = RecordedCall(tool="f", arguments=ids, status=200, response=ids)
    assert mask_call(call) == call
