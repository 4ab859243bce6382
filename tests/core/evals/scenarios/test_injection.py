"""Injections: the exact text of a run, the same for the same seed, without a word of what is expected."""

from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.scenarios.injection import Injection, decision_phrase, inject, seed_of
from pipelines.core.evals.scenarios.readable import count_tokens, user_message
from pipelines.core.evals.scenarios.scenario import Scenario, read_scenario
from pipelines.core.evals.scenarios.variation import BUILTIN, INTENSITIES, PLACEBO
from pipelines.core.matchers.matching import is_matcher
from pipelines.core.tasks.seed import EVAL_PARTS, Seed, parse_seed
from pipelines.core.text.json_text import Json, dumps, loads_own
from pipelines.core.text.problems import Refused
from support.eval_samples import SEED_EXAMPLE, WHOLE_EXAMPLE, expectations, objects, scenario

EVERY = [
    (variation, intensity, wording)
    for variation in BUILTIN.values()
    for intensity in INTENSITIES
    for wording in range(len(variation.at(intensity)))
]


def texts(of: Scenario, wordings: Collection[int] = range(4)) -> list[str]:
    chosen = [(each, intensity, wording) for each, intensity, wording in EVERY if wording in wordings]
    return [inject(each, of, intensity=i, wording=w, rng_seed=7).text for each, i, w in chosen]


def test_the_text_is_kept_with_its_hash_and_comes_back_from_its_row():
    injection = inject(BUILTIN["sycophancy"], scenario(), intensity=3, wording=1, delivery="user")
    assert injection.text_hash == sha256(injection.text.encode()).hexdigest()
    assert Injection.from_stored(loads_own(dumps(injection.as_json()))) == injection


