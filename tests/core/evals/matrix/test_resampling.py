"""Resampling and exact tests, against counting by hand, scipy and statsmodels."""

import random
from itertools import combinations, product
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from pipelines.core.evals.matrix import resampling
from pipelines.core.evals.matrix.resampling import (
    MILLION,
    WeightedSample,
    bootstrap_interval,
    medoid,
    medoid_draws,
    permutation_p,
    sign_flip_p,
)
from pipelines.core.text.statistics import (
    benjamini_hochberg,
    exact_mcnemar,
    fisher_exact,
    holm,
    newcombe,
    wilson,
    wilson_of_rate,
)

counts = st.integers(1, 25).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


# Closed forms


@settings(max_examples=60)
@given(counts, counts)
def test_fisher_is_scipys(first, second):
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    assert fisher_exact(first, second) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-6)


@settings(max_examples=60)
@given(counts, counts)
def test_newcombe_is_that_of_statsmodels(first, second):
    theirs = confint_proportions_2indep(*second, *first, method="newcomb", compare="diff")
    assert newcombe(first, second) == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=40)
@given(counts)
def test_wilson_is_that_of_statsmodels(count):
    theirs = proportion_confint(*count, method="wilson")
    assert wilson(*count) == pytest.approx(theirs, abs=1e-9)
    assert wilson_of_rate(count[0] / count[1], count[1]) == wilson(*count)


@settings(max_examples=40)
@given(st.integers(0, 15), st.integers(0, 15))
def test_mcnemar_is_that_of_statsmodels(lost, won):
    theirs = mcnemar([[3, lost], [won, 4]], exact=True).pvalue if lost + won else 1.0
    assert exact_mcnemar(lost, won) == pytest.approx(theirs)


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_corrections_are_those_of_statsmodels(count):
    chance = random.Random(count)
    p_values = [round(chance.random() ** 3, 2) for _ in range(count)]
    assert benjamini_hochberg(p_values) == pytest.approx(list(multipletests(p_values, method="fdr_bh")[1]))
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


@pytest.mark.parametrize(("n", "p"), [(3, 0.10), (4, 0.029), (5, 0.008), (6, 0.0022), (8, 0.00016)])
def test_the_least_p_of_fisher_with_complete_separation(n, p):
    assert fisher_exact((0, n), (n, n)) == pytest.approx(p, rel=0.05)


# Permutation


def energy(distances, part):
    rest = [at for at in range(len(distances)) if at not in part]
    between = mean(distances[a][b] for a in part for b in rest)
    within = [mean(distances[a][b] for a, b in product(side, side)) for side in (part, rest)]
    return 2 * between - sum(within)


def counted(distances, size):
    """p by the definition: every split, the last `size` being the sample."""
    everyone = range(len(distances))
    observed = energy(distances, everyone[len(distances) - size :])
    splits = [energy(distances, part) for part in combinations(everyone, size)]
    return sum(each >= observed - 1e-6 for each in splits) / len(splits)


