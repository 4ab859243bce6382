"""Two batches, task by task: what a change is called, what is tested, what is only said."""

import pytest

from pipelines.core.results.compare_batches import (
    OTHER_ORACLE,
    OTHER_TASK,
    JudgedRun,
    counts_of,
    flips_of,
    paired_test,
    pairs_of,
)

VERDICTS = {"P": "PASS", "F": "FAIL", "?": "PENDING", "-": "NOT_APPLICABLE"}


def runs(*tasks: str, content: str = "c", oracle: str = "o", first: int = 1) -> list[JudgedRun]:
    """`a:PPF` is the task `a`, run three times."""
    made = []
    for row, told in enumerate(tasks, 1):
        key, _, verdicts = told.partition(":")
        for repeat, letter in enumerate(verdicts, 1):
            mode = "incomplete" if letter == "F" else None
            head = (key, first * 100 + row, row, content, oracle)
            made.append(JudgedRun(*head, repeat, first * 1000 + len(made), VERDICTS[letter], mode))
    return made


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("P", "F", "regressed"),
        ("F", "P", "fixed"),
        ("F", "F", "still_failing"),
        ("P", "P", "passing"),
        ("P", "?", "unjudged"),
        ("-", "F", "unjudged"),
        ("PPP", "PPF", "regressed"),
        ("PFF", "PPF", "improved"),
        ("PFF", "PPP", "fixed"),
        ("PF", "PPFF", "still_failing"),
        ("PP?", "P", "passing"),
    ],
)
def test_a_change_is_called(before, after, change):
    (pair,) = pairs_of(runs(f"a:{before}"), runs(f"a:{after}", first=2))
    assert pair.change == change
    assert pair.is_lost == ((before, after) == ("P", "?"))


def test_tasks_are_paired_by_key_whatever_their_row_and_failures_come_first():
    before = runs("a:P", "b:F", "c:P", "d:F", "gone:P", "e:P")
    after = runs("new:F", "e:P", "d:P", "c:?", "b:F", "a:F", first=2)
    pairs = pairs_of(before, after)
    told = [(pair.key, pair.change) for pair in pairs]
    assert told == [
        *(("a", "regressed"), ("c", "unjudged"), ("b", "still_failing"), ("d", "fixed")),
        *(("gone", "only_from"), ("new", "only_to"), ("e", "passing")),
    ]
    counts = counts_of(pairs)
    assert sum(counts.values()) == len(pairs)
    assert counts["regressed"] == counts["fixed"] == counts["still_failing"] == 1


def test_one_run_a_task_is_tested_by_mcnemar():
    before = runs(*(f"{n}:P" for n in range(10)), *(f"{n}:F" for n in range(10, 12)))
    after = runs(*(f"{n}:F" for n in range(9)), *(f"{n}:P" for n in range(9, 12)), first=2)
    test = paired_test(pairs_of(before, after))
    assert (test.name, test.worse, test.better) == ("mcnemar", 9, 2)
    assert test.p == pytest.approx(2 * (1 + 11 + 55) / 2**11)


def test_repeats_are_tested_by_the_signs_of_their_tasks():
    """Five tasks, each worse by a third: 2 of 32 ways to turn the signs are as far, however many repeats."""
    before, after = runs(*(f"{n}:PPP" for n in range(5))), runs(*(f"{n}:PPF" for n in range(5)), first=2)
    test = paired_test(pairs_of(before, after))
    assert (test.name, test.tasks, test.p) == ("sign_flip", 5, 2 / 32)
    assert test.mean_difference == pytest.approx(-1 / 3)


def test_what_was_changed_or_has_another_oracle_is_said_and_not_tested():
    before = runs("a:P", "b:P")
    changed = runs("a:F", content="other", first=2) + runs("b:F", oracle="other", first=2)
    pairs = {pair.key: pair for pair in pairs_of(before, changed)}
    assert pairs["a"].notes == (OTHER_TASK,)
    assert pairs["b"].notes == (OTHER_ORACLE,)
    assert [pair.change for pair in pairs.values()] == ["regressed", "regressed"]
    test = paired_test([*pairs.values()])
    assert (test.tasks, test.p, test.mean_difference) == (0, None, None)


def test_nothing_that_differs_is_no_sign_of_a_change():
    same = runs("a:PPF", "b:PPP")
    assert paired_test(pairs_of(same, same)).p == 1.0


def test_flips_are_told_run_by_run():
    flips = flips_of(runs("a:PF", "b:P"), runs("a:PP", "c:P", first=2))
    assert (flips.compared, flips.only_from, flips.only_to) == (2, 1, 1)
    (flip,) = flips.flips
    assert (flip.task_key, flip.repeat_number, flip.direction()) == ("a", 2, "improved")
