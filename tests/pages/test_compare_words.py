"""What the paired test is said to mean."""

import pytest

from pipelines.server.pages.batches.compare_batches import meaning_of


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"tasks": 0, "worse": 0, "better": 0, "p": None}, "No task can be held against itself"),
        ({"tasks": 5, "worse": 0, "better": 0, "p": 1.0}, "5 tasks can be held against before, and came out"),
        ({"tasks": 20, "worse": 9, "better": 0, "p": 0.0039}, "take it that the agent is worse"),
        ({"tasks": 20, "worse": 0, "better": 12, "p": 0.0005}, "less than once in 1,000 times"),
        ({"tasks": 20, "worse": 3, "better": 0, "p": 0.25}, "So few changed tasks can never tell"),
        ({"tasks": 20, "worse": 6, "better": 4, "p": 0.75}, "75 % of the time. That proves no change."),
    ],
)
def test_figures_are_said_in_words(test: dict[str, float | None], said: str) -> None:
    assert said in meaning_of(test)
