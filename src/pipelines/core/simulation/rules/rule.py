"""A rule: one of a few forms over typed expressions, the tools it is about, and where it comes from.

In the expressions `args` is the call, the name of a type the record of that type which the call is about,
`each` an element of the list that is answered, `reply` the reply itself, `today` and `now` the run's date and
time. `calls('refund_order')` lists the arguments of the successful calls of a tool before this one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr.nodes import Path
from pipelines.core.text.json_text import Json

ARGS, EACH, REPLY, CALL = "args", "each", "reply", "call"
GIVEN = frozenset({ARGS, "today", "now"})  # roots that are no records


class Origin(StrEnum):
    """Where a rule comes from."""

    TYPED = "rules"  # written as data: the `rules` of a task or of an agent
    SENTENCE = "sentence"  # a sentence of the published language
    TRANSLATED = "translated"  # a sentence that a model translated and a person accepted
    DESCRIPTION = "description"  # the description of the tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """What a refused call is answered with. What is None gets its default when the rule is applied."""

    status: int | None = None
    error: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A success that changes nothing: the record is returned as it is."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A success with this reply, that changes nothing."""

    value: Json = field(hash=False)  # a list has no hash


Answer: TypeAlias = Refusal | Unchanged | Reply


@dataclass(frozen=True, kw_only=True, slots=True)
class Require:
    """`need` holds, or the call is answered with `answer`."""

    need: Expr
    answer: Answer = Refusal()
    after_changes: bool = False  # looked at after the call's changes, which are then undone
    first: bool = False  # looked at ahead of all other requirements


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitCalls:
    """At most `count` successful calls in a run; of each record of the type `per` where that is said."""

    count: int
    per: str | None = None
    answer: Refusal = Refusal()


@dataclass(frozen=True, kw_only=True, slots=True)
class After:
    """Only after a call of `tool` succeeded; for the same record of the type `per` where that is said."""

    tool: str
    per: str | None = None
    answer: Refusal = Refusal()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningTotal:
    """The sum of `amount` over the successful calls of a run, this one included, is at most `limit`."""

    amount: Expr  # over `args` of each call
    limit: Expr
    per: str | None = None
    answer: Refusal = Refusal()


@dataclass(frozen=True, kw_only=True, slots=True)
class NotFound:
    """What an unknown id of a type is answered with."""

    entity_type: str
    answer: Refusal = Refusal()


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep:
    """Of the list that is answered, only elements for which `need` holds (`each` is one)."""

    need: Expr


@dataclass(frozen=True, kw_only=True, slots=True)
class Sort:
    """The list in the order of fields, `-field` from high to low; those for which `first` holds first, each
    part in the order of the fields; or, where records have no date, by when they came into the ledger."""

    by: tuple[str, ...] = ()
    first: Expr | None = None
    latest: bool | None = None  # the last that came first; False: the first that came


@dataclass(frozen=True, kw_only=True, slots=True)
class Take:
    """At most `count` elements of the list; of a page each where the call says which page."""

    count: int
    pages: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Set:
    """A field of a record gets a value, or is taken away (None), where `when` holds before the call's
    changes: of the record that the call is about, or of every one of its type for which `where` holds."""

    target: Path
    value: Expr | None
    when: Expr | None = None
    where: Expr | None = None  # `each` is one of the records, in the value too
    before: bool = False  # the value and `where` look at things as the call finds them


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    flag: str
    on: bool = True
    when: Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Add:
    """A new record of a type, with these fields."""

    entity_type: str
    fields: tuple[tuple[str, Expr], ...]
    when: Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Remove:
    """The record of a type that the call is about is removed, or every one for which `where` holds."""

    entity_type: str
    when: Expr | None = None
    where: Expr | None = None
    before: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """What the plan by itself changes of a field, or of records of a type, is not done."""

    entity_type: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Amend:
    """What another rule refuses, known by its name or its sentence: where `when` holds it is answered with
    `answer`, or the call goes through (None)."""

    rule: str
    when: Expr | None = None
    answer: Answer | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    """A field of the reply gets a value; `when` it holds, if that is said. A tool that writes keeps it in the
    record too."""

    name: str
    value: Expr
    when: Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Without:
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Only:
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mask:
    """Of a field of the reply only the last `count` characters are shown."""

    name: str
    count: int = 4


