"""Plans as files: problems have lines, what is ambiguous is refused, what is written reads the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.simulation.plan_text import (
    parse_plans_text,
    plan_as_yaml,
    read_plans_text,
)
from pipelines.core.text.problems import Refused

GOOD = """
# Comments are welcome.
get_order:
  - find: {as: order, in: order, id: args.order_id}
  - return: order
ping:
  steps: [return: "'pong'"]
  description: Answers.
"""


def test_a_file_has_one_plan_per_tool():
    plans = parse_plans_text(GOOD)
    assert list(plans) == ["get_order", "ping"]
    assert plans["ping"].as_json() == {"steps": [{"return": "'pong'"}], "description": "Answers."}
    assert plans["ping"].origin == "authored"


def test_json_is_read_too():
    assert list(parse_plans_text('{"ping": [{"return": 1}]}')) == ["ping"]


def told(text: str, **known: object) -> list[str]:
    with pytest.raises(Refused) as refused:
        parse_plans_text(text, **known)  # type: ignore[arg-type]
    return [f"{problem.path}: {problem.message}" for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n  - return: oder\n", "line 2, column 5: /a/0/return: `oder` is not defined here"),
        ("a:\n- set:\n    x.y: 1\n", "line 3, column 5: /a/0/set/x.y: `x` is not defined here"),
        ("a:\n- if: now\n  then:\n  - fnd: {}\n", "line 4, column 5: /a/0/then/0/fnd: `fnd` is not a step"),
        ("a: 5\n", "line 1, column 1: /a: this must be a list of steps"),
        ("a:\n- require: now\n", "line 2, column 3: /a/0: `require` needs an `else`"),
        ("a: [return: 1]\nb: []\na: []\n", "line 3, column 1: the key `a` stands twice in one mapping"),
        ("a:\n  - let: {x: 1, x: 2}\n", "line 2, column 17: the key `x` stands twice in one mapping"),
        (
            "a: &x []\nb: *x\n",
            "line 1, column 4: this is not YAML: anchors and aliases are not part of plan files",
        ),
        (
            "a: !!python/object:os.system x\n",
            "line 1, column 4: this is not YAML: tags are not part of plan files",
        ),
        ("a: [1\n", "line 2, column 1: this is not YAML: expected ',' or ']'"),
        ("a:\n\t- 1\n", "line 2, column 1: this is not YAML: found character '\\t'"),
        ("? [a]\n: 1\n", "line 1, column 3: a key is text"),
        (
            "a:\n  - let: {x: round(1.5, 2), y: abs(min(1, 2))}\n",
            "line 2, column 25: `2)` is only part of an expression",
        ),
        ("- return: 1\n", "line 1: the file must be a mapping from tools to plans"),
        ("", "line 1: the file must be a mapping from tools to plans"),
        ("a: []\n---\nb: []\n", "line 2, column 1: this is not YAML"),
        ("a: \x00\n", ": this is not YAML: unacceptable character"),
        ("[" * 5000, ": is nested too deep"),
        ("a: '" + "x" * (1 << 20) + "'", ": a file of plans has at most 1 MiB"),
    ],
)
def test_a_problem_has_its_line(text, expected):
    assert told(text)[0].startswith(expected)


def test_every_plan_of_a_file_is_checked():
    assert len(told("a: [return: x]\nb: [return: y]\nc: [return: 1]\n")) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("12:30", "12:30"), ("2026-04-01", "2026-04-01"),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("010", 10), ("0x1f", "0x1f"), ("1_000", "1_000"), ("1e3", 1000.0), (".5", 0.5), (".inf", ".inf"),
        ("-7", -7), ("'5'", "5"), ('"true"', "true"), ("1e999", "1e999"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text, value):
    assert read_plans_text(f"a: {text}\n").bodies == {"a": value}


def test_keys_are_text_whatever_they_look_like():
    assert read_plans_text("a: {yes: 1, 5: 2, null: 3}").bodies == {"a": {"yes": 1, "5": 2, "null": 3}}


def test_a_plan_is_written_as_a_person_would():
    body = [
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
        {"require": "order.status == 'pending'", "else": {"status": 409, "error": "not_pending"}},
        {"set": {"order.status": "'cancelled'", "order.total": "round(order.total, 2)"}},
        {"for": "item", "in": "order.items", "do": [{"append": {"order.log": {"[item.id]": "item.price"}}}]},
        {"return": "[item.id for item in order.items]"},
    ]
    assert plan_as_yaml(body) == (
        "- find: {as: order, in: order, id: args.order_id}\n"
        "- require: order.status == 'pending'\n"
        "  else: {status: 409, error: not_pending}\n"
        '- set: {order.status: "\'cancelled\'", order.total: "round(order.total, 2)"}\n'
        "- for: item\n"
        "  in: order.items\n"
        "  do:\n"
        '  - append: {order.log: {"[item.id]": item.price}}\n'
        '- return: "[item.id for item in order.items]"\n'
    )


tricky = st.sampled_from([
    "yes", "~", "null", "True", "1", "1e5", ".5", "12:30", "'a'", "a: b", "a #b", "- x", "*a", "&a", "!a",
    "<<", "", "a ", " a", "{x}", "[x]", "a, b", "?", "a\nb", "\u2028", "\ufeff", "\x85", "%a", "@a", "`a`",
    "a:", "…", "a(", "2)",
])  # fmt: skip
texts = st.text(max_size=12) | tricky
numbers = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
json = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, json, min_size=1, max_size=3))
def test_what_is_written_is_read_as_it_was(bodies):
    assert read_plans_text(plan_as_yaml(bodies)).bodies == bodies
