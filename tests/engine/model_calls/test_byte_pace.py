"""Bytes go by at once while they are few, and evenly from then on."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.engine.model_calls.byte_rate import ByteRateLimiter


def test_few_bytes_wait_for_nothing_and_more_for_their_share():
    now = 100.0
    pace = ByteRateLimiter(at_once=1_000, per_s=500, clock=lambda: now)
    assert pace.wait_s(1_000) == 0
    assert pace.wait_s(250) == 0.5
    now += 0.5
    assert pace.wait_s(0) == 0
    now += 60
    assert pace.wait_s(1_000) == 0, "however long nothing came, no more than so many are let by at once"
    assert pace.wait_s(500) == 1


@given(st.lists(st.integers(0, 10_000), max_size=50))
def test_no_more_go_by_than_the_rate_allows(sizes):
    now = 0.0
    pace = ByteRateLimiter(at_once=5_000, per_s=1_000, clock=lambda: now)
    for size in sizes:
        now += pace.wait_s(size)
    assert sum(sizes) <= 5_000 + 1_000 * now + 1e-6


def test_many_small_parts_count_for_more_than_their_bytes():
    pace = ByteRateLimiter(at_once=1_000, per_s=500, least=100, clock=lambda: 0.0)
    assert [round(pace.wait_s(1), 9) for _ in range(12)] == [0.0] * 10 + [0.2, 0.4]
    assert round(pace.wait_s(150), 9) == 0.7
