"""A plan laid open for weaving: what its steps bind, where its changes begin, and what it returns.

Only its top level is laid open: what is bound inside a branch or a loop is not there for every call.
"""

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.core.english.words import joined, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.json_text import Json
from pipelines.core.python_tree import expression_tree
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.rules import ARGUMENTS, dotted, literal
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.behavior.things import ToolWords

Step = dict[str, Json]
CHANGES = ("set", "unset", "append", "add", "remove", "flag", "unflag")
_TAKEN = word_set("args now today null true false")


class NoPlaceInPlan(Exception):
    """This plan has no place for the rule; it is reported, not dropped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A name that a step at the top level binds to an entity, or to a list of them."""

    name: str
    kind: str  # as the plan spells it
    at: int  # index of the step
    is_list: bool = False
    is_new: bool = False  # made by the call itself


@dataclass(kw_only=True, slots=True)
class PlanEditor:
    """The plan being woven. Steps to insert are kept by place until `finish`, so that places stay what
    they were.
    """

    steps: list[Step]
    tool: ToolWords
    lexicon: Lexicon
    before: dict[int, list[tuple[int, Step]]]  # place -> (rank, step), in front of the step that stands there
    fresh: set[str]
    perhaps: set[str] = field(default_factory=set)  # names of what is found only where something refers to it

    @classmethod
    def of(cls, body: Sequence[Json], tool: ToolWords, lexicon: Lexicon) -> "PlanEditor":
        steps: list[Any] = copy.deepcopy(list(body))
        return cls(steps=steps, tool=tool, lexicon=lexicon, before={}, fresh=set(_names_in(steps)))

    # -- what is there ------------------------------------------------------------------------------

    def bound(self) -> Iterator[Bound]:
        for at, step in enumerate(self.steps):
            find, add = step.get("find"), step.get("add")
            if isinstance(find, dict) and isinstance(find.get("as"), str):
                is_list = bool(find.get("all"))
                yield Bound(name=str(find["as"]), kind=str(find.get("in")), at=at, is_list=is_list)
            elif isinstance(add, dict) and isinstance(add.get("as"), str):
                yield Bound(name=str(add["as"]), kind=str(add.get("in")), at=at, is_new=True)

    def one_of(self, kind: str, until: int, is_new: bool | None = None) -> Bound | None:
        """The name of one entity of a kind, bound before a place; the latest where there are several.

        Where the call names one by its id and makes another, the one that is there before it is meant.
        """
        fitting = [
            one
            for one in self.bound()
            if one.at < until
            and not one.is_list
            and _is_kind(one.kind, kind)
            and is_new in (None, one.is_new)
        ]
        if is_new is None and self.lexicon.id_argument(self.tool, kind) is not None:
            fitting = [one for one in fitting if not one.is_new] or fitting
        own = [one for one in fitting if one.kind == kind]  # a new type may be called nearly the same
        return (own or fitting)[-1] if fitting else None

    @property
    def first_change(self) -> int:
        return next((at for at, step in enumerate(self.steps) if _changes(step)), self.end)

    @property
    def end(self) -> int:
        """The place of the closing return, or past the last step."""
        return len(self.steps) - 1 if self.steps and "return" in self.steps[-1] else len(self.steps)

    def names(self, roots: set[str], until: int) -> dict[str, str]:
        """How the plan at a place calls what a rule speaks of, or NoPlaceInPlan."""
        return {root: self.name_of(root, until) for root in roots}

    def name_of(self, kind: str, until: int) -> str:
        if kind == ARGUMENTS:
            return ARGUMENTS
        bound = self.one_of(kind, until)
        return bound.name if bound is not None else self.reference(kind, until)

    def reference(self, kind: str, until: int) -> str:
        """An entity that the plan does not bind: by the id in an argument, or in an entity that it does
        bind.
        """
        known = self.lexicon.kinds.get(kind)
        if known is not None and known.only_id is not None:
            return f"entity({literal(kind)}, {literal(known.only_id)})"
        if known is not None and known.is_inside:
            raise NoPlaceInPlan(f"the plan has no {kind}")
        return f"entity({literal(kind)}, {self.id_of(kind, until)})"

    def id_of(self, kind: str, until: int) -> str:
        argument = self.lexicon.id_argument(self.tool, kind)
        if argument is not None:
            return dotted(ARGUMENTS, (argument,))
        for bound in self.bound():
            own = self.lexicon.kinds.get(bound.kind)
            link = (
                link_field(own, kind) if own is not None and bound.at < until and not bound.is_list else None
            )
            if link is not None:
                return dotted(bound.name, (link,))
        raise NoPlaceInPlan(f"the plan has no {kind}")

    def place_after(self, roots: set[str], at_most: int) -> int:
        """The earliest place where all of these are bound, past the finds that stand together there."""
        place = 0
        for root in roots - {ARGUMENTS}:
            bound = self.one_of(root, at_most)
            place = max(place, bound.at + 1 if bound is not None else self._place_of_reference(root, at_most))
        while roots - {ARGUMENTS} and place < at_most and "find" in self.steps[place]:
            place += 1
        return place

    def _place_of_reference(self, kind: str, at_most: int) -> int:
        expression = self.reference(kind, at_most)
        names = names_of(expression)
        return max([one.at + 1 for one in self.bound() if one.name in names], default=0)

    # -- what is put in -------------------------------------------------------------------------------

    def insert(self, place: int, step: Step, rank: int = 0) -> None:
        self.before.setdefault(place, []).append((rank, step))

    def fresh_name(self, wanted: str) -> str:
        name = re.sub(r"\W", "_", wanted) or "record"
        while name in self.fresh or name in _TAKEN:
            name += "_"
        self.fresh.add(name)
        return name

    def finish(self) -> list[Json]:
        woven: list[Json] = []
        for place in range(len(self.steps) + 1):
            woven += [step for _, step in sorted(self.before.get(place, ()), key=lambda one: one[0])]
            woven += [self.steps[place]] if place < len(self.steps) else []
        return woven


def names_of(expression: Json) -> set[str]:
    """The names an expression, or a value made of expressions, speaks of."""
    if isinstance(expression, dict):
        keys = {name for key in expression if key.startswith("[") for name in names_of(key[1:-1])}
        return keys.union(*(names_of(part) for part in expression.values()))
    if isinstance(expression, list):
        return set().union(*(names_of(part) for part in expression))
    if not isinstance(expression, str):
        return set()
    tree = parsed(expression)
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree is not None else set()


def parsed(expression: str) -> ast.expr | None:
    try:
        return expression_tree(expression.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _changes(step: Mapping[str, Json]) -> bool:
    if any(verb in step for verb in CHANGES):
        return True
    blocks = (step.get(key) for key in ("then", "else", "do"))
    return any(
        isinstance(block, list) and any(isinstance(s, dict) and _changes(s) for s in block)
        for block in blocks
    )


def _is_kind(spelled: str, kind: str) -> bool:
    """`order`, `orders` and `shop.orders` are all where orders are kept."""
    return spelled == kind or joined(words_of(spelled.rpartition(".")[2])) == joined(
        words_of(kind.rpartition(".")[2])
    )


def _names_in(value: Json) -> Iterator[str]:
    """Every word of the plan: a fresh name is none of them."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from re.findall(r"[A-Za-z_]\w*", key)
            yield from _names_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _names_in(part)
    elif isinstance(value, str):
        yield from re.findall(r"[A-Za-z_]\w*", value)
