"""What one clause of a sentence lays down: a rule about the tools of `who`, its words not yet tied to a
world.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipelines.core.simulation.behavior.meaning import (
    IT,
    Amount,
    Condition,
    Duration,
    Field,
    Outcome,
    Who,
)


@dataclass(frozen=True, slots=True)
class Guard:
    need: Condition
    outcome: Outcome | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Compute:
    field: Field
    value: Amount
    when: Condition | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Bound:
    """A value of the reply that never leaves its bounds."""

    field: Field
    low: Amount | None = None
    high: Amount | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Cap:
    most: int
    is_page: bool = False
    unless: Field | None = None  # the argument that says how many instead
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Order:
    by: Field | None  # None: by age
    descending: bool
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Keep:
    """Only such things are listed."""

    condition: Condition
    noun: str | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class First:
    """Such things are listed before the others."""

    condition: Condition
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Hide:
    fields: tuple[Field, ...]
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Show:
    """Only these fields are in the reply."""

    fields: tuple[Field, ...]
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Mask:
    field: Field
    keep_last: int = 4
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Assign:
    """The call writes a field; value None takes it away."""

    field: Field
    value: Amount | None
    when: Condition | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Step:
    """The call adds to (or takes from) a number."""

    field: Field
    by: Amount | Duration
    sign: Literal["+", "-"]
    when: Condition | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Become:
    """The call moves a thing to a state: `marks the order as returned`."""

    noun: str | None
    word: str
    when: Condition | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class StoredArgument:
    """The call keeps one of its arguments on the thing: `records the reason`."""

    argument: Field
    under: Field | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Raise:
    flag: str
    value: bool = True
    when: Condition | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Restock:
    sign: Literal["+", "-"] = "+"
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Unknown:
    """What an id that does not exist is answered with."""

    noun: str | None
    outcome: Outcome
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Once:
    """Done at most once to one thing; where each time leaves a record, once for all these kinds together."""

    outcome: Outcome | None = None
    per: tuple[str, ...] = ()
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Rarely:
    """Done at most so often to one thing, which a number on it counts."""

    most: int
    outcome: Outcome | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Default:
    """What an argument that is not given stands for."""

    field: Field
    value: Amount
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Invariant:
    """Holds after every call that would change it, or the call is refused."""

    need: Condition
    outcome: Outcome | None = None
    who: Who = IT


@dataclass(frozen=True, slots=True)
class Normal:
    """Nothing out of the ordinary."""

    who: Who = IT


@dataclass(frozen=True, slots=True)
class Aside:
    """What follows from the rule before anyhow: `everyone else may`."""

    who: Who = IT


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What the rule before this one answers with when it does not hold."""

    outcome: Outcome
    who: Who = IT


Clause: TypeAlias = (
    Guard
    | Compute
    | Bound
    | Cap
    | Order
    | Keep
    | First
    | Hide
    | Show
    | Mask
    | Assign
    | Step
    | Become
    | StoredArgument
    | Raise
    | Restock
    | Unknown
    | Once
    | Rarely
    | Default
    | Invariant
    | Normal
    | Aside
    | Otherwise
)
