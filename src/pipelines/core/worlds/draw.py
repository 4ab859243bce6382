"""Chance by place: every value is drawn from the seed and where it stands, so that one more type, field or
entity leaves all others as they are."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Draw:
    __slots__ = ("_seed",)

    def __init__(self, seed: int | str) -> None:
        self._seed = str(seed)

    def number(self, place: str) -> int:
        """64 bits."""
        return int.from_bytes(blake2b(f"{self._seed}\0{place}".encode(), digest_size=8).digest())

    def below(self, n: int, place: str) -> int:
        return self.number(place) % n

    def between(self, least: int, most: int, place: str) -> int:
        """Both ends included."""
        return least + self.number(place) % (most - least + 1)

    def unit(self, place: str) -> float:
        """In [0, 1)."""
        return (self.number(place) >> 11) / 2**53

    def pick(self, options: Sequence[T], place: str) -> T:
        return options[self.number(place) % len(options)]

    def shuffled(self, options: Sequence[T], place: str) -> list[T]:
        order = sorted(range(len(options)), key=lambda at: self.number(f"{place}\0{at}"))
        return [options[at] for at in order]
