"""What the paired test is said to mean."""

import pytest

from pipelines.server.pages.batches.compare_batches import meaning_of


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"tasks": 0, "worse": 0, "better": 0, "p": None}, "no task was judged in both"),
        ({"tasks": 5, "worse": 0, "better": 0, "p": 1.0}, "5 tasks can be compared. None of them changed."),
        ({"tasks": 20, "worse": 9, "better": 0, "p": 0.0039}, "evidence that the agent got worse"),
        ({"tasks": 20, "worse": 0, "better": 12, "p": 0.0005}, "less than 0.1 % of the time"),
        ({"tasks": 20, "worse": 3, "better": 0, "p": 0.25}, "At least 6 changed tasks are needed"),
        (
            {"tasks": 20, "worse": 6, "better": 4, "p": 0.75},
            "75 % of the time. This is not enough evidence of a change.",
        ),
    ],
)
def test_figures_are_said_in_words(test: dict[str, float | None], said: str) -> None:
    assert said in meaning_of(test)
