"""How long a claim holds: by the steady clock, whatever the time of day says."""

from pipelines.core.evals.reviews.review import LEASE_S
from pipelines.engine import review_leases
from pipelines.engine.platform import later
from pipelines.engine.review_leases import ReviewLeases
from pipelines.storage.evals.reviews import StoredClaim

NOW = "2026-05-01T12:00:00.000000Z"
HOUR = 3600


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def claim(reviewer: str = "ann", until: str = later(NOW, LEASE_S)) -> StoredClaim:
    return StoredClaim(review_id="rev_1", reviewer=reviewer, claimed_until=until)


def test_a_claim_taken_here_lasts_its_time_whatever_the_time_of_day_is() -> None:
    clock = Clock()
    leases = ReviewLeases(steady=clock)
    leases.begin(claim())
    for jump in (-HOUR, HOUR, 10 * HOUR):
        assert leases.of(claim(), later(NOW, jump)).left_s == LEASE_S
    clock.now += LEASE_S - 1
    assert leases.of(claim(), NOW).is_live
    clock.now += 1
    assert not leases.of(claim(), NOW).is_live
    assert leases.live([claim()], NOW) == []


def test_a_process_that_hears_of_a_claim_later_works_out_once_what_is_left() -> None:
    clock = Clock()
    leases = ReviewLeases(steady=clock)
    assert leases.of(claim(), later(NOW, 600)).left_s == LEASE_S - 600
    clock.now += 100
    assert leases.of(claim(), later(NOW, -HOUR)).left_s == LEASE_S - 700
    assert not ReviewLeases(steady=clock).of(claim(), later(NOW, HOUR)).is_live


def test_a_clock_that_was_set_back_makes_no_claim_last_longer_than_a_lease() -> None:
    assert ReviewLeases(steady=Clock()).of(claim(), later(NOW, -HOUR)).left_s == LEASE_S


def test_a_claim_that_was_renewed_elsewhere_is_another() -> None:
    clock = Clock()
    leases = ReviewLeases(steady=clock)
    leases.begin(claim())
    clock.now += LEASE_S
    renewed = claim(until=later(NOW, 2 * LEASE_S))
    assert leases.of(renewed, later(NOW, LEASE_S)).left_s == LEASE_S


def test_claims_whose_time_is_up_are_forgotten_when_there_are_many(monkeypatch) -> None:
    monkeypatch.setattr(review_leases, "MOST_KEPT", 10)
    clock = Clock()
    leases = ReviewLeases(steady=clock)
    for number in range(10):
        leases.begin(claim(reviewer=f"r{number}"))
    clock.now += LEASE_S
    leases.begin(claim(reviewer="last"))
    assert list(leases._leases) == [("rev_1", "last")]
