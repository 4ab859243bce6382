"""Rates and tests: golden values worked out by hand or taken from the specification, and properties."""

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.text.statistics import (
    benjamini_hochberg,
    exact_mcnemar,
    holm,
    mean_pass_hat_k,
    pass_hat_k,
    wilson,
)

counts = st.integers(0, 60).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))
p_values = st.lists(st.floats(0, 1), max_size=30)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (3, 3, 0.4385, 1.0),  # the specification's 0.44, 0.72 and 0.89
        (10, 10, 0.7225, 1.0),
        (30, 30, 0.8865, 1.0),
        (0, 10, 0.0, 0.2775),
        (7, 10, 0.3968, 0.8922),
        (1, 2, 0.0945, 0.9055),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(counts)
def test_wilson_holds_the_rate_and_mirrors(count):
    successes, trials = count
    low, high = wilson(successes, trials)
    assert 0 <= low <= (successes / trials if trials else 0.5) <= high <= 1
    assert wilson(trials - successes, trials) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(
    ("successes", "trials", "k", "expected"),
    [
        (4, 4, 4, Fraction(1)),
        (3, 4, 1, Fraction(3, 4)),
        (3, 4, 2, Fraction(1, 2)),  # C(3,2) / C(4,2) = 3 / 6
        (3, 4, 4, Fraction(0)),
        (5, 8, 3, Fraction(5, 28)),  # 10 / 56
        (0, 1, 1, Fraction(0)),
    ],
)
def test_pass_hat_k(successes, trials, k, expected):
    assert pass_hat_k(successes, trials, k) == expected


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(st.lists(st.booleans(), min_size=n, max_size=n), st.integers(1, n))
    )
)
def test_pass_hat_k_is_the_share_of_draws_that_all_passed(drawn):
    outcomes, k = drawn
    draws = list(combinations(outcomes, k))
    assert pass_hat_k(sum(outcomes), len(outcomes), k) == Fraction(
        sum(map(all, draws)), comb(len(outcomes), k)
    )


def test_mean_pass_hat_k_leaves_out_what_cannot_say():
    assert mean_pass_hat_k([(4, 4), (3, 4), (1, 1)], 2) == Fraction(3, 4)
    assert mean_pass_hat_k([(1, 1)], 2) is None


@pytest.mark.parametrize(("successes", "trials", "k"), [(1, 1, 2), (1, 1, 0), (2, 1, 1), (-1, 1, 1)])
def test_impossible_counts_are_refused(successes, trials, k):
    with pytest.raises(ValueError, match=r"runs|count"):
        pass_hat_k(successes, trials, k)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1.0),
        (1, 1, 1.0),
        (0, 5, 0.0625),  # 2 / 2^5
        (1, 9, 0.021484375),  # 2 * (1 + 10) / 2^10
        (10, 0, 0.001953125),
    ],
)
def test_exact_mcnemar(only_first, only_second, p):
    assert exact_mcnemar(only_first, only_second) == p
    assert exact_mcnemar(only_second, only_first) == p


def test_benjamini_hochberg():
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])


def test_holm():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize("adjust", [benjamini_hochberg, holm])
@given(p_values)
def test_adjusting_never_makes_a_p_value_smaller_nor_reorders(adjust, ps):
    adjusted = adjust(ps)
    assert all(p <= q + 1e-12 <= 1 + 1e-12 for p, q in zip(ps, adjusted, strict=True))
    ranked = sorted(range(len(ps)), key=ps.__getitem__)
    assert [adjusted[at] for at in ranked] == sorted(adjusted)


@given(p_values)
def test_holm_is_the_stricter(ps):
    assert all(b <= h + 1e-12 for b, h in zip(benjamini_hochberg(ps), holm(ps), strict=True))


@pytest.mark.parametrize("adjust", [benjamini_hochberg, holm])
def test_a_p_value_outside_its_range_is_refused(adjust):
    with pytest.raises(ValueError, match="0 to 1"):
        adjust([0.5, 1.5])
