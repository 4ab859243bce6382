"""Functions of lists. None changes what it is given."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pipelines.core.simulation.call import Call
from pipelines.core.simulation.library.numbers import whole_needed
from pipelines.core.simulation.values import (
    MAX_ITEMS,
    MISSING,
    Entity,
    Stopped,
    Value,
    check_length,
    check_limit,
    decimal,
    elements,
    equal,
    is_blank,
    is_number,
    kind_of,
)

# In units of budget, by measure.
_KEYED = 30  # the value that an element is sorted by
_PAIR = 5  # a list of two made
_COMPARED = 3  # two of them


def listed(call: Call, values: Value) -> list[Value]:
    """A list, paid for: whoever goes over it looks at every element."""
    found = elements(values)
    call.spend(2 * len(found))
    return found


def field_of(value: Value, names: Sequence[str]) -> Value:
    """A field of a mapping, several names for one inside another; missing where it is not there."""
    for name in names:
        if not isinstance(value, dict):
            return MISSING
        entity = value
        value = entity.get(name, MISSING)
        if value is MISSING and name == "id" and isinstance(entity, Entity):
            value = entity.id
    return value


def sort_key(value: Value) -> tuple[int, Any]:
    """Numbers before texts before everything else; what is missing comes last in either direction."""
    if isinstance(value, bool):
        return (2, value)
    if is_number(value):
        return (0, decimal(value))
    return (1, value) if isinstance(value, str) else (3, 0)


T = TypeVar("T")


def sorted_by(
    values: list[T], path: str, call: Call, read: Callable[[T], Value] = lambda value: value
) -> list[T]:
    """By a field ("created_at"), the other way round with a minus sign; by the values themselves with ""."""
    names = field_names(path.removeprefix("-"), call)
    call.spend((_KEYED + 4 * len(names)) * len(values))
    keyed = [(sort_key(field_of(read(value), names)), value) for value in values]
    present = [pair for pair in keyed if pair[0][0] < 3]
    call.spend(sorting_cost([key for key, _ in present]))
    present.sort(key=lambda pair: pair[0], reverse=path.startswith("-"))
    return [value for _, value in present] + [value for key, value in keyed if key[0] == 3]


def field_names(path: str, call: Call) -> list[str]:
    call.spend(len(path) >> 2)
    return path.split(".") if path else []


def sorting_cost(keys: Sequence[tuple[int, Any]]) -> int:
    """As many comparisons as there are digits in the number of keys, for each of them; of long texts more."""
    letters = sum(len(value) for rank, value in keys if rank == 1)
    return len(keys).bit_length() * (_COMPARED * len(keys) + (letters >> 5))


def _path(value: Value) -> str:
    if not isinstance(value, str):
        raise Stopped("plan_type", f"the name of a field is text, not {kind_of(value)}")
    return value


def _len(call: Call, value: Value) -> Value:
    if isinstance(value, (str, list, dict)):
        return len(value)
    if is_blank(value):
        return 0
    raise Stopped("plan_type", f"{kind_of(value)} has no length")


def _sort(call: Call, values: Value, path: Value = "") -> Value:
    return sorted_by(elements(values), _path(path), call)


def _top(call: Call, values: Value, path: Value, count: Value) -> Value:
    limit = max(0, whole_needed(count))
    return _sort(call, values, "-" + _path(path))[:limit]


def _unique(call: Call, values: Value) -> Value:
    found: list[Value] = []
    seen: set[tuple[int, Any]] = set()
    given = listed(call, values)
    call.spend(_KEYED * len(given))
    for value in given:
        # Scalars are looked up; lists and mappings are compared with each one kept.
        key = sort_key(value)
        if key[0] < 3:
            if key[0] == 1:
                call.spend(len(value) >> 7)
            if key not in seen:
                seen.add(key)
                found.append(value)
            continue
        call.spend(4 * len(found))
        if not any(equal(value, kept, call) for kept in found):
            found.append(value)
    return found


def _flatten(call: Call, values: Value) -> Value:
    found: list[Value] = []
    for value in listed(call, values):
        more = value if isinstance(value, list) else [value]
        check_limit(found, len(found) + len(more))
        call.spend(2 + (len(more) >> 1))
        found.extend(more)
    return found


def _zip(call: Call, first: Value, second: Value) -> Value:
    one_list, other_list = listed(call, first), listed(call, second)
    shorter = min(len(one_list), len(other_list))
    check_limit(one_list, shorter)
    call.spend(_PAIR * shorter)
    return [[one, other] for one, other in zip(one_list, other_list, strict=False)]


def _range(call: Call, start: Value, end: Value = None) -> Value:
    first, last = (0, whole_needed(start)) if end is None else (whole_needed(start), whole_needed(end))
    if last - first > MAX_ITEMS:
        raise Stopped("plan_too_large", f"a list has at most {MAX_ITEMS:,} elements")
    call.spend(max(0, last - first))
    return list(range(first, last))


def _enumerate(call: Call, values: Value) -> Value:
    found = listed(call, values)
    check_limit(found, len(found))
    call.spend(_PAIR * len(found))
    return [[position, value] for position, value in enumerate(found)]


def _reversed(call: Call, values: Value) -> Value:
    found = elements(values)
    check_length(found, len(found), call)
    return found[::-1]


def _find(call: Call, values: Value, path: Value, wanted: Value) -> Value:
    names = field_names(_path(path), call)
    for value in elements(values):
        call.spend(10 + 4 * len(names))
        if equal(field_of(value, names), wanted, call):
            return value
    return None


def _index_of(call: Call, values: Value, wanted: Value) -> Value:
    found = listed(call, values)
    call.spend(5 * len(found))
    return next((at for at, value in enumerate(found) if equal(value, wanted, call)), None)


def _count(call: Call, values: Value, wanted: Value) -> Value:
    found = listed(call, values)
    call.spend(5 * len(found))
    return sum(equal(value, wanted, call) for value in found)


def _first(call: Call, values: Value) -> Value:
    found = elements(values)
    return found[0] if found else None


def _last(call: Call, values: Value) -> Value:
    found = elements(values)
    return found[-1] if found else None


LISTS: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    ("len(value)", "how many elements, keys or characters; 0 for null", "len([1, 2]) → 2", _len),
    (
        "any(list)",
        "whether one of them is true",
        "any(x > 1 for x in [1, 2]) → true",
        lambda call, v: any(listed(call, v)),
    ),
    (
        "all(list)",
        "whether none of them is false",
        "all(x > 1 for x in [1, 2]) → false",
        lambda call, v: all(listed(call, v)),
    ),
    (
        "sort(list, field='')",
        "by a field, `-field` for the other way round; missing comes last",
        "sort([{'n': 2}, {'n': 1}], 'n') → [{'n': 1}, {'n': 2}]",
        _sort,
    ),
    (
        "top(list, field, count)",
        "the `count` greatest by a field, greatest first",
        "top([{'n': 1}, {'n': 2}], 'n', 1) → [{'n': 2}]",
        _top,
    ),
    ("unique(list)", "each value once, in order", "unique([2, 1, 2]) → [2, 1]", _unique),
    (
        "flatten(list)",
        "lists inside the list opened, one level",
        "flatten([[1], [2, 3]]) → [1, 2, 3]",
        _flatten,
    ),
    (
        "zip(one, other)",
        "pairs, as long as the shorter",
        "zip([1, 2], ['a', 'b']) → [[1, 'a'], [2, 'b']]",
        _zip,
    ),
    (
        "range(start, end=null)",
        "whole numbers from start (or 0) up to, not including, the end",
        "range(3) → [0, 1, 2]",
        _range,
    ),
    ("enumerate(list)", "pairs of position and element", "enumerate(['a']) → [[0, 'a']]", _enumerate),
    (
        "reversed(list)",
        "the other way round",
        "reversed([1, 2]) → [2, 1]",
        _reversed,
    ),
    ("first(list)", "the first element; null for none", "first([]) → null", _first),
    ("last(list)", "the last element; null for none", "last([1, 2]) → 2", _last),
    (
        "find(list, field, value)",
        "the first element whose field is that; null for none",
        "find([{'n': 1, 'm': 2}], 'n', 1).m → 2",
        _find,
    ),
    ("index_of(list, value)", "its position; null for none", "index_of(['a', 'b'], 'b') → 1", _index_of),
    ("count(list, value)", "how many elements equal the value", "count([1, 2, 1], 1) → 2", _count),
)
