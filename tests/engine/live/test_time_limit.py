"""Limits of processor time belong to the thread that works."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines.engine.live.time_limit import has_time


def test_a_limit_ends_with_the_work_of_its_thread() -> None:
    limit = has_time(0.02)
    assert limit()
    began = time.thread_time()
    while time.thread_time() - began < 0.02:
        pass
    assert not limit()


def test_another_thread_is_told_that_it_is_not_its_limit() -> None:
    limit = has_time(10)
    with ThreadPoolExecutor(1) as other, pytest.raises(RuntimeError, match="another thread"):
        other.submit(limit).result()
    assert limit()
