"""Rules over the records of a world: which each lets through, and which it does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules.rule import ARGS, EACH, GIVEN, REPLY, Require, Rule
from pipelines.core.simulation.rules.samples import compile_condition, depends_on_run
from pipelines.core.simulation.rules.vocabulary import Keys, Vocabulary
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.compiler import Evaluate
from pipelines.core.simulation.values import Stopped, entity_of
from pipelines.core.text.json_text import JsonObject

MOST_TRIED = 300  # records of a type


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleCases:
    rule: Rule
    kind: str  # the type of the records
    passing: tuple[str, ...]
    failing: tuple[str, ...]

    @property
    def missing(self) -> str | None:
        """The side without a case."""
        if not self.failing:
            return "forbids"
        return None if self.passing else "allows"


def need_of(rule: Rule) -> Expr:
    """What must be so for the rule to let a call through; `true` where it says nothing of that."""
    return rule.form.need if isinstance(rule.form, Require) and not rule.form.after_changes else m.TRUE


def kind_of(rule: Rule, vocabulary: Vocabulary) -> str | None:
    """The one type whose records it decides about; None where it needs a call's arguments to decide."""
    need = need_of(rule)
    if {ARGS, REPLY, EACH} & need.roots() or depends_on_run(need):
        return None
    kinds = [root for root in sorted(need.roots()) if root in vocabulary.kinds]
    if len(kinds) == 1:
        return kinds[0]
    tool = vocabulary.tools.get(rule.tools[0])
    return tool.about if tool is not None and tool.about in kinds else None


def cases_of(rule: Rule, vocabulary: Vocabulary, world: World, now: str) -> RuleCases | None:
    """None for a rule that records alone do not decide."""
    test = tester(rule, vocabulary, now)
    if test is None or test.kind not in world.entities:
        return None
    ledger = Ledger(world)
    few = islice(world.entities[test.kind].items(), MOST_TRIED)
    outcomes = {id: test(id, record, ledger) for id, record in few}
    passing, failing = (tuple(id for id, found in outcomes.items() if found is so) for so in (True, False))
    return RuleCases(rule=rule, kind=test.kind, passing=passing, failing=failing)


@dataclass(frozen=True, slots=True)
class Tester:
    """Whether a record of the type passes; None where that cannot be worked out."""

    kind: str
    test: Evaluate
    now: str

    def __call__(self, id: str, record: JsonObject, ledger: Ledger) -> bool | None:
        call = Call({}, ledger, Moment("a rule", 1, self.now))
        call.names["it"] = entity_of(self.kind, id, record, record)
        try:
            return bool(self.test(call))
        except (Stopped, RecursionError):
            return None


def tester(rule: Rule, vocabulary: Vocabulary, now: str) -> Tester | None:
    kind = kind_of(rule, vocabulary)
    return tester_of(need_of(rule), kind, vocabulary, now) if kind is not None else None


def tester_of(need: Expr, kind: str, vocabulary: Vocabulary, now: str) -> Tester | None:
    """Of what is asked of a record of the type, and of those that it refers to."""
    records = _records(need, kind, vocabulary)
    test = compile_condition(need.replaced(records), ("it",)) if records is not None else None
    return Tester(kind, test, now) if test is not None else None


def _records(need: Expr, kind: str, vocabulary: Vocabulary) -> Mapping[str, Expr] | None:
    found: dict[str, Expr] = {kind: n.Name("it")}
    for other in need.roots() - GIVEN - {kind, "it"}:
        only = vocabulary.kinds[other].only_id if other in vocabulary.kinds else None
        link = vocabulary.kinds[kind].link_to(other)
        if link is None and only is None:
            return None
        found[other] = m.entity(other, m.path("it", *link) if link is not None else m.constant(only))
    return found


def fields_of(rule: Rule, kind: str) -> list[Keys]:
    return [
        path.keys for path in need_of(rule).refs() if path.root == kind and path.keys not in ((), ("id",))
    ]
