"""Information overload: ten times the real input, of its shape and words, and false to nothing in it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.scenarios.injection import SMALLEST_INPUT, inject
from pipelines.core.evals.scenarios.overload import MOST_BYTES, noise
from pipelines.core.evals.scenarios.readable import count_tokens, user_message
from pipelines.core.evals.scenarios.variation import BUILTIN
from pipelines.core.text.json_text import Json
from support.eval_samples import objects, scenario

OVERLOAD = BUILTIN["information_overload"]
ORDERS = {
    "orders": [
        {"id": f"ORD-{4000 + number}", "status": "paid", "total": 19.5 + number, "placed": "2026-11-02"}
        for number in range(40)
    ],
    "customer": {"email": "anna@example.com", "note": "wants her money back for the broken lamp"},
    "order_count": 40,
}
INPUTS = {
    "the seed's": scenario().input_context,
    "empty": {},
    "one word": {"a": "x"},
    "orders": ORDERS,
    "one long text": {"log": "the worker restarted and lost its lease again " * 500},
    "many keys": {f"metric_{number}": number * 3 for number in range(2_000)},
    "no spaces": {"blob": "Q" * 60_000},
    "deep": {"a": {"b": {"c": {"d": {"e": {"f": ["x-1", "x-2"]}}}}}},
}


_ESCAPE = re.compile(r"\\u[0-9a-f]{4}")


def keys_of(value: Json) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def ids_of(text: str) -> set[str]:
    """Words with a digit: ids, dates, numbers; a date, a decimal number and one with an exponent are one."""
    plain = _ESCAPE.sub(" ", text.casefold())
    words = re.findall(r"\d{4}-\d\d-\d\d|\d+(?:\.\d+)?e[+-]\d+|\d+\.\d+|\w+", plain)
    return {word for word in words if any(map(str.isdigit, word))}


def keys_in(text: str) -> set[str]:
    """What stands as a key in the noise: ahead of a colon, in a line of its own or in JSON."""
    return {
        *(found.strip() for found in re.findall(r"^\s*(?:- )?([^:\n]*):(?:\s|$)", text, re.MULTILINE)),
        *re.findall(r'"([^"\\]*)":', text),
    }


def ratio(of, injection) -> float:
    real = count_tokens(user_message(of.instruction, of.input_context))
    return count_tokens(injection.text) / max(real, SMALLEST_INPUT)


@pytest.mark.parametrize("input_context", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("intensity", [1, 2, 3])
def test_the_text_has_about_ten_times_the_tokens_of_the_input(input_context, intensity):
    of = scenario(input_context=input_context)
    injection = inject(OVERLOAD, of, intensity=intensity, wording=intensity)
    assert 8 <= ratio(of, injection) <= 12
    assert len(injection.text.encode()) <= MOST_BYTES


@given(objects, st.none() | st.just("Decide what to do with this, please."), st.integers(0, 100))
@settings(max_examples=80)
def test_any_input_gets_about_ten_times_its_tokens(input_context, instruction, rng_seed):
    of = scenario(input_context=input_context, instruction=instruction)
    injection = inject(OVERLOAD, of, rng_seed=rng_seed)
    assert 8 <= ratio(of, injection) <= 12
    assert injection == inject(OVERLOAD, of, rng_seed=rng_seed)


def check_false_to_nothing(input_context, text: str) -> None:
    written = user_message(None, input_context)
    assert not ids_of(text) & ids_of(written)  # no statement about anything that the input names
    assert not {key for key in keys_in(text) if key} & keys_of(input_context)  # nor under a key of it
    cases = [line for line in text.split("\n") if line and not line.startswith(" ")]
    assert all(re.fullmatch(r"other case [\w-]+:.*", line) for line in cases)  # each is about another case
    assert len(set(cases)) == len(cases)


@pytest.mark.parametrize("input_context", INPUTS.values(), ids=INPUTS)
def test_the_noise_says_nothing_about_what_the_input_names(input_context):
    check_false_to_nothing(input_context, noise(input_context, tokens=500, rng_seed=3))


@given(objects, st.integers(0, 100))
@settings(max_examples=80)
def test_no_noise_says_anything_about_what_its_input_names(input_context, rng_seed):
    check_false_to_nothing(input_context, noise(input_context, tokens=300, rng_seed=rng_seed))


def test_the_noise_has_the_shape_and_the_words_of_the_input():
    text = noise(ORDERS, tokens=3_000, rng_seed=1)
    for key in ("orders", "status", "total", "placed", "customer", "email", "order_count"):
        assert re.search(rf"[a-z]+_{key}:", text)
    assert re.search(r"_id: ORD-\d{4}\b", text)
    assert re.search(r"_placed: 20\d\d-\d\d-\d\d\b", text)
    assert "paid" in text
    notes = re.findall(r"_note: (.*)", text)
    assert notes
    assert all(re.search(r"\b(wants|money|back|broken|lamp)\b", note) for note in notes)


def test_whoever_the_input_names_is_not_in_the_noise():
    named = {
        "owner": "bertram",
        "email": "anna@example.com",
        "user_name": "clara",
        "note": "asked for a refund",
    }
    text = noise(named, tokens=500, rng_seed=1)
    assert not [name for name in ("bertram", "anna", "clara") if name in text]
    assert re.search(r"_owner: owner-\d{4}\b", text)
    assert re.search(r"_email: contact-\d{4}@example\.com", text)
    assert "refund" in text


def test_noise_for_the_largest_input_is_bounded_and_quick_enough():
    largest = {"rows": [{"id": f"r-{number}", "note": "a b c"} for number in range(1_600)]}
    of = scenario(input_context=largest)
    assert len(inject(OVERLOAD, of).text.encode()) <= MOST_BYTES


def test_an_address_with_a_digit_in_its_domain_is_not_repeated():
    check_false_to_nothing({"": "@0"}, noise({"": "@0"}, tokens=300, rng_seed=0))


def test_a_word_with_a_digit_of_any_kind_is_a_name_and_not_repeated():
    check_false_to_nothing(
        {"": "aaa²", "0": "0 aaaa bbbb"}, noise({"": "aaa²", "0": "0 aaaa bbbb"}, tokens=300, rng_seed=0)
    )
