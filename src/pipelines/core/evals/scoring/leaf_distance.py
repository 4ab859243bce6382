"""The distance of two values of a leaf, from 0 to 1, by its declared or inferred kind.

Null, missing and "" are three things, True is not 1. The work is bounded whatever an agent answers: at most
MOST_ASSIGNED objects are assigned to as many, MOST_ORDERED items kept in order, MOST_DEPTH levels entered.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from pipelines.core.evals.scenarios.contract import ContractLeaf, LeafRule
from pipelines.core.evals.scenarios.leaf_kind import KNOWN_SCALE, fold, is_number, kind_of, level
from pipelines.core.evals.scoring.text_shift import text_distance, text_profile
from pipelines.core.matchers.matching import Actual, CannotMatch, Missing, interpreted_value
from pipelines.core.text.json_text import Json, JsonObject, canonical_by_value, same

MOST_ASSIGNED = 24  # objects that differ: 24 × 24 distances and 24³ steps are some 10 ms
MOST_ORDERED = 5_000  # items of an ordered list
MOST_DEPTH = 4  # of objects in objects; further down two values are equal or not
_PLAIN = frozenset({str, bool, int, float, type(None)})
FLIPPED_TEXT = 0.5  # a text that decides has changed its decision from here: some other words reach 0.45


class LeafDistance(NamedTuple):
    kind: str
    distance: float

    @property
    def is_flip(self) -> bool:
        """Whether a decision that stands here has changed."""
        return self.distance >= FLIPPED_TEXT if self.kind == "text" else self.distance > 0


def leaf_distance(leaf: ContractLeaf, left: Actual, right: Actual) -> LeafDistance:
    hint = leaf.kind
    if type(left) is type(right) and type(left) in _PLAIN and left == right:
        return LeafDistance(hint or "enum", 0.0)  # most leaves of most answers
    if isinstance(left, Missing) or isinstance(right, Missing):
        return LeafDistance(hint or "enum", float(left is not right))
    if leaf.rule.kind is None:  # else the author says what it is
        left, right = _interpreted(leaf, left), _interpreted(leaf, right)
    kind = hint if hint is not None and _FITS[hint](left) and _FITS[hint](right) else kind_of(left, right)
    if kind is None:
        return LeafDistance(hint or "enum", 0.0 if same(left, right) else 1.0)
    return LeafDistance(kind, _distance(kind, leaf.rule, left, right))


def _interpreted(leaf: ContractLeaf, value: Json) -> Json:
    """What a value says where a number, a day or a text is asked: "$79.50" and "79,50 €" are one number."""
    try:
        return interpreted_value(leaf.expected, value)
    except CannotMatch:  # too long to be read
        return value


# Distances


_FITS: dict[str, Callable[[Json], bool]] = {
    "boolean": lambda value: isinstance(value, bool),
    "number": is_number,
    "enum": lambda value: isinstance(value, (str, bool, int, float)),
    "scale": lambda value: isinstance(value, str),
    "text": lambda value: isinstance(value, str),
    "list": lambda value: isinstance(value, list),
    "ordered_list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _distance(kind: str, rule: LeafRule, left: Any, right: Any, depth: int = 0) -> float:
    match kind:
        case "number":
            return _number_distance(rule, left, right)
        case "scale":
            return _scale_distance(rule.levels or KNOWN_SCALE, left, right)
        case "text":
            return text_distance(text_profile(left), text_profile(right)).total
        case "list":
            return _list_distance(left, right)
        case "ordered_list":
            return _ordered_distance(left, right)
        case "object":
            return _object_distance(left, right, depth)
    return float(not _is_alike(left, right))


def _is_alike(left: Json, right: Json) -> bool:
    """Words of an enum are alike in any case; spaces around them mean nothing."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right or fold(left) == fold(right)
    return same(left, right)


def _number_distance(rule: LeafRule, left: float, right: float) -> float:
    largest = max(abs(left), abs(right))
    apart = abs(left - right)
    if left == right or apart <= rule.tolerance or apart <= rule.relative_tolerance * largest:
        return 0.0
    return 1.0 if left * right < 0 else min(1.0, apart / largest)


def _scale_distance(levels: Sequence[str], left: str, right: str) -> float:
    ours, theirs = level(left, levels), level(right, levels)
    if ours is None or theirs is None:  # what is on no level is only equal to itself
        return float(not _is_alike(left, right))
    return abs(ours - theirs) / (len(levels) - 1)


def _list_distance(left: list[Json], right: list[Json]) -> float:
    if left and right and all(isinstance(item, dict) for item in (*left, *right)):
        return _assignment_distance(left, right)
    ours, theirs = {canonical_by_value(item) for item in left}, {canonical_by_value(item) for item in right}
    union = ours | theirs
    return 1 - len(ours & theirs) / len(union) if union else 0.0


