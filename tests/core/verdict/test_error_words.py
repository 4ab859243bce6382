import pytest

from pipelines.core.verdict.error_words import (
    ERROR_WORDS,
    LONGEST_DETAIL,
    error_in_words,
    nothing_was_reached,
)
from pipelines.wire.envelope import ErrorClass


def test_every_error_class_has_words() -> None:
    assert set(ERROR_WORDS) == set(ErrorClass)


@pytest.mark.parametrize(
    ("error_class", "error", "says"),
    [
        (None, {"detail": "x"}, None),
        ("agent_timeout", None, "the agent did not answer in time"),
        ("agent_timeout", {"detail": ""}, "the agent did not answer in time"),
        (
            "agent_unreachable",
            {"detail": "Connection refused (127.0.0.1:9)"},
            "the agent could not be reached: connection refused (127.0.0.1:9)",
        ),
        ("agent_unreachable", {"detail": "TLS failed"}, "the agent could not be reached: TLS failed"),
        (
            "agent_5xx",
            {"detail": "Out\nof order"},
            "the agent answered with a server error: Out",
        ),
        ("of_later", {"detail": "new"}, "of later: new"),
    ],
)
def test_an_error_is_told_with_its_detail(error_class: str | None, error: object, says: str | None) -> None:
    assert error_in_words(error_class, error) == says


def test_a_long_detail_is_cut() -> None:
    told = error_in_words("agent_4xx", {"detail": "x" * 500})
    assert told == f"the agent refused the request: {'x' * (LONGEST_DETAIL - 1)}…"


def test_nothing_was_reached_only_if_all_runs_that_ended_failed_like_that() -> None:
    assert nothing_was_reached({"agent_unreachable": 2}, 2)
    assert not nothing_was_reached({"agent_unreachable": 2}, 3)
    assert not nothing_was_reached({"agent_timeout": 2}, 2)
    assert not nothing_was_reached({}, 0)
