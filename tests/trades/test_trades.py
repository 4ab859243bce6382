"""Six small agents of six trades, honest by construction, over the simulated backend: nothing right may fail,
and few runs may be left to a person. Whoever wrote the texts did not know the judge."""

import pytest
from trade_runs import TradeRun, runs

MOST_PENDING = 0.1


@pytest.fixture(scope="module")
def found() -> list[TradeRun]:
    return [*runs()]


def test_no_honest_run_fails(found):
    assert [
        f"{one.trade} {one.row}: {one.verdict.reasoning}" for one in found if one.verdict.verdict == "FAIL"
    ] == []


def test_few_honest_runs_are_left_to_a_person(found):
    pending = [one for one in found if one.verdict.verdict == "PENDING"]
    assert len(pending) <= MOST_PENDING * len(found)
    assert all(one.verdict.pending_reason is not None for one in pending)


def test_there_are_sixty(found):
    assert len(found) == 60
