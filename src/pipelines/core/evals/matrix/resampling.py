"""Tests and intervals by resampling: exact where all resamples can be counted, else by a fixed set of draws.

The draws do not depend on a clock, shared random state or the order of runs: the same outputs always have the
same numbers. Distances come as whole numbers (millionths), so that ties are ties.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, compress
from math import comb, factorial, gcd, prod, sqrt
from operator import add, itemgetter, mul
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

from pipelines.core.text.statistics import Interval

MILLION = 1_000_000
MOST_SPLITS = 5_005  # counted one by one; 6 + 6 runs have 924 splits, 10 + 5 have 3,003, 9 + 6 have 5,005
ALWAYS_COUNTED = comb(12, 6)  # splits of 6 + 6 runs: so few are counted whatever p is
FEW_COMPOSITIONS = 60  # ways to share out equal outputs that are quicker than splits
MOST_COMPOSITIONS = 2_000
FIRST_DRAWS = 200  # before all splits are counted
ENOUGH_REACHED = 20  # draws that reach the observed value: p is known well enough, and is not small
MOST_RESAMPLES = 500  # of a bootstrap, weighed instead of drawn: 5 runs have 126 different resamples
MOST_DRAWN = 100  # differences: the sum of more is normal
MOST_SIGNS = 11  # differences whose signs are all tried
MOST_SUMS = 500  # or so many different sums, as match rates of many scenarios have
REFERENCE_DRAWS = 200  # of which baseline output is the medoid

Matrix: TypeAlias = Sequence[Sequence[int]]
Getter: TypeAlias = Callable[[Sequence[int]], tuple[int, ...]]  # an itemgetter of two places or more


class PValue(NamedTuple):
    p: float
    is_exact: bool


# Does a cell shift more than noise?


def permutation_p(
    distances: Matrix, first: Sequence[int], second: Sequence[int], *, draws: int = 2_000, seed: int = 0
) -> PValue | None:
    """One-sided p that two samples are one, by the energy statistic 2·d(B,V) − d(B,B) − d(V,V).

    `distances` are those between distinct outputs; `first` and `second` say how often a sample has each, and
    one of them has it.
    None if there is only one way to split them.
    """
    part, other = sorted((tuple(first), tuple(second)), key=sum)
    pooled = tuple(map(add, part, other))
    size, total = sum(part), sum(pooled)
    if not size or total < 3:
        return None
    if len(pooled) == 1:
        return PValue(1.0, True)
    few = comb(total, size) <= MOST_SPLITS
    most = FEW_COMPOSITIONS if few else MOST_COMPOSITIONS
    if comb(len(pooled), size) <= most and _count_compositions(tuple(sorted(pooled)), size) <= most:
        return _p_by_compositions(distances, pooled, part)
    if total > len(pooled):
        expanded = [at for at, count in enumerate(pooled) for _ in range(count)]
        members = itemgetter(*expanded)
        distances = [members(distances[at]) for at in expanded]
    seen = list(_first_places(pooled, part))
    weights = _pair_weights(distances, size)
    observed = sum(weights[a][b] for a, b in combinations(seen, 2)) if size > 1 else weights[seen[0]][seen[0]]
    return _p_by_splits(weights, size, observed, few=few, draws=draws, seed=seed)


def _first_places(pooled: Sequence[int], part: Sequence[int]) -> Iterator[int]:
    """Where the members of the small sample stand when equal outputs stand together."""
    at = 0
    for count, drawn_count in zip(pooled, part, strict=True):
        yield from range(at, at + drawn_count)
        at += count


def _pair_weights(distances: Matrix, size: int) -> list[list[int]]:
    """Numbers whose sum over the pairs of a subset orders subsets as the energy statistic does.

    With R the row sums, N of both samples together, and S the sum within the subset, the statistic grows as
    size·ΣR − N·S; and ΣR over a subset is a sum over its pairs too. (A single one has R on the diagonal.)
    """
    count = len(distances)
    sums = [sum(row) for row in distances]
    if size == 1:
        return [[sums[a] if a == b else 0 for b in range(count)] for a in range(count)]
    factor = count * (size - 1)
    return [
        [size * (sums[a] + sums[b]) - factor * apart if a != b else 0 for b, apart in enumerate(distances[a])]
        for a in range(count)
    ]


def _p_by_compositions(between: Matrix, pooled: tuple[int, ...], part: tuple[int, ...]) -> PValue:
    """Equal outputs are interchangeable: only how many of each are in the subset matters."""
    size, count = sum(part), sum(pooled)
    sums = [size * sum(map(mul, row, pooled)) for row in between]
    pairs = [count * apart for at, row in enumerate(between) for apart in row[at + 1 :]]
    statistics = [
        (sum(map(mul, composition, sums)) - sum(map(mul, products, pairs)), ways)
        for composition, products, ways in _compositions(pooled, size)
    ]
    observed = sum(map(mul, part, sums)) - sum(map(mul, _products(part), pairs))
    return PValue(sum([ways for each, ways in statistics if each >= observed]) / comb(count, size), True)


class Composition(NamedTuple):
    """How many of each kind are in a subset, the numbers of pairs that makes, and in how many ways."""

    taken: tuple[int, ...]
    products: tuple[int, ...]
    ways: int


@lru_cache(maxsize=1024)
def _compositions(pooled: tuple[int, ...], size: int) -> list[Composition]:
    def below(at: int, left: int) -> Iterator[tuple[int, ...]]:
        if at == len(pooled) - 1:
            if left <= pooled[at]:
                yield (left,)
            return
        for drawn_count in range(min(left, pooled[at]) + 1):
            yield from ((drawn_count, *rest) for rest in below(at + 1, left - drawn_count))

    return [Composition(each, _products(each), prod(map(comb, pooled, each))) for each in below(0, size)]


def _products(taken: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a * b for a, b in combinations(taken, 2))


@lru_cache(maxsize=4096)
def _count_compositions(pooled: tuple[int, ...], size: int) -> int:
    ways = [1] + [0] * size
    for count in pooled:
        ways = [sum(ways[max(0, total - count) : total + 1]) for total in range(size + 1)]
    return ways[size]


def _p_by_splits(
    weights: list[list[int]], size: int, observed: int, *, few: bool, draws: int, seed: int
) -> PValue:
    """Draws until p is known to be large (Besag and Clifford); only what may be small is counted to the end.

    What is reached ENOUGH_REACHED times in so many draws has p = ENOUGH_REACHED / draws. Of splits
    that can all be counted that is asked for FIRST_DRAWS, so that every p below 0.1 is exact; of up to
    ALWAYS_COUNTED it is not asked.
    """
    splits = comb(len(weights), size)
    if splits <= ALWAYS_COUNTED:
        return PValue(_count_splits(weights, size, observed) / splits, True)
    sums = _sums_of_draws(weights, size, draws if not few else FIRST_DRAWS, seed)
    reached = drawn = 0
    for total in sums:
        drawn += 1
        if total >= observed:
            reached += 1
            if reached == ENOUGH_REACHED:
                return PValue(reached / drawn, False)
        if drawn == FIRST_DRAWS and few:
            return PValue(_count_splits(weights, size, observed) / splits, True)
    return PValue((reached + 1) / (drawn + 1), False)


def _sums_of_draws(weights: list[list[int]], size: int, draws: int, seed: int) -> Iterator[int]:
    """The sums of drawn subsets, one after the other."""
    count = len(weights)
    if 1 < size <= 8:
        flat = [each for row in weights for each in row]
        return (sum(pairs(flat)) for pairs in _pair_getters(count, size, draws, seed))
    subsets = _draw_subsets(count, size, draws, seed)
    if size == 1:
        return (weights[at][at] for (at,) in subsets)
    return (_sum_within(weights, subset) for subset in subsets)


def _sum_within(weights: list[list[int]], subset: tuple[int, ...]) -> int:
    members = itemgetter(*subset)
    return sum(sum(members(weights[at])) for at in subset) // 2


@lru_cache(maxsize=16)
def _pair_getters(count: int, size: int, draws: int, seed: int) -> list[Getter]:
    """What takes the pairs of each drawn subset out of a flat matrix."""
    subsets = _draw_subsets(count, size, draws, seed)
    # A getter of one place gives a bare number: the first of the matrix, which is 0, stands beside it.
    return [itemgetter(0, *(a * count + b for a, b in combinations(subset, 2))) for subset in subsets]


@lru_cache(maxsize=64)
def _draw_subsets(count: int, size: int, draws: int, seed: int) -> tuple[tuple[int, ...], ...]:
    chance = random.Random(f"{seed}/split/{count}/{size}")
    return tuple(tuple(sorted(chance.sample(range(count), size))) for _ in range(draws))


def _count_splits(weights: list[list[int]], size: int, observed: int) -> int:
    """How many subsets reach the observed sum, all of them looked at.

    A subset is its two first members and the rest. Rests stand in lexical order: those whose members are all
    past the second are the end of the list, and a pair with each of its rests is two lists added up.
    """
    count = len(weights)
    if size == 1:
        return sum(weights[at][at] >= observed for at in range(count))
    if size == 2:
        return sum(weights[a][b] >= observed for a, b in combinations(range(count), 2))
    rest = size - 2
    within = _pair_sums(weights, rest)
    towards = [_member_sums(weights[at][at + 1 :], rest) for at in range(count - rest)]
    furthest = [max(each) for each in towards]
    reached = 0
    for first in range(count - size + 1):
        with_first = _add_lists(towards[first], _last(within, len(towards[first])))
        for second in range(first + 1, count - rest):
            limit = observed - weights[first][second]
            following = _last(with_first, len(towards[second]))
            if max(following) + furthest[second] >= limit:
                reached += sum([a + b >= limit for a, b in zip(following, towards[second], strict=True)])
    return reached


def _member_sums(values: Sequence[int], size: int) -> Sequence[int]:
    """The sum of each subset of the values, in lexical order of their places."""
    sums = values
    for length in range(2, size + 1):
        first, others = _lexical(len(values), length)
        sums = list(map(add, first(values), others(sums)))
    return sums


def _pair_sums(weights: list[list[int]], size: int) -> Sequence[int]:
    """The sum over the pairs within each subset, in the same order."""
    count = len(weights)
    sums: Sequence[int] = [0] * count
    for length in range(2, size + 1):
        longer: list[int] = []
        for first in range(count - length + 1):
            ahead = _member_sums(weights[first][first + 1 :], length - 1)
            longer += _add_lists(ahead, _last(sums, len(ahead)))
        sums = longer
    return sums


class _Lexical(NamedTuple):
    """How the subsets of one length are made from values and the subsets that are one shorter."""

    first: Getter  # of each subset the first value
    others: Getter  # and the sum of the rest


@lru_cache(maxsize=256)
def _lexical(count: int, length: int) -> _Lexical:
    return _lexical_parts(list(combinations(range(count), length)), combinations(range(count), length - 1))


@lru_cache(maxsize=64)
def _lexical_repeated(count: int, length: int) -> _Lexical:
    """The same for subsets that may have a place several times."""
    longer = list(combinations_with_replacement(range(count), length))
    return _lexical_parts(longer, combinations_with_replacement(range(count), length - 1))


def _lexical_parts(longer: list[tuple[int, ...]], shorter: Iterable[tuple[int, ...]]) -> _Lexical:
    places = {subset: at for at, subset in enumerate(shorter)}
    first = [subset[0] for subset in longer]
    others = [places[subset[1:]] for subset in longer]
    if len(longer) == 1:  # a getter of one place gives a bare value
        return _Lexical(lambda values: (values[first[0]],), lambda sums: (sums[others[0]],))
    return _Lexical(itemgetter(*first), itemgetter(*others))


def _last(values: Sequence[int], count: int) -> Sequence[int]:
    return values[len(values) - count :]


def _add_lists(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return list(map(add, left, right))


# How sure is a mean?


class WeightedSample(NamedTuple):
    """Values of one of the samples that are mixed, and how often it is in the mixture."""

    times: int
    values: Sequence[int]


def bootstrap_interval(
    mixture: Sequence[WeightedSample], *, confidence: float = 0.95, draws: int = 2_000, seed: int = 0
) -> Interval:
    """Percentiles of the mean of as many values (two or more) drawn with putting back, over a mixture."""
    count = len(mixture[0].values)
    drawn: list[Getter] | None = None
    if comb(2 * count - 1, count) <= MOST_RESAMPLES:
        ways = _multiset_orders(count)
    else:
        ways, drawn = [1] * draws, _draw_with_replacement(count, draws, seed)
    sums: list[int] = []
    weights: list[int] = []
    for times, values in mixture:
        sums += _multiset_sums(values) if drawn is None else [sum(members(values)) for members in drawn]
        weights += ways if times == 1 else [times * way for way in ways]
    order = sorted(range(len(sums)), key=sums.__getitem__)
    tail = (1 - confidence) / 2 * sum(weights)
    low = _quantile(order, weights, tail)
    high = _quantile(order[::-1], weights, tail)
    return Interval(sums[low] / count / MILLION, sums[high] / count / MILLION)


def _quantile(order: list[int], weights: list[int], tail: float) -> int:
    """The first in this order with more than the tail's weight up to it."""
    reached = 0
    for at in order:
        reached += weights[at]
        if reached > tail:
            return at
    return order[-1]


