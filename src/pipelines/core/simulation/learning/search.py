"""The shortest expression that gives these values in these rows.

First what is there already (a constant, a term), then what can be made of it by the kind of the values, then
cases, then a table of seen values. What no expression explains is answered by the majority and reported.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning import guards
from pipelines.core.simulation.learning.found import Found, constant
from pipelines.core.simulation.learning.numbering import MISSING_NUMBER, Value
from pipelines.core.simulation.learning.scene import Scene, Term, is_scalar, kind_of

CASE = 2.0  # what a case costs beside its test
ROW_OF_TABLE = 0.6  # of what its value costs as a constant
GOOD_ENOUGH = 3.0  # an expression as short as this is not weighed against longer ones
LONG = 6.0  # an expression that is longer is weighed against cases
COUNTED = 2.5
MOST_CASES = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What is to be explained: a value for each row, some rows of which matter, and the name it has."""

    values: Sequence[Value]
    rows: Sequence[int]
    name: str = ""
    effort: int = 2  # how many times more the rows may be taken apart
    is_change: bool = False  # the new value of a field

    def on(self, rows: Sequence[int], *, effort: int | None = None) -> "Target":
        left = self.effort if effort is None else effort
        return replace(self, rows=rows, effort=left)

    def other(self, values: Sequence[Value], name: str) -> "Target":
        return Target(values=values, rows=self.rows, name=name, effort=self.effort)


Maker = Callable[["Search", Target], Found | None]


@dataclass(kw_only=True, slots=True)
class Search:
    scene: Scene
    makers: Mapping[str, Sequence[Maker]]  # by the kind of the values
    is_over: Callable[[], bool]  # the time is up: what is left is not searched
    steps: list[int] = field(default_factory=lambda: [0])

    def explain(self, target: Target) -> Found | None:
        """None where nothing gives all of these values."""
        if not target.rows:
            return None
        numbers = [self.scene.numbering.of(value) for value in target.values]
        key = (
            tuple(numbers[row] for row in target.rows),
            tuple(target.rows),
            target.name,
            target.effort,
            target.is_change,
        )
        known = self.scene.memo.get(key, False)
        if known is False:
            self.steps[0] += 1
            known = self.scene.memo[key] = self._explained(target, numbers)
        return known  # type: ignore[return-value]

    def settle(self, target: Target) -> Found:
        """As `explain`; what cannot be explained is answered by what is right most often."""
        return self.explain(target) or self._most_often(target)

    def _explained(self, target: Target, numbers: Sequence[int]) -> Found | None:
        best = self._plain(target, numbers)
        kinds = {kind_of(target.values[row]) for row in target.rows}
        if (
            best is not None
            and target.is_change
            and kinds == {"number"}
            and isinstance(best.expr, n.Constant)
        ):
            # A number that a call sets is more often counted on than always the same.
            best = replace(best, cost=best.cost + COUNTED)
        if self.is_over() or (best is not None and best.cost <= GOOD_ENOUGH):
            return best
        found = [best]
        if len(kinds) == 1:
            found += [maker(self, target) for maker in self.makers.get(next(iter(kinds)), ())]
        best = _shortest(found)
        if best is None or best.cost > LONG:
            cases = self._cases(target, numbers) if target.effort > 0 else None
            best = _shortest([best, self._table(target, numbers), cases])
        return best

    def _plain(self, target: Target, numbers: Sequence[int]) -> Found | None:
        terms = [
            (one.cost_for(target.name), at, one)
            for at, one in enumerate(self.scene.fitting(numbers, target.rows))
        ]
        best = None
        if terms:
            cost, _, term = min(terms)
            best = Found(expr=term.expr, cost=max(cost, 0.3))
        if len({numbers[row] for row in target.rows}) == 1:
            same = constant(target.values[target.rows[0]])
            if best is None or same.cost < best.cost:
                best = same
        return best

    # -- cases

    def _cases(self, target: Target, numbers: Sequence[int]) -> Found | None:
        found = [self._by_kind(target), self._by_value(target, numbers), self._by_term(target, numbers)]
        good = [one for one in found if one is not None]
        return min(good, key=lambda one: (len(one.missed), one.cost)) if good else None

    def _by_kind(self, target: Target) -> Found | None:
        groups: dict[str, list[int]] = {}
        for row in target.rows:
            groups.setdefault(kind_of(target.values[row]), []).append(row)
        return self._of_groups(target, list(groups.values())) if len(groups) > 1 else None

    def _by_value(self, target: Target, numbers: Sequence[int]) -> Found | None:
        groups: dict[int, list[int]] = {}
        for row in target.rows:
            groups.setdefault(numbers[row], []).append(row)
        is_small = 1 < len(groups) <= MOST_CASES and len(groups) * 2 <= len(target.rows)
        return self._of_groups(target, list(groups.values())) if is_small else None

    def _by_term(self, target: Target, numbers: Sequence[int]) -> Found | None:
        """What one term explains, and what is left."""
        best: Found | None = None
        for rows in self._covered(target, numbers):
            left = [row for row in target.rows if row not in rows]
            found = self._of_groups(target, [sorted(rows), left])
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        return best

    def _covered(self, target: Target, numbers: Sequence[int]) -> list[frozenset[int]]:
        covered: Counter[Term] = Counter()
        for row in target.rows:
            covered.update(self.scene.terms_with(row, numbers[row]))
        sets: dict[frozenset[int], float] = {}
        for number, times in Counter(numbers[row] for row in target.rows).most_common(2):
            if 1 < times < len(target.rows):
                rows = frozenset(row for row in target.rows if numbers[row] == number)
                sets[rows] = constant(target.values[min(rows)]).cost
        for term, times in covered.items():
            if 1 < times < len(target.rows) or (times == 1 and len(target.rows) == 2):
                rows = frozenset(row for row in target.rows if term.numbers[row] == numbers[row])
                sets[rows] = min(sets.get(rows, 99.0), term.cost_for(target.name))
        order = sorted(sets.items(), key=lambda one: (-2 * len(one[0]) + one[1], sorted(one[0])))
        return [rows for rows, _ in order[:3]]

    def _of_groups(self, target: Target, groups: Sequence[Sequence[int]]) -> Found | None:
        labels = {row: at for at, rows in enumerate(groups) for row in rows}
        tree = guards.separate(self.scene, labels)
        if guards.missed(tree):
            return None
        parts: list[Found] = []
        for rows in groups:
            part = self.explain(target.on(rows, effort=target.effort - 1))
            if part is None:
                return None
            parts.append(part)
        return joined(tree, parts)

    # -- tables, majorities

    def _table(self, target: Target, numbers: Sequence[int]) -> Found | None:
        """A value for each value of one term: those that were seen, and no others."""
        if len(target.rows) < 3:
            return None
        best: Found | None = None
        for term in self.scene.terms:
            if term.cost > 4.5 or (best is not None and term.cost >= best.cost):
                continue
            entries = _entries(term, target, numbers)
            if entries is None or len(entries) < 2 or len(target.rows) < 1.5 * len(entries):
                continue
            table = n.MappingOf(
                tuple(n.Entry(n.Constant(key), m.constant(value)) for key, value in entries.items())
            )
            expr = n.Item(table, m.call("str", term.expr))
            cost = term.cost_for(target.name) + sum(map(_row_cost, entries.values())) + 3
            seen = m.is_in(m.call("str", term.expr), list(entries))
            if best is None or cost < best.cost:
                best = Found(expr=expr, cost=cost, seen=(seen,))
        return best

    def _most_often(self, target: Target) -> Found:
        numbers = [self.scene.numbering.of(value) for value in target.values]
        covered: Counter[Term] = Counter()
        for row in target.rows:
            covered.update(self.scene.terms_with(row, numbers[row]))
        values = Counter(numbers[row] for row in target.rows)
        number, times = values.most_common(1)[0]
        common = next(target.values[row] for row in target.rows if numbers[row] == number)
        best, most = constant(common), times - 0.5
        if len(values) > 1:
            best = Found(expr=best.expr, cost=best.cost, missed=_others(target, numbers, number))
        for term, count in covered.items():
            if count > most + term.cost_for(target.name) / 3:
                rows = frozenset(row for row in target.rows if term.numbers[row] != numbers[row])
                best, most = Found(expr=term.expr, cost=term.cost, missed=rows), count
        return best


