"""Lists: a source that is looked through, tests that its elements pass, what is made of each, their order.

Each element of a reply is traced back to an element of a source. So the tests are learnt from elements that
were taken and elements that were not, and what is made of an element is explained in a scene of its own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning import guards
from pipelines.core.simulation.learning.found import Found
from pipelines.core.simulation.learning.growth import LONGEST_IN_LOOP, Growth, Root, lookup_in
from pipelines.core.simulation.learning.numbering import Numbering, Value
from pipelines.core.simulation.learning.predicates import Taken, taken
from pipelines.core.simulation.learning.scene import Scene, Term, field_of, is_scalar
from pipelines.core.simulation.learning.search import Search, Target
from pipelines.core.simulation.values import Entity

DEEPEST_LOOP = 2
DEEPEST_TEST = 3
MOST_SOURCES = 10
MOST_CONSTANTS = 12  # of a list that only the backend has
MOST_LIFTED = 14  # terms from outside that a loop sees
MOST_ROUNDS = 240  # elements from which an element's expression is learnt
LOOP, SORT, LIMIT = 2.0, 1.0, 2.0
_NAMES = ("each", "part", "piece")


class Source(NamedTuple):
    expr: n.Expr
    elements: Sequence[Sequence[Value]]  # by row
    cost: float
    kind: str  # a type of records, or empty


class Traced(NamedTuple):
    """Where the elements of the targets come from: positions in the source, row by row."""

    positions: Sequence[Sequence[int]]
    order: str  # a field, with `-` for the other way round, or empty


def appended(search: Search, target: Target) -> Found | None:
    """A list that is there, with one element more at its end or its beginning."""
    best: Found | None = None
    for term in search.scene.terms:
        if best is not None and term.cost >= best.cost:
            continue
        for at_end in (True, False):
            added = _added(term, target, at_end)
            if added is None:
                continue
            found = search.explain(_target_of(target, added))
            if found is None:
                continue
            kept = m.call("default", term.expr, n.ListOf(())) if _may_be_blank(term, target) else term.expr
            parts = (n.Spread(kept), found.expr) if at_end else (found.expr, n.Spread(kept))
            made = found.within(n.ListOf(parts), cost=max(term.cost_for(target.name), 0.3) + 1)
            if best is None or made.cost < best.cost:
                best = made
    return best


def _may_be_blank(term: Term, target: Target) -> bool:
    return any(not isinstance(term.values[row], list) for row in target.rows)


def _added(term: Term, target: Target, at_end: bool) -> list[Value] | None:
    added = []
    for row in target.rows:
        old, new = term.values[row] or [], target.values[row]
        if not isinstance(old, list) or len(new) != len(old) + 1:
            return None
        if (new[:-1] if at_end else new[1:]) != old:
            return None
        added.append(new[-1] if at_end else new[0])
    return added


def _target_of(target: Target, values: Sequence[Value], name: str = "") -> Target:
    whole: list[Value] = [None] * len(target.values)
    for row, value in zip(target.rows, values, strict=True):
        whole[row] = value
    return Target(values=whole, rows=target.rows, name=name or target.name, effort=target.effort)


def single_elements(search: Search, target: Target) -> Found | None:
    """A list of a fixed length, element by element."""
    lengths = {len(target.values[row]) for row in target.rows}
    if len(lengths) != 1 or not 1 <= (length := lengths.pop()) <= 4:
        return None
    parts = []
    for at in range(length):
        part = search.explain(_target_of(target, [target.values[row][at] for row in target.rows]))
        if part is None:
            return None
        parts.append(part)
    whole = Found(expr=n.ListOf(tuple(part.expr for part in parts)), cost=2.0)
    return whole.within(whole.expr, *parts)


def looked_through(search: Search, target: Target) -> Found | None:
    """`[{…} for each in source if …]`."""
    if search.scene.level >= DEEPEST_LOOP or not any(target.values[row] for row in target.rows):
        return None
    best: Found | None = None
    for source in _sources(search, target):
        traced = trace(search, target, source)
        if traced is None:
            continue
        made = looped(search, target, source, traced)
        if made is not None and (best is None or made.cost < best.cost):
            best = made
        if best is not None and best.cost <= source.cost + 6:
            break
    return best


def _sources(search: Search, target: Target) -> Iterator[Source]:
    scene = search.scene
    lists = [
        Source(term.expr, [value if isinstance(value, list) else [] for value in term.values], term.cost, "")
        for term in sorted(scene.terms, key=lambda one: one.cost_for(target.name))
        if any(isinstance(value, list) and value for value in term.values)
        and all(isinstance(value, list) or value is None or not value for value in term.values)
    ]
    for kind in scene.entity_types():
        elements = scene.entities(kind)
        total = sum(len(elements[row]) for row in target.rows)
        if total and any(len(elements[row]) > 1 for row in target.rows):
            lists.append(Source(m.entities(kind), elements, 2.0, kind))
    most = max(len(target.values[row]) for row in target.rows)
    fitting = [
        one for one in lists if all(len(one.elements[row]) >= len(target.values[row]) for row in target.rows)
    ]
    fitting.sort(key=lambda one: one.cost)
    yield from fitting[: MOST_SOURCES if most else 3]
    constants = _constants(target)
    if constants:
        expr = m.constant(list(constants))
        yield Source(expr, [constants] * scene.size, 2.0 + len(constants), "")


def _constants(target: Target) -> list[Value]:
    """The texts that the lists have, in the one order in which they come."""
    lists = [target.values[row] for row in target.rows]
    seen = list(dict.fromkeys(part for one in lists for part in one)) if _are_texts(lists) else []
    if not 1 < len(seen) <= MOST_CONSTANTS:
        return []
    after = {(a, b) for one in lists for at, a in enumerate(one) for b in one[at + 1 :]}
    if any((b, a) in after for a, b in after):
        return []
    return sorted(seen, key=lambda part: sum((other, part) in after for other in seen))


def _are_texts(lists: Sequence[Sequence[Value]]) -> bool:
    return all(isinstance(part, str) for one in lists for part in one)


# -- where elements come from


def trace(search: Search, target: Target, source: Source) -> Traced | None:
    """By the whole element, or by one of its fields that tells the source's elements apart."""
    rows, numbering = target.rows, search.scene.numbering
    for key, field in _keys(target, source):
        positions = []
        for row in rows:
            found = _positions(numbering, target.values[row], source.elements[row], key, field)
            if found is None:
                break
            positions.append(found)
        else:
            order = _order(positions, [source.elements[row] for row in rows])
            if order is not None:
                return Traced(positions, order)
    return None


