"""How often somebody may ask."""

import pytest

from pipelines.server.proxy.rate_window import Bound, Pace


def test_a_pace_lets_a_minutes_worth_through_and_then_one_at_a_time() -> None:
    now = [100.0]
    pace = Pace(Bound(60), clock=lambda: now[0])
    assert [pace.wait_s() for _ in range(60)] == [0.0] * 60
    assert [pace.wait_s() for _ in range(3)] == [1.0, 2.0, 3.0]
    now[0] += 33
    assert [pace.wait_s() for _ in range(31)] == [0.0] * 30 + [1.0]
    for _ in range(1_000):
        assert pace.wait_s() <= 61  # who never stops asking does not wait for ever
    unlimited = Pace(clock=lambda: now[0])
    assert {unlimited.wait_s() for _ in range(1_000)} == {0.0}


def test_every_bound_must_allow_it() -> None:
    now = [100.0]
    pace = Pace(Bound(6), Bound(2, 1.0), clock=lambda: now[0])
    assert [pace.wait_s() for _ in range(4)] == [0.0, 0.0, 0.5, 1.0]
    now[0] += 2
    assert [pace.wait_s() for _ in range(3)] == [
        0.0,
        0.0,
        pytest.approx(8),
    ]  # by the minute: one in ten seconds