Guard: TypeAlias = Require | LimitCalls | After | RunningTotal
Form: TypeAlias = (
    Guard
    | NotFound
    | Keep
    | Sort
    | Take
    | Set
    | Flag
    | Add
    | Remove
    | Put
    | Without
    | Only
    | Mask
    | Drop
    | Amend
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    tools: tuple[str, ...]
    form: Form
    sentence: str = ""  # as its author wrote it; empty where he wrote data
    origin: Origin = Origin.TYPED
    name: str | None = None  # by which a task switches it off
    #: Rules that came of the same sentence are enforced together, clause by clause: this one's clause.
    clause: str | None = field(default=None, compare=False)
    original: "Rule | None" = field(default=None, compare=False)  # before another rule amended it

    def covers(self, tool: str) -> bool:
        return tool in self.tools

    @property
    def each_type(self) -> str | None:
        """The type of `each`, where that is not an element of the list that is answered."""
        match self.form:
            case Set(target=target, where=where) if where is not None:
                return target.root
            case Remove(entity_type=kind, where=where) if where is not None:
                return kind
        return None

    def expressions(self) -> tuple[Expr, ...]:
        """Every expression of the rule, in the order of its fields."""
        match self.form:
            case Require(need=need) | Keep(need=need):
                return (need,)
            case RunningTotal(amount=amount, limit=limit):
                return amount, limit
            case Sort(first=first) if first is not None:
                return (first,)
            case Set(value=value, when=when, where=where):
                return tuple(one for one in (value, when, where) if one is not None)
            case Remove(when=when, where=where):
                return tuple(one for one in (when, where) if one is not None)
            case Put(value=value, when=when):
                return (value,) if when is None else (value, when)
            case Add(fields=fields, when=when):
                return tuple(value for _, value in fields) + (() if when is None else (when,))
            case Flag(when=when) | Amend(when=when) if when is not None:
                return (when,)
        return ()


def as_requirement(form: Guard, tool: str, id_argument: Callable[[str, str], str | None]) -> Require:
    """What a guard asks of one call of a tool. `id_argument` says which argument of a tool holds the id of a
    type: by it calls before are told apart where the guard counts for each record."""
    match form:
        case Require():
            return form
        case LimitCalls(count=count):
            calls_made = m.call("len", _EarlierCalls(tool, tool, form.per, id_argument).listed())
            return Require(need=m.compare(calls_made, "<", m.constant(count)), answer=form.answer)
        case After():
            calls_made = m.call("len", _EarlierCalls(form.tool, tool, form.per, id_argument).listed())
            return Require(need=m.compare(calls_made, ">", m.constant(0)), answer=form.answer)
        case RunningTotal(amount=amount, limit=limit):
            each = m.call("default", amount.replaced({ARGS: m.path(CALL)}), m.constant(0))
            before = m.call("sum", _EarlierCalls(tool, tool, form.per, id_argument).listed(each))
            total = m.arithmetic(before, "+", amount)
            return Require(need=m.compare(total, "<=", limit), answer=form.answer)


class _EarlierCalls(NamedTuple):
    """The successful calls of a tool before a call of another, or of the same."""

    of: str
    tool: str
    per: str | None
    id_argument: Callable[[str, str], str | None]

    def listed(self, result: Expr | None = None) -> Expr:
        source = m.call("calls", m.constant(self.of))
        if self.per is None:
            return source if result is None else m.listed(result, CALL, source)
        theirs, own = self.id_argument(self.of, self.per), self.id_argument(self.tool, self.per)
        if theirs is None or own is None:
            raise NoSuchRecord(
                f"no argument of {self.of if theirs is None else self.tool} says which {self.per}"
            )
        same = m.call("same_id", m.path(CALL, theirs), m.arg(own))
        return m.listed(result or m.path(CALL), CALL, source, same)


class NoSuchRecord(Exception):
    """A guard counts for each record, and nothing in the call says which record it is about."""
