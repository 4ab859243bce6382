"""What a tool can see at one point of its calls: terms, each an expression with its value in every example.

A scene belongs to the calls of one tool (before or after their changes), or to the elements of the lists
that these calls look through. Terms with the same values in all rows are kept a few times only.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.names import nearness
from pipelines.core.simulation.learning.numbering import Numbering, Value
from pipelines.core.simulation.values import MISSING, Entity, entity_of

MOST_TERMS = 1_200
MOST_ALIKE = 4  # terms with the same values: they differ in name, which decides later
MOST_LISTED = 3_000  # records of a type that are looked through


@dataclass(frozen=True, eq=False)  # no slots: its kinds are kept beside the fields
class Term:
    """An expression, what it gives in each row, how long it is, and its last name."""

    expr: n.Expr
    values: Sequence[Value]
    numbers: Sequence[int]
    cost: float
    name: str
    is_argument: bool = False  # it comes from the arguments, not from the world

    @lazy_property
    def kinds(self) -> frozenset[str]:
        return frozenset(map(kind_of, self.values))

    def cost_for(self, name: str) -> float:
        return self.cost - nearness(self.name, name)


class Scene:
    def __init__(self, numbering: Numbering, ledgers: Sequence[Ledger], *, level: int = 0) -> None:
        self.numbering = numbering
        self.ledgers = ledgers  # one for each row
        self.level = level  # how many loops deep
        self.terms: list[Term] = []
        self.was: dict[str, n.Expr] = {}  # names of values that a change overwrites, and what they stand for
        self._alike: Counter[tuple[int, ...]] = Counter()
        self._exprs: set[n.Expr] = set()
        self._by_number: list[dict[int, list[Term]]] = [{} for _ in ledgers]
        self._listed: dict[str, list[list[Entity]]] = {}
        self.memo: dict[object, object] = {}

    @property
    def size(self) -> int:
        return len(self.ledgers)

    def add(
        self, expr: n.Expr, values: Sequence[Value], cost: float, name: str, *, is_argument: bool = False
    ) -> Term | None:
        """The new term; None where it says nothing new, or there are enough."""
        if len(self.terms) >= MOST_TERMS or expr in self._exprs:
            return None
        numbers = tuple(map(self.numbering.of, values))
        if not any(numbers) or self._alike[numbers] >= MOST_ALIKE:
            return None
        self._alike[numbers] += 1
        self._exprs.add(expr)
        term = Term(expr, values, numbers, cost, name, is_argument)
        self.terms.append(term)
        for row, number in enumerate(numbers):
            self._by_number[row].setdefault(number, []).append(term)
        return term

    def has(self, numbers: tuple[int, ...]) -> bool:
        return self._alike[numbers] > 0

    def terms_with(self, row: int, number: int) -> Sequence[Term]:
        return self._by_number[row].get(number, ())

    def fitting(self, numbers: Sequence[int], rows: Sequence[int]) -> Iterator[Term]:
        """Terms that have these values in these rows."""
        for term in self.terms_with(rows[0], numbers[rows[0]]):
            if all(term.numbers[row] == numbers[row] for row in rows):
                yield term

    def entities(self, kind: str) -> list[list[Entity]]:
        """All records of a type, in each row."""
        found = self._listed.get(kind)
        if found is None:
            shared: dict[int, list[Entity]] = {}
            found = self._listed[kind] = [_entities(ledger, kind, shared) for ledger in self.ledgers]
        return found

    def entity_types(self) -> list[str]:
        return list(dict.fromkeys(kind for ledger in self.ledgers for kind in ledger.entity_types()))


def _entities(ledger: Ledger, kind: str, shared: dict[int, list[Entity]]) -> list[Entity]:
    """Calls that share a world and have not changed the type share the list, too."""
    if ledger.count(kind) > MOST_LISTED:
        return []
    if ledger.changed(kind):
        return _made(ledger, kind)
    known = shared.get(id(ledger.world))
    if known is None:
        known = shared[id(ledger.world)] = _made(ledger, kind)
    return known


def _made(ledger: Ledger, kind: str) -> list[Entity]:
    return [entity_of(kind, id, attrs, attrs) for id, attrs in ledger.entities(kind)]


def field_of(value: Value, key: str) -> Value:
    """As the language reads a field: what is not there is missing."""
    if not isinstance(value, dict):
        return MISSING
    found = value.get(key, MISSING)
    return value.id if found is MISSING and key == "id" and isinstance(value, Entity) else found


def kind_of(value: Value) -> str:
    if value is MISSING:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "record"


def is_scalar(value: Value) -> bool:
    return isinstance(value, (str, int, float))
