"""Tests rewritten so that they run as before and then fail."""

import asyncio
from typing import Any

import pytest

from pipelines.sandbox.inside.must_fail import failing_tests

pytestmark = pytest.mark.unit

SOURCE = b"""
from __future__ import annotations
import contextlib
seen = []

def helper():
    return 1

def test_plain():
    '''Its docstring.'''
    seen.append('plain')

def test_returns():
    seen.append('returns')
    return None

async def test_async():
    seen.append('async')

class TestGroup:
    def test_method(self):
        seen.append('method')
        raise SystemExit(0)

    def not_one(self):
        return 2

    class TestInner:
        def test_deep(self): seen.append('deep')
"""


def _loaded() -> dict[str, Any]:
    made = failing_tests(SOURCE)
    assert made is not None
    names: dict[str, Any] = {}
    exec(compile(made[0], "test_x.py", "exec"), names)
    return names


def test_every_test_runs_and_then_fails():
    names = _loaded()
    group = names["TestGroup"]
    tests = (names["test_plain"], names["test_returns"], group().test_method, group.TestInner().test_deep)
    for test in tests:
        with pytest.raises(ZeroDivisionError):
            test()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(names["test_async"]())
    assert names["seen"] == ["plain", "returns", "method", "deep", "async"]


def test_what_is_no_test_stays():
    names = _loaded()
    assert names["helper"]() == 1
    assert names["TestGroup"]().not_one() == 2


def test_the_tests_are_named_as_the_runner_names_them():
    made = failing_tests(SOURCE)
    assert made is not None
    assert made[1] == [
        *("test_plain", "test_returns", "test_async"),
        *("TestGroup::test_method", "TestGroup::TestInner::test_deep"),
    ]


@pytest.mark.parametrize("source", [b"def test_(", b"\0", b"x = 1\n", b"\xff", b"#" * (1 << 21)])
def test_what_has_no_test_or_is_no_python_is_left_alone(source: bytes):
    assert failing_tests(source) is None
