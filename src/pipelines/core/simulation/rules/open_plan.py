"""A plan while rules are added to it: the names its steps bind, where its changes begin, and where it ends.

Only the top level counts: a name bound inside a branch or a loop does not exist in every call.
"""

import keyword
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from pipelines.core.english.words import tokens
from pipelines.core.simulation.expr import Expr, parse, written
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft, plan_text
from pipelines.core.simulation.expr.steps import BLOCKS, bound_by, draft_of, expressions_in, names_in
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.simulation.plan_checker import MAX_PARTS
from pipelines.core.simulation.plan_verbs import MAX_STEPS_IN_PLAN
from pipelines.core.simulation.rules.rule import ARGS, GIVEN, Rule
from pipelines.core.simulation.rules.vocabulary import ToolNouns, Vocabulary
from pipelines.core.simulation.syntax.compiler import CONSTANTS, GIVEN_NAMES
from pipelines.core.text.json_text import Json

Step: TypeAlias = dict[Any, Draft]
#: In front of a step: its number, inside a branch the whole way to it, as (2, "then", 0).
StepPath: TypeAlias = tuple[int | str, ...]
_PARTS_OF_NODE = 4  # at most, as the language counts the parts of a plan
_SMALL = 12  # nodes of an expression that is surely within its limits
CHANGES = frozenset(("set", "unset", "append", "add", "remove", "flag", "unflag"))


class CannotApply(Exception):
    """A rule cannot be added to the plan; the text says why."""


class BoundName(NamedTuple):
    """A name that a step at the top level binds to a record, or to a list of them."""

    name: str
    kind: str
    at: int
    is_list: bool = False
    is_new: bool = False  # added by the call itself
    is_optional: bool = False


class RecordLookup(NamedTuple):
    """How a record that the plan does not bind is found, and whether the call fails where there is none."""

    by: Mapping[str, Expr]  # `id` or `where` of a find
    record: Expr
    is_sure: bool


class InsertedStep(NamedTuple):
    rank: int
    turn: int  # of its rule, as the author ordered them
    step: Step


