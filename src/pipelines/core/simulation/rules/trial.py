"""Each rule tried on the seeded world: one that has no place there is reported and not applied, and one that
changes nothing there is told.

A guard that refuses every record most likely does not say what was meant: a call is refused by what is sure.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice, product
from typing import Any, NamedTuple

from pipelines.core.json_text import same
from pipelines.core.ledger import World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules import samples
from pipelines.core.simulation.rules.rule import ARGS, EACH, REPLY, Rule
from pipelines.core.simulation.rules.settings import Setting, settings_of, worlds_after
from pipelines.core.simulation.rules.vocabulary import Keys, Kind, ToolNouns, Vocabulary
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.compiler import Evaluate
from pipelines.core.simulation.values import Stopped

MOST_RUNS = 4_000  # of one condition, spent only where nothing made a difference so far
MOST_RUNS_IN_ALL = 400_000  # some seconds; rules after that are applied as they are
FEWEST = 2  # of one record alone every rule says either yes or no
_MOST_TOOLS = 20  # of one rule; more of them would hardly be more different
_MOST_IDS = 50  # of a type, as texts that an argument may be
_ANY_DAY = "2000-01-01T00:00:00Z"  # for rules that do not look at the clock
_CALLER = n.Call("caller", ())  # stands in a rule where nothing says who calls
_NOBODY = (
    "nothing in the call or the world says who calls {}: give the tool an argument for the caller (such as "
    "user_id), or the world a `session` record with a user_id"
)


class Outcome(StrEnum):
    APPLIES = "applies"
    WITHOUT_EFFECT = "without_effect"  # applied, though it changes nothing in this world
    NO_PLACE = "no_place"  # not applied


class TriedRule(NamedTuple):
    rule: Rule
    outcome: Outcome = Outcome.APPLIES
    reason: str | None = None  # of any outcome but the first


class Tried(NamedTuple):
    rules: tuple[TriedRule, ...]  # in their order, each judged for itself

    @property
    def applied(self) -> tuple[Rule, ...]:
        return tuple(one.rule for one in self.rules if one.outcome is not Outcome.NO_PLACE)


def tried(
    rules: Sequence[Rule], vocabulary: Vocabulary, world: World, settings: Iterable[Setting] = ()
) -> Tried:
    """`settings`: what calls of the tools set fields to, so that a record may have it though none has now."""
    around = _Around(rules, vocabulary, world, settings)
    return Tried(tuple(map(around.judged, rules)))


class _Misplaced(Exception):
    """This world has no place for the rule, for the reason given."""


class _Around:
    """What all rules are tried on, and how many runs are left for them."""

    def __init__(
        self, rules: Sequence[Rule], vocabulary: Vocabulary, world: World, settings: Iterable[Setting]
    ) -> None:
        self.vocabulary, self.world, self.runs_left = vocabulary, world, MOST_RUNS_IN_ALL
        self.ids = [id for records in world.entities.values() for id in islice(records, _MOST_IDS)]
        tools = vocabulary.tools.values()
        self.given = {name for one in tools if not one.reads for name in one.arguments}
        made = [
            Setting(one.makes, (name,), m.arg(name)) for one in tools if one.makes for name in one.arguments
        ]
        #: By type and field: what it is set to, and by which sentence.
        self.settings: dict[tuple[str, Keys], dict[tuple[str, Setting], None]] = {}
        of_rules = ((rule.sentence, one) for rule in rules for one in settings_of(rule, vocabulary))
        for said, one in [*(("", one) for one in (*settings, *made)), *of_rules]:
            self.settings.setdefault((one.entity_type, one.path), {})[said, one] = None
        self.written = {(kind, path[0]) for kind, path in self.settings if path}
        self._values: dict[tuple[str, Keys], list[Any]] = {}

    def judged(self, rule: Rule) -> TriedRule:
        """By its best place among its first tools."""
        tools = [self.vocabulary.tools[name] for name in rule.tools if name in self.vocabulary.tools]
        unknown = TriedRule(rule, Outcome.NO_PLACE, f"there is no tool {' or '.join(rule.tools)}")
        found = (_Trial(rule, tool, self).judged() for tool in tools[:_MOST_TOOLS])
        return min(found, key=lambda one: [*Outcome].index(one.outcome), default=unknown)

    def values(self, kind: str, keys: Keys) -> list[Any]:
        """What the records of a type have there; nothing where these are too many to look at."""
        if (kind, keys) not in self._values:
            records = self.world.entities.get(kind, {})
            few = records.values() if len(records) <= samples.MOST_RECORDS else ()
            self._values[kind, keys] = [samples.value_at(one, keys) for one in few]
        return self._values[kind, keys]


class _Trial(NamedTuple):
    rule: Rule
    tool: ToolNouns
    around: _Around

    def judged(self) -> TriedRule:
        try:
            for expr in self.rule.expressions():
                self._find_places(expr)
            told = self._difference()
        except _Misplaced as why:
            return TriedRule(self.rule, Outcome.NO_PLACE, str(why))
        return TriedRule(self.rule, Outcome.WITHOUT_EFFECT if told else Outcome.APPLIES, told)

    def _kind(self, root: str) -> Kind | None:
        own = self.tool.lists or self.tool.about or ""
        return self.around.vocabulary.kinds.get(own if root in (EACH, REPLY) else root)

    def _find_places(self, expr: Expr) -> None:
        if _CALLER in expr.calls():
            raise _Misplaced(_NOBODY.format(" or ".join(self.rule.tools)))
        for path in expr.refs():
            kind, first = self._kind(path.root), path.keys[0] if path.keys else "id"
            if kind is None or not kind.fields or first == "id" or first in self.around.given:
                continue
            if (kind.name, first) in self.around.written:
                continue
            if (first,) not in kind.fields and path.root != REPLY:  # which may have what a plan works out
                raise _Misplaced(f"no {kind.name} of the world has {first}")
            have = self.around.values(kind.name, path.keys) if path.keys in kind.fields else []
            if isinstance(self.rule.form, r.Put) and len(have) >= FEWEST and all(one is None for one in have):
                made = self.rule.form.name
                raise _Misplaced(f"no {kind.name} of the world has what {made} is worked out from")

    def _difference(self) -> str | None:
        """Why the rule changes nothing here; Misplaced where it would let nothing through."""
        kind = self._kind(EACH)
        match self.rule.form:
            case r.Require(need=need, after_changes=False):
                told = self._told(need, "every {} passes", "no {} passes")
                if told == f"no {self._noun(need)} passes":
                    raise _Misplaced(f"{told}: most likely it does not say what was meant")
                return told
            case r.Keep(need=need):
                return self._told(need, "it leaves no {} out", "it leaves every {} out")
            case r.Sort(first=Expr() as first):
                return self._told(first, "every {} comes first", "no {} comes first")
            case r.Sort(by=by) if kind is not None and by:
                told_of = [self._unsorted(kind.name, name.removeprefix("-")) for name in by]
                return told_of[0] if all(told_of) else None
            case r.Take(count=most, pages=False) if kind is not None:
                count = len(self.around.world.entities.get(kind.name, {}))
                return f"the world has no more than {count}" if FEWEST <= count <= most else None
            case r.Set(when=None) as form:
                return self._already_so(form)
            case r.Set() | r.Flag() | r.Add() | r.Remove() | r.Put() as effect if effect.when is not None:
                return self._told(effect.when, None, "no {} is meant")
        return None

    def _already_so(self, form: r.Set) -> str | None:
        """An effect that writes what every record has, and that nothing takes away."""
        kind, keys = form.target
        have, settings = self.around.values(kind, keys), self.around.settings.get((kind, keys), {})
        is_set = any(one.value != form.value for _, one in settings) or kind == self.tool.makes
        if is_set or len(have) < FEWEST or not isinstance(form.value, n.Constant):
            return None
        value = form.value.value
        is_so = all(same(one, value) for one in have)
        return f"every {kind} of the world has {'.'.join(keys)} {value} already" if is_so else None

    def _unsorted(self, kind: str, by: str) -> str | None:
        values = self.around.values(kind, tuple(by.split(".")))
        if len(values) < FEWEST:
            return None
        if all(same(value, values[0]) for value in values):
            has, how = ("no", "a") if values[0] is None else ("every", "the same")
            return f"{has} {kind} of the world has {how} {by}"
        dates = [moment_of(value) for value in values if isinstance(value, str)]
        if None not in dates and any(when is not None and when.text not in values for when in dates):
            raise _Misplaced(f"dates as {by} writes them are not in order when they are sorted")
        return None

    # -- trying a condition

    def _told(self, expr: Expr, every: str | None, none: str) -> str | None:
        """What is said of every record, call and moment; nothing where that differs or cannot be tried."""
        settings = [each for at in self._places(expr) for each in self.around.settings.get(at, ())]
        own = [one for said, one in settings if said and said == self.rule.sentence]
        found = [*islice(self._outcomes(expr, own), MOST_RUNS + 1)]
        came = {*found} - {None}
        says = (every if True in came else none) if len(came) == 1 and len(found) <= MOST_RUNS else None
        if says is None or (ARGS in expr.roots() and self._counts(expr)):
            return None
        later = islice(self._outcomes(expr, [one for _, one in settings]), MOST_RUNS) if settings else ()
        may_change = self._counts(expr) or len({*later} - {None}) > 1
        until = " as it is seeded, until a call changes that" if may_change else ""
        return f"{says.format(self._noun(expr))}{until}"

    def _places(self, expr: Expr) -> list[tuple[str, Keys]]:
        """The fields that it looks at, with their types."""
        kinds = [(self._kind(path.root), path.keys) for path in expr.refs()]
        return [(kind.name, keys) for kind, keys in kinds if kind is not None]

    def _counts(self, expr: Expr) -> bool:
        """Whether it lists records of which calls make more, or fewer."""
        listed = (call.arguments[:1] for call in expr.calls() if call.function in ("entities", "ids"))
        counted = {kind.value for args in listed for kind in args if isinstance(kind, n.Constant)}
        tools = self.around.vocabulary.tools.values()
        return any(not tool.reads and counted & {tool.about, tool.makes} for tool in tools)

    def _noun(self, expr: Expr) -> str:
        given = " and ".join(samples.arguments_read(expr) or ())
        kinds = " and ".join(dict.fromkeys(kind.name for _, kind in self._records(expr) or ()))
        with_any = f" with any {given}" if given else ""
        return f"{kinds} of the world{with_any}" if kinds else f"value of {given}"

    def _records(self, expr: Expr) -> list[tuple[str, Kind]] | None:
        """The types whose records it speaks of; None where it speaks of more than these and the call."""
        roots = sorted(expr.roots() - r.GIVEN, key=lambda root: (root != EACH, root != self.tool.about, root))
        found = [(root, kind) for root in roots if (kind := self._kind(root)) is not None]
        is_open = REPLY in roots or samples.hangs_on_run(expr)
        return None if is_open or len(found) < len(roots) else found

    def _outcomes(self, expr: Expr, settings: Sequence[Setting]) -> Iterator[bool | None]:
        """What comes of it for each record, call and moment, up to the first that differs from the others;
        nothing where that cannot be gone through."""
        seen = (one for at in self._places(expr) for one in self.around.values(*at))
        hints = samples.hints_of(expr, seen, self.around.ids)
        records, calls = self._records(expr), samples.calls_with(expr, self.tool, hints)
        if records is None or not calls or (not records and calls == [{}]) or self.around.runs_left <= 0:
            return
        names = [f"it{at}" for at in range(len(records))]
        by = {root: n.Name(name) for (root, _), name in zip(records, names, strict=True)}
        test = samples.compiled(expr.replaced(by), names)
        ids = [[*islice(self.around.world.entities.get(kind.name, {}), MOST_RUNS + 1)] for _, kind in records]
        few = [kind for (_, kind), one in zip(records, ids, strict=True) if len(one) < FEWEST]
        if test is None or any(kind.only_id is None for kind in few):
            return
        moments = samples.moments_around(hints) if samples.looks_at_clock(expr) else [_ANY_DAY]
        came: set[bool | None] = set()
        for number, ledger in enumerate(worlds_after(self.around.world, settings, hints)):
            for given, now, those in product(calls, moments, product(*ids)):
                call = Call(given, ledger, Moment("", 1, now))
                for name, (_, kind), id in zip(names, records, those, strict=True):
                    call.names[name] = call.entity(kind.name, id)
                is_sure = number == 0 and not given and len(records) == 1
                came.add(one := self._came(test, call, is_sure=is_sure))
                yield one
                if {True, False} <= came:
                    return

    def _came(self, test: Evaluate, call: Call, *, is_sure: bool) -> bool | None:
        """None where it cannot be worked out; of values that we made up, that says nothing."""
        self.around.runs_left -= 1
        try:
            return bool(test(call))
        except RecursionError:
            return None
        except Stopped as stopped:
            if not is_sure or stopped.code in ("plan_budget", "plan_time"):
                return None
            why = f"it cannot be worked out for every {self.tool.about or 'record'} of the world: {stopped}"
            raise _Misplaced(why) from None