def _multiset_sums(values: Sequence[int]) -> Sequence[int]:
    """The sums of all different resamples, in lexical order of their places."""
    sums = values
    for length in range(2, len(values) + 1):
        first, others = _lexical_repeated(len(values), length)
        sums = list(map(add, first(values), others(sums)))
    return sums


@lru_cache(maxsize=16)
def _multiset_orders(count: int) -> list[int]:
    """In how many orders each of them can be drawn."""
    drawn = combinations_with_replacement(range(count), count)
    return [
        factorial(count) // prod(map(factorial, Counter(drawn_values).values())) for drawn_values in drawn
    ]


@lru_cache(maxsize=16)
def _draw_with_replacement(count: int, draws: int, seed: int) -> list[Getter]:
    chance = random.Random(f"{seed}/bootstrap/{count}")
    return [itemgetter(*chance.choices(range(count), k=count)) for _ in range(draws)]


def medoid(distances: Matrix, counts: Sequence[int]) -> int:
    """The output with the least total distance to all; of equals the first."""
    totals = [
        sum(map(mul, row, counts)) if count else None for row, count in zip(distances, counts, strict=True)
    ]
    return min((total, at) for at, total in enumerate(totals) if total is not None)[1]


def medoid_draws(
    distances: Matrix, counts: Sequence[int], *, draws: int = REFERENCE_DRAWS, seed: int = 0
) -> dict[int, int]:
    """How often each output is the medoid when the sample is drawn anew with putting back."""
    if len(counts) == 1:
        return {0: 1}
    lanes = _count_lanes(tuple(counts), draws, seed)
    kinds = len(counts)
    totals = []
    for rank, row in enumerate(distances):
        # One whole number holds the totals of all draws side by side, 64 bits for each; of equal ones the
        # first is the medoid, so its place is added below.
        packed = sum([distance * kinds * lane for distance, lane in zip(row, lanes, strict=True) if distance])
        packed += rank * _ones(draws)
        totals.append(memoryview(packed.to_bytes(8 * draws, "little")).cast("Q"))
    chosen = Counter([least % kinds for least in map(min, *totals)])
    return dict(sorted(chosen.items()))


