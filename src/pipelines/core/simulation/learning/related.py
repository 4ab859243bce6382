"""Records that belong to a call: those whose fields have the values of the arguments of the same name.

A booking's slot is taken, a customer has three orders, a person is found by name and date of birth: all of
these look through a type for the values that a call gives.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.growth import Root
from pipelines.core.simulation.learning.names import SAME_NAME, nearness
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.learning.scene import Scene, field_of, is_scalar
from pipelines.core.simulation.values import Entity

MOST_RECORDS = 20_000  # of a type in all rows
MOST_STATES = 4  # of a field that says in which state a record is
LIST, TEST, STATE = 3.0, 0.6, 1.5
_EACH = n.Name("each")

_Pair = tuple[str, Root]  # a field, and the argument whose value it must have


def related(scene: Scene, given: Sequence[Root]) -> Iterator[Root]:
    arguments = [root for root in given if root.is_argument and all(map(is_scalar, root.values))]
    for kind in scene.entity_types():
        records = scene.entities(kind)
        if not 1 < sum(map(len, records)) <= MOST_RECORDS or max(map(len, records)) < 2:
            continue
        fields = _fields(records)
        pairs = [(field, root) for field in fields for root in arguments if _may_match(field, root, records)]
        for chosen in _choices(pairs):
            tests = [m.is_equal(n.Field(_EACH, field), root.expr) for field, root in chosen]
            lists = [
                [one for one in row if all(field_of(one, field) == root.values[at] for field, root in chosen)]
                for at, row in enumerate(records)
            ]
            cost = LIST + TEST * len(chosen)
            yield Root(m.listed(_EACH, "each", m.entities(kind), m.all_of(*tests)), lists, cost, kind)
            yield from _in_state(kind, tests, lists, fields, cost)


def _fields(records: Sequence[Sequence[Entity]]) -> dict[str, Counter[Value]]:
    """The scalar fields of a type with their values."""
    found: dict[str, Counter[Value]] = {}
    for one in {id(one): one for row in records for one in row}.values():
        for key, value in one.items():
            if is_scalar(value):
                found.setdefault(key, Counter())[value] += 1
    return found


def _may_match(field: str, root: Root, records: Sequence[Sequence[Entity]]) -> bool:
    near = nearness(field, root.name)
    if not near:
        return False
    is_found = any(one.get(field) == root.values[at] for at, row in enumerate(records) for one in row)
    return is_found and (near == SAME_NAME or not isinstance(root.values[0], bool))


def _choices(pairs: Sequence[_Pair]) -> Iterator[Sequence[_Pair]]:
    """Every pair alone, and all that are called the same together."""
    same = [(field, root) for field, root in pairs if nearness(field, root.name) == SAME_NAME]
    for pair in pairs[:6]:
        yield [pair]
    if len(same) > 1:
        yield same
    for left in same if len(same) > 2 else ():
        yield [pair for pair in same if pair is not left]


def _in_state(
    kind: str,
    tests: Sequence[n.Expr],
    lists: Sequence[Sequence[Entity]],
    fields: dict[str, Counter[Value]],
    cost: float,
) -> Iterator[Root]:
    for field, values in fields.items():
        states = [value for value in values if isinstance(value, (str, bool))]
        if not 1 < len(states) == len(values) <= MOST_STATES or sum(values.values()) < 2 * len(values):
            continue
        for state in states:
            inside = [[one for one in row if one.get(field) == state] for row in lists]
            if inside == list(lists) or not any(inside):
                continue
            test = m.all_of(*tests, m.is_equal(n.Field(_EACH, field), n.Constant(state)))
            yield Root(m.listed(_EACH, "each", m.entities(kind), test), inside, cost + STATE, kind)
