"""The label of a build: what a person may give, and what an agent may report."""

import pytest

from pipelines.core.agents.build_label import LONGEST_LABEL, BuildLabel, read_build_label, reported_build
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem


def read(body: JsonObject) -> tuple[BuildLabel, list[str]]:
    problems: list[Problem] = []
    label = read_build_label(Fields(body, "", problems))
    return label, [problem.path for problem in problems]


def test_a_label_and_a_note_are_read_without_the_space_around_them():
    assert read({"label": " 3f2a1c ", "note": "shorter prompt\n"}) == (
        BuildLabel("3f2a1c", "shorter prompt"),
        [],
    )
    assert read({}) == (BuildLabel(), [])


@pytest.mark.parametrize("label", ["", "  ", "two\nlines", "bell\a", "x" * (LONGEST_LABEL + 1), 7, ["x"]])
def test_what_is_no_label_is_refused(label: Json):
    assert read({"label": label}) == (BuildLabel(), ["/label"])


@pytest.mark.parametrize(
    ("metadata", "build"),
    [
        ({"build": "3f2a1c"}, "3f2a1c"),
        ({"build": " 3f2a1c "}, "3f2a1c"),
        ({"build": "x" * 500}, "x" * LONGEST_LABEL),
        ({"build": ""}, None),
        ({"build": "two\nlines"}, None),
        ({"build": 7}, None),
        ({}, None),
        (None, None),
        ("build", None),
    ],
)
def test_a_reported_build_is_one_line_of_text(metadata: Json, build: str | None):
    assert reported_build(metadata) == build
