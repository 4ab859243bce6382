"""Rules read from behaviour text: what each says, tied to arguments and fields, ready to be woven into a
plan.
"""

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from pipelines.core.json_text import Json

ARGUMENTS = "args"
REPLY = "\0reply"  # what the plan would have answered
EACH = "\0each"  # an element of the list it answers with


@dataclass(frozen=True, slots=True)
class Ref:
    """A value in the call: an argument, or a field of the entity of a kind (or of REPLY, or EACH)."""

    root: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """An expression of the plan language with holes where references go: their names are the plan's to
    choose.
    """

    parts: tuple["str | Ref", ...]
    lacks_caller: bool = False  # it asks who calls, and nothing says so

    def refs(self) -> list[Ref]:
        return [part for part in self.parts if isinstance(part, Ref)]

    def roots(self) -> set[str]:
        return {ref.root for ref in self.refs()}

    def written(self, names: Mapping[str, str]) -> str:
        return "".join(
            part if isinstance(part, str) else dotted(names[part.root], part.path) for part in self.parts
        )


def text(*parts: "str | Ref | Text") -> Text:
    flat: list[str | Ref] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Text) else [part])
    lacks_caller = any(isinstance(part, Text) and part.lacks_caller for part in parts)
    return Text(tuple(flat), lacks_caller)


def joined(texts: Iterable[Text], separator: str) -> Text:
    parts: list[str | Ref | Text] = []
    for one in texts:
        parts += [separator, one] if parts else [one]
    return text(*parts)


def bracketed(parts: list[Text], separator: str) -> Text:
    return text("(", joined(parts, separator), ")") if len(parts) > 1 else parts[0]


def opposite(one: Text) -> Text:
    """The expression that holds when this one does not; a negation is taken back rather than doubled."""
    if one.lacks_caller:
        return text("not (", one, ")")
    first, last = one.parts[0], one.parts[-1]
    if isinstance(first, str) and first.startswith("not (") and isinstance(last, str) and last.endswith(")"):
        inner = text(first.removeprefix("not ("), *one.parts[1:])
        if len(one.parts) == 1:
            inner = text(first.removeprefix("not (").removesuffix(")"))
        else:
            inner = text(*inner.parts[:-1], last.removesuffix(")"))
        if _is_balanced(inner):
            return text(*(part for part in inner.parts if part))
    return text("not (", one, ")")


def _is_balanced(one: Text) -> bool:
    """Whether no parenthesis of the text closes before it opens: then the outer pair was a pair."""
    level = 0
    for character in "".join(part for part in one.parts if isinstance(part, str)):
        level += (character == "(") - (character == ")")
        if level < 0:
            return False
    return level == 0


def dotted(name: str, path: Iterable[str]) -> str:
    for key in path:
        plain = re.fullmatch(r"[A-Za-z_]\w*", key) and not key.startswith("__") and not keyword.iskeyword(key)
        name += f".{key}" if plain else f"[{literal(key)}]"
    return name


def literal(value: Json) -> str:
    """A JSON value as the plan language writes it."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    if value is None:
        return "null"
    return json.dumps(value)


class RuleKind(StrEnum):
    GUARD = "guard"  # a condition on the state of things
    PERMISSION = "permission"  # who may
    ARGUMENT = "argument"  # what may be asked for
    NOT_FOUND = "not_found"  # what an unknown id is answered with
    INVARIANT = "invariant"  # what must hold after the call
    EFFECT = "effect"  # what the call changes
    COMPUTED = "computed"  # a field of the reply that is worked out
    LIST = "list"  # how many, in which order, which
    SHAPE = "shape"  # which fields a reply shows
    NORMAL = "normal"  # nothing out of the ordinary


@dataclass(frozen=True, slots=True)
class Failure:
    status: int
    error: str
    message: Text | None = None  # None: the error word, spelled out
    spoken: str | None = None  # the author's own message


@dataclass(frozen=True, slots=True)
class AsItWas:
    """A success that changed nothing: the record is returned as it stands."""


@dataclass(frozen=True, slots=True)
class Instead:
    """A success with this reply instead."""

    value: Json


Answer: TypeAlias = Failure | AsItWas | Instead


@dataclass(frozen=True, slots=True)
class Require:
    need: Text
    answer: Answer
    about: str | None  # the kind of thing, for the message and for AsItWas
    at_end: bool = False  # after the changes instead of before


@dataclass(frozen=True, slots=True)
class NotFound:
    entity_type: str | None  # None: whatever the tool looks up
    answer: Answer


@dataclass(frozen=True, slots=True)
class Put:
    """A field of the reply gets a computed value; `entity_type` where the call keeps it in the ledger as
    well.
    """

    name: str
    value: Text
    entity_type: str | None = None


@dataclass(frozen=True, slots=True)
class Take:
    most: int
    page: bool = False
    unless: str | None = None  # the argument that says how many instead


@dataclass(frozen=True, slots=True)
class Sort:
    by: str | None  # None: the ledger's own order, which is by age
    descending: bool


@dataclass(frozen=True, slots=True)
class Filter:
    keep: Text


@dataclass(frozen=True, slots=True)
class SortFirst:
    """Those for which it holds come before the others."""

    keep: Text


@dataclass(frozen=True, slots=True)
class Without:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Only:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Masked:
    name: str
    keep_last: int


@dataclass(frozen=True, slots=True)
class Write:
    target: Ref
    value: Text | None  # None: take the field away
    when: Text | None = None
    is_implied: bool = False  # follows from a rule that needs it; the plan or another sentence may say it too
    of_new: bool = False  # of what the call adds, and of nothing else


@dataclass(frozen=True, slots=True)
class SetFlag:
    flag: str
    value: bool
    when: Text | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    entity_type: str


@dataclass(frozen=True, slots=True)
class Refill:
    """Stock goes up (or down) for what an order holds: one product, or each element of a list."""

    order_type: str
    product_type: str
    stock: tuple[str, ...]
    product_id: str  # field of the order, or of each element
    quantity: str | None
    items: str | None  # the order's list; None: the order itself names the product
    sign: str


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


RuleBody: TypeAlias = (
    Require
    | NotFound
    | Put
    | Take
    | Sort
    | Filter
    | SortFirst
    | Without
    | Only
    | Masked
    | Write
    | SetFlag
    | Delete
    | Refill
    | Nothing
)


class Resolved(NamedTuple):
    """What a clause makes for one tool, before tools with the same rule are put together."""

    kind: RuleKind
    body: RuleBody
    note: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    sentence: str  # as the author wrote it
    tools: tuple[str, ...]
    kind: RuleKind
    body: RuleBody
    note: str | None = None  # something the author should know about how it was read

    def covers(self, tool: str) -> bool:
        return tool in self.tools


@dataclass(frozen=True, kw_only=True, slots=True)
class Behavior:
    rules: tuple[Rule, ...] = ()
    not_understood: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()  # sentences past the limits; `not_understood` tells of them in one

    def rules_for(self, tool: str) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.covers(tool))

    def shaped_fields(self, tool: str) -> frozenset[str]:
        """Fields of the tool's reply that rules compute or mask, and which may therefore differ from the
        ledger.
        """
        return frozenset(
            rule.body.name for rule in self.rules_for(tool) if isinstance(rule.body, (Put, Masked))
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class WeaveResult:
    body: list[Json]
    unwoven: tuple[Rule, ...] = ()
