"""Patterns are measured before anything is compiled: what people write passes, what unfolds does not."""

import time
from contextlib import suppress

import jsonschema_rs
import pytest

from pipelines.core.limits.check_limits import BACKTRACKING, is_pattern
from pipelines.core.limits.json_schema import schema_problems
from pipelines.core.limits.pattern_cost import MOST_OF_A_PATTERN, pattern_steps, patterns_in
from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import parse_tools_schema

WRITTEN = {
    "uuid": "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    "date": r"^\d{4}-\d{2}-\d{2}$",
    "moment": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$",
    "e-mail": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "e-mail with lengths": r"(?i)^[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}\.[a-z]{2,63}$",
    "E.164": r"^\+[1-9]\d{1,14}$",
    "identifier": "^[A-Za-z0-9_-]{1,64}$",
    "a name in any script": r"^[\p{L}\p{M}' -]{1,100}$",
    "anything short": "^.{1,2000}$",
    "no tags": "^[^<>]{1,500}$",
    "a host": r"^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$",
    "a password": r"^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])\w{8,64}$",
    "base64": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    "an address": r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$",
    "brackets": r"^[\]\[(){}]{2,5}[^\]]{1,10}\{3\}$",
}
HOSTILE = {
    "counts in counts": "^(?:(?:[a-z]{1,100}N){1,100}){1,20}$",
    "a count of counts": "(a{1000}){1000}",
    "counts upon counts": "a{1000}{1000}",
    "a class of thousands": r"[\p{L} ]{5000}",
    "pieces that each fit": "".join(rf"(?=[\p{{L}}{at}]{{1,100}})" for at in range(60)),
    "words by Unicode": r"(?=a)\w{1,900}",
    "a huge number": "a{99999999999999999999}",
    "behind a comment": "(?x)a # [\n" + r"\p{L}{1,900}",
    "a count without a beginning": r"(?=a)\p{L}{,900}",
    "open groups": "(" * 50 + "(?:[a-z]{1,900}b){1,900}",
}


@pytest.mark.parametrize("pattern", WRITTEN.values(), ids=WRITTEN)
def test_what_people_write_is_taken(pattern):
    assert is_pattern(pattern)
    assert schema_problems({"properties": {"x": {"pattern": pattern}}}, "", "it") == []


def test_all_that_people_write_fits_one_tool_and_a_thousand_tools():
    plain = {name: {"type": "string", "pattern": pattern} for name, pattern in WRITTEN.items()}
    assert schema_problems({"properties": plain}, "", "it") == []
    few = {name: plain[name] for name in ("uuid", "date", "e-mail")}
    tool = {"description": "d", "input_schema": {"type": "object", "properties": few}}
    assert len(parse_tools_schema([{"name": f"t{at}", **tool} for at in range(1_000)])) == 1_000


@pytest.mark.parametrize("pattern", HOSTILE.values(), ids=HOSTILE)
def test_what_unfolds_is_refused_where_it_stands_and_with_what_to_do(pattern):
    (problem,) = schema_problems({"properties": {"a": {"pattern": pattern}}}, "/x", "it")
    assert problem.path == "/x/properties/a/pattern"
    assert f"{MOST_OF_A_PATTERN:,} are allowed" in problem.message
    assert "maxLength" in str(problem.hint)


def test_patterns_that_fit_one_by_one_may_be_too_large_together():
    large = [{"pattern": f"^(?:[a-z]{{1,100}}{at}){{1,100}}$"} for at in range(1_000)]
    started = time.thread_time()
    (problem,) = schema_problems({"allOf": large}, "/x", "it")
    assert time.thread_time() - started < 0.5, "nothing is compiled for it: that took 5 s"
    assert "too large together" in problem.message
    small = {f"^(a|b{at})+$": {} for at in range(5_000)}
    (problem,) = schema_problems({"patternProperties": small}, "/x", "it")
    assert problem.path.startswith("/x/patternProperties/")


def test_so_are_those_of_all_tools_of_an_agent():
    schema = {"type": "object", "properties": {"x": {"pattern": "^.{1,2000}$"}}}
    tools = [{"name": f"t{at}", "input_schema": schema} for at in range(20)]
    assert len(parse_tools_schema(tools[:10])) == 10
    with pytest.raises(Refused) as refused:
        parse_tools_schema(tools)
    (problem,) = refused.value.problems
    assert problem.path == "/tools_schema"
    assert "/input_schema/properties/x/pattern" in problem.message


def test_a_pattern_counts_once_in_a_schema_wherever_it_stands():
    again = {"pattern": "^a$"}
    schema = {"allOf": [again, again], "default": {"pattern": "^b$"}, "patternProperties": {"^a$": again}}
    assert sorted(each.pattern for each in patterns_in(schema)) == ["^a$", "^b$"]
    assert {each.path for each in patterns_in({"patternProperties": {"a/b": {}}})} == {
        "/patternProperties/a~1b"
    }


@pytest.mark.parametrize("pattern", [*WRITTEN.values(), r"\p{L}{1,200}", r"(?!a)\D{1,900}", "[äöü]{1,900}.*"])
def test_a_step_is_no_more_than_some_microseconds_of_compiling(pattern):
    started = time.thread_time()
    with suppress(jsonschema_rs.ValidationError):  # too large for the engine: it found out in the same time
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=BACKTRACKING)
    assert time.thread_time() - started < 0.005 + 5e-6 * pattern_steps(pattern)
