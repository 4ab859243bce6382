"""Things that took long to make, kept by their weight: what was used last stays, up to a sum of bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class WeighedCache(Generic[T]):
    """Used by several threads. Two may make the same thing at once, of which one is kept."""

    def __init__(self, *, most_bytes: int, most_things: int) -> None:
        self._most_bytes = most_bytes
        self._most_things = most_things
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.bytes = 0

    def get(self, key: Hashable, make: Callable[[], tuple[T, int]]) -> T:
        """What is kept under a key, or else made now, with its weight."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        thing, weight = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = thing, weight
                self.bytes += weight
            while len(self._kept) > 1 and (
                self.bytes > self._most_bytes or len(self._kept) > self._most_things
            ):
                self.bytes -= self._kept.popitem(last=False)[1][1]
        return thing
