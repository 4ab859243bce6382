"""The input as words: deterministic, complete, and bounded."""

import pytest
from hypothesis import given, settings

from pipelines.core.evals.scenarios.readable import count_tokens, first_tokens, readable
from pipelines.core.text.json_text import dumps
from support.eval_samples import objects

SHOWN = {
    "flat": (
        {"event": "failed", "tries": 3, "ok": False, "by": None},
        "event: failed\ntries: 3\nok: false\nby: null",
    ),
    "a list of words": ({"tables": ["users", "orders"]}, "tables: users, orders"),
    "a list of one": ({"tables": ["users"]}, "tables:\n  - users"),
    "nested": ({"order": {"id": "o-1", "total": 9.5}}, "order:\n  id: o-1\n  total: 9.5"),
    "records": ({"o": [{"id": 1, "s": "x"}, {"id": 2}]}, "o:\n  - id: 1\n    s: x\n  - id: 2"),
    "texts that look like something else": (
        {"a": "true", "b": "12", "c": "", "d": " x", "e": "null"},
        'a: "true"\nb: "12"\nc: ""\nd: " x"\ne: "null"',
    ),
    "several lines": ({"log": "one\ntwo", "n": 1}, "log:\n  one\n  two\nn: 1"),
    "empty things": ({"a": {}, "b": []}, "a: {}\nb: []"),
    "commas": ({"a": ["x, y", "z"]}, "a:\n  - x, y\n  - z"),
    "deep": ({"a": {"b": {"c": {"d": {"e": 1}}}}}, 'a:\n  b:\n    c:\n      d: {"e":1}'),
    "nothing": ({}, "The input is empty."),
}


@pytest.mark.parametrize(("value", "text"), SHOWN.values(), ids=SHOWN)
def test_an_input_reads_as_a_person_would_write_it(value, text):
    assert readable(value) == text


@given(objects)
@settings(max_examples=60)
def test_the_words_are_bounded_by_the_input(value):
    assert readable(value) == readable(value)
    assert len(readable(value)) <= 12 * len(dumps(value)) + 50


def test_tokens_are_words_and_signs():
    assert count_tokens("Order o-101: paid, twice.") == 9
    assert first_tokens("Order o-101: paid, twice.", 4) == "Order o-101"
    assert first_tokens("two words", 5) == "two words"
