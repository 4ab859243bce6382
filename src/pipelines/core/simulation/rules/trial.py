"""Tries each rule on the seeded world. A rule that names something unknown is reported and not applied; a
rule with the same result for every record is applied and reported, since it may not say what its author
means.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules import samples
from pipelines.core.simulation.rules.conditions import operands
from pipelines.core.simulation.rules.known_fields import KnownFields
from pipelines.core.simulation.rules.rule import ARGS, EACH, REPLY, Rule
from pipelines.core.simulation.rules.vocabulary import Keys, Kind, ToolNouns, Vocabulary
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.compiler import Evaluate
from pipelines.core.simulation.syntax.lookups import value_at
from pipelines.core.simulation.values import Stopped
from pipelines.core.text.json_text import same

MOST_RUNS = 4_000  # of one condition, spent only where nothing made a difference so far
MOST_RUNS_IN_ALL = 200_000  # some seconds; nothing is reported of rules after that
FEWEST = 2  # of one record alone every rule says either yes or no
_MOST_TOOLS = 20  # of one rule; more of them would hardly be more different
_MOST_IDS = 50  # of a type, as texts that an argument may be
_ANY_DAY = "2000-01-01T00:00:00Z"  # for rules that do not look at the clock
_CALLER = n.Call("caller", ())  # stands in a rule where nothing says who calls
_NO_CALLER = (
    "neither the call nor the world says who calls {}: add an argument for the caller to the tool (such as "
    "user_id), or a `session` record with a user_id to the world"
)
_LISTED = frozenset(("entities", "ids"))


class TriedRule(NamedTuple):
    rule: Rule
    problem: str | None = None  # why it is not applied
    uniform: str | None = None  # that it comes out the same for every record of the seeded world


class TrialResult(NamedTuple):
    rules: tuple[TriedRule, ...]  # in their order, each judged for itself

    @property
    def applied(self) -> tuple[Rule, ...]:
        return tuple(one.rule for one in self.rules if one.problem is None)


def try_rules(rules: Sequence[Rule], vocabulary: Vocabulary, world: World) -> TrialResult:
    context = _TrialContext(rules, vocabulary, world)
    return TrialResult(tuple(map(context.judged, rules)))


class _NotApplicable(Exception):
    """This world has no place for the rule, for the reason given."""


class _TrialContext:
    """What all rules are tried on, and how many runs are left for them."""

    def __init__(self, rules: Sequence[Rule], vocabulary: Vocabulary, world: World) -> None:
        self.vocabulary, self.world, self.runs_left = vocabulary, world, MOST_RUNS_IN_ALL
        self.fields = KnownFields(vocabulary, rules)
        self.ids = [id for records in world.entities.values() for id in islice(records, _MOST_IDS)]
        self._values: dict[tuple[str, Keys], list[Any]] = {}

    def judged(self, rule: Rule) -> TriedRule:
        """By its best place among its first tools."""
        tools = [self.vocabulary.tools[name] for name in rule.tools if name in self.vocabulary.tools]
        unknown = TriedRule(rule, f"there is no tool {' or '.join(rule.tools)}")
        found = (_Trial(rule, tool, self).judged() for tool in tools[:_MOST_TOOLS])
        return min(found, key=lambda one: (bool(one.problem), bool(one.uniform)), default=unknown)

    def values(self, kind: str, keys: Keys) -> list[Any]:
        """What the records of a type have there; nothing where these are too many to look at."""
        if (kind, keys) not in self._values:
            records = self.world.entities.get(kind, {})
            few = records.values() if len(records) <= samples.MOST_RECORDS else ()
            self._values[kind, keys] = [value_at(one, keys) for one in few]
        return self._values[kind, keys]


class _Trial(NamedTuple):
    rule: Rule
    tool: ToolNouns
    around: _TrialContext

    def judged(self) -> TriedRule:
        try:
            for expr in self.rule.expressions():
                self._find_places(expr)
                self._work_out(expr)
            finding = self._uniform()
            return TriedRule(self.rule, uniform=f"in the seeded world {finding}" if finding else None)
        except _NotApplicable as why:
            return TriedRule(self.rule, str(why))

    def _kind(self, root: str) -> Kind | None:
        own = self.rule.each_type or self.tool.lists or self.tool.about or ""
        return self.around.vocabulary.kinds.get(own if root in (EACH, REPLY) else root)

    def _find_places(self, expr: Expr) -> None:
        if _CALLER in expr.calls():
            raise _NotApplicable(_NO_CALLER.format(" or ".join(self.rule.tools)))
        for path in expr.refs():
            kind = self._kind(path.root)
            if kind is None or path.root == REPLY:  # which may have what a plan works out
                continue
            for wrong in self.around.fields.absent_in_type(kind.name, path.keys):
                hint = wrong.hint()
                raise _NotApplicable(wrong.message + (f"; {hint}" if hint else ""))

    def _work_out(self, expr: Expr) -> None:
        """What looks at one record alone must be something for each of them; of a value only where nothing is
        missing that it is worked out from."""
        roots = expr.roots() - r.GIVEN
        kinds = {root: self._kind(root) for root in roots}
        [kind, *others] = {one.name if one is not None else "" for one in kinds.values()} or {""}
        if not kind or others or ARGS in expr.roots() or samples.depends_on_run(expr):
            return
        is_value = isinstance(self.rule.form, (r.Set, r.Put, r.Add)) and expr not in (
            self.rule.form.when,
            getattr(self.rule.form, "where", None),
        )
        needed = [*operands(expr, self.tool)] if is_value else []
        needed += [m.path(path.root, *path.keys) for path in expr.refs() if path.root == REPLY]
        whole = n.Conditional(m.all_of(*map(m.is_given, needed)), expr, m.NULL) if needed else expr
        test = samples.compile_condition(whole.replaced(dict.fromkeys(roots, n.Name("it"))), ["it"])
        ledger = Ledger(self.around.world)
        records = self.around.world.entities.get(kind, {})
        if test is None:
            return
        for id in islice(records, samples.MOST_RECORDS):
            call = Call({}, ledger, Moment("", 1, _ANY_DAY))
            call.names["it"] = call.entity(kind, id)
            self.around.runs_left -= 1
            try:
                test(call)
            except RecursionError:
                return
            except Stopped as stopped:
                if stopped.code in ("plan_budget", "plan_time") or self.around.runs_left <= 0:
                    return
                raise _NotApplicable(f"it cannot be computed for {kind} {id}: {stopped}") from None

    def _uniform(self) -> str | None:
        kind = self._kind(EACH)
        match self.rule.form:
            case r.Require(need=need, after_changes=False):
                return self._same_for_all(need, "every {} passes", "no {} passes")
            case r.Keep(need=need):
                return self._same_for_all(need, "it keeps every {}", "it leaves every {} out")
            case r.Set(where=Expr() as where) | r.Remove(where=Expr() as where):
                return self._same_for_all(where, None, "it applies to no {}")
            case r.Sort(first=Expr() as first):
                return self._same_for_all(first, "every {} comes first", "no {} comes first")
            case r.Sort(by=by) if kind is not None and by:
                findings = [self._unsorted(kind.name, name.removeprefix("-")) for name in by]
                return findings[0] if all(findings) else None
            case r.Take(count=most, pages=False) if kind is not None:
                count = len(self.around.world.entities.get(kind.name, {}))
                return f"there are at most {count}" if FEWEST <= count <= most else None
            case r.Set(when=None) as form:
                return self._already_so(form)
            case r.Put(name=name, value=value, when=None):
                return self._never_computed(name, value)
            case r.Set() | r.Flag() | r.Add() | r.Remove() | r.Put() as effect if effect.when is not None:
                return self._same_for_all(effect.when, None, "it applies to no {}")
        return None

    def _already_so(self, form: r.Set) -> str | None:
        """An effect that writes what every record has."""
        kind, keys = form.target
        have = self.around.values(kind, keys)
        if kind == self.tool.makes or len(have) < FEWEST or not isinstance(form.value, n.Constant):
            return None
        value = form.value.value
        is_so = all(same(one, value) for one in have)
        return f"every {kind} already has {'.'.join(keys)} {value}" if is_so else None

    def _never_computed(self, name: str, value: Expr) -> str | None:
        for kind, keys in self._places(value):
            have = self.around.values(kind.name, keys) if keys in kind.fields else []
            if len(have) >= FEWEST and all(one is None for one in have):
                return f"no {kind.name} has the fields that {name} is computed from"
        return None

    def _unsorted(self, kind: str, by: str) -> str | None:
        values = self.around.values(kind, tuple(by.split(".")))
        if len(values) < FEWEST:
            return None
        if all(same(value, values[0]) for value in values):
            return f"no {kind} has a {by}" if values[0] is None else f"every {kind} has the same {by}"
        dates = [moment_of(value) for value in values if isinstance(value, str)]
        if None not in dates and any(when is not None and when.text not in values for when in dates):
            raise _NotApplicable(f"the dates in {by} have a format that cannot be sorted")
        return None

    # -- trying a condition

    def _same_for_all(self, expr: Expr, every: str | None, none: str) -> str | None:
        """What is said of every record, call and moment; nothing where that differs or cannot be tried."""
        found = [*islice(self._outcomes(expr), MOST_RUNS + 1)]
        came = {*found} - {None}
        says = (every if True in came else none) if len(came) == 1 and len(found) <= MOST_RUNS else None
        is_sampled = ARGS in expr.roots() and any(call.function in _LISTED for call in expr.calls())
        return None if says is None or is_sampled else says.format(self._noun(expr))

    def _places(self, expr: Expr) -> list[tuple[Kind, Keys]]:
        """The fields that it looks at, with their types."""
        kinds = [(self._kind(path.root), path.keys) for path in expr.refs()]
        return [(kind, keys) for kind, keys in kinds if kind is not None]

    def _noun(self, expr: Expr) -> str:
        given = " and ".join(samples.arguments_read(expr) or ())
        kinds = " and ".join(dict.fromkeys(kind.name for _, kind in self._records(expr) or ()))
        with_any = f" with any {given}" if given else ""
        return f"{kinds}{with_any}" if kinds else f"value of {given}"

    def _records(self, expr: Expr) -> list[tuple[str, Kind]] | None:
        """The types whose records it speaks of; None where it speaks of more than these and the call."""
        roots = sorted(expr.roots() - r.GIVEN, key=lambda root: (root != EACH, root != self.tool.about, root))
        found = [(root, kind) for root in roots if (kind := self._kind(root)) is not None]
        is_open = REPLY in roots or samples.depends_on_run(expr)
        return None if is_open or len(found) < len(roots) else found

    def _outcomes(self, expr: Expr) -> Iterator[bool | None]:
        """What comes of it for each record, call and moment, up to the first that differs from the others;
        nothing where that cannot be gone through."""
        seen = (one for kind, keys in self._places(expr) for one in self.around.values(kind.name, keys))
        hints = samples.hints_of(expr, seen, self.around.ids)
        records, calls = self._records(expr), samples.calls_with(expr, self.tool, hints)
        if records is None or not calls or (not records and calls == [{}]) or self.around.runs_left <= 0:
            return
        names = [f"it{at}" for at in range(len(records))]
        by = {root: n.Name(name) for (root, _), name in zip(records, names, strict=True)}
        test = samples.compile_condition(expr.replaced(by), names)
        ids = [[*islice(self.around.world.entities.get(kind.name, {}), MOST_RUNS + 1)] for _, kind in records]
        few = [kind for (_, kind), one in zip(records, ids, strict=True) if len(one) < FEWEST]
        if test is None or any(kind.only_id is None for kind in few):
            return
        moments = samples.moments_around(hints) if samples.looks_at_clock(expr) else [_ANY_DAY]
        came: set[bool | None] = set()
        ledger = Ledger(self.around.world)
        for given, now, those in product(calls, moments, product(*ids)):
            call = Call(given, ledger, Moment("", 1, now))
            for name, (_, kind), id in zip(names, records, those, strict=True):
                call.names[name] = call.entity(kind.name, id)
            came.add(one := self._came(test, call))
            yield one
            if {True, False} <= came:
                return

    def _came(self, test: Evaluate, call: Call) -> bool | None:
        """None where it cannot be worked out: of values that we made up, that says nothing."""
        self.around.runs_left -= 1
        try:
            return bool(test(call))
        except (RecursionError, Stopped):
            return None
