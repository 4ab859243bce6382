"""What the reader of behaviour texts reaches on the blind sentences: the figures only go the good way."""

from pathlib import Path

import pytest
from sentence_scores import (
    AS_WITHOUT,
    DEV_TRADES,
    EIGHTH,
    ELEVENTH,
    FIFTEENTH,
    FIFTH,
    FOURTEENTH,
    FOURTH,
    NINTH,
    PROBES,
    SECOND,
    SEVENTH,
    SIXTH,
    TENTH,
    THIRD,
    THIRTEENTH,
    TWELFTH,
    Scored,
    scored,
)


@pytest.fixture(scope="module")
def found() -> list[Scored]:
    return [*scored()]


def _count(found: list[Scored], outcome: str, is_dev: bool) -> int:
    return sum(one.outcome == outcome and (one.trade in DEV_TRADES) is is_dev for one in found)


def test_what_is_read_right_does_not_fall(found: list[Scored]) -> None:
    assert _count(found, "right", is_dev=True) >= 65
    assert _count(found, "right", is_dev=False) >= 103


def test_hardly_any_sentence_is_read_wrong(found: list[Scored]) -> None:
    wrong = [one for one in found if one.outcome == "wrong"]
    assert [one.sentence["id"] for one in wrong if not one.why.startswith(AS_WITHOUT)] == []
    # The rule is right, and the plan of its tool does other things than it should: of reject_leave, and of
    # get_balance, whose sentence was not read before.
    assert len(wrong) <= 2


def test_what_no_backend_can_enforce_is_always_reported(found: list[Scored]) -> None:
    assert all(one.outcome == "right" for one in found if not one.sentence["enforceable"])


@pytest.mark.slow
def test_the_second_set_does_not_fall_either() -> None:
    found = [*scored(SECOND)]
    assert sum(one.outcome == "right" for one in found) >= 102
    wrong = [one for one in found if one.outcome == "wrong"]
    assert [one.sentence["id"] for one in wrong if not one.why.startswith(AS_WITHOUT)] == []
    assert len(wrong) <= 1  # not read before: a lesson without a student, which the plan of its tool refuses


@pytest.mark.slow
def test_nor_does_the_third() -> None:
    outcomes = [one.outcome for one in scored(THIRD)]
    assert outcomes.count("right") >= 67
    assert outcomes.count("wrong") == 0


@pytest.mark.slow
def test_nor_does_the_fourth() -> None:
    found = [*scored(FOURTH)]
    assert sum(one.outcome == "right" for one in found) >= 97
    wrong = [one for one in found if one.outcome == "wrong"]
    assert [one.sentence["id"] for one in wrong if not one.why.startswith(AS_WITHOUT)] == []
    assert len(wrong) <= 1  # the rule is right, and the plan of its tool answers 404 all the same


@pytest.mark.slow
def test_nor_does_the_fifth() -> None:
    """48 when it was new; since then rules were written with it in view, so that it measures no stranger."""
    found = [*scored(FIFTH)]
    assert sum(one.outcome == "right" for one in found) >= 102
    wrong = [one for one in found if one.outcome == "wrong"]
    assert [one.sentence["id"] for one in wrong if not one.why.startswith(AS_WITHOUT)] == []
    assert len(wrong) <= 2


@pytest.mark.slow
def test_nor_does_the_sixth() -> None:
    """When it was new: 42 of 150 right and 3 wrong by the rules before, 54 and 4 by those that were written
    meanwhile; then the four wrong ones were looked at."""
    found = [*scored(SIXTH)]
    assert sum(one.outcome == "right" for one in found) >= 74
    wrong = [one for one in found if one.outcome == "wrong"]
    assert [one.sentence["id"] for one in wrong if not one.why.startswith(AS_WITHOUT)] == []
    assert len(wrong) <= 1  # not read before: one of the two tools that it binds is not bound


@pytest.mark.slow
def test_nor_does_the_seventh() -> None:
    """When it was new: 54 of 150 right and 4 wrong. Then the wrong ones, and a stranger's rewriting of the
    reported ones, were looked at."""
    found = [*scored(SEVENTH)]
    assert sum(one.outcome == "right" for one in found) >= 75
    wrong = [one for one in found if one.outcome == "wrong"]
    assert [one.sentence["id"] for one in wrong if not one.why.startswith(AS_WITHOUT)] == []
    assert len(wrong) <= 1  # of a tool whose own plan is a guess, which says so


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "right", "wrong"), [(EIGHTH, 83, 0), (NINTH, 85, 0), (TENTH, 75, 3)])
def test_nor_do_those_that_showed_what_strangers_write(folder: Path, right: int, wrong: int) -> None:
    """When they were new, 32, 35 and 37 of 150 were right by the reader of constituents alone; of the tenth,
    which nobody had looked at, 51 were right and 8 wrong once sentences were also read by their parts. The
    wrong ones were looked at then; those that are left are faults of the tools' own plans. One of the ninth
    went with a rule that served one trade, one of the tenth with `under` as a word that says nothing."""
    found = [*scored(folder)]
    assert sum(one.outcome == "right" for one in found) >= right
    assert sum(one.outcome == "wrong" for one in found) <= wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "right", "wrong"),
    [(ELEVENTH, 77, 0), (TWELFTH, 54, 1), (THIRTEENTH, 46, 0), (FOURTEENTH, 45, 1), (FIFTEENTH, 71, 3)],
)
def test_sets_of_which_only_the_wrong_ones_were_looked_at(folder: Path, right: int, wrong: int) -> None:
    """When they were new, 75, 52, 46, 45 and 71 of 150 were right and 1, 1, 6, 4 and 3 wrong. Of the first
    four what is wrong by now is so by the tools' own plans; of the last nothing was looked at."""
    found = [*scored(folder)]
    assert sum(one.outcome == "right" for one in found) >= right
    assert sum(one.outcome == "wrong" for one in found) <= wrong


@pytest.mark.slow
def test_probes_of_two_more_trades() -> None:
    """Written before the rules they led to: 31 of 72 were read then. No case of them is read wrong. One went
    with a rule that served one trade."""
    found = [*scored(PROBES)]
    assert [one.sentence["id"] for one in found if one.outcome == "wrong"] == []
    assert sum(one.outcome == "right" for one in found) >= 60