def _keys(target: Target, source: Source) -> Iterator[tuple[str, str]]:
    """Pairs of a field of the target's elements and one of the source's; empty for the element itself."""
    example = next(element for row in target.rows for element in target.values[row])
    other = next((element for row in target.rows for element in source.elements[row]), None)
    yield "", ""
    if not isinstance(other, dict):
        if isinstance(example, dict):
            yield from ((key, "") for key, value in example.items() if is_scalar(value))
        return
    fields = [*(["id"] if isinstance(other, Entity) else []), *other]
    if is_scalar(example):
        yield from (("", field) for field in dict.fromkeys(fields))
        return
    if isinstance(example, dict):
        for field in dict.fromkeys(fields):
            value = field_of(other, field)
            if is_scalar(value) and not isinstance(value, (bool, float)):
                same = [key for key in example if key == field]
                yield from ((key, field) for key in [*same, *(key for key in example if key != field)])


def _positions(
    numbering: Numbering, values: Sequence[Value], elements: Sequence[Value], key: str, field: str
) -> list[int] | None:
    index: dict[int, list[int]] = {}
    for at, element in enumerate(elements):
        index.setdefault(numbering.of(field_of(element, field) if field else element), []).append(at)
    found: list[int] = []
    used: Counter[int] = Counter()
    for value in values:
        wanted = numbering.of(field_of(value, key) if key else value)
        places = index.get(wanted, [])
        if used[wanted] >= len(places) or (field and len(places) > 1):
            return None  # not there, or the field does not tell them apart
        found.append(places[used[wanted]])
        used[wanted] += 1
    return found


def _order(positions: Sequence[Sequence[int]], elements: Sequence[Sequence[Value]]) -> str | None:
    if all(list(one) == sorted(one) for one in positions):
        return ""
    chosen = [[source[at] for at in one] for one, source in zip(positions, elements, strict=True)]
    example = next(element for row in chosen for element in row)
    if not isinstance(example, dict):
        return None
    for field in example:
        values = [[field_of(element, field) for element in row] for row in chosen]
        if not all(isinstance(value, (int, float, str)) for row in values for value in row):
            continue
        for sign, is_reverse in (("", False), ("-", True)):
            if all(_is_sorted(at, row, is_reverse) for at, row in zip(positions, values, strict=True)):
                return f"{sign}{field}"
    return None


