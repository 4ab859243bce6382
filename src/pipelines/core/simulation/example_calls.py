"""Example calls that a model writes beside its rules or plans, each with the outcome that it expects. They
are replayed on the seeded world, changed as the example says, and shown to the person who decides.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.rules.examples import ANY_DAY
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.text.json_text import Json, JsonObject, dumps, same

FEWEST_EXAMPLES, MOST_EXAMPLES = 2, 3  # of one sentence, or one plan
MOST_BEFORE = 10  # calls before the one that is an example
NEW = "new"  # in place of the id of a record that the call adds
FLAGS = "flags"
_LONGEST = 2_000  # bytes of a reply that is shown whole
_RUN = "an example call"

_OPEN: JsonObject = {"type": "object", "additionalProperties": {}}
_STATE: JsonObject = {"type": "object", "additionalProperties": _OPEN}
_CALL: JsonObject = {"tool": {"type": "string", "maxLength": 100}, "arguments": _OPEN}
#: Of one example, as the model writes it.
EXAMPLE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        **_CALL,
        "given": _STATE,
        "before": {
            "type": "array",
            "maxItems": MOST_BEFORE,
            "items": {
                "type": "object",
                "properties": _CALL,
                "required": [*_CALL],
                "additionalProperties": False,
            },
        },
        "now": {"type": "string", "maxLength": 40},
        "outcome": {"enum": ["allowed", "refused"]},
        "status": {"type": "integer", "minimum": 200, "maximum": 599},
        "error": {"type": "string", "maxLength": 64},
        "after": _STATE,
        "reply": {},
    },
    "required": [*_CALL, "outcome"],
    "additionalProperties": False,
}
_EXPECTED = ("outcome", "status", "error", "after", "reply")


class ReplayedExample(NamedTuple):
    """`shown` is the example with what was answered, and in `problem` how that is not what it expects."""

    shown: JsonObject
    reply: SimulatedReply | None = None
    before: Ledger | None = None  # what the call met


def replayed(example: JsonObject, under: PlannedSimulator, *, now: str | None = None) -> ReplayedExample:
    one: Any = example
    given, before = one.get("given", {}), one.get("before", [])
    outcome: JsonObject = {
        "tool": one["tool"],
        "arguments": one["arguments"],
        "given": given,
        "before": before,
        "now": one.get("now") or now or ANY_DAY,
        "expected": {key: one[key] for key in _EXPECTED if key in one},
        "status": None,
        "body": None,
        "problem": None,
    }
    if (why := _not_callable([*before, one], under)) is not None:
        return ReplayedExample(outcome | {"problem": why})
    ledger = Ledger(_world_with(under.world, given))
    try:
        reply = _answer(one, before, under, ledger, str(outcome["now"]))
    except (SimulationFailed, ValueError) as failed:
        return ReplayedExample(outcome | {"problem": f"the call cannot be made: {failed}"})
    wrong = "; ".join(_differences(one, reply, ledger))
    answered: JsonObject = {"status": reply.status, "body": _short(reply.response), "problem": wrong or None}
    return ReplayedExample(outcome | answered, reply, ledger)


def example_problems(examples: Sequence[JsonObject]) -> list[str]:
    """What is wrong with examples as they are shown."""
    if len(examples) < FEWEST_EXAMPLES:
        return [f"it has {len(examples)} example calls, and at least {FEWEST_EXAMPLES} are needed"]
    return [f"example {at}: {one['problem']}" for at, one in enumerate(examples, 1) if one["problem"]]


def _not_callable(calls: Iterable[Any], under: PlannedSimulator) -> str | None:
    for call in calls:
        tool = under.tools.get(call["tool"])
        if tool is None:
            return f"there is no tool `{call['tool']}`"
        if not CompiledSchema(tool.input_schema).accepts(call["arguments"]):
            return f"`{tool.name}` does not accept the arguments {dumps(call['arguments']).decode()[:200]}"
    return None


def _world_with(world: World, given: Any) -> World:
    """Fields that the example states replace those of the record; an unknown id makes a new record."""
    entities = {**world.entities}
    for kind, records in given.items():
        if kind != FLAGS:
            known = entities.get(kind, {})
            stated = {
                id: {**known.get(id, {}), **one} for id, one in records.items() if isinstance(one, dict)
            }
            entities[kind] = {**known, **stated}
    flags = {**dict.fromkeys(world.flags, True), **given.get(FLAGS, {})}
    return World(entities, [name for name, is_on in flags.items() if is_on])


def _answer(one: Any, before: list[Any], under: PlannedSimulator, ledger: Ledger, now: str) -> SimulatedReply:
    """Of the last call; the calls before it change the ledger."""
    history = CallHistory.of(call["tool"] for call in before)
    for number, call in enumerate(before, 1):
        reply = under.answer(call["tool"], call["arguments"], ledger, Moment(_RUN, number, now, history))
        ledger.apply(reply.updates)
        if history is not None and reply.status < 400:
            history.add(call["tool"], call["arguments"])
    moment = Moment(_RUN, len(before) + 1, now, history)
    return under.answer(one["tool"], one["arguments"], ledger, moment)


def _differences(one: Any, reply: SimulatedReply, ledger: Ledger) -> Iterator[str]:
    outcome = "refused" if reply.status >= 400 else "allowed"
    if outcome != one["outcome"]:
        yield f"expected {one['outcome']}, but the call is {outcome}: {_in_words(reply)}"
        return
    if "status" in one and one["status"] != reply.status:
        yield f"expected status {one['status']}, not {reply.status}"
    if "error" in one and one["error"] != _code(reply.response):
        yield f"expected the error {one['error']}, not {_code(reply.response)}"
    if "reply" in one and not _covers(one["reply"], reply.response):
        yield f"expected the reply {_quoted(one['reply'])}, not {_quoted(reply.response)}"
    yield from _differences_after(one.get("after", {}), reply, ledger)


def _differences_after(after: Any, reply: SimulatedReply, ledger: Ledger) -> Iterator[str]:
    then = ledger.draft()
    then.apply(reply.updates)
    for kind, records in after.items():
        for id, expected in records.items():
            if kind == FLAGS:
                if then.is_flagged(id) != bool(expected):
                    yield f"expected the flag {id} to be {'on' if expected else 'off'}"
                continue
            found = [then.get(kind, then.resolve_id(kind, id) or id)]
            if id == NEW:
                found = [one for new, one in then.changed(kind).items() if ledger.get(kind, new) is None]
            if not any(_covers(expected, one) for one in found):
                has = _quoted(found[0] if found else None)
                yield f"expected {kind} {id} to be {_quoted(expected)} afterwards, not {has}"


def _covers(expected: Any, actual: Any) -> bool:
    """Whether all that is expected is there. A field that is missing is null; a list that is expected may be
    the one list of an object."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            _covers(value, actual.get(key)) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, dict):
        lists = [part for part in actual.values() if isinstance(part, list)]
        return len(lists) == 1 and _covers(expected, lists[0])
    if isinstance(expected, list):
        is_list = isinstance(actual, list) and len(actual) == len(expected)
        return is_list and all(map(_covers, expected, actual))
    return same(expected, actual)


def _code(response: Any) -> str | None:
    error = response.get("error") if isinstance(response, dict) else None
    code = error.get("code") if isinstance(error, dict) else error
    return code if isinstance(code, str) else None


def _in_words(reply: SimulatedReply) -> str:
    return f"{reply.status} {_quoted(reply.response)}"


def _quoted(value: Json) -> str:
    text = dumps(value).decode(errors="ignore")
    return text if len(text) <= 300 else text[:299] + "…"


def _short(value: Json) -> Json:
    text = dumps(value)
    return value if len(text) <= _LONGEST else text[:_LONGEST].decode(errors="ignore") + "…"