@lru_cache(maxsize=8)
def _ones(draws: int) -> int:
    return int.from_bytes((1).to_bytes(8, "little") * draws, "little")


@lru_cache(maxsize=1024)
def _count_lanes(counts: tuple[int, ...], draws: int, seed: int) -> list[int]:
    """How often each kind is in each draw; draw by draw, 64 bits each, in one whole number for each kind."""
    chance = random.Random(f"{seed}/medoid/{sum(counts)}")
    kinds = [kind for kind, count in enumerate(counts) for _ in range(count)]
    lanes = [bytearray(8 * draws) for _ in counts]
    for draw in range(draws):
        for kind, times in Counter(chance.choices(kinds, k=len(kinds))).items():
            lanes[kind][8 * draw : 8 * draw + 8] = times.to_bytes(8, "little")
    return [int.from_bytes(lane, "little") for lane in lanes]


# Does it matter over all scenarios?


def sign_flip_p(
    differences: Sequence[float], *, draws: int = 2_000, seed: int = 0, is_one_sided: bool = False
) -> PValue | None:
    """p that paired differences are as likely up as down; None without one that is not zero."""
    whole = [round(each * MILLION) for each in differences if round(each * MILLION)]
    if not whole:
        return None
    unit = gcd(*whole)
    whole = [each // unit for each in whole]
    observed = sum(whole)
    if len(whole) > MOST_SIGNS and sum(map(abs, whole)) > MOST_SUMS:
        if len(whole) > MOST_DRAWN:
            far = observed / sqrt(sum(each * each for each in whole))
            p = 1 - NormalDist().cdf(far if is_one_sided else abs(far))
            return PValue(p if is_one_sided else 2 * p, False)
        return _sign_flip_by_draws(sorted(whole), draws, seed, is_one_sided)
    sums = Counter({0: 1})
    for each in whole:
        following = Counter({total + each: ways for total, ways in sums.items()})
        for total, ways in sums.items():
            following[total - each] += ways
        sums = following
    reached = sum(ways for total, ways in sums.items() if _is_as_far(total, observed, is_one_sided))
    return PValue(reached / 2 ** len(whole), True)


def _sign_flip_by_draws(whole: list[int], draws: int, seed: int, is_one_sided: bool) -> PValue:
    chance = random.Random(f"{seed}/signs/{len(whole)}")
    observed = sum(whole)
    reached = drawn = 0
    while drawn < draws:
        signs = f"{chance.getrandbits(len(whole)):0{len(whole)}b}".encode().translate(_BITS)
        total = 2 * sum(compress(whole, signs)) - observed
        reached += _is_as_far(total, observed, is_one_sided)
        drawn += 1
        if reached == 10 * ENOUGH_REACHED:
            return PValue(reached / drawn, False)
    return PValue((reached + 1) / (drawn + 1), False)


_BITS = bytes.maketrans(b"01", b"\0\1")


def _is_as_far(total: int, observed: int, is_one_sided: bool) -> bool:
    return total >= observed if is_one_sided else abs(total) >= abs(observed)
