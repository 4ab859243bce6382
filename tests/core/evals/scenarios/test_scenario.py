"""Scenarios: what an author may write, and that one answer names everything that is wrong with it."""

import copy

import pytest
from hypothesis import given, settings

from pipelines.core.evals.scenarios.scenario import Scenario, read_scenario
from pipelines.core.evals.scenarios.variation import BUILTIN
from pipelines.core.text.json_text import dumps, loads_own
from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import parse_tools_schema
from support.eval_samples import SEED_EXAMPLE, WHOLE_EXAMPLE, expectations, objects, scenario


def problems(body, **around):
    with pytest.raises(Refused) as refused:
        read_scenario(body, **around)
    return [(problem.path, problem.message) for problem in refused.value.problems]


def test_the_seeds_example_is_read_and_written_word_for_word():
    body = copy.deepcopy(SEED_EXAMPLE)
    read = read_scenario(body)
    assert read.as_json() == SEED_EXAMPLE
    assert list(read.as_json()) == list(SEED_EXAMPLE)
    assert body == SEED_EXAMPLE
    assert (read.match_mode, read.observe, read.agent_id, read.decision_fields) == (
        "subset",
        "final_response",
        None,
        None,
    )


def test_a_scenario_with_every_field_is_written_as_it_was_read():
    assert read_scenario(WHOLE_EXAMPLE, variations=BUILTIN).as_json() == WHOLE_EXAMPLE
    assert set(WHOLE_EXAMPLE) == set(Scenario.__dataclass_fields__)


@pytest.mark.parametrize("body", [SEED_EXAMPLE, WHOLE_EXAMPLE], ids=["the seed's", "whole"])
def test_a_stored_scenario_is_the_one_that_was_accepted(body):
    read = read_scenario(body)
    row = dumps(read.as_json())
    assert Scenario.from_stored(loads_own(row)) == read


@given(objects, expectations)
@settings(max_examples=60)
def test_any_input_and_any_expectation_come_back_from_their_row(input_context, expected):
    read = scenario(input_context=input_context, expected_behavior=expected)
    assert Scenario.from_stored(loads_own(dumps(read.as_json()))) == read
    assert read.contract.expected_behavior == expected


def test_everything_that_is_wrong_is_told_at_once():
    body = SEED_EXAMPLE | {
        "risk_level": "urgent",
        "descripton": "typo",
        "prohibited": [{}],
        "expected_behavior": {"action": {"$rgex": "^esc"}},
        "decision_fields": ["actoin"],
        "agent_id": "seven",
        "variations": {"time_presure": {"expectation": "exempt"}},
    }
    found = problems(body, variations=BUILTIN)
    assert [path for path, _ in found] == [
        "/descripton",
        "/variations/time_presure",
        "/risk_level",
        "/prohibited/0",
        "/agent_id",
        "/expected_behavior/action/$rgex",
        "/decision_fields/0",
    ]
    with pytest.raises(Refused) as refused:
        read_scenario(body, variations=BUILTIN)
    hints = {problem.path: problem.hint for problem in refused.value.problems}
    assert hints["/descripton"] == "did you mean `description`?"
    assert hints["/variations/time_presure"] == "did you mean `time_pressure`?"
    assert hints["/expected_behavior/action/$rgex"] == "did you mean `$regex`?"
    assert hints["/decision_fields/0"] == "did you mean `/action`?"


def deep(levels: int):
    value = {"a": 1}
    for _ in range(levels):
        value = {"a": value}
    return value


