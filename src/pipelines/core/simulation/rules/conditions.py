"""What the conditions of rules depend on: arguments, fields of records, and the caller."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules.rule import ARGS
from pipelines.core.simulation.rules.vocabulary import ToolNouns, Vocabulary
from pipelines.core.simulation.syntax.functions import IMPURE, SECTIONS

_READS_LEDGER = IMPURE | {"calls"}
#: What gives no value where something that it is worked out from is missing.
_COMPUTES = frozenset(("add_days", "add_months", "add_minutes", *(one.name for one in SECTIONS["Numbers"])))


class Nature(Enum):
    """What a condition asks about. At one place of a plan they are looked at in this order."""

    ARGUMENT = 0
    CALLER = 1
    STATE = 2


class Ref(NamedTuple):
    """An argument, or a field of a record; without keys the record itself."""

    kind: str  # `args`, or a type
    record: Expr
    keys: tuple[str, ...]

    @property
    def value(self) -> Expr:
        return m.fields(self.record, *self.keys)


def ref_of(expr: Expr, vocabulary: Vocabulary) -> Ref | None:
    """`order.status`, `args.amount`, `entity('user', order.user_id).tier`."""
    keys: tuple[str, ...] = ()
    while isinstance(expr, n.Field):
        keys, expr = (expr.key, *keys), expr.of
    match expr:
        case n.Name(name=name) if name == ARGS or name in vocabulary.kinds:
            return Ref(name, expr, keys)
        case (
            n.Call(function="entity", arguments=(n.Constant(value=str(kind)), _))
            | n.Call(function="first", arguments=(n.Call("entities", (n.Constant(value=str(kind)),)),))
        ):
            return Ref(kind, expr, keys)
    return None


def refs_in(expr: Expr, vocabulary: Vocabulary) -> tuple[Ref, ...]:
    return tuple(dict.fromkeys(_refs(expr, vocabulary)))


def _refs(expr: Expr, vocabulary: Vocabulary) -> Iterator[Ref]:
    ref = ref_of(expr, vocabulary)
    if ref is not None:
        yield ref
    elif isinstance(expr, n.Comprehension):  # what it binds is no record of the call
        read = (ref_of(m.path(path.root, *path.keys), vocabulary) for path in expr.refs())
        yield from (one for one in read if one is not None)
    else:
        for child in expr.children():
            yield from _refs(child, vocabulary)


def is_blank(expr: Expr) -> bool:
    """null, empty text, or a list of these."""
    parts = expr.parts if isinstance(expr, n.ListOf) else (expr,)
    return bool(parts) and all(part in (m.NULL, n.Constant("")) for part in parts)


# -- who calls ----------------------------------------------------------------------------------------------


def nature_of(need: Expr, tool: ToolNouns, vocabulary: Vocabulary) -> Nature:
    refs = refs_in(need, vocabulary)
    if owner_in(need, vocabulary) is not None or any(_is_caller(ref, tool, vocabulary) for ref in refs):
        return Nature.CALLER
    reads_ledger = any(call.function in _READS_LEDGER for call in need.calls())
    is_of_call = bool(refs) and all(ref.kind == ARGS for ref in refs)
    return Nature.ARGUMENT if is_of_call and not reads_ledger else Nature.STATE


def owner_in(need: Expr, vocabulary: Vocabulary) -> Ref | None:
    """The field that says whose a record is, where it is compared with an argument or with the session."""
    session = vocabulary.session
    by_caller = {ARGS} if session is None else {ARGS, session.name}
    callers = {*session.links.values()} if session is not None else set()
    for one, other in _comparisons(need):
        ref = ref_of(one, vocabulary)
        if ref is None or ref.kind in by_caller or ref.kind not in vocabulary.kinds:
            continue
        owner = vocabulary.kinds[ref.kind].links.get(ref.keys)
        given = {given.kind for given in refs_in(other, vocabulary)}
        if owner is not None and (owner in callers or not callers) and given and given <= by_caller:
            return ref
    return None


def _comparisons(need: Expr, own: frozenset[str] = frozenset()) -> Iterator[tuple[Expr, Expr]]:
    """`own`: what comprehensions around it bind, which is no record of the call, also where a type is called
    so."""
    match need:
        case (
            n.Compare(first=one, rest=((("==" | "!="), other),))
            | n.Call(function="same_id", arguments=(one, other))
        ):
            yield from (pair for pair in ((one, other), (other, one)) if not pair[0].roots() & own)
        case n.Comprehension(loops=loops):
            own |= {name for loop in loops for name in loop.names}
    for child in need.children():
        yield from _comparisons(child, own)


def _is_caller(ref: Ref, tool: ToolNouns, vocabulary: Vocabulary) -> bool:
    """The session; or a record that an argument names beside the one that says which the call is about."""
    if vocabulary.session is not None and ref.kind == vocabulary.session.name:
        return True
    about = tool.id_argument(ref.kind)
    match ref.record:
        case n.Call(function="entity", arguments=(_, id)) if about is not None:
            by = n.path_of(id)
            return by is not None and by.root == ARGS and by.keys != (about,)
    return False


# -- arguments that are not given, fields that are not there ------------------------------------------------


def unless_omitted(need: Expr, tool: ToolNouns) -> Expr:
    """The condition for calls that give the optional arguments it looks at, unless it asks for them."""
    optional = tool.arguments.keys() - tool.required - {*tested_arguments(need)}
    return _unless_omitted(need, frozenset(optional)) if optional else need


def _unless_omitted(need: Expr, optional: frozenset[str]) -> Expr:
    match need:
        case n.And(parts=parts):
            return m.all_of(*(_unless_omitted(part, optional) for part in parts))
        case n.Not(part=n.Or(parts=parts)):
            return m.all_of(*(_unless_omitted(part.negated(), optional) for part in parts))
        case n.Or(parts=parts) | n.Not(part=n.And(parts=parts)):
            # A part that does not look at the argument is another way for the whole to hold.
            names = frozenset.intersection(*(arguments_in(part) for part in parts))
        case _:
            names = arguments_in(need)
    return m.any_of(*(m.is_null(m.arg(name)) for name in sorted(names & optional)), need)


def arguments_in(expr: Expr) -> frozenset[str]:
    return frozenset(path.keys[0] for path in expr.refs() if path.root == ARGS and path.keys)


def tested_arguments(need: Expr) -> Iterator[str]:
    """Arguments of which the condition itself says what holds without them."""
    yield from required_arguments(need)
    for call in need.calls():
        if call.function in ("default", "bool", "len"):
            yield from arguments_in(call.arguments[0])


def required_arguments(need: Expr) -> Iterator[str]:
    """Arguments of which the condition asks whether they are there."""
    for node in need.walk():
        match node:
            case n.Compare(first=first, rest=((_, other),)) if is_blank(other) or other == m.TRUE:
                yield from arguments_in(first)
            case n.And(parts=parts) | n.Or(parts=parts):
                yield from (name for part in parts for name in _tested_in(part))
    yield from _tested_in(need)


def _tested_in(part: Expr) -> Iterator[str]:
    path = n.path_of(part.part if isinstance(part, n.Not) else part)
    if path is not None and path.root == ARGS and path.keys:
        yield path.keys[0]


def operands(value: Expr, tool: ToolNouns) -> list[Expr]:
    """What a sum needs and may not be there: fields, and optional arguments."""
    sums = (node for node in value.walk() if isinstance(node, (n.Arithmetic, n.Negative)) or _computes(node))
    needed = {path for node in sums for path in node.refs() if path.keys}
    known = (call.arguments[0] for call in value.calls() if call.function == "default")
    needed -= {path for expr in known for path in expr.refs()} | {
        n.Path(ARGS, (name,)) for name in tool.required
    }
    return [m.path(path.root, *path.keys) for path in value.refs() if path in needed]


def _computes(node: Expr) -> bool:
    return isinstance(node, n.Call) and node.function in _COMPUTES
