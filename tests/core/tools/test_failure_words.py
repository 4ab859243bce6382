"""A failure rule as a sentence, and which calls it will hit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.tools.failure_rules import RuleProgress, chance_of, parse_failure_rules
from pipelines.core.tools.failure_words import MOST_CALLS, forecast, rule_in_words

DOWN = {"code": 502, "message": "Payment processor unavailable"}
SAYS_DOWN = "answer 502: “Payment processor unavailable”."


def after_n(n=1, duration=1, tool="refund_order", **more):
    return {"trigger": "after_n_calls", "tool": tool, "n": n, "duration": duration, "error": DOWN} | more


def by_chance(probability=0.1, tool="*", **more):
    return {"trigger": "random", "tool": tool, "probability": probability, "error": DOWN} | more


def on_flag(duration=5, tool="get_inventory", **more):
    head = {"trigger": "after_state_change", "tool": tool, "condition": "warehouse_outage"}
    return head | {"duration": duration, "error": DOWN} | more


def rules(*bodies):
    return parse_failure_rules(list(bodies), tools=None)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (after_n(), f"On the 1st call of refund_order, {SAYS_DOWN}"),
        (after_n(3, 2), f"On the 3rd and 4th calls of refund_order, {SAYS_DOWN}"),
        (after_n(11, 12, tool="*"), f"On the 11th to 22nd calls of any tool, {SAYS_DOWN}"),
        (after_n(111, 2), f"On the 111th and 112th calls of refund_order, {SAYS_DOWN}"),
        (by_chance(), f"On each call of any tool, with a probability of 10 %, {SAYS_DOWN}"),
        (
            by_chance(0.125, "get_order", error={"kind": "reset"}),
            "On each call of get_order, with a probability of 12.5 %, reset the connection without a reply.",
        ),
        (by_chance(1, "a"), f"On each call of a, {SAYS_DOWN}"),
        (by_chance(0, "a"), f"Never (its probability is 0), on a call of a, {SAYS_DOWN}"),
        (
            on_flag(1, error={"code": 200, "response": {"items": [], "stale": True}}),
            "Once the flag warehouse_outage is set, on the next call of get_inventory, answer with success:"
            ' {"items":[],"stale":true}.',
        ),
        (
            on_flag(error={"kind": "timeout", "after_ms": 30_000}),
            "Once the flag warehouse_outage is set, on the next 5 calls of get_inventory, hold the"
            " connection for 30 s, then close it without a reply.",
        ),
        (
            {"trigger": "after_n_calls", "tool": "get_order", "n": 2, "latency_ms": 1500},
            "On the 2nd call of get_order, wait 1.5 s, then answer as without this rule.",
        ),
        (after_n(latency_ms=250), f"On the 1st call of refund_order, wait 250 ms, then {SAYS_DOWN}"),
    ],
)
def test_a_rule_as_a_sentence(body, sentence):
    assert rule_in_words(rules(body)[0]) == sentence


def test_a_long_message_is_cut():
    said = rule_in_words(rules(after_n(error={"code": 500, "message": "x" * 10_000}))[0])
    assert len(said) < 300
    assert said.endswith("x…”.")
    said = rule_in_words(rules(after_n(error={"code": 200, "response": ["y" * 10_000]}))[0])
    assert len(said) < 300


FIRES, MAYBE, TAKEN, QUIET = "fires", "maybe", "taken", ""


@pytest.mark.parametrize(
    ("bodies", "flagged", "marks"),
    [
        ([after_n(2, 2)], (), [[QUIET, FIRES, FIRES, QUIET]]),
        ([on_flag(2)], (), [[MAYBE, MAYBE, MAYBE, MAYBE]]),
        ([on_flag(2)], ("warehouse_outage",), [[FIRES, FIRES, MAYBE, MAYBE]]),
        (
            [after_n(1, 2, "a"), after_n(2, 2, "a")],
            (),
            [[FIRES, FIRES, QUIET, QUIET], [QUIET, TAKEN, FIRES, QUIET]],
        ),
        ([after_n(1, 4, "a"), on_flag(1, "a")], (), [[FIRES] * 4, [TAKEN] * 4]),
        ([after_n(1, 1, "b"), after_n(1, 1, "a")], (), [[FIRES] + [QUIET] * 3, [FIRES] + [QUIET] * 3]),
        ([by_chance(1)], (), [[FIRES] * 4]),
        ([by_chance(0)], (), [[QUIET] * 4]),
    ],
)
def test_which_of_the_first_calls_each_rule_hits(bodies, flagged, marks):
    told = forecast(rules(*bodies), chance="", is_flagged=lambda flag: flag in flagged, calls=4)
    assert [list(one) for one in told] == marks


@given(
    st.lists(
        st.one_of(
            st.builds(after_n, st.integers(1, 9), st.integers(1, 4), st.just("a")),
            st.builds(by_chance, st.floats(0, 1), st.just("a")),
        ),
        max_size=4,
    ),
    st.text(max_size=3),
)
def test_what_is_foretold_of_one_tool_is_what_happens(bodies, task):
    read, chance = rules(*bodies), chance_of(task, 0)
    told = forecast(read, chance=chance, is_flagged=lambda flag: False, calls=12)
    run = RuleProgress(read, lambda flag: False, chance=chance)
    for number in range(12):
        matched = run.match("a", run.count("a"))
        fires = [index for index, marks in enumerate(told) if marks[number] == FIRES]
        assert fires == ([] if matched is None else [matched.index])


def test_as_many_calls_are_told_as_the_rules_speak_of():
    nobody = lambda flag: False  # noqa: E731
    assert len(forecast(rules(after_n(14, 3)), chance="", is_flagged=nobody)[0]) == 17
    assert len(forecast(rules(after_n(1)), chance="", is_flagged=nobody)[0]) == 8
    assert len(forecast(rules(after_n(10**9)), chance="", is_flagged=nobody)[0]) == MOST_CALLS
    assert forecast((), chance="", is_flagged=nobody) == ()
