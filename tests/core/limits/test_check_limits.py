"""What a value may cost to be checked: hostile ones are answered within limits, ordinary ones pay nothing."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.limits.check_limits import LONGEST_PATTERN, MOST_BACKTRACKED, pattern_size
from pipelines.core.limits.json_schema import AND_MORE, MOST_PROBLEMS, CompiledSchema, schema_problems
from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import MAX_VALUES, parse_tools_schema
from support.costly_values import CASES, ONES
from support.repository import TESTS

MEMORY = 2 * 2**30  # of which the interpreter and the values themselves take a good part
SECONDS = 30  # of the processor for all cases: one of them took 21


def test_hostile_values_are_answered_within_limits_of_memory_and_time():
    child = subprocess.run(
        [sys.executable, TESTS / "support" / "costly_values.py", str(MEMORY), str(SECONDS)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(TESTS.parent / "src")},
    )
    assert child.returncode == 0, child.stderr[-500:]
    told = json.loads(child.stdout)
    assert told.keys() == CASES.keys()
    assert {name: count for name, count in told.items() if not 1 <= count <= MOST_PROBLEMS} == {}


ORDINARY = {
    "order_id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
    "reason": {"type": "string", "enum": [f"reason {at}" for at in range(300)]},
    "amount": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]},
    "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
}


def ordinary() -> CompiledSchema:
    compiled = CompiledSchema({"type": "object", "properties": ORDINARY, "required": ["order_id"]})
    compiled.compile()
    return compiled


def test_an_ordinary_schema_has_no_limit_that_a_call_could_reach():
    assert not ordinary()._limits.is_needed
    assert ordinary().accepts({"order_id": "AB-1234", "lines": [{"sku": "a"}] * 80_000})


def test_a_costly_schema_takes_what_can_be_checked_in_time_and_says_what_it_does_not():
    costly = CompiledSchema(
        {"properties": {"v": {"items": {"anyOf": [{"const": at} for at in range(1_000)]}}}}
    )
    assert costly.accepts({"v": list(range(500))})
    assert [found.path for found in costly.problems({"v": [1, 2, 1_000]})] == ["/v/2"]
    (problem,) = costly.problems({"v": ONES})
    assert "take too long to check" in problem.message
    assert "bytes are always checked" in str(problem.hint)


def test_only_texts_that_a_pattern_meets_are_counted_for_it():
    slow = {"type": "string", "pattern": "^(?!x)[a-z]+$"}
    schema = CompiledSchema(
        {"properties": {"id": slow, "ids": {"items": slow}, "content": {"type": "string"}}}
    )
    assert schema.accepts({"id": "abc", "ids": ["a"] * 100, "content": "x" * 900_000})
    assert schema.accepts({"id": "a" * (MOST_BACKTRACKED - 50)})
    assert not schema.accepts({"id": "a" * (MOST_BACKTRACKED + 50)})
    assert not schema.accepts({"ids": ["a" * 1_000] * 200})


ANY_JSON = {
    "anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "additionalProperties": {"$ref": "#"}},
    ]
}


def test_a_schema_that_contains_itself_once_is_checked_at_any_depth():
    value: object = 1
    for _ in range(30):
        value = {"a": [value]}
    assert CompiledSchema(ANY_JSON).accepts(value)
    assert CompiledSchema(ANY_JSON).accepts([value] * 50)


@pytest.mark.parametrize("count", [MOST_PROBLEMS, MOST_PROBLEMS + 1, 50_000])
def test_as_many_problems_are_told_as_fit_and_that_there_are_more(count):
    problems = ordinary().problems({"order_id": "AB-1234", "lines": [1] * count})
    assert len(problems) == MOST_PROBLEMS
    assert [found.path for found in problems[:3]] == ["/lines/0", "/lines/1", "/lines/2"]
    assert problems[-1].message.startswith(AND_MORE) is (count > MOST_PROBLEMS)


def test_what_is_wrong_far_behind_is_found_too_where_nothing_has_alternatives():
    plain = {name: schema for name, schema in ORDINARY.items() if name != "amount"}
    arguments = {"lines": [*({"sku": "a"} for _ in range(9_000)), {"sku": 5}]}
    first, more = CompiledSchema({"properties": plain}).problems(arguments)
    assert first.path == "/lines/9000/sku"
    assert more.message.startswith(AND_MORE)
    assert [found.path for found in ordinary().problems(arguments | {"order_id": "AB-1234"})] == [""]


def test_that_only_the_beginning_was_looked_at_is_no_problem_of_its_own():
    schema = CompiledSchema(
        {"properties": {"v": {"minItems": 100, "contains": {"const": 7}, "items": {"type": "integer"}}}}
    )
    problems = schema.problems({"v": [*range(9_000), "x"]})
    assert [found.path for found in problems] == ["/v/9000", ""]


PATTERNS = {"^[A-Z]{2}-[0-9]{4}$": 2**10, "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$": 2**12, "1[01]{400}2": 2**16}


@pytest.mark.parametrize(("pattern", "most"), PATTERNS.items())
def test_a_pattern_counts_by_the_states_it_can_be_in(pattern, most):
    assert pattern_size(pattern) <= most


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "[\\p{L} ]{5000}", "a" * (LONGEST_PATTERN + 1), "("])
def test_a_pattern_that_is_too_large_is_refused(pattern):
    (problem,) = schema_problems({"properties": {"a": {"pattern": pattern}}}, "", "it")
    assert problem.path == "/properties/a/pattern"


def test_patterns_that_are_too_large_together_are_refused():
    alternatives = [{"pattern": f"(0|1|01|10){{1,3000}}{at}"} for at in range(20)]
    (problem,) = schema_problems({"anyOf": alternatives}, "", "it")
    assert "too large together" in problem.message


def test_a_broken_schema_of_many_values_is_refused_in_one_sentence():
    (problem,) = schema_problems({"properties": {f"p{at}": {"type": at} for at in range(9_000)}}, "", "it")
    assert "too large to say where" in problem.message


def test_a_tools_schema_holds_a_stated_number_of_values():
    enum = list(range(MAX_VALUES + 1))
    with pytest.raises(Refused) as refused:
        parse_tools_schema([{"name": "f", "input_schema": {"type": "object", "enum": enum}}])
    assert [f"more than {MAX_VALUES:,} values" in found.message for found in refused.value.problems] == [True]


scalars = st.sampled_from([None, True, 0, 1, "a", "ab", 1.5])
small = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)


@given(small)
def test_limits_never_change_what_is_valid_of_a_small_value(value):
    alternatives = [
        {"type": "string", "pattern": "^(?=a)"},
        {"items": {"enum": ["a", 1]}, "uniqueItems": True},
    ]
    schema = CompiledSchema(
        {"anyOf": [*alternatives, {"properties": {"a": {"$ref": "#"}}, "type": "object"}]}
    )
    assert schema.accepts(value) == schema._validator.is_valid(value)
    assert (schema.problems(value) == []) == schema.accepts(value)
