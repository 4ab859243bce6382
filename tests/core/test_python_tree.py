"""Parsing from several threads at once, as the readers of a server do."""

import sys
from concurrent.futures import ThreadPoolExecutor

from pipelines.core.python_tree import expression_tree

DEEP = "(" * 60 + "a" + " + b)" * 60


def test_threads_that_parse_at_once_do_not_disturb_each_other() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(expression_tree, [DEEP] * 400))
    finally:
        sys.setswitchinterval(before)
    assert len(trees) == 400
