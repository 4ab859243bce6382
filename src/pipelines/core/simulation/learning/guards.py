"""Which examples go which way: a small decision tree over tests that the scene offers.

A test is kept when what it tells, in bits, is worth its length. The trees are small because every split has
to pay for itself; what is left over is decided by the majority and counted as not explained.
"""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.names import nearness
from pipelines.core.simulation.learning.numbering import NULL_NUMBER, Value
from pipelines.core.simulation.learning.scene import Scene, Term, is_scalar
from pipelines.core.simulation.values import MISSING

DEEPEST = 6
MOST_TESTED = 160  # terms
MOST_NUMBERS = 40
MOST_COMPUTED = 14
MOST_TEXTS = 50
MOST_VALUES = 8  # of a term that is compared with constants
NAMING = 3.0  # what a constant costs more where the term names a record: rules are about what records hold
PER_COST = 0.7  # bits that a unit of length has to bring
_SIGNS: Mapping[n.ArithmeticSign, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Test(NamedTuple):
    expr: n.Expr
    holds: int  # a bit for each row
    cost: float


@dataclass(frozen=True, slots=True)
class Leaf:
    label: int
    missed: frozenset[int]  # rows that the majority overrules


@dataclass(frozen=True, slots=True)
class Split:
    test: n.Expr
    then: "Tree"
    otherwise: "Tree"
    cost: float


Tree = Leaf | Split


def leaves(tree: Tree) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from leaves(tree.then)
        yield from leaves(tree.otherwise)


def missed(tree: Tree) -> frozenset[int]:
    return frozenset().union(*(leaf.missed for leaf in leaves(tree)))


def length(tree: Tree) -> float:
    return 0.0 if isinstance(tree, Leaf) else tree.cost + length(tree.then) + length(tree.otherwise)


def separate(scene: Scene, labels: Mapping[int, int], *, deepest: int = DEEPEST) -> Tree:
    """The tree that tells the labels of these rows apart as well as it pays."""
    rows = sum(1 << row for row in labels)
    return _grown(scene, tests_of(scene), labels, rows, deepest)


def _grown(scene: Scene, tests: Sequence[Test], labels: Mapping[int, int], rows: int, deepest: int) -> Tree:
    inside = [row for row in labels if rows >> row & 1]
    counts = Counter(labels[row] for row in inside)
    label = counts.most_common(1)[0][0]
    leaf = Leaf(label, frozenset(row for row in inside if labels[row] != label))
    if len(counts) == 1 or deepest == 0:
        return leaf
    masks = {each: sum(1 << row for row in inside if labels[row] == each) for each in counts}
    best = _best(tests, masks, rows)
    if best is None or not _is_clean(best, masks, rows):
        more = [
            *_thresholds(scene, masks, rows),
            *_computed_tests(scene),
            *([best] if best is not None else []),
        ]
        best = _best(more, masks, rows)
    if best is None:
        return leaf
    then, otherwise = rows & best.holds, rows & ~best.holds
    used = [test for test in tests if rows & test.holds not in (0, rows)]
    return Split(
        best.expr,
        _grown(scene, used, labels, then, deepest - 1),
        _grown(scene, used, labels, otherwise, deepest - 1),
        best.cost,
    )


def _is_clean(test: Test, masks: Mapping[int, int], rows: int) -> bool:
    """One side of it has one label."""
    sides = (rows & test.holds, rows & ~test.holds)
    return any(sum(bool(mask & side) for mask in masks.values()) == 1 for side in sides)


def _best(tests: Sequence[Test], masks: Mapping[int, int], rows: int) -> Test | None:
    whole = _bits(masks, rows)
    best, most = None, 0.0
    for test in tests:
        inside = rows & test.holds
        if inside in (0, rows):
            continue
        gain = whole - _bits(masks, inside) - _bits(masks, rows & ~inside) - PER_COST * test.cost
        if gain > most + 1e-9:
            best, most = test, gain
    return best


def _bits(masks: Mapping[int, int], rows: int) -> float:
    """What it takes to say the labels of these rows."""
    total = rows.bit_count()
    counts = [(mask & rows).bit_count() for mask in masks.values()]
    return sum(count * math.log2(total / count) for count in counts if count)


def tests_of(scene: Scene) -> list[Test]:
    known = scene.memo.get("tests")
    if known is None:
        by_rows: dict[int, Test] = {}
        everything = (1 << scene.size) - 1
        for test in _all_tests(scene):
            if test.holds in (0, everything):
                continue
            before = by_rows.get(test.holds)
            if before is None or test.cost < before.cost:
                by_rows[test.holds] = test
        known = scene.memo["tests"] = sorted(by_rows.values(), key=lambda test: test.cost)
    return known  # type: ignore[return-value]


def _all_tests(scene: Scene) -> Iterator[Test]:
    terms = sorted(scene.terms, key=lambda term: term.cost)[:MOST_TESTED]
    naming = {part for term in scene.terms for part in _ids_in(term)}
    for term in terms:
        yield from _tests_of_one(term, NAMING if term.expr in naming else 0.0)
    numbers = [term for term in terms if _are(term, "number")][:MOST_NUMBERS]
    texts = [term for term in terms if _are(term, "text", "number")][:MOST_TEXTS]
    dates = [term for term in texts if _are_dates(term)]
    for at, one in enumerate(numbers):
        for other in numbers[at + 1 :]:
            yield from _compared(one, other)
    for at, one in enumerate(dates):
        for other in dates[at + 1 :]:
            yield from _compared(one, other)
    for at, one in enumerate(texts):
        for other in texts[at + 1 :]:
            same = [a == b and a > NULL_NUMBER for a, b in zip(one.numbers, other.numbers, strict=True)]
            if any(same):
                yield _test(m.is_equal(one.expr, other.expr), same, _pair_cost(one, other) + 1)
    for whole in [term for term in terms if _are(term, "list", "record")][:MOST_NUMBERS]:
        source = _looked_in(whole)
        for part in texts:
            holds = [_is_in(a, b) for a, b in zip(part.values, whole.values, strict=True)]
            if any(holds):
                yield _test(m.compare(part.expr, "in", source), holds, _pair_cost(part, whole) + 1)


def _computed_tests(scene: Scene) -> list[Test]:
    """A number that is computed of two, against a third: looked at only where shorter tests do not tell."""
    known = scene.memo.get("computed tests")
    if known is None:
        terms = [term for term in sorted(scene.terms, key=lambda one: one.cost) if _are(term, "number")]
        known = scene.memo["computed tests"] = list(_computed(terms[:MOST_COMPUTED]))
    return known  # type: ignore[return-value]


def _computed(terms: Sequence[Term]) -> Iterator[Test]:
    for one in terms:
        for other in terms:
            for sign, operate in _SIGNS.items():
                if one is other or (sign != "-" and one.cost > other.cost):
                    continue
                pairs = zip(one.values, other.values, strict=True)
                values = [None if _is_blank(a) or _is_blank(b) else operate(a, b) for a, b in pairs]
                expr = m.arithmetic(one.expr, sign, other.expr)
                made = Term(expr, values, (), one.cost + other.cost + 1, "", one.is_argument)
                for third in terms:
                    if third is not one and third is not other and third.is_argument != made.is_argument:
                        yield from _compared(made, third)


def _looked_in(whole: Term) -> n.Expr:
    return (
        whole.expr
        if _are(whole, "list") and all(map(_is_list, whole.values))
        else m.call("default", whole.expr, n.ListOf(()))
        if any(_is_list(value) for value in whole.values)
        else m.call("keys", m.call("default", whole.expr, n.MappingOf(())))
    )


def _is_list(value: Value) -> bool:
    return isinstance(value, list)


def _ids_in(term: Term) -> Iterator[n.Expr]:
    match term.expr:
        case n.Call("entity", (_, id)) | n.Item(_, id):
            yield id


def _tests_of_one(term: Term, more: float) -> Iterator[Test]:
    blank = [_is_blank(value) for value in term.values]
    if any(blank) and not all(blank):
        yield _test(m.is_null(term.expr), blank, term.cost + 0.5)
    if any(isinstance(value, (bool, list)) for value in term.values):
        yield _test(term.expr, [bool(value) for value in term.values], term.cost + 0.5)
    counts = Counter(
        number for number, value in zip(term.numbers, term.values, strict=True) if _is_plain(value)
    )
    if len(counts) <= max(MOST_VALUES, 2) or any(times >= 3 for times in counts.values()):
        for number, times in counts.most_common(MOST_VALUES):
            value = term.values[term.numbers.index(number)]
            if isinstance(value, str) and len(value) > 40:
                continue
            rare = 1.5 if times == 1 else 0.0
            short = 0.3 if isinstance(value, (bool, str)) else 1.3
            holds = [one == number for one in term.numbers]
            cost = term.cost + 1 + short + rare + more + math.log2(len(counts) + 1) * 0.7
            yield _test(m.is_equal(term.expr, n.Constant(value)), holds, cost)
    yield from _members(term)


def _members(term: Term) -> Iterator[Test]:
    """Constants in a list, where the lists have a few different elements."""
    if not _are(term, "list"):
        return
    lists = [value if isinstance(value, list) else [] for value in term.values]
    members = list(dict.fromkeys(part for value in lists for part in value if isinstance(part, str)))
    if not 0 < len(members) <= MOST_VALUES:
        return
    for part in members:
        where = m.compare(n.Constant(part), "in", _looked_in(term))
        yield _test(where, [part in value for value in lists], term.cost + 2 + math.log2(len(members)))


def _thresholds(scene: Scene, masks: Mapping[int, int], rows: int) -> Iterator[Test]:
    """Numbers against a bound between what is on one side and what is on the other."""
    terms = [term for term in sorted(scene.terms, key=lambda term: term.cost) if _are(term, "number", "text")]
    for term in terms[:MOST_NUMBERS]:
        if not _are(term, "number") and not _are_dates(term):
            continue
        known = (
            sorted(
                (value, row)
                for row, value in enumerate(term.values)
                if rows >> row & 1 and not _is_blank(value)
            )
            if len({type(v) is str for v in term.values if not _is_blank(v)}) == 1
            else []
        )
        labels = [next(label for label, mask in masks.items() if mask >> row & 1) for _, row in known]
        for at in range(1, len(known)):
            if labels[at] == labels[at - 1] or known[at][0] == known[at - 1][0]:
                continue
            bound, is_above = _round_bound(known[at - 1][0], known[at][0])
            sign: n.ComparisonSign = ">=" if is_above else ">"
            holds = [
                not _is_blank(value) and (value >= bound if is_above else value > bound)
                for value in term.values
            ]
            yield _test(m.compare(term.expr, sign, n.Constant(bound)), holds, term.cost + 3)


def _round_bound(low: Value, high: Value) -> tuple[Value, bool]:
    """The roundest bound above `low` and up to `high`; whether it is itself on the high side."""
    if isinstance(low, str):
        return high, True
    for digits in range(-6, 3):
        step = 10.0**-digits
        bound = math.ceil(low / step) * step
        if bound == low:
            return (low if isinstance(low, int) else round(low, 6)), False
        if bound <= high:
            bound = round(bound, 6)
            return (int(bound) if bound.is_integer() else bound), bound <= low or True
    return high, True


def _compared(one: Term, other: Term) -> Iterator[Test]:
    pairs = list(zip(one.values, other.values, strict=True))
    comparable = [not _is_blank(a) and not _is_blank(b) for a, b in pairs]
    for sign, holds in (
        (">", [fits and a > b for fits, (a, b) in zip(comparable, pairs, strict=True)]),
        (">=", [fits and a >= b for fits, (a, b) in zip(comparable, pairs, strict=True)]),
    ):
        yield _test(m.compare(one.expr, sign, other.expr), holds, _pair_cost(one, other) + 1)  # type: ignore[arg-type]


def _pair_cost(one: Term, other: Term) -> float:
    apart = 0 if one.is_argument != other.is_argument or nearness(one.name, other.name) else 1.0
    return one.cost + other.cost + apart


def _test(expr: n.Expr, holds: Sequence[bool], cost: float) -> Test:
    return Test(expr, sum(1 << row for row, value in enumerate(holds) if value), cost)


def _is_in(part: Value, whole: Value) -> bool:
    if isinstance(whole, list):
        return part in whole
    return isinstance(whole, dict) and isinstance(part, (str, int)) and str(part) in whole


def _is_blank(value: Value) -> bool:
    return value is None or value is MISSING


def _is_plain(value: Value) -> bool:
    return is_scalar(value)


def _are(term: Term, *kinds: str) -> bool:
    found = term.kinds - {"missing", "null"}
    return bool(found) and found <= set(kinds)


def _are_dates(term: Term) -> bool:
    given = [value for value in term.values if not _is_blank(value)]
    return bool(given) and all(isinstance(value, str) and _DATE.match(value) for value in given)


def condition_of(tree: Tree) -> n.Expr | None:
    """When the tree says 1. None: always."""
    if isinstance(tree, Leaf):
        return None if tree.label else m.FALSE
    then, otherwise = condition_of(tree.then), condition_of(tree.otherwise)
    parts = []
    if then is None or then != m.FALSE:
        parts.append(tree.test if then is None else m.all_of(tree.test, then))
    if otherwise is None or otherwise != m.FALSE:
        negated = tree.test.negated()
        parts.append(negated if otherwise is None else m.all_of(negated, otherwise))
    return m.any_of(*parts)
