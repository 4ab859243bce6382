"""Kappa against statsmodels, at its bounds, and where it says nothing."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as reference_cohen
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss

from pipelines.core.evals.reviews.agreement import (
    NO_SPREAD,
    TOO_FEW_ITEMS,
    UNDEFINED,
    agreement,
    cohens_kappa,
    fleiss_kappa,
)

NAMES = ["acceptable_shift", "confirmed_susceptible", "matcher_wrong"]


def table(pairs: list[tuple[str, str]]) -> list[list[int]]:
    return [[sum(pair == (one, other) for pair in pairs) for other in NAMES] for one in NAMES]


def drawn(rng: random.Random, people: int) -> list[str]:
    """Verdicts of people who often, not always, follow the same truth."""
    truth = rng.choice(NAMES)
    return [truth if rng.random() < 0.7 else rng.choice(NAMES) for _ in range(people)]


@pytest.mark.parametrize("seed", range(12))
def test_cohens_kappa_and_its_interval_are_those_of_statsmodels(seed: int) -> None:
    rng = random.Random(seed)
    pairs = [(one, other) for one, other in (drawn(rng, 2) for _ in range(10 + 7 * seed))]
    ours, theirs = cohens_kappa(pairs), reference_cohen(table(pairs))
    assert ours.kappa == pytest.approx(theirs.kappa)
    assert ours.interval is not None
    assert ours.interval.low == pytest.approx(max(-1, theirs.kappa_low))
    assert ours.interval.high == pytest.approx(min(1, theirs.kappa_upp))


@pytest.mark.parametrize("people", [2, 3, 5, 10])
def test_fleiss_kappa_is_that_of_statsmodels(people: int) -> None:
    rng = random.Random(people)
    items = [drawn(rng, people) for _ in range(40)]
    counts = [[verdicts.count(name) for name in NAMES] for verdicts in items]
    assert fleiss_kappa(items).kappa == pytest.approx(reference_fleiss(counts))


def test_the_interval_of_fleiss_kappa_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = random.Random(1)
    truth = fleiss_kappa([drawn(rng, 3) for _ in range(50_000)]).kappa
    assert truth is not None
    held = 0
    for _ in range(300):
        interval = fleiss_kappa([drawn(rng, 3) for _ in range(60)]).interval
        assert interval is not None
        held += interval.low <= truth <= interval.high
    assert 0.90 <= held / 300 <= 0.99


def test_items_may_have_different_numbers_of_verdicts() -> None:
    a, b, _ = NAMES
    found = fleiss_kappa([[a, a], [b, b, b], [a, b], [a, a, a, b]])
    # agreed: 1, 1, 0, 3/6; 6 of 11 verdicts are a
    expected = (6 / 11) ** 2 + (5 / 11) ** 2
    assert found.observed == pytest.approx(2.5 / 4)
    assert found.kappa == pytest.approx((2.5 / 4 - expected) / (1 - expected))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=30))
def test_kappa_is_symmetric_and_within_its_bounds(pairs: list[tuple[str, str]]) -> None:
    ours, turned = cohens_kappa(pairs), cohens_kappa([(other, one) for one, other in pairs])
    if ours.kappa is None:
        assert turned.kappa is None
        return
    assert turned.kappa == pytest.approx(ours.kappa)
    assert -1 <= ours.kappa <= 1
    assert ours.interval is not None
    assert -1 <= ours.interval.low <= ours.kappa + 1e-9
    assert ours.kappa - 1e-9 <= ours.interval.high <= 1


def test_people_who_never_disagree_have_an_interval_that_says_how_little_that_proves() -> None:
    a, b, _ = NAMES
    few, many = cohens_kappa([(a, a), (b, b)] * 5), cohens_kappa([(a, a), (b, b)] * 50)
    assert few.kappa == many.kappa == 1.0
    assert few.note == NO_SPREAD
    assert few.interval is not None
    assert many.interval is not None
    assert few.interval.low < many.interval.low < 1.0


def test_where_only_one_verdict_was_ever_given_kappa_is_not_defined() -> None:
    a = NAMES[0]
    for found in (cohens_kappa([(a, a)] * 20), fleiss_kappa([[a, a, a]] * 20)):
        assert (found.kappa, found.interval, found.note) == (None, None, UNDEFINED)
        assert found.observed == 1.0


def test_too_few_items_are_said_to_be_too_few() -> None:
    a, b, _ = NAMES
    items = [{"ann": a, "bob": b}] * (TOO_FEW_ITEMS - 1) + [{"ann": a}] * 50
    told = agreement(items)
    assert told["agreement"] is None
    assert "too few" in str(told["note"])
    assert told["items"] == TOO_FEW_ITEMS - 1


def test_two_people_are_compared_by_cohen_and_more_by_fleiss() -> None:
    rng = random.Random(3)
    two = [dict(zip(("ann", "bob"), drawn(rng, 2), strict=True)) for _ in range(20)]
    three = [dict(zip(("ann", "bob", "cem"), drawn(rng, 3), strict=True)) for _ in range(20)]
    told, more = agreement(two), agreement(two + three)
    assert isinstance(told["agreement"], dict)
    assert told["agreement"]["method"] == "cohen"
    assert isinstance(more["agreement"], dict)
    assert more["agreement"]["method"] == "fleiss"
    assert isinstance(more["pairs"], list)
    pairs = {tuple(pair["reviewers"]): pair["items"] for pair in more["pairs"] if isinstance(pair, dict)}
    assert pairs == {("ann", "bob"): 40, ("ann", "cem"): 20, ("bob", "cem"): 20}


def test_without_items_there_is_no_kappa() -> None:
    for ask in (lambda: cohens_kappa([]), lambda: fleiss_kappa([]), lambda: fleiss_kappa([["x"]])):
        with pytest.raises(ValueError, match="kappa needs items"):
            ask()
