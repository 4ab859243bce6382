"""What a rule does, shown by calls: some that pass and some that it refuses or changes, found by asking a
simulator with the rule and one without it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, product, zip_longest
from typing import Any, NamedTuple, Protocol

from pipelines.core.example_arguments import example_arguments
from pipelines.core.json_schema import CompiledSchema
from pipelines.core.json_text import Json, JsonObject, dumps, same
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr.nodes import Path
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules import samples
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.samples import LEFT_OUT, value_at
from pipelines.core.simulation.rules.vocabulary import Kind, Vocabulary
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed

MOST_CALLS = 200  # of one rule
MOST_SHOWN = 3
_MOST_BEFORE = 10  # calls before the one that is shown
_LONGEST = 2_000  # bytes of a body or a record that is shown whole
_NO_SUCH = "no-such-id"
_ANY_DAY = "2026-01-01T12:00:00Z"


class Made(NamedTuple):
    tool: str
    arguments: JsonObject


class Asked(Protocol):
    """A simulator, as far as it is asked here."""

    @property
    def tools(self) -> Mapping[str, Any]: ...
    @property
    def world(self) -> World: ...
    def answer(self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply: ...


#: Where in a run a call stands: after which successful calls, and when.
MomentAfter = Callable[[Sequence[Made], str], Moment]


def plain_moment(before: Sequence[Made], now: str) -> Moment:
    return Moment("a rule that is tried", len(before) + 1, now)


class _Try(NamedTuple):
    call: Made
    now: str
    before: tuple[Made, ...]


def examples(
    rule: Rule, vocabulary: Vocabulary, under: Asked, without: Asked, moment_after: MomentAfter = plain_moment
) -> JsonObject:
    """`under` has the rule, `without` is the same without it."""
    passes: list[Json] = []
    refused: list[Json] = []
    calls = differ = refused_count = 0
    tools = [name for name in rule.tools if name in under.tools and name in vocabulary.tools]
    each = -(-MOST_CALLS // max(1, len(tools)))
    tries = chain.from_iterable(islice(_tries(name, rule, vocabulary, under), each) for name in tools)
    for one in islice(tries, MOST_CALLS):
        before, after = _seen(one, without, moment_after), _seen(one, under, moment_after)
        is_alike = same(before.response, after.response) and before.updates == after.updates
        is_alike = is_alike and before.status == after.status
        calls, differ = calls + 1, differ + (not is_alike)
        refused_count += before.status < 400 <= after.status
        shown = passes if is_alike else refused
        if len(shown) < MOST_SHOWN and (after.status < 400 or not is_alike):
            shown.append(_as_json(one, after, vocabulary, under.world))
    counts: JsonObject = {"calls": calls, "differ": differ, "refused_count": refused_count}
    return {"passes": passes, "refused": refused, **counts}


def _seen(one: _Try, asked: Asked, moment_after: MomentAfter) -> SimulatedReply:
    ledger, made = Ledger(asked.world), list[Made]()
    try:
        for call in one.before:
            reply = asked.answer(*call, ledger, moment_after(made, one.now))
            if reply.status < 400:
                ledger.apply(reply.updates)
                made.append(call)
        return asked.answer(*one.call, ledger, moment_after(made, one.now))
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


def _tries(name: str, rule: Rule, vocabulary: Vocabulary, asked: Asked) -> Iterator[_Try]:
    """Calls that differ in what the rule looks at, the record fastest."""
    expr, tool, world = m.all_of(*rule.expressions()), vocabulary.tools[name], asked.world
    paths = [path for path in expr.refs() if path.root in world.entities]
    some = {kind: dict(islice(all.items(), samples.MOST_RECORDS)) for kind, all in world.entities.items()}
    seen = (value_at(one, path.keys) for path in paths for one in some[path.root].values())
    hints = samples.hints_of(expr, seen)
    varied: dict[str, list[Any]] = {}
    for argument in samples.arguments_read(expr) or ():
        values = samples.values_for(tool.arguments.get(argument, {}), hints, is_dated=samples.is_dated(expr))
        varied[argument] = [*(values or ()), *([] if argument in tool.required else [LEFT_OUT])]
    missing = rule.form.entity_type if isinstance(rule.form, r.NotFound) else None
    for argument, kind in tool.lookups:
        if kind in (tool.about, missing, *expr.roots()):
            records = _differing(vocabulary.kinds[kind], paths, some)
            unknown = [_NO_SUCH] if kind == missing else []
            varied[argument] = [*unknown, *varied.pop(argument, ()), *records]
    moments = samples.moments_around(hints) if samples.looks_at_clock(expr) else [_ANY_DAY]
    factors: list[list[Any]] = [[*moments], *varied.values()]
    most = max(2, int(MOST_CALLS ** (1 / max(1, sum(len(values) > 1 for values in factors)))))
    plain = example_arguments(asked.tools[name].input_schema, {kind: {**each} for kind, each in some.items()})
    accepts = CompiledSchema(asked.tools[name].input_schema).accepts
    for now, *values in product(*(values[:most] for values in factors)):
        given = plain | dict(zip(varied, values, strict=True))
        arguments = {key: value for key, value in given.items() if value is not LEFT_OUT}
        for before in _befores(rule.form, Made(name, arguments), asked) if accepts(arguments) else ():
            yield _Try(Made(name, arguments), str(now), before)


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


def _befores(form: r.Form, call: Made, asked: Asked) -> Iterator[tuple[Made, ...]]:
    """Calls that come before: none, and those that make a difference to a rule that counts them."""
    yield ()
    match form:
        case r.LimitCalls(count=count) if 0 < count <= _MOST_BEFORE:
            yield (call,) * count
        case r.RunningTotal():
            yield from ((call,), (call,) * _MOST_BEFORE)
        case r.After(tool=name) if name in asked.tools:
            given = example_arguments(asked.tools[name].input_schema, {})
            yield (Made(name, given | {key: one for key, one in call.arguments.items() if key in given}),)
