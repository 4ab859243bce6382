"""Reading on tools that its rules were not written for. The bounds are what was reached.

Only totals are shown: whoever sees the cases cannot help writing rules for them.
"""

import pytest
from tool_scores import (
    EIGHTH,
    FIFTH,
    FOLDER,
    FOURTH,
    NINTH,
    SECOND,
    SEVENTH,
    SIXTH,
    TENTH,
    THIRD,
    ToolScore,
    figures,
    scored,
    unchanged_share,
)
from tool_variants import VARIANTS, variant_scores

PROBES = FOLDER.parent / "tools_probes"
LEAST_RIGHT_SIDE = 0.98
MOST_READS_THAT_WRITE = 0
MOST_UNCLEAR_THAT_WRITE = 0
LEAST_SURE_AND_RIGHT = 0.99
LEAST_RIGHT_CALLS = 0.93


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
    assert found.right_side >= 0.99
    assert found.sure_right_side >= 0.99
    assert found.right_calls >= 0.97


@pytest.mark.slow
def test_nor_does_the_third():
    found = figures(scored(folder=THIRD))
    assert (len(found.reads_that_write), len(found.unclear_that_write)) == (0, 0)
    assert found.right_side >= 0.96  # `ack(alarm_id, user)` did write, but a user that no alarm has
    assert found.sure_right_side >= 0.99
    assert found.right_calls >= 0.92


@pytest.mark.slow
def test_nor_does_the_fourth():
    found = figures(scored(folder=FOURTH))
    assert (len(found.reads_that_write), len(found.unclear_that_write)) == (0, 0)
    assert found.right_side >= 0.97
    assert found.sure_right_side >= 0.99
    assert found.right_calls >= 0.9


@pytest.mark.slow
def test_nor_does_the_fifth():
    """When it was new, 63 % of its calls were right; what is more was written with it in view."""
    found = figures(scored(folder=FIFTH))
    assert (len(found.reads_that_write), len(found.unclear_that_write)) == (0, 0)
    assert found.right_side >= 0.98
    assert found.sure_right_side >= 0.99
    assert found.right_calls >= 0.93


@pytest.mark.slow
def test_nor_does_the_sixth():
    """Measured when it was new, by rules written before anybody saw it: 65.5 % of its calls were right by the
    rules before, 72.7 by the next ones. What is more was written with it in view."""
    plain, other = scored(folder=SIXTH), scored(folder=SIXTH, renamed=1)
    found, renamed = figures(plain), figures(other)
    assert (len(found.reads_that_write), len(found.unclear_that_write)) == (0, 0)
    assert renamed.reads_that_write == ()
    assert found.right_side >= 0.98
    assert found.sure_right_side >= 0.99
    # Pairing ids with types that no tool names cost two calls here (`redeem_promo`); rules that served one
    # trade are gone.
    assert found.right_calls >= 0.94
    assert renamed.right_calls >= found.right_calls - 0.02
    assert unchanged_share(plain, other) >= 0.94


@pytest.mark.slow
def test_nor_does_the_seventh():
    """When it was new, 86.0 % of its calls were right, and 85.6 by the next rules; since then those that were
    wrong have been looked at, though no rule was written for one of them alone."""
    plain, other = scored(folder=SEVENTH), scored(folder=SEVENTH, renamed=1)
    found, renamed = figures(plain), figures(other)
    assert (found.reads_that_write, renamed.reads_that_write) == ((), ())
    assert found.unclear_that_write == ()  # two of them did, and were looked at
    assert found.right_side >= 0.97
    assert found.sure_right_side >= 0.98
    assert found.right_calls >= 0.9
    assert renamed.right_calls >= found.right_calls - 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "side", "calls"), [(EIGHTH, 0.99, 0.93), (NINTH, 0.99, 0.935)])
def test_nor_do_the_eighth_and_the_ninth(folder, side, calls):
    """When they were new, 93.6 and 96.0 % were on the right side, 75.0 and 71.0 % of the calls right. Three
    trades of the eighth were looked at, which moved no call of the ninth; then the ninth whole, from 76.1 to
    94.6 %, which moved five calls of the eighth and eight of the seventh. Since then rules that served one
    trade are gone."""
    found = figures(scored(folder=folder))
    assert found.reads_that_write == ()
    assert found.unclear_that_write == ()
    assert found.right_side >= side
    assert found.sure_right_side >= 0.98
    assert found.right_calls >= calls


@pytest.mark.slow
def test_a_set_that_nobody_had_looked_at():
    """The tenth, when it was new: 97.6 % on the right side, 84.1 % of the calls right by the rules of before,
    85.5 by those that were written meanwhile. One tool that is not clear changed something, and was looked
    at."""
    found = figures(scored(folder=TENTH))
    assert found.reads_that_write == ()
    assert found.unclear_that_write == ()
    assert found.right_side >= 0.97
    assert found.sure_right_side >= 0.98
    assert found.right_calls >= 0.85


@pytest.mark.slow
def test_tools_that_work_something_out():
    """Probes by the author of the rules (tools_probes/README.md), so no measure of trades that are new."""
    found = figures(scored(folder=PROBES))
    assert (len(found.reads_that_write), len(found.unclear_that_write)) == (0, 0)
    assert found.right_side >= 0.94
    assert found.sure_right_side >= 0.99
    assert found.right_calls >= 0.9


@pytest.mark.parametrize("folder", [FOLDER, SECOND, THIRD, FOURTH, FIFTH], ids=lambda one: one.name)
def test_labels_of_entities_are_free(folder):
    """Senseless labels for every type: hardly a reply changes, and no read writes."""
    plain, other = scored(folder=folder), scored(folder=folder, renamed=1)
    assert unchanged_share(plain, other) >= 0.96
    assert figures(other).reads_that_write == ()
    assert figures(other).right_calls >= figures(plain).right_calls - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_read_that_is_written_otherwise_does_not_write(name):
    found = figures(variant_scores(VARIANTS[name]))
    assert found.reads_that_write == ()
    assert found.right_calls >= 0.8
