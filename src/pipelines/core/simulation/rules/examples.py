"""Example calls for a rule: some that pass and some that it refuses or changes, found by comparing a
simulator with the rule to one without it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice, product, zip_longest
from typing import Annotated, Any, NamedTuple, Protocol, TypeAlias, TypedDict

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr.nodes import Path
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules import samples
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.samples import OMITTED
from pipelines.core.simulation.rules.vocabulary import Kind, Vocabulary
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.simulation.syntax.lookups import value_at
from pipelines.core.text.json_text import Json, JsonObject, dumps, same
from pipelines.core.tools.example_arguments import example_arguments

MOST_CALLS = 200  # of one rule
MOST_SHOWN = 3
_MOST_BEFORE = 10  # calls before the one that is shown
_LONGEST = 2_000  # bytes of a body or a record that is shown whole
_NO_SUCH = "no-such-id"
_RUN = "a rule that is tried"
ANY_DAY = "2026-01-01T12:00:00Z"  # where nobody says when the run takes place


class ExampleCall(NamedTuple):
    tool: str
    arguments: JsonObject


class ExampleSimulator(Protocol):
    """A simulator, as far as it is asked here."""

    @property
    def tools(self) -> Mapping[str, Any]: ...
    @property
    def world(self) -> World: ...
    def answer(self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply: ...


class _Try(NamedTuple):
    call: ExampleCall
    now: str
    before: tuple[ExampleCall, ...]


RuleCalls: TypeAlias = Annotated[
    list[JsonObject], "calls: `tool`, `arguments`, `now`, `record`, `before`, `status`, `body`"
]


class _ShownCalls:
    """Calls to be shown: those with other arguments before the same call at another time."""

    def __init__(self) -> None:
        self._first: list[Json] = []
        self._again: list[Json] = []
        self._known: set[bytes] = set()

    def take(self, one: _Try, as_json: Callable[[], Json]) -> None:
        call = dumps([*one.call])
        place = self._again if call in self._known else self._first
        self._known.add(call)
        if len(place) < MOST_SHOWN:
            place.append(as_json())

    @property
    def calls(self) -> list[Json]:
        return [*self._first, *self._again][:MOST_SHOWN]


class RuleExample(TypedDict):
    """What one rule does, in calls with it and without it."""

    rule: JsonObject
    passes: RuleCalls
    refused: Annotated[RuleCalls, "calls that it refuses, or answers otherwise"]
    calls: int
    differ: int
    refused_count: int


def examples(
    rule: Rule,
    vocabulary: Vocabulary,
    under: ExampleSimulator,
    without: ExampleSimulator,
    *,
    now: str = ANY_DAY,
    may_read: Callable[[], bool] = lambda: True,
) -> JsonObject:
    """`under` has the rule, `without` is the same without it; `now` is the run's date and time. No further
    call is tried once `may_read` says no."""
    passes, refused = _ShownCalls(), _ShownCalls()
    calls = differ = refused_count = 0
    tools = [name for name in rule.tools if name in under.tools and name in vocabulary.tools]
    each = -(-MOST_CALLS // max(1, len(tools)))
    tries = chain.from_iterable(islice(_tries(name, rule, vocabulary, under, now), each) for name in tools)
    for one in islice(tries, MOST_CALLS):
        if not may_read():
            break
        before, after = _answer(one, without), _answer(one, under)
        is_alike = same(before.response, after.response) and before.updates == after.updates
        is_alike = is_alike and before.status == after.status
        calls, differ = calls + 1, differ + (not is_alike)
        refused_count += before.status < 400 <= after.status
        if after.status < 400 or not is_alike:
            chosen = passes if is_alike else refused
            chosen.take(one, partial(_as_json, one, after, vocabulary, under.world))
    counts: JsonObject = {"calls": calls, "differ": differ, "refused_count": refused_count}
    return {"passes": passes.calls, "refused": refused.calls, **counts}


def _answer(one: _Try, asked: ExampleSimulator) -> SimulatedReply:
    ledger, history = Ledger(asked.world), CallHistory.of(call.tool for call in one.before)
    try:
        for number, call in enumerate(one.before, 1):
            reply = asked.answer(*call, ledger, Moment(_RUN, number, one.now, history))
            ledger.apply(reply.updates)
            if history is not None and reply.status < 400:
                history.add(*call)
        return asked.answer(*one.call, ledger, Moment(_RUN, len(one.before) + 1, one.now, history))
    except SimulationFailed as failed:
        return SimulatedReply(502, {"error": {"code": failed.code, "message": str(failed)}})


def _as_json(one: _Try, seen: SimulatedReply, vocabulary: Vocabulary, world: World) -> JsonObject:
    tool, arguments = one.call
    found: JsonObject = {"tool": tool, "arguments": arguments, "now": one.now}
    nouns = vocabulary.tools[tool]
    for argument, kind in sorted(nouns.lookups, key=lambda each: each.kind != nouns.about)[:1]:
        record = world.entities.get(kind, {}).get(str(arguments.get(argument)))
        found["record"] = {"type": kind, "id": arguments.get(argument), "attributes": _short(record)}
    if one.before:
        found["before"] = [{"tool": call.tool, "arguments": call.arguments} for call in one.before]
    return found | {"status": seen.status, "body": _short(seen.response)}


def _short(value: Json) -> Json:
    text = dumps(value)
    return value if len(text) <= _LONGEST else text[:_LONGEST].decode(errors="ignore") + "…"


# -- which calls are tried


def _tries(
    name: str, rule: Rule, vocabulary: Vocabulary, asked: ExampleSimulator, now: str
) -> Iterator[_Try]:
    """Calls that differ in what the rule looks at, the record fastest, first of all at the run's own time."""
    expr, tool, world = m.all_of(*rule.expressions()), vocabulary.tools[name], asked.world
    paths = [path for path in expr.refs() if path.root in world.entities]
    some = {kind: dict(islice(all.items(), samples.MOST_RECORDS)) for kind, all in world.entities.items()}
    seen = (value_at(one, path.keys) for path in paths for one in some[path.root].values())
    hints = samples.hints_of(expr, seen)
    dated = hints._replace(dates=(_moment(now), *hints.dates))
    varied: dict[str, list[Any]] = {}
    for argument in samples.arguments_read(expr) or ():
        values = samples.values_for(tool.arguments.get(argument, {}), dated, is_dated=samples.is_dated(expr))
        varied[argument] = [*(values or ()), *([] if argument in tool.required else [OMITTED])]
    missing = rule.form.entity_type if isinstance(rule.form, r.NotFound) else None
    for argument, kind in tool.lookups:
        if kind in (tool.about, missing, *expr.roots()):
            records = _differing(vocabulary.kinds[kind], paths, some)
            unknown = [_NO_SUCH] if kind == missing else []
            varied[argument] = [*unknown, *varied.pop(argument, ()), *records]
    moments = samples.moments_around(hints) if samples.looks_at_clock(expr) else ()
    factors: list[list[Any]] = [[*dict.fromkeys((now, *moments))], *varied.values()]
    most = max(2, int(MOST_CALLS ** (1 / max(1, sum(len(values) > 1 for values in factors)))))
    state: JsonObject = {kind: {**each} for kind, each in some.items()}
    plain = example_arguments(asked.tools[name].input_schema, state)
    accepts = CompiledSchema(asked.tools[name].input_schema).accepts
    about = next((one for one in tool.lookups if one.kind == tool.about), None)
    for at, *values in product(*(values[:most] for values in factors)):
        given = plain | dict(zip(varied, values, strict=True))
        record = some.get(about.kind, {}).get(str(given.get(about.argument))) if about is not None else None
        # What the record has is the likeliest to be let through by other rules: its own user_id.
        given |= {
            key: one for key, one in (record or {}).items() if key in tool.arguments and key not in varied
        }
        arguments = {key: value for key, value in given.items() if value is not OMITTED}
        call = ExampleCall(name, arguments)
        for before in _earlier_calls(rule.form, call, asked, state) if accepts(arguments) else ():
            yield _Try(call, str(at), before)


