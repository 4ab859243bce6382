"""Splits: a rule is found where it is, and chance is not taken for one."""

import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipelines.core.evals.telemetry import splits
from pipelines.core.evals.telemetry.splits import (
    ABSENT,
    NOISE_RATE,
    Presence,
    Split,
    Target,
    best_split,
    columns_of,
    in_order,
)
from pipelines.core.text.statistics import fisher_exact, hypergeometric_tail


def split_of(fields: dict[str, list[Any]], *outcomes: list[Any]) -> Split | None:
    columns = [column for name, cells in fields.items() for column in columns_of((name,), cells)]
    targets = [
        Target((f"outcome {place}",), [sorted(set(one), key=repr).index(cell) for cell in one])
        for place, one in enumerate(outcomes)
    ]
    return best_split(columns, targets, in_order(columns, targets, range(len(outcomes[0]))))


NUMBERS = st.lists(st.integers(0, 10_000), min_size=40, max_size=120, unique=True)


@given(numbers=NUMBERS, place=st.floats(0.15, 0.85), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_threshold_is_found_between_the_values_beside_it(numbers: list[int], place: float, seed: int):
    chance = random.Random(seed)
    limit = sorted(numbers)[int(place * len(numbers))]
    outcomes = ["no" if number <= limit else "yes" for number in numbers]
    assume(min(outcomes.count("yes"), outcomes.count("no")) >= 6)
    noise = {f"noise {n}": [chance.random() for _ in numbers] for n in range(5)}
    found = split_of({"amount": numbers} | noise, outcomes)
    assert found is not None
    assert found.cut.column.path == ("amount",)
    assert found.cut.below == limit
    assert found.cut.above == min(number for number in numbers if number > limit)
    assert found.p <= NOISE_RATE


@pytest.mark.parametrize("share", [0.5, 0.1], ids=["even", "rare"])
def test_noise_gives_a_split_in_no_more_looks_than_stated(share: float):
    """It is far below 1 in 100, as is a correction by the number of tries."""
    chance = random.Random(7)
    looks = 400
    found = 0
    for _ in range(looks):
        rows = range(chance.choice((30, 80, 150)))
        fields: dict[str, list[Any]] = {f"n{n}": [chance.random() for _ in rows] for n in range(4)}
        fields |= {f"c{n}": [chance.choice("abcd") for _ in rows] for n in range(3)}
        found += split_of(fields, ["x" if chance.random() < share else "y" for _ in rows]) is not None
    assert found <= looks / 100


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_rows_changes_nothing(seed: int):
    chance = random.Random(seed)
    rows = [(chance.random(), chance.choice("abc"), chance.choice((None, 1, 2, 3))) for _ in range(90)]
    outcomes = {row: ("x" if row[0] < 0.4 else row[1]) for row in rows}
    shuffled = chance.sample(rows, len(rows))

    def told(some: list[Any]) -> Any:
        fields = {name: [row[at] for row in some] for at, name in enumerate(("number", "level", "few"))}
        found = split_of(fields, [outcomes[row] for row in some])
        return found and (found.cut.column.path, found.cut.below, found.cut.left, found.p, found.rivals)

    assert told(shuffled) == told(rows)


def test_values_are_put_in_two_groups():
    countries = ["de", "fr", "it", "ng", "ir"] * 20
    found = split_of({"country": countries}, ["check" if c in ("ng", "ir") else "go" for c in countries])
    assert found is not None
    groups = {frozenset(found.cut.column.levels[at] for at in found.cut.left)}
    assert groups & {frozenset({"ng", "ir"}), frozenset({"de", "fr", "it"})}


def test_one_of_many_values_can_decide():
    cities = [f"city {n % 40}" for n in range(200)]
    found = split_of({"city": cities}, ["decline" if city == "city 7" else "offer" for city in cities])
    assert found is not None
    assert [found.cut.column.levels[at] for at in found.cut.left] == ["city 7"]


def test_whether_a_field_is_there_can_decide():
    receipts = [f"R-{n}" if n % 3 else ABSENT for n in range(60)]
    found = split_of({"receipt": receipts}, ["refund" if n % 3 else "ask" for n in range(60)])
    assert found is not None
    assert set(found.cut.column.levels) == {ABSENT, Presence.PRESENT}


def test_numbers_sent_as_text_are_numbers():
    found = split_of(
        {"amount": [f"{n}.50" for n in range(60)]}, ["yes" if n < 25 else "no" for n in range(60)]
    )
    assert found is not None
    assert (found.cut.below, found.cut.above) == (24.5, 25.5)


@pytest.mark.parametrize(
    "cells",
    [
        [f"ORD-{n}" for n in range(60)],
        [f"please look into this, case {n}" for n in range(60)],
        ["2026-11-18T10:00:00Z"] * 60,
    ],
    ids=["ids", "free text", "one value"],
)
def test_what_is_different_each_time_or_always_the_same_is_not_compared(cells: list[Any]):
    assert list(columns_of(("x",), cells)) == []


def test_three_of_three_hundred_are_found_where_a_field_separates_them():
    found = split_of(
        {"amount": list(range(300))}, ["escalate" if n >= 297 else "approve" for n in range(300)]
    )
    assert found is not None
    assert (found.cut.below, found.cut.above) == (296, 297)


def test_more_rows_than_are_compared_are_split_at_the_same_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(splits, "MOST_COMPARED", 100)
    numbers = list(range(5_000))
    found = split_of({"amount": numbers}, ["a" if n <= 3_141 else "b" for n in numbers])
    assert found is not None
    assert (found.cut.below, found.cut.above) == (3_141, 3_142)


@given(
    first=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    second=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_the_tails_are_those_of_fishers_test(first: tuple[int, int], second: tuple[int, int]):
    (a, b), (c, d) = first, second
    assume(a + b and c + d)
    trials, successes, drawn = a + b + c + d, a + c, a + b
    upper = hypergeometric_tail(a, drawn, successes, trials)
    lower = hypergeometric_tail(b, drawn, trials - successes, trials)
    assert 0 < upper <= 1
    assert upper + lower >= 1  # they share the table that was seen
    assert fisher_exact((a, a + b), (c, c + d)) >= min(upper, lower) - 1e-12
