"""Chooses calls for variety: each outcome, each shape of reply, of change and of arguments, edge values, each
of a few values. Whoever learns from examples learns from how they differ. The rest of the calls fills up.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeVar

from pipelines.core.ledger.ledger import Add, LedgerUpdate, SetFlag, Update
from pipelines.core.simulation.fidelity.likeness import leaves
from pipelines.core.simulation.fidelity.recording import RecordedCall
from pipelines.core.text.json_text import Json, canonical, dumps

MOST_VALUES = 200  # of the arguments that are looked for in an error
FEW_VALUES = 8  # a place that has no more than these is one of a closed set, such as a status
LONGEST_VALUE = 200
MOST_DEPTH = 6  # to which the shape of a value is looked at

_Key = TypeVar("_Key")
_Feature = tuple[object, ...]


def fingerprint(call: RecordedCall) -> bytes:
    """The same for calls that teach the same."""
    changes: list[Json] = [update.as_json() for update in call.updates]
    return canonical([call.arguments, call.is_error, call.response, changes])


def most_varied(calls: Sequence[tuple[_Key, RecordedCall]], most: int) -> list[tuple[_Key, RecordedCall]]:
    """Greedy: the next is the call that brings most of what none before it has, kind by kind.

    What a call brings only falls while others are chosen. So it is counted anew only for the call that is
    best by its last count, and ten thousand calls cost little more than a hundred.
    """
    different = [*{fingerprint(call): (key, call) for key, call in reversed(calls)}.values()][::-1]
    features = _features([call for _, call in different])
    sizes = [len(dumps([call.arguments, call.response])) for _, call in different]
    heap = [(_gains(each, set()), sizes[at], at) for at, each in enumerate(features)]
    heapify(heap)
    covered: set[_Feature] = set()
    chosen: list[int] = []
    while heap and len(chosen) < most:
        gains, size, at = heappop(heap)
        now = _gains(features[at], covered)
        if now != gains:
            heappush(heap, (now, size, at))
            continue
        chosen.append(at)
        covered.update(*features[at])
    return [different[at] for at in chosen]


def _gains(of_call: Sequence[set[_Feature]], covered: set[_Feature]) -> tuple[int, ...]:
    """How much is new, kind by kind; negative, so that the most comes first."""
    return tuple(-len(kind - covered) for kind in of_call)


def _features(calls: Sequence[RecordedCall]) -> list[tuple[set[_Feature], ...]]:
    """Of each call: its outcome, its shapes, the edge values and the few values in it."""
    edges, closed = _edges(calls), _closed_places(calls)
    return [
        (
            {("outcome", outcome_of(call))},
            {("reply", _shape(call.response)), ("changes", _shape_of_changes(call.updates))},
            {("arguments", _shape(call.arguments))},
            {feature for place, value in _places(call) for feature in _edge_features(place, value, edges)},
            {("value", place, _text(value)) for place, value in _places(call) if place in closed},
        )
        for call in calls
    ]


def outcome_of(call: RecordedCall) -> str:
    """Empty for a success, else what the error says, without the values of this call and without numbers."""
    if not call.is_error:
        return ""
    text = dumps(call.response).decode(errors="replace")
    named = sorted({str(value) for value in leaves(call.arguments) if str(value)}, key=len, reverse=True)
    for value in named[:MOST_VALUES]:
        text = text.replace(value, "…")
    return re.sub(r"\d+", "0", text)


def _shape(value: Json, depth: int = 0) -> object:
    """What kind of value it is: the keys of objects, whether lists are empty, and what they hold."""
    if isinstance(value, dict):
        parts = value.items() if depth < MOST_DEPTH else ()
        return "object", tuple(sorted((key, _shape(part, depth + 1)) for key, part in parts))
    if isinstance(value, list):
        some = value if depth < MOST_DEPTH else []
        held = sorted({repr(_shape(part, depth + 1)) for part in some})
        return "list", min(len(value), 2), tuple(held)
    if isinstance(value, bool) or value is None:
        return str(value)
    return "text" if isinstance(value, str) else "number"


def _shape_of_changes(updates: Iterable[LedgerUpdate]) -> frozenset[_Feature]:
    return frozenset(_shape_of_change(update) for update in updates)


def _shape_of_change(update: LedgerUpdate) -> _Feature:
    match update:
        case SetFlag():
            return "flag", update.flag, update.value
        case Add():
            return "add", update.entity_type, *sorted(update.attrs)
        case Update():
            return "update", update.entity_type, *sorted(update.set), "without", *sorted(update.unset)
    return "remove", update.entity_type


def _places(call: RecordedCall) -> Iterator[tuple[str, Json]]:
    """Every leaf and every list with the place it stands at; elements of a list share one place."""
    yield from _places_in(call.arguments, "arguments")
    yield from _places_in(call.response, "response")


def _places_in(value: Json, at: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _places_in(part, f"{at}/{key}")
    elif isinstance(value, list):
        yield f"{at}/#", len(value)
        for part in value:
            yield from _places_in(part, f"{at}/*")
    else:
        yield at, value


def _edges(calls: Iterable[RecordedCall]) -> Mapping[str, tuple[float, float]]:
    """The least and the greatest number at each place, where they differ."""
    found: dict[str, tuple[float, float]] = {}
    for call in calls:
        for place, value in _places(call):
            if isinstance(value, int | float) and not isinstance(value, bool):
                low, high = found.get(place, (value, value))
                found[place] = min(low, value), max(high, value)
    return {place: (low, high) for place, (low, high) in found.items() if low < high}


def _edge_features(place: str, value: Json, edges: Mapping[str, tuple[float, float]]) -> Iterator[_Feature]:
    if value is None or value == "":
        yield "empty", place
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = edges.get(place, (None, None))
        if value == low:
            yield "least", place
        if value == high:
            yield "greatest", place
        if value <= 0:
            yield "zero" if value == 0 else "negative", place


def _closed_places(calls: Iterable[RecordedCall]) -> frozenset[str]:
    """Where few values recur: not ids, which are as many as calls."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for call in calls:
        for place, value in _places(call):
            if len(counted[place]) <= FEW_VALUES and isinstance(value, str | bool):
                counted[place][_text(value)] += 1
    return frozenset(
        place for place, of in counted.items() if len(of) <= FEW_VALUES and max(of.values(), default=0) > 1
    )


def _text(value: Json) -> str:
    return str(value)[:LONGEST_VALUE]
