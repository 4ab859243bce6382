"""Which elements of a source are taken: a few tests that hold for all that were taken and for no other.

Tests compare a field of the element with a term from outside (an argument, mostly) or with a constant. An
argument that may be left out tests nothing where it is left out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.names import nearness
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.learning.scene import Scene, Term, field_of, is_scalar
from pipelines.core.simulation.values import MISSING, Entity

MOST_TESTS = 4
MOST_ELEMENTS = 4_000
MOST_OUTSIDE = 24
MOST_LISTS = 24  # from outside, that have elements in common with a field
DEEPEST_FIELD = 2
MOST_FIELDS = 40
TEST = 1.5


class Taken(NamedTuple):
    expr: n.Expr | None  # None: all of them
    cost: float


class _Atom(NamedTuple):
    expr: n.Expr
    fails: frozenset[int]  # elements, by number, that do not pass
    cost: float


class _Field(NamedTuple):
    expr: n.Expr
    values: Sequence[Value]
    name: str


def taken(
    scene: Scene,
    elements: Sequence[Sequence[Value]],
    rows: Sequence[int],
    positions: Sequence[Sequence[int]],
    name: str,
) -> Taken | None:
    """None where no tests tell them apart."""
    whole = [(row, at) for row in rows for at in range(len(elements[row]))]
    chosen = {(row, at) for row, one in zip(rows, positions, strict=True) for at in one}
    others = [pair for pair in whole if pair not in chosen]
    if not others:
        return Taken(None, 0.0)
    step = max(1, -(-len(others) // MOST_ELEMENTS))
    pairs = [*sorted(chosen)[:MOST_ELEMENTS], *others[::step]]
    good = range(min(len(chosen), MOST_ELEMENTS))
    left = set(range(len(good), len(pairs)))
    atoms = list(_atoms(scene, elements, pairs, name, len(good)))
    picked: list[_Atom] = []
    while left and len(picked) < MOST_TESTS:
        best = max(atoms, key=lambda one: (len(one.fails & left) - 0.3 * one.cost, -one.cost), default=None)
        if best is None or not best.fails & left:
            return None
        picked.append(best)
        left -= best.fails
    if left:
        return None
    picked = [one for one in picked if not _is_spare(one, picked, len(good), len(pairs))]
    return Taken(m.all_of(*(one.expr for one in picked)), sum(one.cost for one in picked))


def _is_spare(atom: _Atom, picked: list[_Atom], first: int, count: int) -> bool:
    rest = frozenset().union(*(one.fails for one in picked if one is not atom))
    return len(rest) >= count - first


def _atoms(
    scene: Scene,
    elements: Sequence[Sequence[Value]],
    pairs: Sequence[tuple[int, int]],
    name: str,
    good: int,
) -> Iterator[_Atom]:
    """Tests that hold for all of the first `good` pairs."""
    found = [elements[row][at] for row, at in pairs]
    fields = list(_fields(n.Name(name), found, "", 0))[:MOST_FIELDS]
    outside = sorted(scene.terms, key=lambda term: term.cost - term.is_argument)
    lists = [term for term in outside if any(isinstance(value, list) for value in term.values)]
    for field in fields:
        known = {value for value in field.values if is_scalar(value)}
        sharing = [term for term in lists if _shares(term, known)][:MOST_LISTS]
        for term in dict.fromkeys([*outside[:MOST_OUTSIDE], *sharing]):
            values = [term.values[row] for row, _ in pairs]
            yield from _compared(field, term, values, good)
        yield from _constant(field, good)


def _shares(term: Term, known: set[Value]) -> bool:
    """One of its lists has an element that is also a value of the field."""
    return any(
        is_scalar(part) and part in known
        for value in term.values
        if isinstance(value, list)
        for part in value
    )


def _fields(expr: n.Expr, values: Sequence[Value], name: str, depth: int) -> Iterator[_Field]:
    yield _Field(expr, values, name)
    if depth >= DEEPEST_FIELD or not any(isinstance(value, dict) for value in values):
        return
    keys = Counter(key for value in values if isinstance(value, dict) for key in value)
    if isinstance(next(iter(values)), Entity):
        keys.setdefault("id", 1)
    for key, times in keys.items():
        if times * 4 >= len(values) or key == "id":
            inner = [field_of(value, key) for value in values]
            yield from _fields(n.Field(expr, key), inner, key, depth + 1)


def _compared(field: _Field, term: Term, outside: Sequence[Value], good: int) -> Iterator[_Atom]:
    cost = TEST + term.cost * 0.5 - nearness(field.name, term.name) * 0.5
    for expr, holds in _comparisons(field, term.expr, outside):
        if not all(holds[:good]):
            blank = [value is None or value is MISSING for value in outside]
            if not any(blank) or not all(a or b for a, b in zip(blank[:good], holds[:good], strict=True)):
                continue
            expr = m.any_of(m.is_null(term.expr), expr)
            holds = [a or b for a, b in zip(blank, holds, strict=True)]
        fails = frozenset(at for at, value in enumerate(holds) if not value)
        if fails:
            yield _Atom(expr, fails, max(cost, 0.5))


def _comparisons(
    field: _Field, other: n.Expr, outside: Sequence[Value]
) -> Iterator[tuple[n.Expr, list[bool]]]:
    pairs = list(zip(field.values, outside, strict=True))
    known = [
        (a, b) for a, b in pairs if b is not None and b is not MISSING and a is not MISSING and a is not None
    ]
    if not known:
        return
    if any(is_scalar(a) and is_scalar(b) and a == b for a, b in known):
        yield m.is_equal(field.expr, other), [is_scalar(b) and a == b for a, b in pairs]
    elif all(is_scalar(a) and is_scalar(b) for a, b in known):
        yield m.differs(field.expr, other), [a != b for a, b in pairs]
    if all(isinstance(b, list) for _, b in known):
        held = [isinstance(b, list) and a in b for a, b in pairs]
        yield m.compare(field.expr, "in", other), held
        yield m.compare(field.expr, "not in", other), [not one for one in held]
    if all(isinstance(a, (list, dict)) for a, _ in known):
        yield (
            m.compare(other, "in", field.expr),
            [isinstance(a, (list, dict)) and is_scalar(b) and b in a for a, b in pairs],
        )
    if all(isinstance(a, str) and isinstance(b, str) for a, b in known):
        yield from _texts(field, other, pairs)
    if any(is_scalar(a) and is_scalar(b) and a == b for a, b in known):
        yield m.differs(field.expr, other), [a != b for a, b in pairs]
    if _are_ordered(known):
        fits = [type(a) in (int, float, str) and type(b) in (int, float, str) for a, b in pairs]
        for sign, holds in (
            ("<=", [ok and a <= b for ok, (a, b) in zip(fits, pairs, strict=True)]),
            (">=", [ok and a >= b for ok, (a, b) in zip(fits, pairs, strict=True)]),
            ("<", [ok and a < b for ok, (a, b) in zip(fits, pairs, strict=True)]),
            (">", [ok and a > b for ok, (a, b) in zip(fits, pairs, strict=True)]),
        ):
            yield m.compare(field.expr, sign, other), holds  # type: ignore[arg-type]


def _texts(
    field: _Field, other: n.Expr, pairs: Sequence[tuple[Value, Value]]
) -> Iterator[tuple[n.Expr, list[bool]]]:
    both = [isinstance(a, str) and isinstance(b, str) for a, b in pairs]
    lower = m.is_equal(m.call("lower", field.expr), m.call("lower", other))
    yield lower, [ok and a.lower() == b.lower() for ok, (a, b) in zip(both, pairs, strict=True)]
    part = m.call("contains", field.expr, other)
    yield part, [ok and b.lower() in a.lower() for ok, (a, b) in zip(both, pairs, strict=True)]
    start = m.call("starts_with", field.expr, other)
    yield start, [ok and a.lower().startswith(b.lower()) for ok, (a, b) in zip(both, pairs, strict=True)]


def _are_ordered(known: Sequence[tuple[Value, Value]]) -> bool:
    kinds = {type(value) for pair in known for value in pair}
    return kinds <= {int, float} or (
        kinds == {str} and all(value[:4].isdigit() for pair in known for value in pair)
    )


def _constant(field: _Field, good: int) -> Iterator[_Atom]:
    values = field.values[:good]
    if not good:
        return
    first = values[0]
    if is_scalar(first) and all(value == first for value in values):
        fails = frozenset(at for at, value in enumerate(field.values) if value != first)
        yield _Atom(m.is_equal(field.expr, n.Constant(first)), fails, TEST + 1)
    elif all(is_scalar(value) for value in values) and len(set(values)) <= 3 and good >= 6:
        seen = sorted(set(values), key=repr)
        fails = frozenset(at for at, value in enumerate(field.values) if value not in seen)
        yield _Atom(m.is_in(field.expr, seen), fails, TEST + 2 + len(seen))
    if all(isinstance(value, str) for value in values):
        others = {value for value in field.values[good:] if isinstance(value, str)} - set(values)
        if len(others) == 1 and len(set(values)) > 1:
            [other] = others
            fails = frozenset(at for at, value in enumerate(field.values) if value == other)
            yield _Atom(m.differs(field.expr, n.Constant(other)), fails, TEST + 1.2)
    if all(value is None or value is MISSING for value in values):
        fails = frozenset(
            at for at, value in enumerate(field.values) if value is not None and value is not MISSING
        )
        yield _Atom(m.is_null(field.expr), fails, TEST + 0.8)
    elif all(value is not None and value is not MISSING for value in values):
        fails = frozenset(at for at, value in enumerate(field.values) if value is None or value is MISSING)
        yield _Atom(m.is_given(field.expr), fails, TEST + 0.8)
    yield from _bounds(field, good)


def _bounds(field: _Field, good: int) -> Iterator[_Atom]:
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in field.values):
        return
    low, high = min(field.values[:good]), max(field.values[:good])
    under = [value for value in field.values[good:] if value < low]
    over = [value for value in field.values[good:] if value > high]
    if under:
        bound = 0 if max(under) <= 0 < low else low
        test = m.compare(field.expr, ">" if bound == 0 else ">=", n.Constant(bound))
        fails = frozenset(at for at, value in enumerate(field.values) if value < low)
        yield _Atom(test, fails, TEST + (1.5 if bound == 0 else 3.5))
    if over:
        fails = frozenset(at for at, value in enumerate(field.values) if value > high)
        yield _Atom(m.compare(field.expr, "<=", n.Constant(high)), fails, TEST + 3.5)
