"""What a read plan calls the records it binds: their own word in all that an agent is told, and in the plan a
name that its language can take.

A draft is made with words (`class`, `größe`, `3d_print`); `with_plan_names` comes last.
"""

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipelines.core.english.words import singular, tokens
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft
from pipelines.core.simulation.expr.steps import bound_by
from pipelines.core.simulation.syntax.compiler import CONSTANTS, GIVEN_NAMES
from pipelines.core.simulation.syntax.functions import FUNCTIONS

_TAKEN = frozenset((*GIVEN_NAMES, *CONSTANTS, *FUNCTIONS, *keyword.kwlist))
_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 40  # characters of a name that is made up


class Noun(str):
    """The name of a record that a draft binds. A text that is made with it is a plain text: it says the word.
    Only the name itself is known to be one, so that a record `now` is not the time of the call."""

    __slots__ = ("spoken",)
    spoken: str

    def __new__(cls, name: str, spoken: str | None = None) -> "Noun":
        made = super().__new__(cls, name)
        made.spoken = spoken or name
        return made


def name_for(words: str | Sequence[str], avoid: Sequence[str] = ()) -> Noun:
    """The word for one of them: `order` for orders. A second one of that word is bound as `other_order`."""
    parts = tokens(words) if isinstance(words, str) else tuple(words)
    word = "_".join([*parts[:-1], singular(parts[-1])]) if parts else "record"
    return Noun(f"other_{word}", word) if word in avoid else Noun(word)


def name_for_many(word: str) -> Noun:
    return Noun(word)


def spoken(name: str) -> str:
    """What the record is called where an agent reads it."""
    return name.spoken if isinstance(name, Noun) else name


class _Bound(NamedTuple):
    name: str
    is_noun: bool  # a noun `now` is not the time of the call


def with_plan_names(draft: Draft) -> Draft:
    """The draft with a legal name for everything that it binds."""
    found = [*_bound_in(draft)]
    names: dict[_Bound, str] = {}
    for one in sorted(dict.fromkeys(found), key=lambda one: one.is_noun):  # the draft's own names first
        names[one] = _legal(one.name, {*_TAKEN, *names.values()})
    return _renamed(draft, names)


def _legal(word: str, others: set[str]) -> str:
    name = word
    if not _LEGAL.fullmatch(name):
        name = re.sub(r"[^A-Za-z0-9_]", "", word)[:_LONGEST].strip("_")
        name = name if name and not name[0].isdigit() else f"record{name}"
    while name in others:
        name += "_"
    return name


def _of(name: str) -> _Bound:
    return _Bound(str(name), isinstance(name, Noun))


def _named(name: str, names: Mapping[_Bound, str]) -> str:
    """What was made of a noun may be read by its word alone, but for what every plan is given."""
    own = _of(name)
    other = own._replace(is_noun=not own.is_noun)
    word = str(name)
    return names.get(own) or (names.get(other, word) if word not in GIVEN_NAMES else word)


def _bound_in(draft: Draft) -> Iterator[_Bound]:
    if isinstance(draft, n.Expr):
        loops = (loop for node in draft.walk() if isinstance(node, n.Comprehension) for loop in node.loops)
        yield from (_of(name) for loop in loops for name in loop.names)
    elif isinstance(draft, Mapping):
        rounds = draft.get("for")
        yield from map(_of, (rounds,) if isinstance(rounds, Noun) else bound_by(draft))
        for part in draft.values():
            yield from _bound_in(part)
    elif isinstance(draft, (list, tuple)):
        for part in draft:
            yield from _bound_in(part)


def _renamed(draft: Draft, names: Mapping[_Bound, str]) -> Draft:
    if isinstance(draft, Noun):
        return _named(draft, names)
    if isinstance(draft, n.Expr):
        return _renamed_in(draft, names)
    if isinstance(draft, Mapping):
        return {_key(key, names): _step_part(key, part, names) for key, part in draft.items()}
    if isinstance(draft, (list, tuple)):
        return [_renamed(part, names) for part in draft]
    return draft


def _key(key: Draft, names: Mapping[_Bound, str]) -> Draft:
    """A field called `[x]` is no key that is computed."""
    if isinstance(key, n.Expr):
        return _renamed_in(key, names)
    return n.ListOf((n.Constant(str(key)),)) if key[:1] == "[" else str(key)


def _step_part(key: Draft, part: Draft, names: Mapping[_Bound, str]) -> Draft:
    if key == "let" and isinstance(part, Mapping):
        return {_named(name, names): _renamed(one, names) for name, one in part.items()}
    if key == "in" and isinstance(part, str):  # a type, also one that a tool makes and its noun names
        return str(part)
    if key in ("as", "for") and isinstance(part, str):
        return _named(part, names)
    return _renamed(part, names)


def _renamed_in(expr: n.Expr, names: Mapping[_Bound, str]) -> n.Expr:
    if isinstance(expr, n.Name):
        return n.Name(_named(expr.name, names))
    made = n.rebuilt(expr, lambda part: _renamed_in(part, names))
    if isinstance(made, n.Comprehension):
        loops = (
            loop._replace(names=tuple(_named(name, names) for name in loop.names)) for loop in made.loops
        )
        return n.Comprehension(made.shape, made.results, tuple(loops))
    return made
