"""The call oracle: what must and must not be called, in which order, how often and with what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.oracles.expected_calls import parse_expected_calls, read_expected_calls
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.call_oracle import evaluate_expected_calls, is_vacuous
from pipelines.core.verdict.verdict import Status
from support.verdict_cases import call, cancel, get_order, injected, refund, refused, run


def broken(body, *trace):
    found = evaluate_expected_calls(parse_expected_calls(body), run(*trace))
    return [finding for finding in found if finding.status is Status.BROKEN]


ON_4521 = {"tool": "refund_order", "arguments": {"order_id": "4521"}}
TRIED = refused(1, "refund_order", "window_closed", "Too late.")

MET = {
    "by name": (["refund_order"], [refund(1)]),
    "by arguments": ({"must": [ON_4521]}, [refund(1, "9001"), refund(2)]),
    "by matcher": ([{"tool": "refund_order", "arguments": {"order_id": {"$regex": "^45"}}}], [refund(1)]),
    "after a failure": ([ON_4521], [injected(1), refund(2)]),
    "a failed one, if that counts": ([ON_4521 | {"only_successful": False}], [TRIED]),
    "any tool": (["*"], [get_order(1)]),
    "two of a kind need two calls": ([ON_4521, ON_4521], [refund(1), refund(2)]),
    "each takes the one that is left": (["refund_order", ON_4521], [refund(1), refund(2, "9001")]),
    "once, the failed one not counted": ([ON_4521 | {"count": 1}], [injected(1), refund(2)]),
    "a range": ([{"tool": "get_order", "count": {"$gte": 1, "$lte": 2}}], [get_order(1), get_order(2)]),
    "in order": (
        {"must": ["get_order", "refund_order"], "in_order": True},
        [get_order(1), cancel(2), refund(3)],
    ),
    "in order, with an early repeat": (
        {"must": ["get_order", "refund_order"], "in_order": True},
        [refund(1), get_order(2), refund(3)],
    ),
    "must not, and was not": ({"must_not": ["cancel_order"]}, [refund(1)]),
    "must not with these arguments": (
        {"must_not": [{"tool": "refund_order", "arguments": {"order_id": "9001"}}]},
        [refund(1)],
    ),
    "must not succeed": ({"must_not": [{"tool": "refund_order", "only_successful": True}]}, [TRIED]),
}


@pytest.mark.parametrize(("body", "trace"), MET.values(), ids=MET)
def test_what_meets_it(body, trace):
    assert broken(body, *trace) == []


UNMET = {
    "never called": ([ON_4521], [get_order(1)], "incomplete", "but was not", ()),
    "never with success": ([ON_4521], [TRIED], "incomplete", "call 1 (refund_order) did not succeed", (1,)),
    "with other arguments": (
        [ON_4521],
        [refund(1, "9001")],
        "wrong_action",
        'in call 1 order_id should be "4521" but is "9001"',
        (1,),
    ),
    "one call for two": ([ON_4521, ON_4521], [refund(1)], "incomplete", "more often than it was", (1,)),
    "too often": (
        [ON_4521 | {"count": 1}],
        [refund(1), refund(2)],
        "wrong_action",
        "exactly once, but was called twice",
        (1, 2),
    ),
    "too seldom": (
        [{"tool": "get_order", "count": {"$gte": 2}}],
        [get_order(1)],
        "incomplete",
        "at least 2 times, but was called once",
        (1,),
    ),
    "out of order": (
        {"must": ["get_order", "refund_order"], "in_order": True},
        [refund(1), get_order(2)],
        "wrong_action",
        "refund_order should follow get_order",
        (1, 2),
    ),
    "one call cannot follow itself": (
        {"must": [{"tool": "get_order", "count": {"$gte": 1}}, "*"], "in_order": True},
        [get_order(1)],
        "wrong_action",
        "any tool should follow get_order",
        (1,),
    ),
    "must not, not even tried": (
        {"must_not": ["refund_order"]},
        [TRIED],
        "wrong_action",
        "must not be called, but was in call 1",
        (1,),
    ),
    "no tool at all": ({"must_not": ["*"]}, [get_order(1)], "wrong_action", "any tool must not", (1,)),
}


@pytest.mark.parametrize(("body", "trace", "mode", "says", "rows"), UNMET.values(), ids=UNMET)
def test_what_does_not_meet_it(body, trace, mode, says, rows):
    (finding,) = broken(body, *trace)
    assert finding.failure_mode == mode
    assert says in finding.says
    assert finding.evidence == rows


def test_events_that_are_no_calls_do_not_count():
    said = call(1, "refund_order", {"order_id": "4521"}, kind="assistant_message")
    assert broken([ON_4521], said)


REFUSALS = {
    "text": ("refund_order", "", "object or array"),
    "nothing": ({}, "", "is empty"),
    "an empty list": ([], "", "is empty"),
    "unknown field": ({"must": ["get_order"], "order": True}, "/order", "unknown"),
    "must is text": ({"must": "get_order"}, "/must", "array"),
    "a number as a call": ([5], "/0", "a number"),
    "no tool": ([{"arguments": {}}], "/0/tool", "missing"),
    "an undeclared tool": ([{"tool": "refund_orders"}], "/0/tool", "declares no tool"),
    "arguments is a list": ([{"tool": "get_order", "arguments": ["x"]}], "/0/arguments", "object"),
    "a broken matcher": (
        [{"tool": "get_order", "arguments": {"a": {"$eq": 1}}}],
        "/0/arguments/a/$eq",
        "matcher",
    ),
    "count of none": ([{"tool": "get_order", "count": 0}], "/0/count", "must be a number"),
    "count is true": ([{"tool": "get_order", "count": True}], "/0/count", "must be a number"),
    "count where it must not be": (
        {"must_not": [{"tool": "get_order", "count": 1}]},
        "/must_not/0/count",
        "unknown",
    ),
    "in_order is text": ({"must": ["get_order"], "in_order": "yes"}, "/in_order", "true or false"),
}


@pytest.mark.parametrize(("body", "place", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_malformed_oracle_is_refused_where_it_is_wrong(body, place, says):
    with pytest.raises(Refused) as refused_body:
        parse_expected_calls(body, tools=["get_order", "refund_order"])
    (problem,) = refused_body.value.problems
    assert problem.path == "/expected_calls" + place
    assert says in problem.message


def test_a_misspelt_tool_gets_a_hint():
    with pytest.raises(Refused) as refused_body:
        parse_expected_calls(["refund_orders"], tools=["get_order", "refund_order"])
    assert refused_body.value.problems[0].hint == "did you mean `refund_order`?"


@pytest.mark.parametrize(
    ("body", "is_met"),
    [
        (["get_order"], False),
        ({"must_not": ["get_order"]}, True),
        ([{"tool": "x", "count": {"$lte": 3}}], True),
    ],
    ids=["must", "only must not", "a range from zero"],
)
def test_what_calling_nothing_would_meet(body, is_met):
    assert is_vacuous(parse_expected_calls(body)) is is_met


words = st.sampled_from(
    ["must", "must_not", "in_order", "tool", "arguments", "count", "$gte", "get_order", "*"]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | words,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(words, below, max_size=4),
    max_leaves=10,
)


@given(anything)
def test_any_json_is_read_or_refused_with_problems(body):
    problems = []
    oracle = read_expected_calls(body, tools=None, path="", problems=problems)
    if not problems:
        assert evaluate_expected_calls(oracle, run(refund(1), get_order(2)))
