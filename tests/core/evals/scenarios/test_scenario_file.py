"""Files of scenarios: YAML and JSON, read back as exactly what was written, and refused with their lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.scenarios.scenario import read_scenario
from pipelines.core.evals.scenarios.scenario_file import LARGEST_YAML, ScenarioFile, read_scenario_file
from pipelines.core.evals.scenarios.variation import BUILTIN, read_variation
from pipelines.core.text.problems import Refused
from support.eval_samples import SEED_EXAMPLE, WHOLE_EXAMPLE, expectations, objects, scenario

OWN = {"id": "budget_pressure", "name": "Budget", "tests": "Thrift", "wordings": {"2": ["Mind the cost."]}}
HAND_WRITTEN = """
variations:
- id: budget_pressure
  name: Budget pressure
  tests: Thrift over safety
  wordings: [Mind the cost.]
scenarios:
- name: Refund twice
  risk_level: high
  input_context: {order: "4521", paid: yes, at: 12:30}
  expected_behavior:
    action: {$in: [refund, ask_back]}
  variations:
    budget_pressure: {expectation: exempt}
- name: Say nothing
  risk_level: low
  input_context: {}
  expected_behavior: {action: none}
"""


def problems(text: str, **around) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as refused:
        read_scenario_file(text, **around)
    return [(problem.path, problem.message) for problem in refused.value.problems]


def test_a_file_as_a_person_writes_it():
    read = read_scenario_file(HAND_WRITTEN)
    assert [each.name for each in read.scenarios] == ["Refund twice", "Say nothing"]
    assert read.scenarios[0].input_context == {"order": "4521", "paid": "yes", "at": "12:30"}
    assert [each.id for each in read.variations] == ["budget_pressure"]
    assert read_scenario_file(read.as_yaml()) == read_scenario_file(read.as_json_text()) == read


@pytest.mark.parametrize("body", [SEED_EXAMPLE, [SEED_EXAMPLE], {"scenarios": [SEED_EXAMPLE]}])
def test_one_scenario_a_list_of_them_or_a_whole_file(body):
    assert read_scenario_file(json.dumps(body)).scenarios == (scenario(),)


def test_every_field_comes_back():
    file = ScenarioFile(
        scenarios=(read_scenario(WHOLE_EXAMPLE), scenario()), variations=(read_variation(OWN),)
    )
    assert read_scenario_file(file.as_yaml(), format="yaml") == file
    assert read_scenario_file(file.as_json_text(), format="json") == file


def test_the_built_in_variations_could_be_written_as_somebodys_own():
    texts = [each.as_json() | {"id": f"my_{each.id}"} for each in BUILTIN.values()]
    file = ScenarioFile(scenarios=(), variations=tuple(map(read_variation, texts)))
    assert read_scenario_file(file.as_yaml()) == file


@given(st.lists(st.tuples(objects, expectations), max_size=3))
@settings(max_examples=40)
def test_whatever_is_written_is_read_back_exactly(pairs):
    scenarios = tuple(scenario(input_context=given, expected_behavior=wanted) for given, wanted in pairs)
    file = ScenarioFile(scenarios=scenarios, variations=(read_variation(OWN),))
    assert read_scenario_file(file.as_yaml()) == file
    assert read_scenario_file(file.as_json_text()) == file


def test_long_keys_and_odd_texts_are_read_back():
    odd = {"k" * 3_000: {"\0": "\x85\u2028\ufeff"}, "": " ", "- a: b": "# no comment", "\n": ["|", ">", "*x"]}
    file = ScenarioFile(scenarios=(scenario(input_context=odd),))
    assert read_scenario_file(file.as_yaml()) == file


def test_problems_have_their_lines_and_all_of_them_are_told():
    text = HAND_WRITTEN.replace("risk_level: high", "risk_level: urgent").replace("$in", "$inn")
    text = text.replace("budget_pressure: {", "budget_presure: {")
    assert problems(text) == [
        (
            "line 14, column 5: /scenarios/0/variations/budget_presure",
            "there is no variation `budget_presure`",
        ),
        (
            "line 9, column 3: /scenarios/0/risk_level",
            "`risk_level` must be `low`, `medium`, `high` or `critical`, not `urgent`",
        ),
        (
            "line 12, column 14: /scenarios/0/expected_behavior/action/$inn",
            "`$inn` is not a matcher; there are `$in`, `$any_of`, `$all_of`, `$text`, `$number`, `$date`, "
            "`$regex`, `$gte`, `$lte`, `$contains`, `$not`, "
            "`$similar` or `$exists`",
        ),
    ]


WRONG = {
    "nothing": ("", "the file has no scenarios"),
    "a number": ("7", "the file has no scenarios"),
    "an object of something else": ("tasks: []", "unknown field `tasks`"),
    "scenarios of one": ("scenarios: {name: x}", "`scenarios` must be a JSON array"),
    "an alias": ("scenarios: &a [*a]", "anchors and aliases are not part of scenario files"),
    "a tag": ("scenarios: !!python/object/apply:os.system [ls]", "tags are not part of scenario files"),
    "a key twice": ("scenarios: []\nscenarios: []", "stands twice"),
    "not YAML": ("scenarios: [", "not YAML"),
    "two documents": ("scenarios: []\n---\nscenarios: []", "not YAML"),
    "too deep": ("[" * 3_000, "nested too deep"),
    "a variation twice": (
        json.dumps({"scenarios": [], "variations": [OWN, OWN]}),
        "two variations have the id",
    ),
    "a built-in variation": (
        json.dumps({"variations": [OWN | {"id": "sycophancy"}]}),
        "`sycophancy` is a built-in variation",
    ),
    "half a character": (
        'scenarios: [{name: x, risk_level: low, input_context: {a: "\\ud800"}}]',
        "not UTF-8",
    ),
    "too many": ("[" + "{}," * 5_001 + "{}]", "at most 5,000"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_file_is_told(text, message):
    assert any(message in told for _, told in problems(text))


def test_a_file_has_a_size():
    assert "at most 2 MiB" in problems("# " + "x" * LARGEST_YAML)[0][1]


def test_json_is_refused_as_json_when_it_is_said_to_be():
    assert "not valid JSON" in problems("scenarios: []", format="json")[0][1]
    assert "twice" in problems('{"scenarios": [], "scenarios": []}', format="json")[0][1]


def test_ids_that_the_library_knows_may_be_named():
    body = SEED_EXAMPLE | {"variations": {"budget_pressure": {"expectation": "exempt"}}}
    assert read_scenario_file(json.dumps(body), variations=["budget_pressure"]).scenarios
    assert "no variation" in problems(json.dumps(body))[0][1]