WRONG = {
    "no such risk": ({"risk_level": "urgent"}, "/risk_level", "`low`, `medium`, `high` or `critical`"),
    "risk in capitals": ({"risk_level": "HIGH"}, "/risk_level", "not `HIGH`"),
    "no name": ({"name": None}, "/name", "missing"),
    "a blank name": ({"name": " "}, "/name", "empty"),
    "a name with a NUL": ({"name": "a\0"}, "/name", "NUL"),
    "a long name": ({"name": "x" * 256}, "/name", "at most 255"),
    "a long description": ({"description": "x" * 5_001}, "/description", "at most 5,000"),
    "input that is a list": ({"input_context": []}, "/input_context", "object, not an array"),
    "input that is null": ({"input_context": None}, "/input_context", "object, not null"),
    "large input": ({"input_context": {"a": "x" * 70_000}}, "/input_context", "at most 65,536"),
    "many values": ({"input_context": {"a": [1] * 6_000}}, "/input_context", "5,000 values"),
    "deep input": ({"input_context": deep(70)}, "/input_context", "deeper than 64"),
    "half a character": ({"input_context": {"a": "\ud800"}}, "/input_context", "not UTF-8"),
    "a number of 80 bits": ({"input_context": {"a": 2**80}}, "/input_context", "64 bits"),
    "expectation of text": ({"expected_behavior": "escalate"}, "/expected_behavior", "not a string"),
    "expectation of a list": ({"expected_behavior": [{}]}, "/expected_behavior", "not an array"),
    "expectation of null": ({"expected_behavior": None}, "/expected_behavior", "not null"),
    "nothing expected": ({"expected_behavior": {}}, "/expected_behavior", "every answer would match"),
    "a large expectation": ({"expected_behavior": {"a": "x" * 70_000}}, "/expected_behavior", "at most"),
    "options that are none": (
        {"expected_behavior": {"action": {"$in": []}}},
        "/expected_behavior/action/$in",
        "non-empty",
    ),
    "a broken pattern": (
        {"expected_behavior": {"a": {"b": {"$regex": "("}}}},
        "/expected_behavior/a/b/$regex",
        "not a usable pattern",
    ),
    "matcher beside fields": (
        {"expected_behavior": {"a": {"$gte": 1, "b": 2}}},
        "/expected_behavior/a/b",
        "is mixed with a matcher",
    ),
    "a broken prohibition": ({"prohibited": [{"a": {"$gte": "1"}}]}, "/prohibited/0/a/$gte", "a number"),
    "prohibition of a text": ({"prohibited": ["proceed"]}, "/prohibited/0", "not a string"),
    "prohibitions without a list": ({"prohibited": {"a": 1}}, "/prohibited", "array"),
    "many prohibitions": ({"prohibited": [{"a": 1}] * 51}, "/prohibited", "at most 50"),
    "a rule for nothing": ({"fields": {"/actoin": {"kind": "enum"}}}, "/fields/~1actoin", "is not a leaf"),
    "no such kind": ({"fields": {"/action": {"kind": "enm"}}}, "/fields/~1action/kind", "`enum`"),
    "a scale of one level": (
        {"fields": {"/priority": {"levels": ["low"]}}},
        "/fields/~1priority/levels",
        "2 to 50",
    ),
    "levels of a number": (
        {"fields": {"/priority": {"kind": "number", "levels": ["a", "b"]}}},
        "/fields/~1priority/levels",
        "`scale`",
    ),
    "a negative tolerance": (
        {"fields": {"/priority": {"tolerance": -1}}},
        "/fields/~1priority/tolerance",
        "from 0",
    ),
    "a weight that is true": (
        {"fields": {"/priority": {"weight": True}}},
        "/fields/~1priority/weight",
        "boolean",
    ),
    "a rule is given twice": (
        {"fields": {"priority": {"kind": "enum"}, "/priority": {"kind": "enum"}}},
        "/fields/~1priority",
        "is given twice",
    ),
    "labels without phrases": ({"decision_labels": {"go": []}}, "/decision_labels/go", "needs an array"),
    "a broken label": (
        {"decision_labels": {"go": ["/(/"]}},
        "/decision_labels/go/0/$regex",
        "not a usable pattern",
    ),
    "tags with commas": ({"tags": "a,b"}, "/tags", "array"),
    "no such observation": ({"observe": "toolcalls"}, "/observe", "`tool_calls`"),
    "agent zero": ({"agent_id": 0}, "/agent_id", "id of an agent"),
    "agent true": ({"agent_id": True}, "/agent_id", "id of an agent"),
    "variations as a list": ({"variations": ["time_pressure"]}, "/variations", "object"),
    "a variation that the entry is empty": ({"variations": {"x": {}}}, "/variations/x", "the entry is empty"),
    "no such expectation": (
        {"variations": {"x": {"expectation": "ignore"}}},
        "/variations/x/expectation",
        "`exempt`",
    ),
    "an override that is broken": (
        {"variations": {"x": {"expected_behavior": {"a": {"$in": 1}}}}},
        "/variations/x/expected_behavior/a/$in",
        "non-empty array",
    ),
    "a world with its own question": (
        {"odyssey_seed": {"user_instruction": "Do it."}},
        "/odyssey_seed/user_instruction",
        "comes from the scenario",
    ),
    "a world with a variation": (
        {"odyssey_seed": {"system_prompt_addition": "Hurry."}},
        "/odyssey_seed/system_prompt_addition",
        "comes from the scenario",
    ),
    "a world that is no object": ({"odyssey_seed": "x"}, "/odyssey_seed", "object"),
    "a broken world": ({"odyssey_seed": {"now": "soon"}}, "/odyssey_seed/now", ""),
}


@pytest.mark.parametrize(("changes", "path", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_place(changes, path, message):
    found = problems(SEED_EXAMPLE | changes)
    assert path in dict(found)
    assert message in dict(found)[path]


@pytest.mark.parametrize("body", [None, [], "x", 1, True])
def test_a_scenario_is_an_object(body):
    assert problems(body)[0][0] == ""


def test_the_tools_of_a_world_are_checked_where_they_are_known():
    tools = parse_tools_schema([{"name": "roll_back", "input_schema": {"type": "object"}}])
    body = SEED_EXAMPLE | {"odyssey_seed": {"expected_calls": {"must": ["rol_back"]}}}
    assert read_scenario(body).odyssey_seed == body["odyssey_seed"]
    assert any("rol_back" in message for _, message in problems(body, tools=tools))


def test_a_field_may_be_named_without_a_slash():
    read = scenario(fields={"priority": {"levels": ["low", "high"]}}, decision_fields=["priority"])
    assert list(read.fields) == ["/priority"]
    assert read.fields["/priority"].kind == "scale"


def test_a_variation_may_have_an_expectation_of_its_own():
    read = read_scenario(WHOLE_EXAMPLE)
    assert read.contract_under(None) == read.contract
    assert read.contract_under("authority_bias") == read.contract
    changed = read.contract_under("contradictory_instructions")
    assert changed.expected_behavior == {"action": {"$in": ["escalate_to_owner", "ask_back"]}}
    assert changed.prohibited == read.prohibited


def test_an_empty_input_is_an_input():
    assert scenario(input_context={}).input_context == {}
