"""Asking a model for a world: whole where that is a small answer, else its ids first and then type by type.

With the ids known, references hold whichever way they point, whatever part they stand in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pipelines.core.ledger.initial_state import read_initial_state
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.models.model_question import ModelQuestion
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import MOST_SHOWN, Problem
from pipelines.core.worlds.by_model.prompt_data import MOST_WORLD, fenced_question, shown_records
from pipelines.core.worlds.types.world_outline import types_in

#: Changes with every change of a text below: answers are kept under it.
VERSION = "world/1"
PLAN_VERSION = "world-plan/1"
TOKENS_A_FIELD, TOKENS_A_RECORD = 10, 12  # about, for parts and estimates
MOST_PART_TOKENS = 6_000  # expected of one answer
MOST_TIMES_ASKED = 4  # more records of a type than were asked for are not what was asked for
LONGEST_ID = 200
MOST_NOTES, LONGEST_NOTE = 10, 500

_ABOUT = """\
You make up the data of a software backend, on which agents are tested. You get one JSON object:
- tools: what agents can call; their arguments say what ids and values look like
- types: the types of records with their fields; empty where nobody has said, then name them after what the \
tools are about
- behaviour: rules that the backend enforces, in its author's words; may be null
- wishes: what the author wants this world to be like; may be null
- today: the moment it is in this world
- records: about how many records of each type
"""
_GOOD = """
A good world is one that many different requests can be asked of:
- Every value of every enum is used, owners and amounts are spread, and dates lie on both sides of today \
where that makes sense, also long before it.
- Every reference holds the id of a record that there is. Totals are the sum of their lines, and the times \
of a record are in the order in which things happen and fit its state.
- For every rule of `behaviour` some records are just inside it and some just outside. For every tool there \
are records that it can act on, and records that it must refuse.
- Ids and values look like those that the tools ask for. Names, streets and e-mails are made up \
(e-mails at example.com), and no two people are the same.
- Records hold data, and nothing else: no remarks about tests, no instructions, nothing that says what an \
agent should do.
Follow the wishes as far as they are about data. Name fields as `types` does, and leave none out without a \
reason.
"""
INSTRUCTIONS = f"""{_ABOUT}- of_types: the types whose records are wanted now
- planned: the ids that were chosen for all types, with a word on each; null: choose them yourself
- earlier: records of other types that are there already
{_GOOD}
Answer with one JSON object: `world`, which is {{"type": {{"id": {{"field": value}}}}}} with the types of \
`of_types` and, where there is a plan, exactly its ids; and `notes`, short sentences on what you left out or \
had to guess, if anything.
"""
PLAN_INSTRUCTIONS = f"""{_ABOUT}{_GOOD}
This world is too large for one answer. Answer with its plan: `ids`, which is {{"type": {{"id": "what this \
record is, in at most twelve words: its state, whose it is, what is special"}}}} for every type.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldBrief:
    """All that a model is told of a world that is to be made."""

    tools: list[Json]
    types: JsonObject
    behaviour: str | None
    wishes: str | None
    today: str
    records: int  # of each type
    variation: int  # another one is another world

    def as_json(self) -> JsonObject:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_json(cls, body: Any) -> "WorldBrief":
        return cls(**body)


def parts_of(brief: WorldBrief) -> list[list[str]]:
    """Types that are asked for together; one part of all where they are few, or where nobody named any."""
    parts: list[list[str]] = [[]]
    expected = 0
    for name in brief.types:
        own = expected_tokens(brief, [name])
        if parts[-1] and expected + own > MOST_PART_TOKENS:
            parts.append([])
            expected = 0
        parts[-1].append(name)
        expected += own
    return parts


def expected_tokens(brief: WorldBrief, types: Sequence[str]) -> int:
    """Of an answer with the records of these types."""
    brief_types: Any = brief.types
    a_record = sum(TOKENS_A_RECORD + TOKENS_A_FIELD * _width(brief_types[name]["fields"]) for name in types)
    return brief.records * (a_record or TOKENS_A_RECORD + 10 * TOKENS_A_FIELD)


