"""Parsing from several threads at once, as the readers of a server do."""

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines.core.python_tree import expression_tree

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
