"""How a mention was read: so, false, or neither, and by which cells."""

from enum import Enum, auto
from typing import NamedTuple

from pipelines.core.verdict.cells import Cell


class Reading(Enum):
    SO = auto()
    FALSE = auto()
    OPEN = auto()


class Bound(NamedTuple):
    reading: Reading
    instead: str = ""  # what the run says in its place
    cells: tuple[Cell, ...] = ()
    is_of_nothing: bool = False  # false whatever is meant by it: nothing that was told comes to it