def _width(told: Any) -> int:
    return sum(1 + _width(one.get("parts", {})) for one in told.values())


def plan_question(brief: WorldBrief) -> ModelQuestion:
    request = "Plan the world."
    return fenced_question(PLAN_VERSION, PLAN_INSTRUCTIONS, request, brief.as_json(), _PLAN)


def plan_problems(data: JsonObject, *, brief: WorldBrief) -> list[Problem]:
    ids: Any = data["ids"]
    found = [*_wrong_types(ids, list(brief.types), "/ids")]
    for kind, own in ids.items():
        found += _count_problems(kind, own, brief, f"/ids/{kind}")
    return found[:MOST_SHOWN]


def part_question(
    brief: WorldBrief, types: Sequence[str], plan: JsonObject | None, earlier: JsonObject
) -> ModelQuestion:
    data = brief.as_json() | {"of_types": [*types], "planned": plan}
    data["earlier"] = shown_records(earlier, most=MOST_WORLD // 2).world["records"]
    return fenced_question(VERSION, INSTRUCTIONS, "Make the records.", data, _PART)


def part_problems(
    data: JsonObject,
    *,
    brief: WorldBrief,
    types: Sequence[str],
    plan: Mapping[str, Any] | None,
    ledger_schema: LedgerSchema | None,
) -> list[Problem]:
    """What keeps an answer from being a part of a world; told to the model, once."""
    found: list[Problem] = []
    world = read_initial_state(data["world"], ledger_schema=ledger_schema, path="/world", problems=found)
    if found:
        return found[:MOST_SHOWN]
    kinds = types_in(world)
    if set(kinds) != set(world):
        found.append(Problem(path="/world", message="holds flags: only records are wanted"))
    found += _wrong_types(kinds, types, "/world")
    for kind, own in kinds.items():
        place = f"/world{pointer([kind])}"
        planned = plan.get(kind) if plan is not None else None
        if planned is not None and set(planned) != set(own):
            found.append(Problem(path=place, message="has other ids than the plan"))
        found += _count_problems(kind, own, brief, place)
    return found[:MOST_SHOWN]


def notes_of(data: JsonObject) -> list[str]:
    notes = data.get("notes")
    listed = notes if isinstance(notes, list) else []
    return [str(note).strip() for note in listed if str(note).strip()]


def _wrong_types(named: Mapping[str, Any], wanted: Sequence[str], path: str) -> list[Problem]:
    if not wanted:
        return [] if named else [Problem(path=path, message="is empty")]
    others = [
        Problem(path=path + pointer([one]), message="was not asked for") for one in named if one not in wanted
    ]
    missing = [Problem(path=path, message=f"has no `{one}`") for one in wanted if not named.get(one)]
    return others + missing


def _count_problems(kind: str, own: Mapping[str, Any], brief: WorldBrief, path: str) -> list[Problem]:
    most = MOST_TIMES_ASKED * brief.records
    if len(own) > most:
        return [Problem(path=path, message=f"has {len(own)} records; about {brief.records} are wanted")]
    return [
        Problem(path=path, message=f"an id of `{kind}` is empty or has over {LONGEST_ID} characters")
        for id in own
        if not id.strip() or len(id) > LONGEST_ID
    ][:1]


_NOTES: JsonObject = {
    "type": "array",
    "items": {"type": "string", "maxLength": LONGEST_NOTE},
    "maxItems": MOST_NOTES,
}
_RECORDS: JsonObject = {"type": "object", "additionalProperties": {"type": "object"}}
_PART: JsonObject = {
    "type": "object",
    "properties": {"world": {"type": "object", "additionalProperties": _RECORDS}, "notes": _NOTES},
    "required": ["world"],
    "additionalProperties": False,
}
_SKETCHES: JsonObject = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 200}}
_PLAN: JsonObject = {
    "type": "object",
    "properties": {"ids": {"type": "object", "additionalProperties": _SKETCHES}},
    "required": ["ids"],
    "additionalProperties": False,
}
