"""The steps of a plan, checked and compiled: what `language` reads and `run_plan` carries out."""

from dataclasses import dataclass
from typing import TypeAlias

from pipelines.core.simulation.syntax.compiler import Formula
from pipelines.core.simulation.syntax.lookups import Lookup


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    status: int
    error: str
    message: Formula
    body: Formula | None  # the whole reply, where the author wrote one


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A name and the fields that follow it: `order.items[0].price`."""

    text: str
    root: str
    keys: tuple[Formula, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    path: str  # JSON Pointer into what the author wrote
    cost: int = 0  # what it takes of the budget when it begins (`costs`)


@dataclass(frozen=True, kw_only=True, slots=True)
class Find(_Step):
    name: str
    entity_type: str
    inside: Path | None  # look in this list or mapping of an entity, not among the entities of a type
    id: Formula | None
    where: Formula | None
    lookup: Lookup | None  # finds a few candidates for `where` by an index
    is_place: bool  # the plan changes something through the name
    is_bare: bool  # `where` reads only fields of the candidate: it need not be an entity
    exact: bool  # the id as it is spelled, no other
    all: bool
    optional: bool
    sort: tuple[str, ...]
    limit: Formula | None
    otherwise: Failure | None
    round_cost: int = 0  # of looking at one candidate
    rule: str | None = None  # which rule it is, in words, where it answers the call


@dataclass(frozen=True, kw_only=True, slots=True)
class Require(_Step):
    condition: Formula
    otherwise: Failure
    rule: str | None = None  # which rule it is, in words, where it answers the call


@dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
    name: str
    value: Formula
    place: Path | None  # where the value stands, when the plan changes something through the name


@dataclass(frozen=True, kw_only=True, slots=True)
class Let(_Step):
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    target: Path
    value: Formula


@dataclass(frozen=True, kw_only=True, slots=True)
class Set(_Step):
    changes: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Append(_Step):
    changes: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unset(_Step):
    targets: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AddEntity(_Step):
    entity_type: str
    id: Formula | None
    attrs: Formula
    name: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Take(_Step):
    """`remove`: an entity, or a value inside one."""

    targets: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag(_Step):
    flag: Formula
    value: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ForEach(_Step):
    names: tuple[str, ...]
    source: Formula
    place: Path | None  # where the list stands, when the plan changes elements through the name
    steps: "tuple[Step, ...]"


@dataclass(frozen=True, kw_only=True, slots=True)
class If(_Step):
    condition: Formula
    then: "tuple[Step, ...]"
    otherwise: "tuple[Step, ...]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fail(_Step):
    failure: Failure
    rule: str | None = None  # which rule it is, in words, where it answers the call


@dataclass(frozen=True, kw_only=True, slots=True)
class Return(_Step):
    value: Formula
    status: int
    rule: str | None = None  # which rule it is, in words, where it answers the call


Step: TypeAlias = (
    Find | Require | Let | Set | Append | Unset | AddEntity | Take | Flag | ForEach | If | Fail | Return
)
