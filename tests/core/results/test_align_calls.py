"""Two runs' calls side by side: every call once and in order, equal ones opposite each other."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.results.align_calls import (
    ALIKE,
    AlignedRow,
    ComparedCall,
    align,
    common_calls,
    divergence,
)


def calls(text: str) -> list[ComparedCall]:
    """`a1 b!`: tool a with argument 1, tool b refused. A `'` behind it is another body."""
    return [
        ComparedCall(
            sequence=number,
            tool=word[0],
            arguments=word[1:].strip("!'"),
            outcome="error" if "!" in word else "odyssey",
            reply=word,
        )
        for number, word in enumerate(text.split(), 1)
    ]


CASES = {
    "nothing at all": ("", "", ""),
    "the same": ("a1 b2", "a1 b2", "alike alike"),
    "another body": ("a1 b2", "a1 b2'", "alike text"),
    "another outcome": ("a1 b2", "a1 b2!", "alike reply"),
    "other arguments": ("a1 b2 c3", "a1 b9 c3", "alike arguments alike"),
    "a retry": ("a1 b2! b2 c3", "a1 b2 c3", "alike left alike alike"),
    "one run goes on": ("a1", "a1 b2", "alike right"),
    "another tool": ("a1 b2", "a1 c2", "alike left right"),
    "other arguments before a new tool": ("a1 z1", "a2 b1 z1", "arguments right alike"),
}


@pytest.mark.parametrize(("left", "right", "kinds"), CASES.values(), ids=CASES)
def test_calls_are_aligned(left: str, right: str, kinds: str) -> None:
    rows = align(calls(left), calls(right))
    if left == "a1 b2! b2 c3":  # which of two equal calls is the extra one is nobody's to say
        assert sorted(row.kind for row in rows) in (
            sorted(kinds.split()),
            ["alike", "alike", "left", "reply"],
        )
    else:
        assert [row.kind for row in rows] == kinds.split()


keys = st.lists(st.sampled_from("abc"), max_size=24)
some_calls = st.lists(st.sampled_from(["a1", "a2", "b1", "b1!", "c3", "c3'"]), max_size=24).map(" ".join)


def longest(left: list[str], right: list[str]) -> int:
    """By the textbook."""
    row = [0] * (len(right) + 1)
    for key in left:
        before = row
        row = [0]
        for place, other in enumerate(right):
            row.append(before[place] + 1 if key == other else max(row[-1], before[place + 1]))
    return row[-1]


@given(keys, keys)
def test_what_is_in_common_is_as_long_as_can_be(left: list[str], right: list[str]) -> None:
    pairs = common_calls(left, right)
    assert len(pairs) == longest(left, right)
    assert all(left[at] == right[other] for at, other in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(some_calls, some_calls)
def test_every_call_stands_once_and_in_order(left: str, right: str) -> None:
    rows = align(calls(left), calls(right))
    assert [row.left for row in rows if row.left] == calls(left)
    assert [row.right for row in rows if row.right] == calls(right)
    for row in rows:
        if row.left and row.right:
            assert row.left.tool == row.right.tool
            assert (row.left.arguments == row.right.arguments) == (row.kind != "arguments")


@given(some_calls)
def test_a_run_is_like_itself(text: str) -> None:
    rows = align(calls(text), calls(text))
    assert {row.kind for row in rows} <= {"alike"}
    assert divergence(rows) == (None, None)


@given(st.lists(st.booleans(), max_size=30))
def test_the_lasting_divergence_is_the_first_behind_which_agreement_never_leads(differs: list[bool]) -> None:
    rows = [AlignedRow("reply" if each else "alike", None, None) for each in differs]

    def lasts(place: int) -> bool:
        return differs[place] and all(
            balance >= 1 for balance in accumulate(1 if each else -1 for each in differs[place:])
        )

    wanted = next((place for place in range(len(rows)) if lasts(place)), None)
    assert divergence(rows).lasting == wanted
    assert divergence(rows).first == (differs.index(True) if True in differs else None)


PARTINGS = {
    "never": ("a1 b2", "a1 b2", None),
    "a retry both come back from": ("a1 b1 b2 c3 c4", "a1 b1 x1 b2 c3 c4", None),
    "for good": ("a1 b1 b2 b3", "a1 c1 c2 c3", 1),
    "a retry, then for good": ("a1 x1 b1 b2 z1", "a1 b1 b2 y1", 4),
    "one run stops": ("a1 b1", "a1", 1),
}


@pytest.mark.parametrize(("left", "right", "lasting"), PARTINGS.values(), ids=PARTINGS)
def test_where_runs_part(left: str, right: str, lasting: int | None) -> None:
    rows = align(calls(left), calls(right))
    assert divergence(rows).lasting == lasting
    assert all(row.kind in ALIKE for row in rows[: divergence(rows).first])
