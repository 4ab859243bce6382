"""Masking, held against cases that were written before its rules, and against what must hold of any text."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.telemetry.masking import PLACEHOLDER, Masking

CASES: dict[str, list[Any]] = yaml.safe_load((Path(__file__).parent / "masking_cases.yaml").read_text())
KEY = b"k" * 32


@pytest.mark.parametrize("case", CASES["mask"], ids=lambda case: case["text"][:40])
def test_secrets_and_personal_data_are_hidden(case: Any) -> None:
    masked = Masking(KEY).text(case["text"])
    assert [hidden for hidden in case["hide"] if hidden in masked] == []
    assert PLACEHOLDER.search(masked)


@pytest.mark.parametrize("text", CASES["keep"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert Masking(KEY).text(text) == text


@pytest.mark.parametrize("case", CASES["mask_json"], ids=lambda case: json.dumps(case["value"])[:40])
def test_names_of_fields_tell_what_is_hidden(case: Any) -> None:
    masked = json.dumps(Masking(KEY).json(case["value"]))
    assert [hidden for hidden in case["hide"] if hidden in masked] == []


@pytest.mark.parametrize("value", CASES["keep_json"], ids=lambda value: json.dumps(value)[:40])
def test_ordinary_fields_stay_as_they_are(value: Any) -> None:
    assert Masking(KEY).json(value) == value


def test_there_are_enough_cases_of_both_kinds() -> None:
    assert len(CASES["mask"]) + len(CASES["mask_json"]) >= 100
    assert len(CASES["keep"]) + len(CASES["keep_json"]) >= 100


def test_equal_values_stay_equal_within_a_key_and_only_there() -> None:
    ours, theirs = Masking(KEY), Masking(b"another key")
    one, other = ours.text("mail a@b.example"), ours.text("to a@b.example today")
    assert one.removeprefix("mail ") == other.removeprefix("to ").removesuffix(" today")
    assert ours.text("mail c@b.example") != one
    assert theirs.text("mail a@b.example") != one


def test_what_was_hidden_is_counted_by_kind() -> None:
    masking = Masking(KEY)
    masking.json({"password": "x", "note": "a@b.example and c@d.example", "customer_name": "Jane"})
    assert masking.counts == {"secret": 1, "email": 2, "personal": 1}


def test_addresses_are_hidden_only_on_request() -> None:
    assert Masking(KEY).text("from 203.0.113.7 again") == "from 203.0.113.7 again"
    assert "203.0.113.7" not in Masking(KEY, ips=True).text("from 203.0.113.7 again")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.sampled_from(
        [case["text"] for case in CASES["mask"]]
    ),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["password", "note", "name", "customer", "x"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(value=VALUES)
@settings(max_examples=100, deadline=None)
def test_masking_twice_is_masking_once(value: Any) -> None:
    once = Masking(KEY).json(value)
    assert Masking(KEY).json(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000, "1" * 300_000, "1 " * 150_000, "a." * 150_000, "@" * 300_000, "a@" * 150_000,
        "eyJ" * 100_000, "a@b.co +4930901820 " * 15_000,
        "password=" * 30_000, "-----BEGIN PRIVATE KEY-----" * 10_000, "AB12 " * 60_000, "0 1 " * 70_000,
        "+1 " * 100_000, "://" * 100_000, "sk-" * 100_000, "bearer " * 40_000, "tel " * 70_000,
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    Masking(KEY).text(text)
    assert time.process_time() - began < 3