def _is_sorted(positions: Sequence[int], values: Sequence[Value], is_reverse: bool) -> bool:
    """Sorting the source by these values gives these positions."""
    pairs = sorted(zip(positions, values, strict=True))
    try:
        pairs.sort(key=lambda pair: pair[1], reverse=is_reverse)
    except TypeError:
        return False
    return [at for at, _ in pairs] == list(positions)


# -- what is made of them


def looped(search: Search, target: Target, source: Source, traced: Traced) -> Found | None:
    name = _NAMES[search.scene.level]
    test = taken(search.scene, source.elements, target.rows, traced.positions, name) or _by_tree(
        search, target, source, traced, name
    )
    if test is None:
        return None
    pairs = [
        (row, at, element)
        for row, positions in zip(target.rows, traced.positions, strict=True)
        for at, element in zip(positions, target.values[row], strict=True)
    ]
    element = _element(search, target, source, _thinned(pairs), name)
    if element is None:
        return None
    expr = source.expr if not traced.order else m.call("sort", source.expr, n.Constant(traced.order))
    cost = source.cost + LOOP + test.cost + (SORT if traced.order else 0)
    is_whole = element.expr == n.Name(name)
    listed = (
        expr
        if is_whole and test.expr is None
        else m.listed(element.expr, name, expr, *(() if test.expr is None else (test.expr,)))
    )
    return element.within(listed, cost=cost)


def _by_tree(search: Search, target: Target, source: Source, traced: Traced, name: str) -> Taken | None:
    """Tests on what can be computed of an element, where its fields alone do not tell."""
    chosen = {(row, at) for row, one in zip(target.rows, traced.positions, strict=True) for at in one}
    whole = [(row, at) for row in target.rows for at in range(len(source.elements[row]))]
    pairs = whole[:: -(-len(whole) // MOST_ROUNDS)]
    labels = {number: int(pair in chosen) for number, pair in enumerate(pairs)}
    if len(set(labels.values())) < 2:
        return None
    tree = guards.separate(element_scene(search.scene, source, pairs, name), labels, deepest=DEEPEST_TEST)
    test = guards.condition_of(tree)
    return None if guards.missed(tree) or test is None else Taken(test, guards.length(tree))


def _thinned(pairs: list[tuple[int, int, Value]]) -> list[tuple[int, int, Value]]:
    step = -(-len(pairs) // MOST_ROUNDS)
    return pairs[::step]


def _element(
    search: Search, target: Target, source: Source, pairs: list[tuple[int, int, Value]], name: str
) -> Found | None:
    inner = element_scene(search.scene, source, [(row, at) for row, at, _ in pairs], name)
    values = [value for _, _, value in pairs]
    deeper = Search(scene=inner, makers=search.makers, is_over=search.is_over, steps=search.steps)
    rows = tuple(range(len(pairs)))
    return deeper.explain(Target(values=values, rows=rows, name="", effort=min(target.effort, 1)))


def element_scene(scene: Scene, source: Source, pairs: Sequence[tuple[int, int]], name: str) -> Scene:
    """What can be seen while looking at one element: the element, and what was short to say before."""
    ledgers: list[Ledger] = [scene.ledgers[row] for row, _ in pairs]
    inner = Scene(scene.numbering, ledgers, level=scene.level + 1)
    elements = [source.elements[row][at] for row, at in pairs]
    roots = [Root(n.Name(name), elements, 0.5, source.kind)]
    roots += [
        Root(term.expr, [term.values[row] for row, _ in pairs], term.cost + 1, term.name, term.is_argument)
        for term in lifted(scene)
    ]
    Growth(inner, lookup_in(ledgers, ledgers), longest=LONGEST_IN_LOOP).grow(roots)
    return inner


def lifted(scene: Scene) -> list[Term]:
    """Terms from outside, arguments first."""
    terms = [
        term
        for term in scene.terms
        if any(is_scalar(value) or isinstance(value, list) for value in term.values)
    ]
    return sorted(terms, key=lambda term: term.cost - term.is_argument)[:MOST_LIFTED]