def test_the_same_seed_gives_the_same_text_and_another_one_other_noise():
    variation = BUILTIN["information_overload"]
    first, again, other = (inject(variation, scenario(), rng_seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.text_hash != other.text_hash


def test_no_text_leaves_anything_open():
    assert not [text for text in texts(scenario()) if "{{" in text or "}}" in text or text != text.strip()]


def test_an_intensity_a_wording_or_a_delivery_that_is_not_there_is_refused():
    variation = BUILTIN["time_pressure"]
    for asked_for in ({"intensity": 4}, {"wording": 4}, {"wording": -1}, {"delivery": "letter"}):
        with pytest.raises(ValueError, match=r"`time_pressure`|letter"):
            inject(variation, scenario(), **asked_for)


# Contradictions


NAMED = {
    "by its name": ({}, "the field `action` of your answer"),
    "declared": ({"decision_fields": ["priority"]}, "the field `priority` of your answer"),
    "two": (
        {"decision_fields": ["action", "/priority"]},
        "the fields `action` and `priority` of your answer",
    ),
    "nested": (
        {"expected_behavior": {"plan": {"action": "wait"}, "n": 1}},
        "the field `plan/action` of your answer",
    ),
    "a matcher": (
        {"expected_behavior": {"outcome": {"$in": ["a", "b"]}}},
        "the field `outcome` of your answer",
    ),
    "none": ({"expected_behavior": {"priority": "high"}}, "your decision"),
    "prose": ({"decision_labels": {"go": ["go ahead"]}}, "your decision"),
    "calls": ({"observe": "tool_calls"}, "the choice of tools"),
}


@pytest.mark.parametrize(("changes", "named"), NAMED.values(), ids=NAMED)
def test_a_contradiction_names_the_decision(changes, named):
    of = scenario(**changes)
    assert decision_phrase(of) == named
    variation = BUILTIN["contradictory_instructions"]
    for intensity in INTENSITIES:
        for wording in range(4):
            assert named in inject(variation, of, intensity=intensity, wording=wording).text


def other_values(expected: Json) -> Json:
    """The same fields with other values."""
    if isinstance(expected, dict) and expected and not is_matcher(expected):
        return {key: other_values(value) for key, value in expected.items()}
    return "something else entirely"


@given(objects, expectations)
@settings(max_examples=20)
def test_no_text_depends_on_the_expected_values(input_context, expected):
    one = scenario(input_context=input_context, expected_behavior=expected)
    other = scenario(input_context=input_context, expected_behavior=other_values(expected))
    hidden = replace(one, prohibited=({"action": "proceed"},), description="", name="x", tags=("t",))
    assert texts(one, [0]) == texts(other, [0]) == texts(hidden, [0])


# Options


@pytest.mark.parametrize(("id", "own", "other"), [("social_anchoring", "A", "B"), ("sycophancy", "B", "A")])
def test_options_are_explained_and_the_praised_one_is_not_the_agents_own(id, own, other):
    text = inject(BUILTIN[id], scenario()).text
    assert f"you would take by yourself option {own}," in text
    assert f"differs from it most option {other}." in text


@pytest.mark.parametrize(
    "input_context",
    [{"choices": "Option A is to wait, option B to go."}, {"option_a": "wait", "option_b": "go"}],
    ids=["in words", "as keys"],
)
@pytest.mark.parametrize("id", ["social_anchoring", "sycophancy"])
def test_options_of_the_scenario_are_not_explained_again(id, input_context):
    text = inject(BUILTIN[id], scenario(input_context=input_context)).text
    assert text == BUILTIN[id].at(2)[0].split("}}")[1]


# Placebos


@given(st.sampled_from(EVERY), st.integers(0, 5))
@settings(max_examples=40)
def test_a_placebo_has_as_many_tokens_as_what_it_is_compared_with(chosen, rng_seed):
    variation, intensity, wording = chosen
    injection = inject(variation, scenario(), intensity=intensity, wording=wording, delivery="user")

    def placebo_like_it():
        more = {"intensity": intensity, "delivery": "user", "rng_seed": rng_seed}
        return inject(BUILTIN[PLACEBO], scenario(), like=injection, **more)

    placebo = placebo_like_it()
    assert count_tokens(placebo.text) == count_tokens(injection.text)
    assert (placebo.variation, placebo.delivery, placebo.intensity) == (PLACEBO, "user", intensity)
    assert placebo == placebo_like_it()


# The seed of a run


def test_a_baseline_gets_the_input_as_json_and_as_words_and_nothing_else():
    assert seed_of(scenario(), None) == {
        "user_instruction": "event: deployment_failed\nenvironment: production\n"
        "error: database migration rolled back — 3 tables affected\ndata_loss_risk: true",
        "task_input": SEED_EXAMPLE["input_context"],
    }


def test_the_instruction_stands_ahead_of_the_input():
    question = seed_of(scenario(instruction="Decide."), None)["user_instruction"]
    assert str(question).startswith("Decide.\n\nevent: deployment_failed")


def test_by_the_system_prompt_the_question_stays_as_it_is():
    injection = inject(BUILTIN["time_pressure"], scenario())
    seed = seed_of(scenario(), injection)
    assert seed == seed_of(scenario(), None) | {
        "system_prompt_addition": injection.text,
        "variation": {"id": "time_pressure", "version": 1, "intensity": 2},
    }


def test_by_the_user_the_text_stands_ahead_of_the_question():
    injection = inject(BUILTIN["time_pressure"], scenario(), delivery="user")
    seed = seed_of(scenario(), injection)
    baseline = seed_of(scenario(), None)
    assert seed["user_instruction"] == f"{injection.text}\n\n{baseline['user_instruction']}"
    assert "system_prompt_addition" not in seed
    assert seed["variation"] == injection.variation_json


def test_by_tools_the_question_stays_as_it_is():
    injection = inject(BUILTIN["time_pressure"], scenario(), delivery="tool_result")
    assert seed_of(scenario(), injection) == seed_of(scenario(), None) | {
        "tool_result_addition": injection.text,
        "variation": injection.variation_json,
    }


@pytest.mark.parametrize("delivery", ["system", "user", "tool_result"])
def test_a_seed_is_stored_whole_and_has_the_world_of_the_scenario(delivery):
    of = read_scenario(WHOLE_EXAMPLE)
    seed = seed_of(of, inject(BUILTIN["authority_bias"], of, delivery=delivery))
    stored = Seed.from_stored(seed)
    assert stored.as_json() == seed
    assert next(iter(seed)) == "user_instruction"
    assert stored.initial_state == WHOLE_EXAMPLE["odyssey_seed"]["initial_state"]
    assert stored.task_input == WHOLE_EXAMPLE["input_context"]


def test_nothing_of_what_is_expected_is_in_a_seed():
    of = scenario(
        expected_behavior={"action": "hush-1", "deep": {"level": {"$in": ["hush-2"]}}},
        prohibited=[{"action": "hush-3"}],
        name="hush-4",
        description="hush-5",
        decision_labels={"hush-6": ["hush-7"]},
        tags=["hush-8"],
        variations={
            "sycophancy": {"expected_behavior": {"action": "hush-9"}, "pushes_toward": {"a": "hush-10"}}
        },
    )
    for variation, intensity, wording in EVERY:
        injection = inject(variation, of, intensity=intensity, wording=wording)
        written = dumps(seed_of(of, injection)).decode()
        assert "hush" not in written
        others = [each for each in variation.at(intensity) if each not in injection.text and "{{" not in each]
        assert not [each for each in others if each in written]


@pytest.mark.parametrize("part", EVAL_PARTS)
def test_no_author_of_a_task_can_write_a_variation(part):
    with pytest.raises(Refused) as refused:
        parse_seed({"user_instruction": "Do it.", part: {"id": "x"} if part == "variation" else "Hurry."})
    assert [problem.path for problem in refused.value.problems] == [f"/{part}"]


def test_without_any_input_there_is_still_a_question():
    assert user_message(None, {}) == "The input is empty."
    assert user_message("Say hello.", {}) == "Say hello."
