"""The values a plan computes with: JSON, plus decimals, entities and the absence of a field.

What is missing behaves as people expect of a form left blank: it equals null, is never more or less than
anything, is left out of mappings, and is an error in arithmetic.
"""

import time
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NoReturn, TypeAlias

import orjson

from pipelines.core.text.json_text import MAX_DEPTH, Json, JsonObject

# Checked where it is used, while the plan runs: an expression's type is known only then.
Value: TypeAlias = Any

MAX_STEPS = 2_000_000  # units of work in one call, each at most 50 ns here (`costs`)
SLICE = 50_000  # units after which the clock is looked at: an ordinary call has a few hundred in all
LONGEST_S = 0.15  # by the clock: so long a call keeps everybody else waiting, who may wait 0.25 s in all
BUSY_S = 0.12  # of it spent on the call itself; else the machine was busy with something else
MAX_TEXT = 100_000  # characters of one text
MAX_ITEMS = 100_000  # elements of one list
MAX_RESULT_BYTES = 1 << 20  # a reply, and likewise a value written to the ledger, as JSON
LONG_TEXT = 256  # characters: shorter texts are compared within the price of any comparison
DECIMALS = 24  # units: two numbers turned into decimals and computed with
WRITTEN = 30  # units: anything but text written as text
_QUOTES = 3  # around a text, and what comes after it
MAX_INTEGER = 10**60  # past any amount, id or factor; keeps products of products small


class Stopped(Exception):
    """A plan cannot go on: its data do not fit what it does, or it does too much. Nothing is applied."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.path = ""  # the step, once it is known


class Missing:
    """The one value of a field that is not there."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = Missing()


class Binary(float):
    """A number to be computed with as most programs do, in binary: 0.1 + 0.2 is 0.30000000000000004."""

    __slots__ = ()


class Entity(dict[str, Any]):
    """An entity of the ledger as one call sees it: its attributes, changed in place as the call goes on.

    `base` is what the ledger holds (None for one that the call adds); nested values are the ledger's own
    and are copied along the path of a change, never changed in place.
    """

    __slots__ = ("base", "changed", "id", "kind", "removed")
    kind: str
    id: str
    base: JsonObject | None
    changed: bool
    removed: bool


def entity_of(kind: str, id: str, attrs: JsonObject, base: JsonObject | None) -> Entity:
    """A function: an `__init__` that Python has to call doubles the price of the commonest thing there is."""
    entity = Entity(attrs)
    entity.kind = kind
    entity.id = id
    entity.base = base
    entity.changed = base is None
    entity.removed = False
    return entity


_PLAIN = frozenset({int, float, bool})
_CONTAINERS = frozenset({dict, list, Entity})


class Budget:
    """What a call may still do. Running out stops the plan.

    It is handed out in slices: between two of them the clock is looked at, and only then. Small costs may be
    taken from `steps_left` without a look whether it is below zero; the next `spend` will see it.
    """

    __slots__ = ("_began", "_kept", "steps_left")

    #: The one place in this room that knows of time, and it has the last word only: the budget ends what is
    #: too long, the same on every machine; the clock ends what is still too slow on this one.
    clock: Callable[[], float] = staticmethod(time.perf_counter)
    busy: Callable[[], float] = staticmethod(time.thread_time)

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.allow(steps)

    def allow(self, steps: int) -> None:
        self.steps_left = min(steps, SLICE)
        self._kept = steps - self.steps_left
        self._began: tuple[float, float] | None = None  # by the clock, and of the processor's time

    @property
    def left(self) -> int:
        return self.steps_left + self._kept

    def spend(self, steps: int = 1) -> None:
        self.steps_left -= steps
        if self.steps_left < 0:
            self.next_slice()

    def next_slice(self) -> None:
        """More to spend, or the end."""
        more = min(max(SLICE, -self.steps_left), self._kept)
        self._kept -= more
        self.steps_left += more
        if self.steps_left < 0:
            raise Stopped("plan_budget", f"the plan does more than {MAX_STEPS:,} steps in one call")
        if self._began is None:  # with the second slice: asking costs as much as a short call
            self._began = self.clock(), self.busy()
        elif self.clock() - self._began[0] > LONGEST_S and self.busy() - self._began[1] > BUSY_S:
            _too_slow()

    def size_of(self, kind: str, attrs: JsonObject) -> int:
        """Of attributes that the ledger holds, as JSON."""
        return len(orjson.dumps(attrs))


def _too_slow() -> NoReturn:
    complaint = (
        f"the plan took longer than {LONGEST_S * 1000:.0f} ms on this machine, although it stayed within its "
    )
    raise Stopped(
        "plan_time", complaint + ("limit of steps: a faster or less busy machine may answer the same call")
    )


