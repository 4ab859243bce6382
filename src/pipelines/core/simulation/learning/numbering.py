"""Values as numbers: two values have the same number when JSON says that they are equal.

The search compares millions of values, and most of them are the same objects again. A missing value and null
are different here: a reply has a key, or it has not.
"""

from collections.abc import Hashable
from typing import Any, TypeAlias

from pipelines.core.simulation.values import MISSING

Value: TypeAlias = Any

MISSING_NUMBER, NULL_NUMBER = 0, 1


class Numbering:
    """Gives every value its number; the same for equal values, as long as this object lives."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {None: NULL_NUMBER}
        # Containers by identity. The object is kept, so that no other value gets its identity.
        self._known: dict[int, tuple[Value, int]] = {}

    def of(self, value: Value) -> int:
        if value is MISSING:
            return MISSING_NUMBER
        if isinstance(value, (dict, list)):
            known = self._known.get(id(value))
            if known is None:
                known = self._known[id(value)] = value, self._number(self._parts(value))
            return known[1]
        if isinstance(value, bool):
            return self._number(("truth", value))
        if isinstance(value, float):
            return self._number(int(value) if value.is_integer() else value)
        return self._number(value)

    def _parts(self, value: Value) -> Hashable:
        if isinstance(value, list):
            return ("list", *map(self.of, value))
        return frozenset((key, self.of(part)) for key, part in value.items())

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)
