"""A noun phrase: what it stands for and what it says."""

from dataclasses import dataclass, replace

from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.cursor import Quantity
from pipelines.core.simulation.behavior.reader.vocabulary import Deed
from pipelines.core.simulation.behavior.things import Path


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A noun phrase: of which kind, what is so of it, and what else it says."""

    kind: str = ""  # "": nothing that the world keeps
    so: tuple[m.Condition, ...] = ()
    deeds: tuple[Deed, ...] = ()  # where the noun names the doing: a cancellation
    is_none: bool = False  # no, nobody
    is_only: bool = False
    is_new: bool = False
    is_other: bool = False  # another one than the call is about
    bounds: tuple[tuple[m.Op, Quantity], ...] = ()  # how many
    field: m.Field | None = None  # where it is a field of a thing
    path: Path = ()
    is_person: bool = False
    is_own: bool = False  # of whoever calls
    tools: tuple[str, ...] = ()  # named after it, where the world keeps no such thing
    others: tuple[str, ...] = ()  # kinds of things that are said to belong to it


def without_state(thing: Thing) -> Thing:
    return replace(thing, so=())
