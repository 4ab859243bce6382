"""What is said of rules without a world; whatever is said is checked by running the rules as plans."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trial_shop import require, rule

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.expr import Expr, written
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.language import Plan, parse_plan
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.findings import Finding, FindingKind, findings
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulationFailed

NEVER, ALWAYS, CONTRADICTS, SHADOWED = FindingKind


def found(*rules: Rule) -> list[tuple[FindingKind, tuple[int, ...]]]:
    return [(one.kind, one.rules) for one in findings(rules)]


def needs(*texts: str) -> list[Rule]:
    return [require("refund_order", text) for text in texts]


@pytest.mark.parametrize(
    ("one", "finding"),
    [
        (
            require("refund_order", "order.total > 5 and order.total < 3"),
            Finding(
                NEVER,
                (1,),
                "rule 1: `order.total > 5 and order.total < 3` is never true, so it refuses every call",
            ),
        ),
        (
            require("refund_order", "args.reason == null or args.reason != null"),
            Finding(
                ALWAYS,
                (1,),
                "rule 1: `args.reason == null or args.reason != null` is always true, so it never "
                "refuses a call",
            ),
        ),
        (
            rule(
                "set",
                "refund_order",
                target="order.fee",
                expression=5,
                when="order.total == 'a' and order.total == 'b'",
            ),
            Finding(
                NEVER,
                (1,),
                "rule 1: `order.total == 'a' and order.total == 'b'` is never true, so it never does "
                "anything",
            ),
        ),
    ],
)
def test_a_rule_alone(one: Rule, finding: Finding) -> None:
    assert findings([one]) == [finding]


@pytest.mark.parametrize(
    "one",
    [
        require("refund_order", "false"),  # meant so
        require("refund_order", "true"),
        require("refund_order", "order.total > 5"),
        rule("keep", "list_orders", expression="each.total > 5"),
        rule("put", "get_order", target="tax", expression="order.total * 2"),
        rule("take", "list_orders", count=5),
    ],
)
def test_of_most_rules_nothing_is_said(one: Rule) -> None:
    assert findings([one]) == []


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["order.total > 5", "order.total < 3"], [(CONTRADICTS, (2, 1))]),
        (["order.status == 'a'", "order.status == 'b'"], [(CONTRADICTS, (2, 1))]),
        (["order.status in ['a', 'b']", "order.status not in ['a', 'b', 'c']"], [(CONTRADICTS, (2, 1))]),
        (["order.paid", "user.verified and not order.paid"], [(CONTRADICTS, (2, 1))]),
        (["order.total == null", "order.total > 1"], [(CONTRADICTS, (2, 1))]),
        (["order.total > 5", "order.total > 3"], [(SHADOWED, (2, 1))]),
        (["order.total > 5", "order.total != null"], [(SHADOWED, (2, 1))]),
        (["order.status == 'a'", "order.status in ['a', 'b']"], [(SHADOWED, (2, 1))]),
        (["order.paid and order.total > 5", "order.total > 5"], [(SHADOWED, (2, 1))]),
        (["order.total > 5", "order.total > 5"], [(SHADOWED, (2, 1))]),
        (["order.total > 3", "order.total > 5"], []),  # the second asks for more
        (["order.total > 5", "order.total > 3 and order.paid"], []),
        (["order.total > 5", "order.total < 6"], []),
        (["order.total > 5", "args.amount < 3"], []),
        (["order.total > 5", "order.total < 3 or order.paid"], []),
        (["order.total > 5 and order.total < 3", "order.total > 1"], [(NEVER, (1,))]),
    ],
)
def test_two_guards_of_one_tool(texts: list[str], expected: list[Any]) -> None:
    assert found(*needs(*texts)) == expected


def test_each_finding_is_a_plain_sentence() -> None:
    says = [one.says for one in findings(needs("order.total > 5", "order.total < 3", "order.total > 4"))]
    assert says == [
        "rule 2 contradicts rule 1: in refund_order no call passes both `order.total < 3` and "
        "`order.total > 5`",
        (
            "rule 3 never refuses a call of refund_order: every call that passes rule 1 "
            "(`order.total > 5`) also passes it"
        ),
    ]


def test_rules_of_other_tools_or_other_times_have_nothing_to_do_with_each_other() -> None:
    before, after = require("refund_order", "order.total > 5"), require("cancel_order", "order.total < 3")
    assert found(before, after) == []
    assert found(before, require("refund_order", "order.total < 3", after_changes=True)) == []
    assert found(before, rule("keep", "refund_order", expression="order.total < 3")) == []
    both = rule("require", "cancel_order", "refund_order", expression="order.total < 3")
    assert found(before, both) == [(CONTRADICTS, (2, 1))]


def test_two_filters_of_one_list() -> None:
    kept = [rule("keep", "list_orders", expression=f"each.status == '{one}'") for one in "ab"]
    assert found(*kept) == [(CONTRADICTS, (2, 1))]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("set", "order.status", "'a'", None), ("set", "order.status", "'b'", None), [CONTRADICTS]),
        (("set", "order.status", "'a'", None), ("set", "order.status", "'a'", None), [SHADOWED]),
        (("set", "order.status", "'a'", None), ("set", "order.status", "'b'", "order.paid"), []),
        (
            ("set", "order.status", "'a'", "order.paid"),
            ("set", "order.status", "'b'", "order.paid"),
            [CONTRADICTS],
        ),
        (("set", "order.status", "'a'", None), ("set", "order.state", "'b'", None), []),
        (("set", "order.fee", "order.total", None), ("set", "order.fee", "5", None), []),
        (("put", "fee", "1", None), ("put", "fee", "2", None), [CONTRADICTS]),
        (("put", "fee", "1", None), ("put", "tax", "2", None), []),
    ],
)
def test_two_effects_on_one_field(first: Any, second: Any, expected: list[FindingKind]) -> None:
    made = []
    for form, target, value, when in (first, second):
        more = {"when": when} if when else {}
        made.append(rule(form, "refund_order", target=target, expression=value, **more))
    assert [kind for kind, _ in found(*made)] == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (rule("only", "a", names=["x", "y"]), rule("without", "a", names=["y"]), [(CONTRADICTS, (2, 1))]),
        (rule("without", "a", names=["x"]), rule("only", "a", names=["y"]), []),
        (rule("without", "a", names=["x"]), rule("without", "a", names=["x", "y"]), []),
        (rule("flag", "a", target="f"), rule("flag", "a", target="f", on=False), [(CONTRADICTS, (2, 1))]),
        (
            rule("unset", "a", target="o.x"),
            rule("set", "a", target="o.x", expression="1"),
            [(CONTRADICTS, (2, 1))],
        ),
        (
            rule("not_found", "a", target="o", status=404),
            rule("not_found", "a", target="o", status=410),
            [(CONTRADICTS, (2, 1))],
        ),
    ],
)
def test_two_ways_of_one_thing(first: Rule, second: Rule, expected: list[Any]) -> None:
    assert found(first, second) == expected


def test_many_rules_on_one_value_are_gone_through_and_the_tightest_goes_on() -> None:
    rules = needs(*(f"order.total < {1_000 - at}" for at in range(999)), "order.total > 998")
    [(kind, (about, _))] = found(*rules)
    assert (kind, about) == (CONTRADICTS, 1_000)


def test_one_rule_of_many_tools_is_looked_at_once() -> None:
    tools = [f"tool_{at}" for at in range(100)]
    rules = [rule("require", *tools, expression=f"order.total > {at % 7}") for at in range(300)]
    assert {one.kind for one in findings(rules)} == {SHADOWED}


@pytest.mark.parametrize(
    ("after", "about"),
    [
        ([("a", "a")], [1]),
        ([("a", "b"), ("b", "a")], [1, 2]),
        ([("a", "b"), ("b", "c"), ("c", "b")], [1, 2, 3]),
        ([("a", "b"), ("b", "c")], []),
        ([("a", "c"), ("b", "c")], []),
    ],
)
def test_tools_that_wait_for_each_other_are_never_called(
    after: list[tuple[str, str]], about: list[int]
) -> None:
    said = findings([rule("after", tool, target=before) for tool, before in after])
    assert [(one.kind, one.rules) for one in said] == [(FindingKind.NEVER_TRUE, (at,)) for at in about]


# -- properties

constants = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a", "b", 0.5]))
values = st.sampled_from([m.arg("x"), m.arg("y")])
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
atoms = st.one_of(
    st.builds(lambda v, s, c: m.compare(v, s, m.constant(c)), values, signs, constants),
    st.builds(lambda v, c: m.is_in(v, c), values, st.lists(constants, max_size=2)),
    values,
)
conditions = st.one_of(
    atoms,
    atoms.map(n.Not),
    st.lists(atoms, min_size=2, max_size=2).map(lambda parts: n.And(tuple(parts))),
    st.lists(atoms, min_size=2, max_size=2).map(lambda parts: n.Or(tuple(parts))),
)
ALL = [None, True, False, [], {}, -3, -2, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 3, "", "a", "aa", "b", "c"]


def outcomes(needs: list[Expr]) -> set[int | None]:
    """Over all pairs of values: the number of the rule that refuses the call, 0 where none does; None where
    that cannot be worked out."""
    steps: list[Any] = [
        {"require": written(need), "else": {"status": 409, "error": f"r{at}"}}
        for at, need in enumerate(needs, 1)
    ]
    plan = parse_plan([*steps, {"return": "0"}], origin="read")
    return {_outcome(plan, x, y) for x, y in product(ALL, repeat=2)}


def _outcome(plan: Plan, x: Any, y: Any) -> int | None:
    try:
        reply: Any = run(plan, {"x": x, "y": y}, Ledger(World({})), Moment("", 1, "2026-01-01"))
    except SimulationFailed:
        return None
    return 0 if reply.status < 400 else int(reply.response["error"]["code"][1:])


@given(st.lists(conditions, min_size=2, max_size=4))
def test_no_finding_is_wrong(asked: list[Expr]) -> None:
    said = findings([Rule(tools=("a",), form=r.Require(need=need)) for need in asked])
    for one in said[:4]:
        about = [asked[number - 1] for number in reversed(one.rules)]  # the earlier one first
        came = outcomes(about)
        match one.kind:
            case FindingKind.NEVER_TRUE | FindingKind.CONTRADICTS:
                assert 0 not in came, one.says
            case FindingKind.ALWAYS_TRUE:
                assert came == {0}, one.says
            case FindingKind.SHADOWED:
                assert 2 not in came, one.says


@given(st.lists(conditions, min_size=1, max_size=5))
def test_findings_are_the_same_each_time(asked: list[Expr]) -> None:
    rules = [Rule(tools=("a", "b"), form=r.Require(need=need)) for need in asked]
    assert findings(rules) == findings(rules)


def test_types_of_any_name_are_written_in_sentences() -> None:
    [one] = findings(
        [rule("require", "a", expression="record('class').seats > 5 and record('class').seats < 3")]
    )
    assert "record('class').seats" in one.says
