"""The retry policy as a table: what happened, how often it was tried, what chance said."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipelines.odyssey.retry
from pipelines.odyssey.retry import MAX_TRIES, Attempt, wait_before_next

BROKEN = Attempt(None)
RATE_LIMITED = Attempt(429, is_retryable=True)


@pytest.mark.parametrize(
    ("tries", "chance", "wait_s"),
    [
        (1, 0.0, 0.5),
        (1, 1.0, 1.0),  # 0.5 + 1 * 0.5
        (2, 0.0, 1.0),
        (2, 0.5, 1.25),  # 1 + 0.5 * 0.5
        (3, 0.0, 2.0),
        (3, 1.0, 2.5),  # 2 + 1 * 0.5: the longest
        (4, 0.0, None),
        (5, 0.0, None),
    ],
)
def test_waits_double_with_jitter_until_the_fourth_try(tries, chance, wait_s):
    assert wait_before_next(tries, BROKEN, chance) == wait_s


WORTH_IT = {
    "no answer": Attempt(None),
    "rate limited": Attempt(429, is_retryable=True),
    "rate limited by an edge": Attempt(429),
    "storage away": Attempt(503, is_retryable=True),
    "an edge without its server": Attempt(502),
    "a gateway that timed out": Attempt(504),
    "a tool that the platform calls temporary": Attempt(502, is_from_tool=True, is_retryable=True),
}
NOT_WORTH_IT = {
    "a success": Attempt(200, is_from_tool=True),
    "the backend says no": Attempt(404, is_from_tool=True),
    "a live hop that failed": Attempt(502, is_from_tool=True),
    "an injected 500": Attempt(500, is_from_tool=True, is_injected=True),
    "an injected 503": Attempt(503, is_from_tool=True, is_injected=True),
    "an injected 429": Attempt(429, is_from_tool=True, is_injected=True),
    "an injected reply that calls itself retryable": Attempt(
        503, is_from_tool=True, is_injected=True, is_retryable=True
    ),
    "a wrong token": Attempt(401),
    "a fault of the platform": Attempt(500),
    "a whole timeout": Attempt(None, is_final=True),
}


@pytest.mark.parametrize("last", WORTH_IT.values(), ids=WORTH_IT)
def test_conditions_of_the_platform_are_tried_again(last):
    assert wait_before_next(1, last, 0.0) == 0.5


@pytest.mark.parametrize("last", NOT_WORTH_IT.values(), ids=NOT_WORTH_IT)
def test_what_would_be_said_again_is_not(last):
    assert wait_before_next(1, last, 0.0) is None


@pytest.mark.parametrize(
    ("retry_after_s", "wait_s"),
    [(0.0, 0.5), (1.0, 1.0), (17.0, 17.0), (60.0, 60.0), (61.0, None), (3600.0, None)],
)
def test_a_longer_retry_after_is_kept_to_and_an_absurd_one_ends_it(retry_after_s, wait_s):
    assert wait_before_next(1, RATE_LIMITED._replace(retry_after_s=retry_after_s), 0.0) == wait_s


@given(tries=st.integers(1, MAX_TRIES - 1), chance=st.floats(0, 1))
def test_without_a_retry_after_every_wait_is_within_the_contract(tries, chance):
    wait_s = wait_before_next(tries, BROKEN, chance)
    assert wait_s is not None
    assert 0.5 <= wait_s <= 2.5


def test_the_examples_hold():
    assert doctest.testmod(pipelines.odyssey.retry).failed == 0