def _shortest(found: Sequence[Found | None]) -> Found | None:
    """The first of the shortest ones."""
    return min((one for one in found if one is not None), key=lambda one: one.cost, default=None)


def _row_cost(value: Value) -> float:
    return ROW_OF_TABLE * constant(value).cost


def _others(target: Target, numbers: Sequence[int], number: int) -> frozenset[int]:
    return frozenset(row for row in target.rows if numbers[row] != number)


def _entries(term: Term, target: Target, numbers: Sequence[int]) -> dict[str, Value] | None:
    """The table by the values of a term; None where one of them goes with two values."""
    table: dict[str, tuple[int, Value]] = {}
    for row in target.rows:
        key = term.values[row]
        if not is_scalar(key) or isinstance(key, float) or numbers[row] == MISSING_NUMBER:
            return None
        written = str(key).lower() if isinstance(key, bool) else str(key)
        if table.setdefault(written, (numbers[row], target.values[row]))[0] != numbers[row]:
            return None
    return {key: value for key, (_, value) in table.items()}


def joined(tree: guards.Tree, parts: Sequence[Found]) -> Found:
    """The parts as cases of one expression."""
    if isinstance(tree, guards.Leaf):
        return parts[tree.label]
    then, otherwise = joined(tree.then, parts), joined(tree.otherwise, parts)
    expr = n.Conditional(tree.test, then.expr, otherwise.expr)
    then, otherwise = then.only_if(tree.test), otherwise.only_if(tree.test.negated())
    return then.within(expr, otherwise, cost=tree.cost + CASE)
