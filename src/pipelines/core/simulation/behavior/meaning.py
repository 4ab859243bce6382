"""What a sentence says, before its words are tied to a tool and a world.

Nouns and field names are still the author's; `resolve` ties them to arguments, entities and values.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from pipelines.core.json_text import Json

Op: TypeAlias = Literal["<", "<=", ">", ">=", "==", "!="]
Sign: TypeAlias = Literal["+", "-"]
Unit: TypeAlias = Literal["second", "minute", "hour", "day", "week", "month", "year"]

Value: TypeAlias = Json | Decimal

SOLE = "\0sole"  # the name of the one value a tool takes, where the sentence just says `values`
COUNT = "\0count"  # the one number a tool is given: how many, how much
WHEN = "\0when"  # the one moment a tool is given
MONEY = "\0money"  # the name of the field that discounts and taxes fall on when nothing else is named


# -- what is spoken of ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A field as it was named: `the order's status` is status of an order."""

    name: str
    owner: str | None = None
    is_argument: bool = False  # "the requested quantity"
    is_new: bool = False  # named where something is written: it need not be known


@dataclass(frozen=True, slots=True)
class Literal_:
    value: Json | Decimal


@dataclass(frozen=True, slots=True)
class Percent:
    """A share; whether a field holds 20 or 0.2 for it is the field's to say."""

    fraction: Decimal


@dataclass(frozen=True, slots=True)
class Now:
    pass


@dataclass(frozen=True, slots=True)
class Sum:
    """Arithmetic: `op` is + - * / or the name of a function of the plan language."""

    op: str
    parts: tuple["Amount", ...]


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of something over the elements of a list."""

    over: Field
    each: "Amount"


@dataclass(frozen=True, slots=True)
class Choice:
    condition: "Condition"
    then: "Amount"
    otherwise: "Amount"


Amount: TypeAlias = Field | Literal_ | Percent | Now | Sum | Total | Choice


@dataclass(frozen=True, slots=True)
class Duration:
    amount: Decimal
    unit: Unit


# -- conditions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compare:
    left: Amount
    op: Op
    right: Amount


@dataclass(frozen=True, slots=True)
class OneOf:
    field: Field
    values: tuple[Json | Decimal, ...]


@dataclass(frozen=True, slots=True)
class Present:
    field: Field


@dataclass(frozen=True, slots=True)
class Is:
    """`the order is shipped`: which field says so is looked up. `done`: it has been shipped, at any time."""

    word: str
    noun: str | None = None
    done: bool = False


@dataclass(frozen=True, slots=True)
class Times:
    """How often something was done to a thing, by the number on it that counts that."""

    verb: str
    op: Op
    than: int
    noun: str | None = None


@dataclass(frozen=True, slots=True)
class Age:
    """How long ago the moment in a field was; `of` None means the thing itself (its creation)."""

    of: Field | None
    op: Op
    than: Duration
    noun: str | None = None
    ahead: bool = False  # how long until it, instead
    since: Field | None = None  # from this moment on, instead of from now


@dataclass(frozen=True, slots=True)
class Measure:
    """`orders over $100`: the amount of a thing, whichever field holds it."""

    noun: str | None
    op: Op
    right: Amount


@dataclass(frozen=True, slots=True)
class Exists:
    noun: str


@dataclass(frozen=True, slots=True)
class Owns:
    """The caller is the one the thing belongs to; `argument` where the author says which argument names
    the caller.
    """

    noun: str | None
    argument: str | None = None
    owner_field: str | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """Whoever calls is the one that a thing names: `the student who took the lesson`, `whoever packed it`.

    `person`: the kind of person, `verb`: what was done, each empty where it is not said.
    """

    noun: str
    person: str = ""
    verb: str = ""


@dataclass(frozen=True, slots=True)
class CallerIs:
    """The caller is of a kind: `an admin`, `gold-tier`, `a verified user`."""

    word: str


@dataclass(frozen=True, slots=True)
class Allowed:
    """A condition on whoever calls, so that its failing is a matter of permission."""

    part: "Condition"


@dataclass(frozen=True, slots=True)
class HasSome:
    """`has no seats left`, `with items`: nothing, none or zero is not having it."""

    field: Field


@dataclass(frozen=True, slots=True)
class Counted:
    """How many records of another kind belong to a thing: `has no open claims`."""

    of: str
    counted: "Thing"
    op: Op
    than: int
    are_others: bool = False  # those of another one instead
    also: tuple[str, ...] = ()  # other things of the call that they belong to: a tenancy on the plot


@dataclass(frozen=True, slots=True)
class Among:
    """A value is one of those that a list holds: `its category is among their skills`."""

    field: Field
    listed: Field


@dataclass(frozen=True, slots=True)
class StartsWith:
    field: Field
    text: str


@dataclass(frozen=True, slots=True)
class Unique:
    field: Field


@dataclass(frozen=True, slots=True)
class Always:
    pass


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Any_:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Condition"


Condition: TypeAlias = (
    Compare
    | OneOf
    | Present
    | HasSome
    | Is
    | Age
    | Times
    | Measure
    | Exists
    | Owns
    | Related
    | CallerIs
    | Allowed
    | Counted
    | Among
    | StartsWith
    | Unique
    | Always
    | All
    | Any_
    | Not
)


def negated(condition: Condition) -> Condition:
    return condition.part if isinstance(condition, Not) else Not(condition)


def both(*conditions: Condition | None) -> Condition | None:
    given = tuple(one for one in conditions if one is not None)
    return (given[0] if len(given) == 1 else All(given)) if given else None


# -- who and what happens --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Who:
    """The tools a sentence is about: by name, all, or (nothing said) those just spoken of."""

    names: tuple[str, ...] = ()
    noun: str | None = None
    everyone: bool = False
    reaches_links: bool = False  # its names are the world's own, and things linked by others are reached


IT = Who()


@dataclass(frozen=True, slots=True)
class Thing:
    """A noun phrase: `any order whose total exceeds 100`."""

    noun: str
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    status: int | None = None
    error: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    pass


@dataclass(frozen=True, slots=True)
class Reply:
    value: Json


Outcome: TypeAlias = Fail | Unchanged | Reply
