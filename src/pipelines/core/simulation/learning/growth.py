"""Terms from terms, shortest first: fields, entries that an argument chooses, references, lengths and sums.

What is followed is guided by types: a text or a whole number may name a record, a record has fields, a list
of records has columns. Nothing here looks at what the tool answered.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.names import nearness
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.learning.scene import Scene, Term, field_of, is_scalar
from pipelines.core.simulation.values import MISSING, Entity, entity_of

FIELD, ENTRY, REFERENCE, ELEMENT, LENGTH, COLUMN = 0.7, 1.2, 1.5, 2.0, 1.5, 2.0
FOREIGN = 2.0  # a reference between names that have nothing in common
SEARCHED = 1.0  # what an element of a search costs more than one of a list that is there
LONGEST, LONGEST_IN_LOOP = 8.5, 6.5  # terms are not grown past this cost
MOST_KEYS = 40  # of a record: what has more is a table
MOST_SELECTORS = 12


class Root(NamedTuple):
    expr: n.Expr
    values: Sequence[Value]
    cost: float
    name: str
    is_argument: bool = False


#: The record of a type that an id names in a row: its value there, or None.
Lookup = Callable[[int, str, Value, bool], Value]


def lookup_in(ledgers: Sequence[Ledger], values_of: Sequence[Ledger]) -> Lookup:
    """Records are found in one ledger and read in another: a name bound before a change stays bound."""
    made: dict[tuple[int, str, str], Entity] = {}

    def look(row: int, kind: str, given: Value, is_loose: bool) -> Value:
        if isinstance(given, bool) or not isinstance(given, (str, int)):
            return None
        ledger, id = ledgers[row], str(given)
        if ledger.get(kind, id) is None:
            # Other spellings are looked for only where the names say that it is an id of this type.
            found = ledger.resolve_id(kind, given) if is_loose else None
            if found is None:
                return None
            id = found
        return record(made, ledger, values_of[row], row, kind, id)

    return look


def record(
    made: dict[tuple[int, str, str], Entity], found: Ledger, read: Ledger, row: int, kind: str, id: str
) -> Entity:
    known = made.get((row, kind, id))
    if known is None:
        attrs = read.get(kind, id)
        attrs = attrs if attrs is not None else found.get(kind, id)
        assert attrs is not None
        known = made[row, kind, id] = entity_of(kind, id, attrs, attrs)
    return known


class Growth:
    def __init__(self, scene: Scene, look: Lookup, *, longest: float = LONGEST) -> None:
        self._scene = scene
        self._longest = longest
        self._look = look
        self._kinds = [kind for kind in scene.entity_types() if self._is_referable(kind)]
        self._queue: list[tuple[float, int, Root]] = []
        self._order = count()
        self._selectors: list[Term] = []
        self._tables: list[Term] = []  # records and lists of records, to choose from

    def grow(self, roots: Iterable[Root]) -> None:
        for root in roots:
            self._push(root)
        while self._queue:
            _, _, root = heapq.heappop(self._queue)
            term = self._scene.add(*root[:4], is_argument=root.is_argument)
            if term is not None:
                for grown in self._from(term):
                    self._push(grown)

    def _push(self, root: Root) -> None:
        if root.cost <= self._longest and any(value is not MISSING for value in root.values):
            heapq.heappush(self._queue, (root.cost, next(self._order), root))

    def _is_referable(self, kind: str) -> bool:
        return any(ledger.count(kind) > 0 for ledger in self._scene.ledgers)

    def _from(self, term: Term) -> Iterator[Root]:
        given = [value for value in term.values if value is not MISSING and value is not None]
        if not given:
            return
        if all(isinstance(value, dict) for value in given):
            yield from self._fields(term, given)
            yield from self._chosen(term)
            if not isinstance(given[0], Entity):
                yield from self._measured(term, given)
        elif all(isinstance(value, list) for value in given):
            yield from self._columns(term, given)
            yield from self._chosen(term)
            yield from self._measured(term, given)
        elif all(isinstance(value, (str, int)) and not isinstance(value, bool) for value in given):
            yield from self._references(term)
            yield from self._choosing(term)

    def _fields(self, term: Term, given: Sequence[Value]) -> Iterator[Root]:
        keys = Counter(key for value in given for key in value)
        if len(keys) > MOST_KEYS and not isinstance(given[0], Entity):
            return
        if isinstance(given[0], Entity):
            keys.setdefault("id", len(given))
        # Keys that only one row of many has are entries of a table, not fields.
        often = [key for key, times in keys.items() if times * 3 >= len(given) or times > 4]
        for key in often[:MOST_KEYS]:
            values = [field_of(value, key) for value in term.values]
            yield Root(n.Field(term.expr, key), values, term.cost + FIELD, key, term.is_argument)

    def _references(self, term: Term) -> Iterator[Root]:
        for kind in self._kinds:
            near = nearness(term.name, kind)
            found = [self._look(row, kind, value, near > 0) for row, value in enumerate(term.values)]
            hits = sum(one is not None for one in found)
            if not hits or (not near and hits * 3 < len(found)):
                continue
            is_mostly = hits * 2 > len(found)
            cost = term.cost + REFERENCE + (0 if near else FOREIGN / 2 if is_mostly else FOREIGN)
            yield Root(m.entity(kind, term.expr), found, cost, kind)

    def _choosing(self, term: Term) -> Iterator[Root]:
        """A new selector chooses from the tables that are known, as each new table is chosen from."""
        if len(self._selectors) < MOST_SELECTORS and term.cost <= 4:
            self._selectors.append(term)
            for table in self._tables:
                yield from self._entries(table, term)

    def _chosen(self, term: Term) -> Iterator[Root]:
        if term.cost <= 6:
            self._tables.append(term)
            for selector in self._selectors:
                yield from self._entries(term, selector)

    def _entries(self, table: Term, selector: Term) -> Iterator[Root]:
        cost = table.cost + selector.cost * 0.5 + ENTRY
        pairs = list(zip(table.values, selector.values, strict=True))
        if any(isinstance(whole, dict) and len(whole) for whole, _ in pairs):
            values = [
                whole.get(str(key), MISSING) if isinstance(whole, dict) and is_scalar(key) else MISSING
                for whole, key in pairs
            ]
            if any(value is not MISSING for value in values):
                yield Root(n.Item(table.expr, selector.expr), values, cost, table.name)
            return
        yield from self._elements(table, selector, pairs, cost + ELEMENT - ENTRY)

    def _elements(
        self, table: Term, selector: Term, pairs: list[tuple[Value, Value]], cost: float
    ) -> Iterator[Root]:
        fields: Counter[str] = Counter()
        for whole, key in pairs:
            for element in whole if isinstance(whole, list) else ():
                if isinstance(element, dict):
                    fields.update(name for name, value in element.items() if value == key and is_scalar(key))
        for field, _ in fields.most_common(2):
            values = [_found(whole, field, key) for whole, key in pairs]
            expr = m.call("find", table.expr, n.Constant(field), selector.expr)
            yield Root(expr, values, cost, table.name)

    def _columns(self, term: Term, given: Sequence[Value]) -> Iterator[Root]:
        elements = [element for value in given for element in value]
        if not elements:
            return
        first = ELEMENT + (SEARCHED if isinstance(term.expr, n.Comprehension) else 0)
        for at, position in ((0, "first"), (-1, "last")):
            values = [value[at] if isinstance(value, list) and value else MISSING for value in term.values]
            yield Root(
                n.Item(term.expr, n.Constant(at)), values, term.cost + first, f"{position} {term.name}"
            )
        if all(isinstance(element, dict) for element in elements):
            keys = list(dict.fromkeys(key for element in elements for key in element))[:MOST_KEYS]
            for key in keys:
                yield from self._column(term, key, [element.get(key) for element in elements])
            yield from self._products(term, elements, keys)
        elif _are_numbers(elements):
            yield self._total(term, term.expr, term.values, term.name)

    def _column(self, term: Term, key: str, values: list[Value]) -> Iterator[Root]:
        listed = m.listed(n.Field(n.Name("each"), key), "each", term.expr)
        columns = [
            [field_of(element, key) for element in value] if isinstance(value, list) else MISSING
            for value in term.values
        ]
        yield Root(listed, columns, term.cost + COLUMN, key)
        if _are_numbers(values):
            total = m.each_of(n.Field(n.Name("each"), key), "each", term.expr)
            yield self._total(term, total, columns, key)

    def _products(self, term: Term, elements: list[Value], keys: list[str]) -> Iterator[Root]:
        numeric = [key for key in keys if _are_numbers([element.get(key) for element in elements])][:4]
        each = n.Name("each")
        for at, one in enumerate(numeric):
            for other in numeric[at + 1 :]:
                product = m.arithmetic(n.Field(each, one), "*", n.Field(each, other))
                columns = [
                    [element[one] * element[other] for element in value]
                    if isinstance(value, list)
                    else MISSING
                    for value in term.values
                ]
                yield self._total(term, m.each_of(product, "each", term.expr), columns, "total")

    def _total(self, term: Term, expr: n.Expr, columns: Sequence[Value], name: str) -> Root:
        values = [plain_sum(column) if isinstance(column, list) else 0 for column in columns]
        return Root(m.call("sum", expr), values, term.cost + COLUMN, name)

    def _measured(self, term: Term, given: Sequence[Value]) -> Iterator[Root]:
        lengths = [len(value) if isinstance(value, (dict, list)) else 0 for value in term.values]
        if any(isinstance(value, list) for value in given) or len(set(lengths)) > 1:
            yield Root(m.call("len", term.expr), lengths, term.cost + LENGTH, f"{term.name} count")
        if not all(isinstance(value, dict) for value in given):
            return
        if all(_are_numbers(list(value.values())) for value in given):
            parts = [list(value.values()) if isinstance(value, dict) else MISSING for value in term.values]
            yield self._total(term, m.call("values", term.expr), parts, term.name)
        keys = [list(value) if isinstance(value, dict) else [] for value in term.values]
        yield Root(m.call("keys", term.expr), keys, term.cost + COLUMN, term.name)
        if all(isinstance(part, dict) for value in given for part in value.values()):
            parts = [list(value.values()) if isinstance(value, dict) else [] for value in term.values]
            yield Root(m.call("values", term.expr), parts, term.cost + COLUMN, term.name)


def plain_sum(numbers: Iterable[Value]) -> Value:
    """As the language adds: decimals, so that 0.1 + 0.2 is 0.3."""
    total = sum(numbers)
    return round(total, 10) if isinstance(total, float) else total


def _found(whole: Value, field: str, key: Value) -> Value:
    if not isinstance(whole, list):
        return None
    return next((one for one in whole if isinstance(one, dict) and one.get(field) == key), None)


def _are_numbers(values: list[Value]) -> bool:
    return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