def kind_of(value: Value) -> str:
    """What a value is, in the words of an error message."""
    if value is MISSING:
        return "a missing value"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    for types, word in _WORDS:
        if isinstance(value, types):
            return word
    return type(value).__name__


_WORDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    ((int, float, Decimal), "a number"),
    (list, "a list"),
    (dict, "a mapping"),
)


def is_blank(value: Value) -> bool:
    return value is None or value is MISSING


def is_number(value: Value) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def decimal(value: int | float | Decimal) -> Decimal:
    """Exactly the digits that JSON shows: 0.1 is one tenth."""
    if isinstance(value, float):
        # Zero has two signs but one place in a cache.
        return _digits_of(value) if value else Decimal(repr(value))
    return value if value.__class__ is Decimal else Decimal(value)


@lru_cache(maxsize=4096)  # a world has few different prices, and each is computed with often
def _digits_of(value: float) -> Decimal:
    return Decimal(repr(value))


def equal(left: Value, right: Value, budget: Budget) -> bool:
    """JSON equality (true is not 1, 1 is 1.0), where a missing value equals null."""
    if isinstance(left, str):
        if len(left) > 255:
            budget.spend(len(left) >> 7)
        return bool(left == right)
    if left.__class__ is right.__class__ and left.__class__ in _PLAIN:
        return bool(left == right)
    if left is None or left is MISSING:
        return right is None or right is MISSING
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict):
        return isinstance(right, dict) and _equal_mappings(left, right, budget)
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        budget.spend(120 + 5 * len(left))
        return all(equal(a, b, budget) for a, b in zip(left, right, strict=True))
    if not is_number(right):
        return False
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        budget.spend(DECIMALS)
        return decimal(left) == decimal(right)
    return bool(left == right)


def _equal_mappings(left: JsonObject, right: JsonObject, budget: Budget) -> bool:
    if left is right:
        return True
    if len(left) != len(right):
        return False
    budget.spend(100 + 8 * len(left))
    if left.keys() != right.keys():
        return False
    return all(equal(value, right[key], budget) for key, value in left.items())


def compare(left: Value, right: Value, budget: Budget) -> int | None:
    """Negative, zero or positive; None where a value is missing or null, for then no order holds."""
    if isinstance(left, str) and isinstance(right, str):
        if len(left) >= LONG_TEXT and len(right) >= LONG_TEXT:
            budget.spend(min(len(left), len(right)) >> 4)
        return (left > right) - (left < right)
    if is_number(left) and is_number(right):
        if isinstance(left, Decimal) or isinstance(right, Decimal):
            budget.spend(DECIMALS)
            left, right = decimal(left), decimal(right)
        return int(left > right) - int(left < right)
    if is_blank(left) or is_blank(right):
        return None
    raise Stopped(
        "plan_type", f"{kind_of(left)} and {kind_of(right)} cannot be compared; compare values of one kind"
    )


def contains(container: Value, wanted: Value, budget: Budget) -> bool:
    """`in`: a part of a text, an element of a list, a key of a mapping; nothing is in what is missing."""
    if isinstance(container, dict):
        return key_text(wanted) in container if isinstance(wanted, (str, int)) else False
    if isinstance(container, list):
        budget.spend(5 * len(container))
        return any(equal(element, wanted, budget) for element in container)
    if isinstance(container, str):
        if not isinstance(wanted, str):
            raise Stopped("plan_type", f"only text can be in a text, not {kind_of(wanted)}")
        budget.spend(search_cost(container, wanted))
        return wanted in container
    if is_blank(container):
        return False
    raise Stopped("plan_type", f"nothing can be `in` {kind_of(container)}")


def search_cost(text: str, part: str) -> int:
    """Of looking for a part in a text. Python's search takes the product of the lengths at worst, until the
    text is so long that it prepares the part first."""
    size, part_size = len(text), len(part)
    if part_size > size:
        return 0
    if part_size < 6 or size < 30_000:
        return size * part_size >> 5
    return size >> 2


def key_text(key: Value) -> str:
    """A key of a mapping: keys are text in JSON, so 4521 means "4521"."""
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    if isinstance(key, (Decimal, float)) and key == int(key):
        return str(int(key))
    raise Stopped("plan_type", f"{kind_of(key)} cannot be a key; keys are text")


def id_text(value: Value) -> str | None:
    """The text of an id, or None for what cannot be one: then nothing is found."""
    if isinstance(value, str):
        return value
    return key_text(value) if is_number(value) and value == int(value) else None


