"""Parsing from several threads at once, as the readers of a server do."""

import ast
import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines.core.simulation.expr.steps import draft_of
from pipelines.core.simulation.plan_words import plan_in_words
from pipelines.core.text import python_tree
from pipelines.core.text.python_tree import expression_tree

DEEP = "(" * 60 + "a" + " + b)" * 60


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns in the middle of building a tree: wherever the collector runs, Python runs."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()

    def linger(phase: str, info: dict[str, int]) -> None:
        for _ in range(200):
            pass

    sys.setswitchinterval(1e-6)
    gc.set_threshold(5)
    gc.callbacks.append(linger)
    yield
    gc.callbacks.remove(linger)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_threads_that_parse_at_once_do_not_disturb_each_other(restless: None) -> None:
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(expression_tree, [DEEP] * 60))
    assert len(trees) == 60


def test_nor_do_threads_that_lay_plans_open_or_tell_them_in_words(restless: None) -> None:
    with ThreadPoolExecutor(4) as pool:
        plans = [*pool.map(lambda text: draft_of([{"return": text}]), [DEEP] * 60)]
        assert len(plans) == 60
        told = [*pool.map(lambda plan: plan_in_words([{"return": plan}]), [DEEP] * 60)]
    assert len(told) == 60


CORE = Path(python_tree.__file__).parent
PARSERS = {("ast", "parse"), ("ast", "literal_eval")}


def _calls(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.value.id, node.attr


def test_nothing_of_the_core_parses_outside_the_lock() -> None:
    """The readers of plans, rules and pages run on threads of one server."""
    found = [path for path in CORE.rglob("*.py") if PARSERS & {*_calls(path)}]
    assert found == [Path(python_tree.__file__)]
