"""Coding tasks as they are asked for: each sentence has tests that are there, and a break that can be made.

Whether the tests notice it is seen by `python tests/acceptance/break_coding.py`, which takes its time.
"""

import ast
from functools import cache

import pytest
from coding_sentences import ALL, BUILT, CONTRACT, USERS

from support.repository import PACKAGE, ROOT


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in found if node.name.startswith("test_"))


@pytest.mark.parametrize("said", ALL)
def test_what_is_said_is_held_by_tests_and_can_be_broken_in_one_place(said: str) -> None:
    sentence = ALL[said]
    for name in sentence.tests:
        path, _, test = name.partition("::")
        assert test in names_in(path), f"{name} is gone: {said}"
    source = (PACKAGE / sentence.source).read_text()
    assert source.count(sentence.text) == 1, f"{sentence.source} says it otherwise now: {said}"
    ast.parse(source.replace(sentence.text, sentence.broken))


def test_no_sentence_stands_for_another() -> None:
    assert len(ALL) == len(USERS) + len(BUILT) + len(CONTRACT)
