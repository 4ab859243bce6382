"""How long claims of reviews still hold, by the steady clock.

What is stored is a time of day, which can be set while we run, and which two machines disagree on. So what is
left of a claim is worked out once, when this process first hears of it, and measured steadily from then on.
"""

import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from pipelines.core.evals.reviews.review import LEASE_S, Claim
from pipelines.storage.evals.reviews import StoredClaim

MOST_KEPT = 10_000  # past this, those whose time is up are forgotten


class _Lease(NamedTuple):
    until: str  # tells a renewed claim from the one before
    ends_at: float


class ReviewLeases:
    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._leases: dict[tuple[str, str], _Lease] = {}
        self._lock = threading.Lock()  # readers and the writer ask, each on a thread of its own

    def begin(self, claim: StoredClaim) -> None:
        """A claim that was taken or renewed here, this moment."""
        with self._lock:
            self._forget_old()
            self._leases[claim.review_id, claim.reviewer] = _Lease(
                claim.claimed_until, self._steady() + LEASE_S
            )

    def of(self, claim: StoredClaim, now: str) -> Claim:
        """`now` is by the clock that all who work on the database share."""
        place = (claim.review_id, claim.reviewer)
        with self._lock:
            lease = self._leases.get(place)
            if lease is None or lease.until != claim.claimed_until:
                lease = _Lease(claim.claimed_until, self._steady() + _left_s(claim.claimed_until, now))
                self._leases[place] = lease
            left_s = lease.ends_at - self._steady()
        return Claim(reviewer=claim.reviewer, until=claim.claimed_until, left_s=left_s)

    def live(self, claims: Iterable[StoredClaim], now: str) -> list[tuple[str, Claim]]:
        """Those that hold, each with its review's id."""
        found = [(claim.review_id, self.of(claim, now)) for claim in claims]
        return [(review_id, claim) for review_id, claim in found if claim.is_live]

    def _forget_old(self) -> None:
        if len(self._leases) >= MOST_KEPT:
            now = self._steady()
            self._leases = {place: lease for place, lease in self._leases.items() if lease.ends_at > now}


def _left_s(until: str, now: str) -> float:
    """Never longer than a lease is: a clock that was set back must not make one last for hours."""
    remaining = datetime.fromisoformat(until) - datetime.fromisoformat(now)
    return min(float(LEASE_S), max(0.0, remaining.total_seconds()))