def elements(value: Value) -> list[Value]:
    """What a loop goes over. Missing and null are empty lists: a thing without items has no items."""
    if isinstance(value, list):
        return value
    if is_blank(value):
        return []
    hint = "; use keys(x), values(x) or items(x)" if isinstance(value, dict) else ""
    raise Stopped("plan_type", f"a list is needed, not {kind_of(value)}{hint}")


def check_size(value: Value, budget: Budget) -> Value:
    """The text or list just made, if it is not too large; making it costs what it is long."""
    check_length(value, len(value), budget)
    return value


def check_length(value: Value, size: int, budget: Budget) -> None:
    """Likewise for one that is about to be made, like `value` and so long. Of what a plan makes it may have
    some hundred megabytes at once before its budget is spent."""
    check_limit(value, size)
    if size > 3:
        budget.spend(size >> 2)


def check_limit(value: Value, size: int) -> None:
    is_text = isinstance(value, str)
    limit = MAX_TEXT if is_text else MAX_ITEMS
    if size > limit:
        unit = "characters" if is_text else "elements"
        raise Stopped("plan_too_large", f"{kind_of(value)} of {size:,} {unit}; at most {limit:,} are allowed")


def as_text(value: Value, budget: Budget) -> str:
    """A value inside a text: as is for text, else as JSON writes it."""
    if isinstance(value, str):
        return value
    if is_blank(value):
        return "null"
    budget.spend(WRITTEN)
    return orjson.dumps(leave(value, budget)).decode()


def leave(value: Value, budget: Budget) -> Json:
    """A value on its way out of the plan, to the reply or into the ledger: plain JSON of a bounded size."""
    if value.__class__ is str:
        if len(value) + _QUOTES > MAX_RESULT_BYTES:
            _too_large()
        return value
    if value.__class__ is Entity and not value.changed and value.base is not None:
        return leave_attributes(value.kind, value.base, budget)
    room = [MAX_RESULT_BYTES]
    remaining = _leave(value, budget, room, 0)
    if room[0] < 0:
        _too_large()
    return None if remaining is MISSING else remaining


def leave_attributes(kind: str, attrs: JsonObject, budget: Budget) -> JsonObject:
    """`leave` for an entity that nothing has changed, of which only the attributes were looked at."""
    size = budget.size_of(kind, attrs)
    budget.spend(8 + (size >> 5))
    if size > MAX_RESULT_BYTES:
        _too_large()
    return attrs


def leave_all_attributes(kind: str, found: list[JsonObject], budget: Budget) -> list[JsonObject]:
    """Likewise for a list of them."""
    budget.spend(40 + 8 * len(found))
    room = MAX_RESULT_BYTES
    for attrs in found:
        if room < 0:
            _too_large()
        size = budget.size_of(kind, attrs)
        budget.spend(8 + (size >> 5))
        room -= size
    if room < 0:
        _too_large()
    return found


def _leave(value: Value, budget: Budget, room: list[int], depth: int) -> Value:
    kind = value.__class__
    if kind is str:
        room[0] -= len(value) + _QUOTES
        return value
    if kind not in _CONTAINERS and not isinstance(value, (dict, list)):
        return _leave_scalar(value, room)
    if room[0] < 0 or depth > MAX_DEPTH:
        _too_large()
    if kind is Entity:
        # What the ledger holds, and what was written to it, is plain already; only its size is not known.
        attrs = dict(value) if value.changed else value.base
        size = len(orjson.dumps(attrs)) if value.changed else budget.size_of(value.kind, attrs)
        room[0] -= size
        budget.spend(8 + (size >> 5))
        return attrs
    budget.spend(40 + (8 if isinstance(value, list) else 12) * len(value))
    if isinstance(value, list):
        return [None if (e := _leave(v, budget, room, depth + 1)) is MISSING else e for v in value]
    return _leave_mapping(value.items(), budget, room, depth)


def _leave_scalar(value: Value, room: list[int]) -> Value:
    if isinstance(value, (Decimal, float)):
        room[0] -= 10
        return float(value) + 0.0  # there is no negative zero in accounts
    room[0] -= 5
    return value if value.__class__ is not int or -(1 << 63) <= value < 1 << 64 else float(value)


def _leave_mapping(items: Iterable[tuple[str, Value]], budget: Budget, room: list[int], depth: int) -> Value:
    kept_items = {}
    for key, value in items:
        room[0] -= len(key) + 4
        remaining = _leave(value, budget, room, depth + 1)
        if remaining is not MISSING:
            kept_items[key] = remaining
    return kept_items


def _too_large() -> NoReturn:
    raise Stopped("plan_too_large", "the result is nested too deeply, or larger than 1 MiB of JSON")
