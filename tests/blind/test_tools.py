"""Reading on tools that its rules were not written for. The bounds are what was reached.

Only totals are shown: whoever sees the cases cannot help writing rules for them.
"""

import pytest
from tool_scores import SECOND, THIRD, ToolScore, figures, scored

LEAST_RIGHT_SIDE = 0.96
MOST_READS_THAT_WRITE = 0
MOST_UNCLEAR_THAT_WRITE = 1
LEAST_SURE_AND_RIGHT = 0.98
LEAST_RIGHT_CALLS = 0.78


@pytest.fixture(scope="module")
def tools() -> list[ToolScore]:
    return scored()


def test_tools_are_on_the_side_they_belong_to(tools):
    assert figures(tools).right_side >= LEAST_RIGHT_SIDE


def test_reads_do_not_write(tools):
    assert len(figures(tools).reads_that_write) <= MOST_READS_THAT_WRITE


def test_what_is_not_clear_changes_nothing(tools):
    assert len(figures(tools).unclear_that_write) <= MOST_UNCLEAR_THAT_WRITE


def test_confidence_is_earned(tools):
    assert figures(tools).sure_right_side >= LEAST_SURE_AND_RIGHT


def test_calls_answer_and_change_as_they_should(tools):
    assert figures(tools).right_calls >= LEAST_RIGHT_CALLS


@pytest.mark.slow
def test_the_second_set_does_not_fall_either():
    found = figures(scored(folder=SECOND))
    assert (len(found.reads_that_write), len(found.unclear_that_write)) == (0, 0)
    assert found.right_side >= 0.96
    assert found.sure_right_side >= 0.99
    assert found.right_calls >= 0.82


@pytest.mark.slow
def test_nor_does_the_third():
    found = figures(scored(folder=THIRD))
    assert (len(found.reads_that_write), len(found.unclear_that_write)) == (0, 0)
    assert found.right_side >= 0.96
    assert found.sure_right_side >= 0.98
    assert found.right_calls >= 0.64
