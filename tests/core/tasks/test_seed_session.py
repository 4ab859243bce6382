"""What a seed session is asked for: read strictly, every problem at once."""

from typing import Any

import pytest

from pipelines.core.tasks.seed_session import (
    AXES,
    DEFAULT_BUCKETS,
    MOST_BUCKETS,
    read_prompt,
    read_revision,
    read_session_request,
)
from pipelines.core.text.problems import Refused

LEAST: dict[str, Any] = {"agent_id": 1, "name": "orders"}


def refused(body: dict[str, Any]) -> list[str]:
    with pytest.raises(Refused) as caught:
        read_session_request(body)
    return [problem.said() for problem in caught.value.problems]


def test_the_least_gets_sensible_defaults_and_says_that_its_buckets_were_chosen():
    read = read_session_request(LEAST)
    assert (read.size, read.author, read.rng_seed, read.now) == ("standard", "embedded", None, None)
    assert read.buckets == DEFAULT_BUCKETS
    assert read.are_buckets_chosen
    assert read.axes == AXES[:-1]


def test_a_bucket_without_a_theme_has_its_name_for_one():
    read = read_session_request(LEAST | {"buckets": [{"name": " refunds ", "rows": 3}]})
    (bucket,) = read.buckets
    assert (bucket.name, bucket.theme, bucket.rows) == ("refunds", "refunds", 3)
    assert not read.are_buckets_chosen


def test_behaviour_text_brings_its_axis():
    assert read_session_request(LEAST | {"behavior": "Only the buyer may cancel."}).axes == AXES
    assert read_session_request(LEAST | {"behavior": "  "}).behavior is None


def test_a_moment_is_read_as_utc():
    read = read_session_request(LEAST | {"now": "2026-05-01T12:00:00+02:00"})
    assert read.now == "2026-05-01T10:00:00.000000Z"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"agent_id": "1"}, "/agent_id: `agent_id` must be the id of an agent"),
        ({"name": ""}, "/name: `name` is empty"),
        ({"size": "huge"}, "/size: `size` must be `compact`, `standard` or `rich`, not `huge`"),
        ({"author": "poet"}, "/author: `author` must be `embedded` or `model`, not `poet`"),
        ({"rng_seed": -1}, "/rng_seed: `rng_seed` must be a whole number from 0 to 9007199254740991, not -1"),
        ({"now": "soon"}, "/now: `now` must be an ISO-8601 time"),
        ({"colour": "red"}, "/colour: unknown field `colour`"),
        ({"buckets": []}, "/buckets: `buckets` is empty"),
        ({"buckets": [{"name": "a"}]}, "/buckets/0/rows: `rows` is missing"),
        ({"buckets": [{"rows": 1}]}, "/buckets/0/name: `name` is missing"),
        (
            {"buckets": [{"name": "a", "rows": 0}]},
            "/buckets/0/rows: `rows` must be a whole number from 1 to 1000, not 0",
        ),
        (
            {"buckets": [{"name": "a", "rows": 1}, {"name": "A", "rows": 1}]},
            "/buckets/1/name: two buckets are called `A`",
        ),
        (
            {"buckets": [{"name": "a", "rows": 900}, {"name": "b", "rows": 900}]},
            "/buckets: the buckets ask for 1,800 rows; a session has at most 1,000",
        ),
        (
            {"buckets": [{"name": str(at), "rows": 1} for at in range(MOST_BUCKETS + 1)]},
            "/buckets: `buckets` has 21 entries; at most 20 are allowed",
        ),
        ({"axes": ["user_instruction"]}, "/axes: `initial_state` is missing: every session generates it"),
        (
            {"axes": ["user_instruction", "initial_state", "weather"]},
            "/axes: a session cannot generate `weather`",
        ),
        (
            {"axes": ["user_instruction", "initial_state"], "behavior": "x"},
            "/axes: `behavior` is given, but `axes` does not include `behavior_instructions`",
        ),
        ({"behavior": "x" * 40_000}, "/behavior: `behavior` has more than 32,768 bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(changes, said):
    assert refused(LEAST | changes) == [said]


def test_all_problems_come_in_one_answer():
    assert len(refused({"size": "huge", "buckets": [{"name": "a", "rows": "x"}], "rng_seed": 1.5})) == 5


def test_a_prompt_is_text_that_says_something():
    assert read_prompt({"prompt": " add 3 orders ", "revision": 2}) == "add 3 orders"
    for body in ({}, {"prompt": " "}, {"prompt": 3}, {"prompt": "x" * 5000}, {"prompt": "x", "other": 1}):
        with pytest.raises(Refused):
            read_prompt(body)


def test_a_revision_is_its_number_or_nothing():
    assert read_revision(None) is None
    assert read_revision(3) == 3
    for value in (0, -1, "3", 2.0, True, 2**40):
        with pytest.raises(Refused):
            read_revision(value)
