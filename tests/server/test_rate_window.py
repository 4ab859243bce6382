"""How often somebody may ask."""

from pipelines.server.rate_window import Pace


def test_a_pace_lets_a_minutes_worth_through_and_then_one_at_a_time() -> None:
    now = [100.0]
    pace = Pace(60, lambda: now[0])
    assert [pace.wait_s() for _ in range(60)] == [0.0] * 60
    assert [pace.wait_s() for _ in range(3)] == [1.0, 2.0, 3.0]
    now[0] += 33
    assert [pace.wait_s() for _ in range(31)] == [0.0] * 30 + [1.0]
    for _ in range(1_000):
        assert pace.wait_s() <= 61  # who never stops asking does not wait for ever
    unlimited = Pace(0, lambda: now[0])
    assert {unlimited.wait_s() for _ in range(1_000)} == {0.0}
