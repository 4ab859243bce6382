"""What a model is told of a backend whose plans it writes: all of it in short, then some tools whole, each
with recorded calls. Everything is bounded, and says where something was left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.by_model.prompt import as_data, tool_as_json
from pipelines.core.simulation.by_model.relevant import shortened
from pipelines.core.simulation.fidelity.examples import RecordedExample
from pipelines.core.simulation.rule_translation.translation import type_context, words_of_plan
from pipelines.core.simulation.rules.examples import ANY_DAY
from pipelines.core.text.json_text import Json, JsonObject, dumps

MOST_TOOLS_A_TURN = 4
# Characters. A conversation stays under 300,000: some 75,000 tokens, and most have a tenth.
LONGEST_BEHAVIOR = 20_000
LONGEST_WORLD = 60_000
LONGEST_EXAMPLE = 4_000
LONGEST_EXAMPLES = 24_000  # of one tool
LONGEST_TURN = 60_000
LONGEST_DESCRIPTION = 300  # of a tool, in the overview
LONGEST_PLAN = 1_500  # in words
LONGEST_OVERVIEW = 60_000  # of all tools; of the tools after that only the names are told


class ExampleCalls(NamedTuple):
    """Recorded calls of a tool that are shown, the most telling first, of so many."""

    shown: Sequence[RecordedExample] = ()
    recorded: int = 0


Examples = Callable[[str], ExampleCalls]


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """Some tools that are asked for together."""

    tools: tuple[str, ...]
    data: str  # what is said of them, as JSON on one line


def in_order_of_types(tools: Sequence[str], around: PlannedSimulator) -> list[str]:
    """Tools about one type stand together, so that they are asked for together."""
    about = {name: around.vocabulary.tools[name].about for name in tools}
    places = {kind: place for place, kind in enumerate(dict.fromkeys(about.values()))}
    return sorted(tools, key=lambda name: places[about[name]])


def setting_of(asked: Sequence[str], around: PlannedSimulator, now: str | None) -> JsonObject:
    """The backend in short."""
    return {
        "tools": [*_overviews(asked, around)],
        "behaviour": around.behavior_text[:LONGEST_BEHAVIOR] or None,
        "world": _world(around),
        "flags": [*sorted(around.vocabulary.flags)],
        "now": now or ANY_DAY,
        "conversation": [*asked],
    }


def _overviews(asked: Sequence[str], around: PlannedSimulator) -> Iterator[JsonObject]:
    room = LONGEST_OVERVIEW
    for name in around.tools:
        whole: JsonObject = {"name": name}
        if room > 0:
            whole = _overview(name, around, is_asked=name in asked)
        room -= len(dumps(whole))
        yield whole


def _overview(name: str, around: PlannedSimulator, *, is_asked: bool) -> JsonObject:
    tool, nouns = around.tools[name], around.vocabulary.tools[name]
    overview: JsonObject = {
        "name": name,
        "description": tool.description[:LONGEST_DESCRIPTION],
        "arguments": [f"{one} (required)" if one in nouns.required else one for one in nouns.arguments],
        "about": nouns.about,
    }
    found = around.plan_of(name)
    if is_asked or found.plan is None or found.is_guess:
        return overview
    return overview | {"does": words_of_plan(found.plan.body)[:LONGEST_PLAN]}


def _world(around: PlannedSimulator) -> JsonObject:
    types: JsonObject = {}
    room = LONGEST_WORLD
    for name in around.vocabulary.kinds:
        whole = type_context(around, name)
        size = len(dumps(whole))
        types[name] = whole if size <= room else {"count": whole["count"]}
        room -= size if size <= room else 0
    return types


def turns_of(tools: Sequence[str], around: PlannedSimulator, examples: Examples) -> Iterator[Turn]:
    """A few tools at a time, and fewer where there is much to say of them."""
    names: list[str] = []
    parts: list[str] = []
    for name in tools:
        part = as_data(_tool(name, around, examples(name)))
        if names and (len(names) == MOST_TOOLS_A_TURN or sum(map(len, parts)) + len(part) > LONGEST_TURN):
            yield _turn(names, parts)
            names, parts = [], []
        names.append(name)
        parts.append(part)
    if names:
        yield _turn(names, parts)


def _turn(names: Sequence[str], parts: Sequence[str]) -> Turn:
    return Turn(tools=tuple(names), data=f"[{','.join(parts)}]")


def _tool(name: str, around: PlannedSimulator, examples: ExampleCalls) -> JsonObject:
    found = around.plan_of(name)
    calls: list[tuple[RecordedExample, JsonObject]] = []
    room = LONGEST_EXAMPLES
    for one in examples.shown:
        body = _fitting(one)
        size = len(dumps(body))
        if size <= room:
            calls.append((one, body))
            room -= size
    calls.sort(key=lambda pair: pair[0].key)
    return {
        "tool": tool_as_json(around.tools[name]),
        "present_plan": found.plan.as_json() if found.plan is not None else None,
        "is_guess": found.plan is None or found.is_guess,
        "not_clear": [*found.notes],
        "recorded_calls": [body for _, body in calls],
        "calls_recorded": examples.recorded,
    }


def _fitting(example: RecordedExample) -> JsonObject:
    """An example that is too long loses the records that matter least, then long values."""
    body = example.as_json()
    kept = [(kind, id) for kind, records in example.before.items() for id in records]
    while len(dumps(body)) > LONGEST_EXAMPLE and kept:
        kept.pop()
        before: dict[str, dict[str, Json]] = {}
        for kind, id in kept:
            before.setdefault(kind, {})[id] = example.before[kind][id]
        body |= {"before": {**before}, "is_cut": True}
    if len(dumps(body)) > LONGEST_EXAMPLE:
        body = {key: shortened(value) for key, value in body.items()} | {"is_cut": True}
    return body
