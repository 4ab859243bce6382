"""Functions of mappings, and of any value. None changes what it is given."""

from collections.abc import Callable

from pipelines.core.simulation.call import Call
from pipelines.core.simulation.library.numbers import whole_needed
from pipelines.core.simulation.values import MISSING, Stopped, Value, is_blank, key_text, kind_of


def mapped(call: Call, value: Value) -> dict[str, Value]:
    """A mapping, paid for: whoever asks looks at every entry."""
    found = _fields(value)
    call.spend(3 * len(found))
    return found


def _fields(value: Value) -> dict[str, Value]:
    if isinstance(value, dict):
        return value
    if is_blank(value):
        return {}
    raise Stopped("plan_type", f"a mapping is needed, not {kind_of(value)}")


def _pick(call: Call, value: Value, *names: Value) -> Value:
    given = _fields(value)
    return {name: given[name] for name in _names(call, names) if name in given}


def _without(call: Call, value: Value, *names: Value) -> Value:
    given, unwanted = mapped(call, value), set(_names(call, names))
    return {name: kept for name, kept in given.items() if name not in unwanted}


def _names(call: Call, given: tuple[Value, ...]) -> list[str]:
    """Names one by one, or one list of them."""
    call.spend(8 * sum(len(part) if isinstance(part, list) else 1 for part in given))
    return [key_text(name) for part in given for name in (part if isinstance(part, list) else [part])]


def _merge(call: Call, *values: Value) -> Value:
    merged: dict[str, Value] = {}
    for value in values:
        merged |= {name: kept for name, kept in mapped(call, value).items() if kept is not MISSING}
    return merged


def _get(call: Call, value: Value, key: Value, fallback: Value = None) -> Value:
    if isinstance(value, list):
        position = whole_needed(key)
        return value[position] if -len(value) <= position < len(value) else fallback
    found = MISSING if is_blank(key) else _fields(value).get(key_text(key), MISSING)
    return fallback if found is MISSING else found


def _default(call: Call, value: Value, fallback: Value) -> Value:
    return fallback if is_blank(value) else value


def _bool(call: Call, value: Value) -> Value:
    return bool(value)


def _items(call: Call, value: Value) -> Value:
    found = mapped(call, value)
    call.spend(5 * len(found))
    return [[key, entry] for key, entry in found.items()]


MAPPINGS: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    ("keys(mapping)", "its keys", "keys({'a': 1}) → ['a']", lambda call, v: list(mapped(call, v))),
    (
        "values(mapping)",
        "its values",
        "values({'a': 1}) → [1]",
        lambda call, v: list(mapped(call, v).values()),
    ),
    (
        "items(mapping)",
        "pairs of key and value",
        "items({'a': 1}) → [['a', 1]]",
        _items,
    ),
    (
        "pick(mapping, names, …)",
        "only these keys, where there are",
        "pick({'a': 1, 'b': 2}, 'a') → {'a': 1}",
        _pick,
    ),
    (
        "without(mapping, names, …)",
        "all but these keys",
        "without({'a': 1, 'b': 2}, 'a') → {'b': 2}",
        _without,
    ),
    (
        "merge(mapping, …)",
        "one mapping of several; the later wins",
        "merge({'a': 1}, {'a': 2}) → {'a': 2}",
        _merge,
    ),
    (
        "get(value, key, default=null)",
        "an entry of a mapping or list, or the default where there is none",
        "get({'a': 1}, 'b', 0) → 0",
        _get,
    ),
)

ANY_VALUE: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    (
        "default(value, fallback)",
        "the fallback where the value is missing or null",
        "default(null, 1) → 1",
        _default,
    ),
    (
        "bool(value)",
        "false for null, missing, false, 0 and what is empty, else true",
        "bool('no') → true",
        _bool,
    ),
)
