"""The retry policy: how long to wait after a try of a call, or to give up. Pure functions.

Only temporary conditions of the platform are retried. The agent is tested on a tool's answers, above all
injected failures: a retry would hide them.
"""

from typing import NamedTuple

MAX_TRIES = 4
FIRST_WAIT_S = 0.5  # doubled each time: 0.5, 1, 2
JITTER_S = 0.5  # spread over the callers that were turned away together
MAX_WAIT_S = 4.0
MAX_RETRY_AFTER_S = 60.0  # the proxy counts calls per minute: no honest Retry-After is longer
#: Statuses that an edge in front of the platform answers with when it is not to be reached.
_TRANSIENT = frozenset({429, 502, 503, 504})


class Attempt(NamedTuple):
    """The outcome of one try."""

    #: None when no whole answer came back.
    status: int | None
    #: The answer is a tool's: the backend, or a failure rule, speaks.
    is_from_tool: bool = False
    is_injected: bool = False
    #: The platform said `"retryable": true`.
    is_retryable: bool = False
    retry_after_s: float | None = None
    #: Another try would come to the same: it took all the time a call may take, or the address is none.
    is_final: bool = False


def wait_before_next(tries: int, last: Attempt, chance: float) -> float | None:
    """Seconds to wait before the next try, or None to give up. `chance` is a random number in 0..1.

    >>> wait_before_next(1, Attempt(429), 0.5)
    0.75
    >>> wait_before_next(3, Attempt(None), 1.0)
    2.5
    >>> wait_before_next(1, Attempt(503, is_from_tool=True, is_injected=True), 0.5) is None
    True
    >>> wait_before_next(4, Attempt(429), 0.5) is None
    True
    """
    if tries >= MAX_TRIES or not _should_retry(last):
        return None
    wait_s = min(FIRST_WAIT_S * 2.0 ** (tries - 1) + chance * JITTER_S, MAX_WAIT_S)
    if last.retry_after_s is None:
        return wait_s
    if last.retry_after_s > MAX_RETRY_AFTER_S:
        return None
    return max(wait_s, last.retry_after_s + chance * JITTER_S)


def _should_retry(last: Attempt) -> bool:
    if last.is_injected or last.is_final:
        return False
    if last.status is None or last.is_retryable:
        return True
    return not last.is_from_tool and last.status in _TRANSIENT
