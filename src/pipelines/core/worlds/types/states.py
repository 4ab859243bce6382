"""Which states a record may be in, where no enum says so: those that plans set and rules compare, and words
of the behaviour text at which its reader expects a state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipelines.core.english.words import singulars, tokens, word_set
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.domain.fields import Field
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.parse import parse
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.simulation.rules.language.read import Reader
from pipelines.core.simulation.rules.language.text import sentences
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.samples import hints_of
from pipelines.core.simulation.rules.vocabulary import Kind, Vocabulary
from pipelines.core.text.json_text import Json
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.shapes import Toolset
from pipelines.core.worlds.values.times import INITIAL

_FIRST = "pending"  # the state of what has one of which nothing says how it begins
_MOST_SENTENCES = 60  # of the behaviour text that are looked at
_MOST_WORDS = 6  # of one sentence that are states
#: What people hold is active at first; the rest waits.
_HELD = word_set("card account subscription membership policy licence license contract plan device permit")
_States = dict[str, dict[str, None]]  # by type, in the order in which they were found


def backend_of(toolset: Toolset) -> PlannedSimulator:
    """What the tools do in a world that holds nothing yet."""
    return build_simulator(
        toolset.tools,
        ledger_schema=toolset.ledger_schema,
        world=World({}),
        behavior=None,
        rules=toolset.rules,
    )


def with_states(
    types: Mapping[str, TypeOutline], toolset: Toolset, backend: PlannedSimulator
) -> dict[str, TypeOutline]:
    """Each type whose status has no enum, with the states that were found for it."""
    fields = {name: one.status for name, one in types.items() if one.status and not _lists_values(one.status)}
    if not fields:
        return dict(types)
    names = {kind: one.name for kind, one in fields.items()}
    found: _States = {kind: dict.fromkeys(_in_rules(kind, names[kind], toolset.rules)) for kind in names}
    for tool in toolset.tools:
        plan = backend.plan_of(tool.name).plan
        for kind in names:
            found[kind] |= dict.fromkeys(_in_plan(plan.body if plan is not None else None, kind, names[kind]))
    _add_spoken(found, names, toolset.behavior or "", backend.vocabulary)
    return {
        name: _with_values(one, fields[name], [*found[name]]) if name in fields else one
        for name, one in types.items()
    }


def _lists_values(status: FieldOutline) -> bool:
    return bool(status.values) or isinstance(status.said("enum"), list)


def _with_values(own: TypeOutline, status: FieldOutline, found: Sequence[str]) -> TypeOutline:
    usual = "active" if own.is_person or own.last in _HELD else _FIRST
    first = next((one for one in found if one in INITIAL or one in ("available", "active")), usual)
    values = tuple(dict.fromkeys((first, *found)))
    known = replace(status, values=values, is_closed=False)
    return replace(own, fields=tuple(known if one.name == status.name else one for one in own.fields))


def _in_rules(kind: str, status: str, rules: Sequence[Rule]) -> Iterator[str]:
    """What rules compare the status with."""
    nodes = (node for rule in rules for expr in rule.expressions() for node in expr.walk())
    return (text for node in nodes for text in _compared(node, n.Path(kind, (status,))))


def _compared(node: n.Expr, path: n.Path) -> Iterator[str]:
    if isinstance(node, n.Compare) and n.path_of(node.first) == path:
        yield from hints_of(node, ()).texts


def _in_plan(body: Json, kind: str, status: str) -> Iterator[str]:
    """What a plan sets the status to, and what it compares it with."""
    if isinstance(body, list):
        for each in body:
            yield from _in_plan(each, kind, status)
    elif isinstance(body, dict):
        added = body.get("attrs") if body.get("in") == kind else None
        yield from _constant(added.get(status) if isinstance(added, dict) else None)
        for key, value in body.items():
            if key == f"{kind}.{status}":
                yield from _constant(value)
            yield from _in_plan(value, kind, status)
    elif isinstance(body, str) and f"{kind}.{status}" in body:
        try:
            nodes = [*parse(body).walk()]
        except BadExpression:
            return  # a message
        yield from (text for node in nodes for text in _compared(node, n.Path(kind, (status,))))


def _constant(text: Json) -> Iterator[str]:
    if isinstance(text, str) and text[:1] == text[-1:] == "'" and text[1:-1].isidentifier():
        yield text[1:-1]


def _add_spoken(found: _States, names: Mapping[str, str], behavior: str, known: Vocabulary) -> None:
    """Read again with each state that was found: a sentence may speak of several."""
    for sentence in sentences(behavior)[:_MOST_SENTENCES]:
        for _ in range(_MOST_WORDS):
            reading = Reader(_with_known(known, names, found)).read(sentence)
            for kind, status in names.items():
                found[kind] |= dict.fromkeys(_in_rules(kind, status, reading.rules))
            stop = reading.stop
            about = _spoken_of(sentence, known, names)
            if (
                stop is None
                or "<state>" not in stop.allowed
                or about is None
                or not stop.words.isidentifier()
            ):
                break
            found[about][stop.words.lower()] = None


def _spoken_of(sentence: str, known: Vocabulary, names: Mapping[str, str]) -> str | None:
    """The type that a sentence is about: of the tool that it names, else the one that it names itself."""
    about = (one.about for name, one in known.tools.items() if name in sentence)
    words = set(singulars(tokens(sentence)))
    named = (kind for kind in names if words >= set(singulars(tokens(kind))))
    return next((kind for kind in (*named, *about) if kind in names), None)


def _with_known(known: Vocabulary, names: Mapping[str, str], found: _States) -> Vocabulary:
    kinds = dict(known.kinds)
    for kind, status in names.items():
        own = kinds.get(kind) or Kind(name=kind, fields={}, nouns=(singulars(tokens(kind)),))
        field = Field(name=status, kinds=frozenset({"text"}), values=tuple(found[kind]) or (_FIRST,))
        kinds[kind] = replace(own, fields={**own.fields, (status,): field})
    return Vocabulary(tools=known.tools, kinds=kinds)
