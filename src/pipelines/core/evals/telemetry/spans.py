"""Selects the spans of telemetry in which a skill was used, with its input and outcome.

A span says so by its name (`skill.invoke`, `av.skill.invoke`, `execute_tool …`) or as GenAI's conventions do
(`gen_ai.operation.name` is `execute_tool`, or none is told and there is a `gen_ai.tool.name`). Others are
counted and dropped.
"""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.text.json_text import MAX_DEPTH, Json, JsonObject, loads, loads_own

SpanStatus: TypeAlias = Literal["ok", "unset", "error"]

SKILL_NAMES = frozenset({"skill.invoke", "av.skill.invoke"})
TOOL_PREFIX = "execute_tool"
OPERATION = "gen_ai.operation.name"
TOOL_NAME = "gen_ai.tool.name"
AGENT_ID = "gen_ai.agent.id"
#: What a `device_id` may be, of the resource. The first and the last may stand on the span itself too.
DEVICE_KEYS = ("device.id", "host.id", "service.instance.id", AGENT_ID)
DEVICE_SPELLINGS = ("device.id", "device_id")  # the convention's, and that of our own API

#: The first of each that is there counts.
NAME_KEYS = ("skill.name", "av.skill.name", TOOL_NAME, "skill.id", "tool.name")
INPUT_KEYS = (
    "skill.input",
    "av.skill.input",
    "skill.arguments",
    "gen_ai.tool.call.arguments",
    "input.value",
    "tool.parameters",
)
OUTCOME_KEYS = (
    "skill.output",
    "av.skill.output",
    "skill.outcome",
    "av.skill.outcome",
    "skill.result",
    "gen_ai.tool.call.result",
    "output.value",
)
LONGEST_SKILL = 200  # characters of its name
LARGEST_SPAN = 256 * 1024  # characters of all that is kept of one

#: How far a sender's clock may be off before its times are not used: ahead, and behind. A span that waited
#: for a network for days is late, and its clock is right.
AHEAD_NS = 10 * 60 * 10**9
BEHIND_NS = 366 * 86_400 * 10**9

_HEX = re.compile(r"[0-9a-f]+")


class Span(NamedTuple):
    """As it was sent, whatever it is about. A tuple, since a hundred thousand of them are made in seconds."""

    name: str
    trace_id: str  # lower-case hex
    span_id: str
    start_ns: int  # since 1970; 0: not told
    end_ns: int
    status: SpanStatus
    attributes: JsonObject
    resource: JsonObject
    parent_id: str | None = None


class SkillUse(NamedTuple):
    """What of a span is about the skill, and the rest of its attributes."""

    skill: str
    input: Json  # None: not told
    outcome: Json  # None: not told
    agent_id: str | None
    device_id: str | None
    rest: JsonObject


class SpanTime(NamedTuple):
    happened_ns: int  # what windows of time go by
    note: str | None  # why that is when it arrived


def is_skill_span(name: str, attributes: Mapping[str, Json]) -> bool:
    if name in SKILL_NAMES or name == TOOL_PREFIX or name.startswith("execute_tool "):
        return True
    operation = attributes.get(OPERATION)
    return TOOL_NAME in attributes if operation is None else operation == TOOL_PREFIX


def id_problem(span: Span) -> str | None:
    """Ids as W3C Trace Context has them."""
    if not _is_hex(span.trace_id, 32):
        return "its trace id is not 32 hex digits, or all zeros"
    if not is_span_id(span.span_id):
        return "its span id is not 16 hex digits, or all zeros"
    return None


def is_span_id(text: str) -> bool:
    return _is_hex(text, 16)


def skill_use(span: Span) -> SkillUse:
    rest = dict(span.attributes)
    names = _take_values(rest, NAME_KEYS)
    agent_id = rest.get(AGENT_ID)
    skill = names if isinstance(names, str) and names else span.name.removeprefix(TOOL_PREFIX).strip()
    return SkillUse(
        skill=(skill or span.name)[:LONGEST_SKILL],
        input=_value(rest, INPUT_KEYS),
        outcome=_value(rest, OUTCOME_KEYS),
        agent_id=agent_id if isinstance(agent_id, str) else None,
        device_id=device_id(rest),
        rest=rest,
    )


def time_of(span: Span, arrived_ns: int) -> SpanTime:
    """When it ended, by its sender's clock where that can be right."""
    if span.end_ns <= 0:
        return SpanTime(arrived_ns, "the span has no time")
    if span.end_ns < span.start_ns:
        return SpanTime(arrived_ns, "the span ends before it starts")
    if span.end_ns > arrived_ns + AHEAD_NS:
        return SpanTime(arrived_ns, "the sender's clock is ahead")
    if span.end_ns < arrived_ns - BEHIND_NS:
        return SpanTime(arrived_ns, "the span is more than a year old, or the sender's clock is behind")
    return SpanTime(span.end_ns, None)


def device_ids(resource: Mapping[str, Json]) -> tuple[str | None, ...]:
    """What of a resource a `device_id` is held against, in the order of DEVICE_KEYS."""
    found = (resource.get(key) for key in DEVICE_KEYS[1:])
    return device_id(resource), *(str(value) if isinstance(value, str | int) else None for value in found)


def device_id(attributes: Mapping[str, Json]) -> str | None:
    found = (attributes.get(key) for key in DEVICE_SPELLINGS)
    return next((str(value) for value in found if isinstance(value, str | int) and value != ""), None)


def _value(rest: JsonObject, keys: tuple[str, ...]) -> Json:
    """The value under the first of some keys, or under names below one of them: `skill.input.order_id`."""
    values = _take_values(rest, keys)
    if values is not None:
        return _parse_value(values)
    for key in keys:
        below = [name for name in rest if name.startswith(key) and name[len(key) :].startswith(".")]
        if below:
            return _nest({name[len(key) + 1 :]: _parse_value(rest.pop(name)) for name in below})
    return None


def _take_values(rest: JsonObject, keys: tuple[str, ...]) -> Json:
    for key in keys:
        if rest.get(key) is not None:
            return rest.pop(key)
    return None


def _parse_value(value: Json) -> Json:
    """Attributes of OTel are scalars, so objects come as their JSON text."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        # Where it cannot be nested too deep it is read the quick way: there are two of these in each span.
        is_flat = value.count("{") + value.count("[") <= MAX_DEPTH
        return loads_own(value) if is_flat else loads(value)
    except ValueError:
        return value


def _nest(flat: JsonObject) -> Json:
    """`a.b` under `a`; where `a` is a value itself, the name stays as it was sent."""
    whole: JsonObject = {}
    for name in sorted(flat):
        *parents, last = name.split(".")
        place: JsonObject = whole
        for parent in parents:
            below = place.setdefault(parent, {})
            if not isinstance(below, dict):
                place, last = whole, name
                break
            place = below
        place[last] = flat[name]
    return whole


def _is_hex(text: str, length: int) -> bool:
    return len(text) == length and _HEX.fullmatch(text) is not None and text.count("0") < length
