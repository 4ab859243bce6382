"""Failure rules: when each trigger fires, and that nothing but its own calls and flag decides it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.text.problems import Refused
from pipelines.core.tools.failure_rules import MatchedRule, RuleProgress, chance_of, draw, parse_failure_rules

OUTAGE = {"code": 502, "message": "Payment processor unavailable"}
SENT = {"error": OUTAGE}

AFTER_N_CALLS = {
    "trigger": "after_n_calls",
    "tool": "refund_order",
    "n": 3,
    "duration": 1,
    "error": {"code": 502, "message": "Payment processor unavailable"},
}
RANDOM = {
    "trigger": "random",
    "tool": "*",
    "probability": 0.1,
    "error": {"code": 503, "message": "Upstream temporarily unavailable"},
}
AFTER_STATE_CHANGE = {
    "trigger": "after_state_change",
    "tool": "get_inventory",
    "condition": "warehouse_outage",
    "duration": 5,
    "error": {"code": 200, "response": {"items": [], "stale": True}},
}
EXAMPLES = [AFTER_N_CALLS, RANDOM, AFTER_STATE_CHANGE]
LATE = {"trigger": "random", "tool": "*", "probability": 0.05, "latency_ms": 2000}
#: What goes beyond the seed format, each as it is written.
OURS = {
    "only late": LATE,
    "late and down": AFTER_N_CALLS | {"latency_ms": 1},
    "late and stale": AFTER_STATE_CHANGE | {"latency_ms": 300_000},
    "a timeout": RANDOM | {"error": {"kind": "timeout", "after_ms": 250}},
    "a reset": AFTER_STATE_CHANGE | {"error": {"kind": "reset"}},
    "a late reset": AFTER_N_CALLS | {"error": {"kind": "reset"}, "latency_ms": 40},
}


def progress(*rules, flagged=()):
    return RuleProgress(parse_failure_rules(list(rules), tools=None), lambda flag: flag in flagged)


def next_match(run, tool):
    return run.match(tool, run.count(tool))


def fired(rules, calls):
    """For each call the index of the rule that answered it, or None. "+f" sets a flag, "-f" clears it."""
    run = progress(*rules)
    seen = []
    for call in calls:
        if call[0] in "+-":
            run.flag_changed(call[1:], call[0] == "+", run.counts())
        else:
            matched = next_match(run, call)
            seen.append(matched.index if matched is not None else None)
    return seen


def after_n(n, duration=1, tool="a"):
    return {"trigger": "after_n_calls", "tool": tool, "n": n, "duration": duration, "error": OUTAGE}


def on_flag(condition, duration=1, tool="a"):
    return AFTER_STATE_CHANGE | {"condition": condition, "duration": duration, "tool": tool}


# Reading


def test_the_three_documented_rules_are_read_and_written_alike():
    rules = parse_failure_rules(EXAMPLES, tools={"refund_order", "get_inventory"})
    assert [rule.as_json() for rule in rules] == EXAMPLES


@pytest.mark.parametrize("rule", OURS.values(), ids=OURS)
def test_latencies_and_faults_are_read_and_written_alike(rule):
    (read,) = parse_failure_rules([rule], tools={"refund_order", "get_inventory"})
    assert read.as_json() == rule
    assert parse_failure_rules([read.as_json()], tools=None) == (read,)


def test_a_timeout_holds_for_half_a_minute_unless_told_otherwise():
    (read,) = parse_failure_rules([RANDOM | {"error": {"kind": "timeout"}}], tools=None)
    assert read.as_json()["error"] == {"kind": "timeout", "after_ms": 30_000}


FAULTS = {
    "timeout": (504, "timeout"),
    "reset": (502, "connection_reset"),
}


@pytest.mark.parametrize(("kind", "told"), FAULTS.items(), ids=FAULTS)
def test_a_fault_has_a_status_and_a_body_for_whoever_asks_again(kind, told):
    run = progress(RANDOM | {"error": {"kind": kind}, "probability": 1})
    error = next_match(run, "a").error
    assert (error.code, error.body()["error"]["code"]) == told


def test_a_rule_that_is_only_late_hides_the_rules_behind_it():
    rules = [LATE | {"tool": "a", "probability": 1}, after_n(1, tool="*")]
    assert fired(rules, "aba") == [0, None, 0]
    assert fired(rules, "ba") == [1, 0]


@given(st.lists(st.sampled_from("abc"), max_size=30), st.data())
def test_calls_counted_on_arrival_are_matched_alike_whenever_their_turn_comes(history, data):
    """Counting runs ahead of matching by as many calls as are out."""
    some = [after_n(2, 2), after_n(3, tool="*"), RANDOM | {"probability": 0.3}]
    run, out, seen = progress(*some), [], []
    for call in history:
        out.append((call, run.count(call)))
        for _ in range(data.draw(st.integers(0, len(out)))):
            seen.append(run.match(*out.pop(0)))
    seen += [run.match(*left) for left in out]
    assert [matched and matched.index for matched in seen] == fired(some, history)


@given(st.lists(st.sampled_from(["a", "b", "+"]), max_size=30), st.data())
def test_a_window_opens_after_the_call_that_set_the_flag_however_many_have_arrived(history, data):
    """ "+" is a call that sets the flag once it is settled; others behind it were counted long before."""
    some = [on_flag("f", 2), on_flag("f", 1, tool="*")]

    def settled(run, call, counts, seen):
        matched = run.match(call, counts)
        seen.append(matched and matched.index)
        if call == "+":
            run.flag_changed("f", True, counts)
            run.flag_changed("f", False, counts)

    at_once, in_order = progress(*some), []
    for call in history:
        settled(at_once, call, at_once.count(call), in_order)
    run, out, seen = progress(*some), [], []
    for call in history:
        out.append((call, run.count(call)))
        for _ in range(data.draw(st.integers(0, len(out)))):
            settled(run, *out.pop(0), seen)
    for left in out:
        settled(run, *left, seen)
    assert seen == in_order


def test_duration_is_one_when_not_given():
    rule = {key: value for key, value in AFTER_N_CALLS.items() if key != "duration"}
    assert parse_failure_rules([rule], tools=None)[0].as_json() == AFTER_N_CALLS


def test_no_rules():
    assert parse_failure_rules([], tools=set()) == ()
    assert parse_failure_rules(None, tools=set()) == ()


def without(rule, key):
    return {name: value for name, value in rule.items() if name != key}


REFUSALS = {
    "not an array": ({"trigger": "random"}, "", "array"),
    "not an object": (["random"], "/0", "object"),
    "no trigger": ([without(RANDOM, "trigger")], "/0/trigger", "missing"),
    "unknown trigger": ([RANDOM | {"trigger": "rnadom"}], "/0/trigger", "rnadom"),
    "no tool": ([without(RANDOM, "tool")], "/0/tool", "missing"),
    "tool is empty": ([RANDOM | {"tool": ""}], "/0/tool", "empty"),
    "tool is not declared": ([RANDOM | {"tool": "refund"}], "/0/tool", "refund"),
    "no n": ([without(AFTER_N_CALLS, "n")], "/0/n", "missing"),
    "n is zero": ([AFTER_N_CALLS | {"n": 0}], "/0/n", "1 or more"),
    "n is true": ([AFTER_N_CALLS | {"n": True}], "/0/n", "whole number"),
    "n is a fraction": ([AFTER_N_CALLS | {"n": 1.5}], "/0/n", "1.5"),
    "n is text": ([AFTER_N_CALLS | {"n": "3"}], "/0/n", "string"),
    "duration is zero": ([AFTER_N_CALLS | {"duration": 0}], "/0/duration", "1 or more"),
    "no probability": ([without(RANDOM, "probability")], "/0/probability", "missing"),
    "probability over 1": ([RANDOM | {"probability": 1.01}], "/0/probability", "from 0 to 1"),
    "probability under 0": ([RANDOM | {"probability": -0.1}], "/0/probability", "from 0 to 1"),
    "probability is true": ([RANDOM | {"probability": True}], "/0/probability", "boolean"),
    "no condition": ([without(AFTER_STATE_CHANGE, "condition")], "/0/condition", "missing"),
    "condition is empty": ([AFTER_STATE_CHANGE | {"condition": " "}], "/0/condition", "empty"),
    "duration of a random rule": ([RANDOM | {"duration": 2}], "/0/duration", "unknown field"),
    "no error": ([without(RANDOM, "error")], "/0/error", "missing"),
    "error is text": ([RANDOM | {"error": "down"}], "/0/error", "object"),
    "no code": ([RANDOM | {"error": {"message": "x"}}], "/0/error/code", "missing"),
    "code is text": ([RANDOM | {"error": {"code": "503", "message": "x"}}], "/0/error/code", "whole number"),
    "code under 100": ([RANDOM | {"error": {"code": 99, "message": "x"}}], "/0/error/code", "599"),
    "code over 599": ([RANDOM | {"error": {"code": 600, "message": "x"}}], "/0/error/code", "599"),
    "a status without a body": ([RANDOM | {"error": {"code": 204, "message": "x"}}], "/0/error/code", "body"),
    "200 without response": ([RANDOM | {"error": {"code": 200}}], "/0/error/response", "response"),
    "200 with a message": (
        [RANDOM | {"error": {"code": 200, "response": 1, "message": "x"}}],
        "/0/error/message",
        "never",
    ),
    "503 without message": ([RANDOM | {"error": {"code": 503}}], "/0/error/message", "missing"),
    "503 with an empty message": (
        [RANDOM | {"error": {"code": 503, "message": ""}}],
        "/0/error/message",
        "empty",
    ),
    "503 with a response": (
        [RANDOM | {"error": {"code": 503, "message": "x", "response": {}}}],
        "/0/error/response",
        "200 only",
    ),
    "unknown field of error": (
        [RANDOM | {"error": {"code": 503, "message": "x", "body": 1}}],
        "/0/error/body",
        "unknown field",
    ),
    "late by nothing": ([LATE | {"latency_ms": 0}], "/0/latency_ms", "from 1 to 300000"),
    "late by more than five minutes": ([LATE | {"latency_ms": 300_001}], "/0/latency_ms", "300000"),
    "late by a fraction": ([LATE | {"latency_ms": 1.5}], "/0/latency_ms", "1.5"),
    "late by true": ([LATE | {"latency_ms": True}], "/0/latency_ms", "whole number"),
    "late by text": ([LATE | {"latency_ms": "800"}], "/0/latency_ms", "string"),
    "neither error nor latency": ([without(LATE, "latency_ms")], "/0/error", "missing"),
    "a late error of no shape": ([LATE | {"error": {"message": "x"}}], "/0/error/code", "missing"),
    "unknown kind": ([RANDOM | {"error": {"kind": "timout"}}], "/0/error/kind", "timout"),
    "kind is a number": ([RANDOM | {"error": {"kind": 504}}], "/0/error/kind", "kind"),
    "kind and code": ([RANDOM | {"error": {"kind": "reset", "code": 502}}], "/0/error/code", "unknown field"),
    "a reset that holds": (
        [RANDOM | {"error": {"kind": "reset", "after_ms": 5}}],
        "/0/error/after_ms",
        "unknown field",
    ),
    "a timeout at once": (
        [RANDOM | {"error": {"kind": "timeout", "after_ms": 0}}],
        "/0/error/after_ms",
        "from 1 to 300000",
    ),
    "a timeout of six minutes": (
        [RANDOM | {"error": {"kind": "timeout", "after_ms": 360_000}}],
        "/0/error/after_ms",
        "300000",
    ),
    "a timeout that is late": (
        [RANDOM | {"error": {"kind": "timeout"}, "latency_ms": 5}],
        "/0/latency_ms",
        "a timeout sends no reply",
    ),
    "after_ms without a kind": (
        [RANDOM | {"error": {"code": 504, "message": "x", "after_ms": 5}}],
        "/0/error/after_ms",
        "unknown field",
    ),
}


@pytest.mark.parametrize(("body", "place", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_wrong_rule_is_refused_where_it_is_wrong(body, place, says):
    with pytest.raises(Refused) as refused:
        parse_failure_rules(body, tools={"refund_order", "get_inventory"}, path="/failure_rules")
    (problem,) = refused.value.problems
    assert problem.path == "/failure_rules" + place
    assert says in problem.message


def test_every_problem_of_every_rule_is_listed():
    wrong = [AFTER_N_CALLS | {"n": 0, "duration": 0}, RANDOM | {"tool": "refnd_order"}]
    with pytest.raises(Refused) as refused:
        parse_failure_rules(wrong, tools={"refund_order"})
    assert [problem.path for problem in refused.value.problems] == [
        "/failure_rules/0/n",
        "/failure_rules/0/duration",
        "/failure_rules/1/tool",
    ]
    assert refused.value.problems[2].hint == "did you mean `refund_order`?"


def test_a_null_response_is_a_response():
    rules = parse_failure_rules([RANDOM | {"error": {"code": 200, "response": None}}], tools=None)
    assert rules[0].as_json()["error"] == {"code": 200, "response": None}


# Firing


@pytest.mark.parametrize(
    ("n", "duration", "hits"),
    [(1, 1, [1]), (3, 1, [3]), (3, 2, [3, 4]), (1, 3, [1, 2, 3]), (9, 1, [])],
    ids=["the first", "the third only", "the third and fourth", "the first three", "never reached"],
)
def test_after_n_calls(n, duration, hits):
    seen = fired([after_n(n, duration)], ["a"] * 6)
    assert [number for number, index in enumerate(seen, start=1) if index == 0] == hits


STATE_CHANGES = {
    "never set": (["a", "a"], [None, None]),
    "the next call, and no more": (["a", "+f", "a", "a"], [None, 0, None]),
    "only matching calls use it up": (["+f", "b", "a", "a"], [None, 0, None]),
    "set again without being cleared": (["+f", "a", "+f", "a"], [0, None]),
    "cleared and set again": (["+f", "a", "-f", "+f", "a", "a"], [0, 0, None]),
    "cleared within the window": (["+f", "-f", "a", "a"], [0, None]),
    "another flag": (["+g", "a"], [None]),
    "reopened within the window": (["+f", "-f", "+f", "a", "a"], [0, None]),
}


@pytest.mark.parametrize(("calls", "seen"), STATE_CHANGES.values(), ids=STATE_CHANGES)
def test_after_state_change(calls, seen):
    assert fired([on_flag("f")], calls) == seen


def test_a_flag_set_from_the_start_opens_the_window_at_the_first_call():
    run = progress(on_flag("f", duration=2), flagged={"f"})
    assert [next_match(run, "a") is not None for _ in range(3)] == [True, True, False]
    run.flag_changed("f", True, run.counts())
    assert next_match(run, "a") is None, "it was set all along"


def test_the_reply_is_the_error_of_the_rule():
    run = progress(after_n(1, tool="*"), on_flag("f", tool="*"), flagged={"f"})
    matched = next_match(run, "x")
    assert matched == MatchedRule(index=0, error=run._rules[0].error, latency_ms=0)
    assert (matched.error.code, matched.error.body()) == (502, SENT)
    run = progress(on_flag("f"), flagged={"f"})
    matched = next_match(run, "a")
    assert (matched.error.code, matched.error.body()) == (200, {"items": [], "stale": True})


def test_the_first_rule_in_order_wins_and_the_others_count_on():
    assert fired([after_n(1), after_n(2, duration=2), after_n(1, tool="*")], "aaab") == [0, 1, 1, None]


def test_probability_one_always_fires_and_zero_never():
    assert fired([RANDOM | {"probability": 1}], "abc") == [0, 0, 0]
    assert fired([RANDOM | {"probability": 0}], "abc") == [None, None, None]


def test_draws_are_spread_evenly_and_differ_between_rules():
    draws = [draw("task", 0, number) for number in range(1, 10_001)]
    assert all(0 <= value < 1 for value in draws)
    # 0.1 of 10,000 is 1,000 with a standard deviation of 30; the draws are fixed, so this cannot flicker.
    assert 900 < sum(value < 0.1 for value in draws) < 1_100
    assert 4_800 < sum(value < 0.5 for value in draws) < 5_200
    together = sum(
        draw("task", 0, number) < 0.1 and draw("task", 1, number) < 0.1 for number in range(1, 10_001)
    )
    assert 60 < together < 140


def test_the_draws_stay_as_they_are():
    """Runs are compared over months: a change here changes every task with a random rule."""
    chance = chance_of("a task", 0)
    assert [round(draw(chance, 0, number), 6) for number in (1, 2, 3)] == [0.060268, 0.901645, 0.956023]


def test_tasks_draw_apart_and_so_do_fault_seeds():
    """The first call of a rule fires in a tenth of the tasks, not in all of them or none."""
    tasks = [chance_of(f"task {number}", 0) for number in range(2_000)]
    assert 150 < sum(draw(task, 0, 1) < 0.1 for task in tasks) < 250
    seeds = [chance_of("a task", number) for number in range(2_000)]
    assert 150 < sum(draw(seed, 0, 1) < 0.1 for seed in seeds) < 250


tools = st.sampled_from(["a", "b", "c"])
durations = st.integers(1, 4)
rules = st.one_of(
    st.builds(after_n, st.integers(1, 5), durations, tools | st.just("*")),
    st.builds(on_flag, st.sampled_from(["f", "g"]), durations, tools | st.just("*")),
    st.builds(
        lambda tool, p: RANDOM | {"tool": tool, "probability": p}, tools | st.just("*"), st.floats(0, 1)
    ),
)
calls = st.lists(tools | st.sampled_from(["+f", "-f", "+g", "-g"]), max_size=40)


@given(st.lists(rules, max_size=5), calls)
def test_a_replay_fires_alike(some_rules, history):
    assert fired(some_rules, history) == fired(some_rules, history)


@given(st.lists(rules, max_size=5), calls, st.integers(0, 40))
def test_a_restart_in_the_middle_changes_nothing(some_rules, history, cut):
    """A new process is told the calls so far and goes on: it fires as the one that never stopped."""
    whole = fired(some_rules, history)
    before = sum(call[0] not in "+-" for call in history[:cut])
    assert fired(some_rules, history[:cut]) == whole[:before]


@given(rules.filter(lambda rule: rule["tool"] == "a"), calls)
def test_calls_to_other_tools_never_move_a_rule(rule, history):
    own = [call for call in history if call not in ("b", "c")]
    everything = fired([rule], history)
    of_a = [
        hit
        for hit, call in zip(everything, [c for c in history if c[0] not in "+-"], strict=True)
        if call == "a"
    ]
    assert of_a == fired([rule], own)


@given(st.lists(rules, min_size=1, max_size=4), rules, calls)
def test_a_rule_before_another_only_hides_it(some_rules, earlier, history):
    """Counters advance also when an earlier rule won. (A random rule draws by its index: left out.)"""
    some_rules = [rule for rule in some_rules if rule["trigger"] != "random"]
    alone = fired(some_rules, history)
    hidden = fired([earlier, *some_rules], history)
    for index, index_behind in zip(alone, hidden, strict=True):
        assert index_behind == 0 or index_behind == (index + 1 if index is not None else None)


@given(st.integers(1, 20), st.integers(1, 10))
@settings(max_examples=50)
def test_the_window_is_exactly_n_to_n_plus_duration(n, duration):
    seen = fired([after_n(n, duration)], ["a"] * 35)
    assert seen == [0 if n <= number < n + duration else None for number in range(1, 36)]


def test_a_forced_response_that_no_tool_may_answer_with_is_refused():
    rule = {"trigger": "random", "tool": "*", "probability": 1}
    for error, place in (
        ({"code": 200, "response": "x" * 1_100_000}, "/0/error/response"),
        ({"code": 503, "message": "x" * 600_000}, "/0/error/message"),
    ):
        with pytest.raises(Refused) as refused:
            parse_failure_rules([rule | {"error": error}], tools=None)
        assert [problem.path[-len(place) :] for problem in refused.value.problems] == [place]