def points(chance, count, levels):
    """Distances of points in a plane; with few levels many coincide."""
    places = [(chance.randrange(levels), chance.randrange(levels)) for _ in range(count)]
    return [[(abs(a[0] - b[0]) + abs(a[1] - b[1])) * MILLION // levels for b in places] for a in places]


@pytest.mark.parametrize("levels", [2, 3, 1_000])
@pytest.mark.parametrize(
    ("baselines", "runs"), [(5, 5), (6, 6), (7, 3), (10, 4), (3, 4), (6, 2), (8, 1), (2, 5)]
)
def test_permutation_counts_every_split(baselines, runs, levels, monkeypatch):
    monkeypatch.setattr(resampling, "ENOUGH_REACHED", 10**9)  # no first look: the exact p of every case
    distances = points(random.Random(baselines * 100 + runs), baselines + runs, levels)
    first, second = [1] * baselines + [0] * runs, [0] * baselines + [1] * runs
    found = permutation_p(distances, first, second)
    assert found.is_exact
    assert found.p == pytest.approx(counted(distances, runs))
    assert permutation_p(distances, second, first).p == pytest.approx(found.p)


def test_equal_outputs_may_be_counted_together_or_apart(monkeypatch):
    monkeypatch.setattr(resampling, "ENOUGH_REACHED", 10**9)
    between = [[0, 600_000, 200_000], [600_000, 0, 800_000], [200_000, 800_000, 0]]
    kinds = [0] * 7 + [2] * 3 + [0, 1, 1, 1, 2]
    apart = [[between[a][b] for b in kinds] for a in kinds]
    together = permutation_p(between, [7, 0, 3], [1, 3, 1])
    alone = permutation_p(apart, [1] * 10 + [0] * 5, [0] * 10 + [1] * 5)
    assert together.p == pytest.approx(alone.p)
    monkeypatch.setattr(resampling, "FEW_COMPOSITIONS", 0)
    assert permutation_p(between, [7, 0, 3], [1, 3, 1]).p == pytest.approx(alone.p)


def test_permutation_is_that_of_scipy():
    chance = random.Random(4)
    values = [chance.random() for _ in range(6)] + [chance.random() + 0.5 for _ in range(5)]
    distances = [[round(abs(a - b) * MILLION) for b in values] for a in values]

    def statistic(left, right):
        between = mean(abs(a - b) for a in left for b in right)
        return 2 * between - sum(mean(abs(a - b) for a, b in product(side, side)) for side in (left, right))

    theirs = stats.permutation_test(
        (values[:6], values[6:]), statistic, n_resamples=10_000, alternative="greater", vectorized=False
    )
    assert permutation_p(distances, [1] * 6 + [0] * 5, [0] * 6 + [1] * 5).p == pytest.approx(theirs.pvalue)


def test_large_samples_are_drawn_and_come_near_the_exact_p(monkeypatch):
    distances = points(random.Random(2), 15, 1_000)
    first, second = [1] * 10 + [0] * 5, [0] * 10 + [1] * 5
    monkeypatch.setattr(resampling, "ENOUGH_REACHED", 10**9)
    exact = permutation_p(distances, first, second)
    monkeypatch.setattr(resampling, "MOST_SPLITS", 0)
    drawn = permutation_p(distances, first, second)
    assert (exact.is_exact, drawn.is_exact) == (True, False)
    assert drawn.p == pytest.approx(exact.p, abs=0.04)
    many = permutation_p(
        [[abs(a - b) * 9_973 % MILLION for b in range(60)] for a in range(60)],
        [1] * 40 + [0] * 20,
        [0] * 40 + [1] * 20,
    )
    assert 0 < many.p <= 1


def test_without_a_choice_of_splits_there_is_no_p():
    assert permutation_p([[0, 1], [1, 0]], [1, 0], [0, 1]) is None
    assert permutation_p([[0]], [3], [2]).p == 1


@pytest.mark.parametrize(("baselines", "runs", "cells"), [(10, 5, 400), (5, 5, 400), (20, 12, 150)])
def test_p_is_uniform_or_larger_where_there_is_no_effect(baselines, runs, cells):
    chance = random.Random(11)
    found = []
    for _ in range(cells):
        distances = points(chance, baselines + runs, 1_000)
        samples = [1] * baselines + [0] * runs, [0] * baselines + [1] * runs
        found.append(permutation_p(distances, *samples).p)
    for level in (0.01, 0.05, 0.1, 0.5):
        # three standard deviations of a share
        assert sum(p <= level for p in found) / cells <= level + 3 * (level * (1 - level) / cells) ** 0.5
    assert sum(p <= 0.5 for p in found) / cells > 0.35


# Bootstrap


def test_bootstrap_weighs_every_resample():
    values = [0, 100_000, 200_000, 600_000, 1_000_000]
    means = sorted(mean(taken) / MILLION for taken in product(values, repeat=5))
    low, high = means[int(0.025 * len(means))], means[-1 - int(0.025 * len(means))]
    assert bootstrap_interval([WeightedSample(1, values)]) == pytest.approx((low, high))


def test_bootstrap_draws_where_there_are_too_many_and_comes_near_scipys():
    chance = random.Random(8)
    values = [chance.randrange(MILLION) for _ in range(20)]
    theirs = stats.bootstrap(
        ([each / MILLION for each in values],),
        mean,
        method="percentile",
        vectorized=False,
        n_resamples=4_000,
        rng=1,
    ).confidence_interval
    assert bootstrap_interval([WeightedSample(1, values)]) == pytest.approx(
        (theirs.low, theirs.high), abs=0.03
    )


def test_a_mixture_is_as_wide_as_its_parts():
    low, high = bootstrap_interval([WeightedSample(3, [0] * 5), WeightedSample(1, [600_000] * 5)])
    assert (low, high) == (0, 0.6)
    assert bootstrap_interval([WeightedSample(199, [0] * 5), WeightedSample(1, [600_000] * 5)]) == (0, 0)


# Medoids


@settings(max_examples=40)
@given(st.integers(1, 7), st.randoms(use_true_random=False))
def test_the_medoid_has_the_least_total_and_is_one_of_the_sample(count, chance):
    distances = points(chance, count, 5)
    weights = [chance.randrange(3) for _ in range(count)]
    weights[chance.randrange(count)] += 1
    found = medoid(distances, weights)
    totals = [sum(d * w for d, w in zip(row, weights, strict=True)) for row in distances]
    assert weights[found]
    assert totals[found] == min(total for total, weight in zip(totals, weights, strict=True) if weight)


def test_medoids_of_new_draws_are_those_of_drawing():
    distances = points(random.Random(3), 4, 1_000)
    weights = [4, 3, 2, 1]
    chance = random.Random("0/medoid/10")
    kinds = [kind for kind, weight in enumerate(weights) for _ in range(weight)]
    expected = [0] * 4
    for _ in range(200):
        drawn = chance.choices(kinds, k=10)
        totals = [sum(distances[a][b] for b in drawn) for a in range(4)]
        expected[totals.index(min(totals))] += 1
    found = medoid_draws(distances, weights)
    assert [found.get(kind, 0) for kind in range(4)] == expected


# Signs


def by_signs(differences):
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(each >= observed - 1e-9 for each in sums) / len(sums)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([-0.8, -0.2, 0.0, 0.1, 0.4, 1.0]), min_size=1, max_size=9))
def test_sign_flips_are_all_counted(differences):
    found = sign_flip_p(differences)
    assert (found.p if found else 1.0) == pytest.approx(by_signs([d for d in differences if d] or [0.0]))


def test_sign_flips_are_scipys_and_six_scenarios_are_needed():
    values = [0.31, 0.12, 0.44, -0.05, 0.27, 0.36, 0.18]
    theirs = stats.permutation_test(
        (values,), mean, permutation_type="samples", n_resamples=10_000, vectorized=False
    )
    assert sign_flip_p(values).p == pytest.approx(theirs.pvalue)
    assert sign_flip_p([0.5] * 5).p > 0.05 > sign_flip_p([0.5] * 6).p


def test_many_scenarios_are_drawn_or_normal_and_agree():
    chance = random.Random(6)
    values = [chance.gauss(0.03, 0.2) for _ in range(90)]
    drawn = sign_flip_p(values, draws=4_000)
    theirs = stats.norm.sf(sum(values) / sum(v * v for v in values) ** 0.5) * 2
    assert not drawn.is_exact
    assert drawn.p == pytest.approx(theirs, abs=0.04)
    assert sign_flip_p([*values, *values]).p == pytest.approx(
        stats.norm.sf(2**0.5 * sum(values) / sum(v * v for v in values) ** 0.5) * 2, abs=1e-4
    )
    assert sign_flip_p([0.2] * 300).p < 1e-9  # alike: counted, not drawn