@dataclass(kw_only=True, slots=True)
class OpenPlan:
    steps: list[Step]  # a dropped one is empty
    tool: ToolNouns
    vocabulary: Vocabulary
    is_inferred: bool
    taken: frozenset[str]  # names that are in use
    ahead: Mapping[StepPath, tuple[InsertedStep, ...]] = field(
        default_factory=dict
    )  # what rules put in front of steps
    found: Mapping[str, str] = field(default_factory=dict)  # types of which a rule found a record: its name
    optional: frozenset[str] = frozenset()  # names that may be null
    removed: frozenset[str] = frozenset()
    closing: Draft = None  # what the plan itself returns at its end
    shapes: tuple[Callable[[Draft], Draft], ...] = ()  # by which rules leave out and mask fields of it
    turn: int = 0

    @classmethod
    def of(
        cls, body: Sequence[Json], *, tool: ToolNouns, vocabulary: Vocabulary, is_inferred: bool
    ) -> "OpenPlan":
        steps: list[Step] = draft_of([*body])
        bound = {name for _, step in _walk(steps, ()) for name in bound_by(step)}
        used_names = frozenset((*names_in(steps), *bound, *GIVEN_NAMES, *CONSTANTS))
        plan = cls(steps=steps, tool=tool, vocabulary=vocabulary, is_inferred=is_inferred, taken=used_names)
        plan.optional = frozenset(one.name for one in plan.bound() if one.is_optional)
        removed = (expr for _, step in plan.walk() for expr in expressions_in(step.get("remove")))
        plan.removed = frozenset(expr.name for expr in removed if isinstance(expr, n.Name))
        plan.closing = steps[-1].get("return") if steps else None
        return plan

    def copy(self, turn: int) -> "OpenPlan":
        """For one rule: where it finds no place, what it put in before is gone with the copy."""
        return replace(self, steps=_copy(self.steps), turn=turn)

    # -- what is there ------------------------------------------------------------------------------------

    def bound(self) -> Iterator[BoundName]:
        for at, step in enumerate(self.steps):
            find, add = step.get("find"), step.get("add")
            if isinstance(find, dict) and isinstance(find.get("in"), str):
                is_list, is_optional = find.get("all") is True, find.get("optional") is True
                yield BoundName(str(find.get("as")), find["in"], at, is_list, False, is_optional)
            elif isinstance(add, dict) and "as" in add:
                yield BoundName(str(add["as"]), str(add.get("in")), at, is_new=True)

    def one_of(self, kind: str, until: int, *, new_first: bool = False) -> BoundName | None:
        """The record that a type means before a place: one that is called like its type, else the latest.
        Where the call names one by its id and adds another, the one that is there before it is meant."""
        fitting = [one for one in self.bound() if one.kind == kind and one.at < until and not one.is_list]
        new_first = new_first or self.tool.id_argument(kind) is None
        fitting.sort(key=lambda one: (one.is_new is new_first, one.name == kind, one.at))
        return fitting[-1] if fitting else None

    def walk(self) -> Iterator[tuple[StepPath, Step]]:
        """Every step of the plan as it was, with its place."""
        return _walk(self.steps, ())

    def returns(self) -> list[tuple[StepPath, Step]]:
        return [(place, step) for place, step in self.walk() if "return" in step]

    @property
    def first_change(self) -> int:
        changes = (place[0] for place, step in self.walk() if CHANGES & step.keys())
        return next((at for at in changes if isinstance(at, int)), self.end)

    @property
    def end(self) -> int:
        """The number of the step that ends the call, or of the one past the last."""
        return len(self.steps) - bool(self.steps and _ends(self.steps[-1]))

    def ends(self) -> list[StepPath]:
        """Where what happens at the end is put: in front of each return with which the plan closes."""
        found = [*_closing(self.steps, ())]
        if not found:
            raise CannotApply(f"the plan of {self.tool.name} always fails")
        return found

    # -- the records that rules speak of ------------------------------------------------------------------

    def records(self, roots: Iterable[str], until: int) -> dict[str, Expr]:
        """What the types of a rule mean at a place, or NoPlace."""
        return {root: self.record(root, until) for root in sorted(roots) if root not in GIVEN}

    def record(self, kind: str, until: int) -> Expr:
        bound = self.one_of(kind, until)
        return n.Name(bound.name) if bound is not None else self.find(kind, until).record

    def find(self, kind: str, until: int) -> RecordLookup:
        """By the one id of its type, the id in an argument, or the id in a record that is bound."""
        known, session = self.vocabulary.kinds.get(kind), self.vocabulary.session
        if known is not None and known.only_id is not None:
            return _by_id(kind, n.Constant(known.only_id), is_sure=True)
        if session is not None and kind == session.name:
            return RecordLookup({"where": m.TRUE}, m.call("first", m.entities(kind)), False)
        argument = self.tool.id_argument(kind)
        given = None if argument is None else m.arg(argument)
        if given is not None and argument in self.tool.required:
            return _by_id(kind, given, is_sure=True)
        kept = self._link(kind, until)
        if given is not None and kept is not None:
            return _by_id(kind, m.call("default", given, kept), is_sure=False)
        if given is None and kept is None:
            raise CannotApply(f"the plan of {self.tool.name} looks up no {kind}")
        return _by_id(kind, given or kept or m.NULL, is_sure=False)

    def _link(self, kind: str, until: int) -> Expr | None:
        for bound in self.bound():
            own = self.vocabulary.kinds.get(bound.kind)
            keys = own.link_to(kind) if own is not None else None
            if keys is not None and bound.at < until and not bound.is_list:
                return m.path(bound.name, *keys)
        return None

    def place_after(self, roots: Iterable[str], at_most: int) -> int:
        """The earliest place where all of these are bound, past the finds that stand together there."""
        kinds = {*roots} - GIVEN
        names = {name for record in self.records(kinds, at_most).values() for name in record.roots()}
        place = max((one.at + 1 for one in self.bound() if one.name in names and one.at < at_most), default=0)
        while kinds and place < at_most and "find" in self.steps[place]:
            place += 1
        return place

    def bind(self, kind: str, rule: Rule, *, new_first: bool = False) -> str:
        """The name of a record to be changed, found for the purpose where the plan binds none."""
        bound = self.one_of(kind, self.end, new_first=new_first)
        if bound is not None or kind in self.found:
            return bound.name if bound is not None else self.found[kind]
        adds = (one for step in self.steps if isinstance(one := step.get("add"), dict))
        name = self.fresh(kind)
        for add in adds:
            if add.get("in") == kind:
                add["as"] = name
                return name
        found = self.find(kind, self.end)
        place = self.place_after({kind}, self.end)
        sure: Step = {} if found.is_sure else {"optional": True}
        self.optional |= frozenset() if found.is_sure else {name}
        self.insert((place,), with_note({"find": {"as": name, "in": kind, **found.by, **sure}}, rule), 3)
        self.found = {**self.found, kind: name}
        return name

    def substituted(self, expr: Expr, records: Mapping[str, Expr]) -> Expr:
        """The expression in the names of the plan."""
        known = self.tool.arguments
        for path in expr.refs():
            if path.root == ARGS and path.keys and known and path.keys[0] not in known:
                raise CannotApply(f"{self.tool.name} has no argument {path.keys[0]}")
            if path.root not in records and path.root not in GIVEN:
                raise CannotApply(f"the plan of {self.tool.name} looks up no {path.root}")
        names = {name for record in records.values() for name in record.roots()} - GIVEN
        loops = (loop for node in expr.walk() if isinstance(node, n.Comprehension) for loop in node.loops)
        for name in sorted(names & {name for loop in loops for name in loop.names}):
            raise CannotApply(
                f"the plan of {self.tool.name} already uses the name {name}: use another one in the rule"
            )
        return expr.replaced(records)

    # -- what is put in -----------------------------------------------------------------------------------

    def insert(self, place: StepPath, step: Step, rank: int) -> None:
        self.ahead = {**self.ahead, place: (*self.ahead.get(place, ()), InsertedStep(rank, self.turn, step))}

    def at_end(self, step: Step, rank: int) -> None:
        for place in self.ends():
            self.insert(place, step, rank)

    def fresh(self, wanted: str) -> str:
        """A name that is free and that a plan may bind, whatever a type is called."""
        name = "_".join(tokens(wanted))
        name = name if name.isascii() and name.isidentifier() else "record"
        while name in self.taken or keyword.iskeyword(name):
            name += "_"
        self.taken |= {name}
        return name

    def fits(self) -> bool:
        """Whether the plan is within the limits of the language."""
        steps = self._finished(self.steps, ())
        sizes = [(expr, sum(1 for _ in expr.walk())) for expr in expressions_in(steps)]
        parts = _PARTS_OF_NODE * sum(size for _, size in sizes)
        if sum(1 for _ in _walk(steps, ())) > MAX_STEPS_IN_PLAN or parts > MAX_PARTS:
            return False
        try:
            return all(parse(written(expr)) == expr for expr, size in sizes if size > _SMALL)
        except BadExpression:
            return False

    def finish(self) -> list[Json]:
        body = plan_text(self._finished(self.steps, ()))
        assert isinstance(body, list)
        return body

    def _finished(self, steps: list[Step], at: StepPath) -> list[Step]:
        applied: list[Step] = []
        for number in range(len(steps) + 1):
            here = (*at, number)
            applied += [put.step for put in sorted(self.ahead.get(here, ()), key=lambda put: put[:2])]
            if number < len(steps) and steps[number]:
                step = steps[number]
                blocks = {key: self._finished(step[key], (*here, key)) for key in _blocks(step)}
                applied.append({**step, **blocks})
        return applied


