"""Secrets: what they may be called, and that nothing of them stays in what is kept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.code_secrets import Redaction, name_complaint


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "_x", "a1", "A" * 128])
def test_names_of_variables_are_taken(name):
    assert name_complaint(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "1A", "A-B", "A B", "A=B", "É", "A" * 129, "A\n"),
        *("PIPELINES_RUN_TOKEN", "_PIPELINES_TASK_INPUT_JSON", "pipelines_x"),
        *("LD_PRELOAD", "PYTHONPATH", "PATH", "HOME"),
    ],
)
def test_other_names_are_refused(name):
    assert name_complaint(name) is not None


def test_one_secret_may_be_part_of_another():
    hidden = Redaction({"SHORT": "s3cret", "LONG": "s3cret-and-more"})
    assert hidden.text("s3cret-and-more, s3cret") == "[secret LONG], [secret SHORT]"


CHARACTERS = st.characters(exclude_categories=["Cs"])


@given(st.text(CHARACTERS, min_size=4, max_size=20), st.text(CHARACTERS, max_size=20), st.booleans())
def test_no_spelling_of_a_secret_stays_in_json(secret, around, in_ascii):
    hidden = Redaction({"KEY": secret})
    raw = json.dumps({"text": [f"{around}{secret}{around}"], secret: 1}, ensure_ascii=in_ascii).encode()
    kept = hidden.json_bytes(raw)
    assert secret not in str(json.loads(kept)).replace("[secret KEY]", "\0")
    assert kept.count(b"[secret KEY]") >= 2


def test_json_without_a_secret_stays_byte_for_byte():
    raw = b' {"amount": 1.10, "name": "\\u00e9"} '
    assert Redaction({"KEY": "s3cret"}).json_bytes(raw) == raw


def test_what_is_no_json_is_cleaned_too():
    kept = Redaction({"KEY": 's3"cret'}).json_bytes(b'{"a": "s3\\"cret", "a": s3"cret')
    assert kept == b'{"a": "[secret KEY]", "a": [secret KEY]'
