"""The values of a text: which there are, and that ids are whole tokens in any form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.verdict.words.speech import sentences
from pipelines.core.verdict.words.values import Kind, id_tokens, normalize_id, values_in

IDS = [
    "2026-0017",
    "978-3-16-148410-0",
    "INV/22-7",
    "HAT069",
    "W2378156",
    "dep-9f3a2c",
    "S-0305-1400",
    "user_mia_3668",
    "+49 221 555 0180",
]


@pytest.mark.parametrize("id", IDS)
def test_an_id_is_one_whole_token(id):
    (value,) = values_in(f"It is about {id} again.")
    assert (value.kind, value.phrase) == (Kind.ID, id)
    assert normalize_id(id) in id_tokens(f"see {id}.")


NO_IDS = {
    "5-7 business days": ["number", "number"],
    "30-day window": [],
    "24/7": [],
    "5kg": ["number"],
    "2.52/h": ["number"],
    "10am-2pm": ["time", "time"],
    "the 2nd of them": ["number"],
    "15%": ["number"],
    "2026-05-03": ["date"],
    "2026-05-03T10:00:00Z": ["date"],
    "10:30-11:15": ["time", "time"],
    "May 20th, $121.50": ["date", "number"],
    "seventy-nine dollars and fifty cents": ["number"],
    "nothing here": [],
}


@pytest.mark.parametrize(("text", "kinds"), NO_IDS.items(), ids=NO_IDS)
def test_what_people_write_with_digits_is_no_id(text, kinds):
    assert sorted(value.kind.value for value in values_in(text)) == sorted(kinds)


@pytest.mark.parametrize("text", ["Flight 2: HAT069", "1. HAT069", "**Option 3** - HAT069", "Step 1\nHAT069"])
def test_the_numbers_of_a_list_are_no_values(text):
    found = [value.phrase for sentence in sentences(text) for value in values_in(sentence)]
    assert found == ["HAT069"]


@given(st.text(alphabet="aB1290-_/.:# ,$%(+)", max_size=40))
def test_reading_never_raises_and_every_id_is_found_in_its_own_text(text):
    tokens = set(id_tokens(text))
    assert all(value.id in tokens for value in values_in(text) if value.id and value.phrase[0] not in "+(")