def _assignment_distance(left: list[Json], right: list[Json]) -> float:
    """Each object to the one it is nearest to, over all; what has no partner is 1; by the longer length."""
    longer = max(len(left), len(right))
    ours, theirs = _without_common(left, right)
    if max(len(ours), len(theirs)) > MOST_ASSIGNED or not ours or not theirs:
        return max(len(ours), len(theirs)) / longer
    costs = [[_object_distance(a, b, 1) for b in theirs] for a in ours]
    return (least_cost(costs) + abs(len(ours) - len(theirs))) / longer


def _without_common(left: list[Json], right: list[Json]) -> tuple[list[Any], list[Any]]:
    """Equal objects are partners: the distance is a metric, so no better assignment parts them."""
    ours, theirs = Counter(map(canonical_by_value, left)), Counter(map(canonical_by_value, right))
    common = ours & theirs
    loads = orjson.loads
    return [loads(each) for each in (ours - common).elements()], [
        loads(each) for each in (theirs - common).elements()
    ]


def _object_distance(left: JsonObject, right: JsonObject, depth: int) -> float:
    """The mean over all keys of either. In objects a list is a set, and a text is the same or not."""
    keys = left.keys() | right.keys()
    if not keys:
        return 0.0
    return sum(_member_distance(left, right, key, depth) for key in keys) / len(keys)


def _member_distance(left: JsonObject, right: JsonObject, key: str, depth: int) -> float:
    if key not in left or key not in right:
        return 1.0
    ours, theirs = left[key], right[key]
    kind = kind_of(ours, theirs)
    if kind is None or (kind == "object" and depth >= MOST_DEPTH):
        return float(not same(ours, theirs))
    if kind == "list":
        if depth:
            return 1.0 - float(canonical_by_value(ours) == canonical_by_value(theirs))
        return _list_distance(ours, theirs)  # type: ignore[arg-type]
    return _distance("enum" if kind == "text" else kind, LeafRule(), ours, theirs, depth + 1)


def _ordered_distance(left: list[Json], right: list[Json]) -> float:
    longer = max(len(left), len(right))
    if not longer:
        return 0.0
    ours, theirs = ([canonical_by_value(item) for item in items[:MOST_ORDERED]] for items in (left, right))
    beyond = longer - max(len(ours), len(theirs))
    # Past the bound items count as moved unless the lists are equal as a whole.
    if beyond and canonical_by_value(left) == canonical_by_value(right):
        return 0.0
    return (edit_distance(ours, theirs) + beyond) / longer


def edit_distance(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    """Insertions, deletions and substitutions, by Myers' bit vectors."""
    if not left or not right:
        return max(len(left), len(right))
    places: dict[bytes, int] = {}
    for at, item in enumerate(left):
        places[item] = places.get(item, 0) | 1 << at
    ones, last = (1 << len(left)) - 1, 1 << (len(left) - 1)
    up, down, distance = ones, 0, len(left)
    for item in right:
        equal = places.get(item, 0)
        vertical = equal | down
        level = (((equal & up) + up) ^ up) | equal
        plus, minus = down | (ones & ~(level | up)), up & level
        distance += bool(plus & last) - bool(minus & last)
        plus, minus = (plus << 1 | 1) & ones, (minus << 1) & ones
        up, down = minus | (ones & ~(vertical | plus)), plus & vertical
    return distance


def least_cost(costs: Sequence[Sequence[float]]) -> float:
    """The least total of a full assignment of the shorter side (Hungarian method, cubic)."""
    rows = costs if len(costs) <= len(costs[0]) else list(zip(*costs, strict=True))
    width = len(rows[0])
    row_price, column_price = [0.0] * (len(rows) + 1), [0.0] * (width + 1)
    holder = [0] * (width + 1)  # row of each column; column 0 is where a new row starts from
    for row in range(1, len(rows) + 1):
        holder[0] = row
        _assign_row(rows, row_price, column_price, holder)
    return sum(rows[holder[column] - 1][column - 1] for column in range(1, width + 1) if holder[column])


def _assign_row(
    rows: Sequence[Sequence[float]], row_price: list[float], column_price: list[float], holder: list[int]
) -> None:
    """Finds the cheapest chain of moves that gives the new row a column, and carries it out."""
    width = len(column_price) - 1
    slack, came_from, is_done = [float("inf")] * (width + 1), [0] * (width + 1), [False] * (width + 1)
    column = 0
    while holder[column]:
        is_done[column] = True
        row, step, following = holder[column], float("inf"), 0
        for other in range(1, width + 1):
            if is_done[other]:
                continue
            reduced = rows[row - 1][other - 1] - row_price[row] - column_price[other]
            if reduced < slack[other]:
                slack[other], came_from[other] = reduced, column
            if slack[other] < step:
                step, following = slack[other], other
        for other in range(width + 1):
            if is_done[other]:
                row_price[holder[other]] += step
                column_price[other] -= step
            else:
                slack[other] -= step
        column = following
    while column:
        holder[column] = holder[came_from[column]]
        column = came_from[column]