def _moment(now: str) -> datetime:
    at = datetime.fromisoformat(now)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _differing(kind: Kind, paths: Sequence[Path], some: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Ids of a type, first of records that differ in what the rule reads of them or of what they refer to."""
    groups: dict[bytes, list[str]] = {}
    for id, record in some.get(kind.name, {}).items():
        read = []
        for root, keys in paths:
            link = kind.link_to(root)
            linked = some[root].get(str(value_at(record, link))) if link is not None else None
            read.append(value_at(record if root == kind.name else linked, keys))
        groups.setdefault(dumps(read), []).append(id)
    return [id for row in zip_longest(*groups.values()) for id in row if id is not None]


def _earlier_calls(
    form: r.Form, call: ExampleCall, asked: ExampleSimulator, state: JsonObject
) -> Iterator[tuple[ExampleCall, ...]]:
    """Calls that come before: none, and those that make a difference to a rule that counts them."""
    yield ()
    match form:
        case r.LimitCalls(count=count) if 0 < count <= _MOST_BEFORE:
            yield (call,) * count
        case r.RunningTotal():
            yield from ((call,), (call,) * _MOST_BEFORE)
        case r.After(tool=name) if name in asked.tools:
            given = example_arguments(asked.tools[name].input_schema, state)
            yield (
                ExampleCall(name, given | {key: one for key, one in call.arguments.items() if key in given}),
            )