def with_note(step: Step, rule: Rule, *, answers: bool = False) -> Step:
    """The step with its rule as a note; as `rule` too where the call is answered because of it."""
    note, before = step.get("note"), step.get("rule")
    noted = {**step, "note": f"{note} {rule.sentence}" if isinstance(note, str) else rule.sentence}
    if answers:
        noted["rule"] = f"{before}\n{rule.sentence}" if isinstance(before, str) else rule.sentence
    return noted


def _by_id(kind: str, id: Expr, *, is_sure: bool) -> RecordLookup:
    return RecordLookup({"id": id}, m.entity(kind, id), is_sure)


def _copy(draft: Draft) -> Draft:
    if isinstance(draft, dict):
        return {key: _copy(part) for key, part in draft.items()}
    return [*map(_copy, draft)] if isinstance(draft, list) else draft


def _blocks(step: Step) -> list[str]:
    return [key for key in BLOCKS if isinstance(step.get(key), list)]


def _walk(steps: list[Step], at: StepPath) -> Iterator[tuple[StepPath, Step]]:
    for number, step in enumerate(steps):
        yield (*at, number), step
        for key in _blocks(step):
            yield from _walk(step[key], (*at, number, key))


def _ends(step: Step) -> bool:
    branches = [step.get("then"), step.get("else")] if "if" in step else [[]]
    return "return" in step or "fail" in step or all(branch and _ends(branch[-1]) for branch in branches)


def _closing(steps: list[Step], at: StepPath) -> Iterator[StepPath]:
    last = steps[-1] if steps else {}
    here = (*at, len(steps) - 1)
    if not _ends(last):
        yield (*at, len(steps))
    elif "return" in last:
        yield here
    elif "if" in last:
        for key in ("then", "else"):
            yield from _closing(last[key], (*here, key))
