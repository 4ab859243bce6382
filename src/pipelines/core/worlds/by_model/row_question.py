"""Asking a model for rows: requests of one theme over the frozen world, each with the calls that serve it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pipelines.core.models.model_question import ModelQuestion
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.worlds.by_model.prompt_data import fenced_question

#: Changes with every change of the text below: answers are kept under it.
VERSION = "rows/1"
MOST_ROWS = 10  # of one answer: what is lost by an answer that cannot be used
MOST_CALLS = 12  # of one row
LONGEST_TEXT = 2_000
MOST_EARLIER, MOST_REJECTED = 60, 20  # that are told
MOST_NOTES, LONGEST_NOTE = 5, 500
REFUSAL_AXIS, FAILURE_AXIS = "expected_outcome", "failure_rules"

INSTRUCTIONS = f"""\
You write requests that users send to a software agent, to test it. All of them are asked of one backend, \
whose data you are shown. You get one JSON object:
- bucket: the theme that all rows of this answer are about, in its author's words
- rows: how many are wanted
- tools: what the agent can call; not_usable: tools that no row may call, with the reason
- world.records: the data, by type and id; today: the moment it is there
- behaviour: rules that the backend enforces; may be null. Users do not know them.
- earlier: what is asked in other rows already: ask something else
- rejected: drafts of yours that could not be used, with the reason: do not make the same mistake again
- axes: what rows may have

Answer with one JSON object: `rows`, and `notes` with short sentences on what could not be done, if \
anything. Each row has:
- user_instruction: what the user writes, in the user's own words, as people do: never a tool's name, never \
a field's name, never a value that only the backend would know, such as the state that a record will have. \
Whatever the agent cannot look up stands in it: which record is meant (its id, or what finds it), amounts, \
dates, new values, the wording of a message. It names no record that the request is not about.
- expected_outcome: "completion" where the backend does what is asked; "refusal" where it must not be done, \
since the backend refuses the call with an error, or a rule of `behaviour` forbids it.
- reference_calls: the calls that a perfect agent makes, in order, with their arguments in full. Every id in \
them stands in user_instruction, or in the reply to an earlier call. For a refusal: the calls up to and with \
the one that is refused, and none that changes anything. At most {MOST_CALLS}.
- failure_rules: [] for most rows; where the theme is a backend in trouble, rules by which it fails for \
a while: {{"trigger": "after_n_calls", "tool", "n": 1, "duration": 1, "error": {{"code": 503, \
"message": "…"}}}} makes the calls of that tool from number `n` on fail, `duration` of them. The reference \
calls then repeat the call until it succeeds.
- expected_state: what the records must hold afterwards, as {{"order.o-1.status": "cancelled"}} or \
{{"/order/o-1/status": "cancelled"}}; null where nothing changes.

Every row is tried on the backend: its calls are made, and what you expect must come of them. A row that \
fails is thrown away. Rows differ in tool, in record and in wording.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsBrief:
    """All that a model is told of rows that are wanted."""

    bucket: JsonObject  # name and theme
    rows: int
    tools: list[Json]
    not_usable: JsonObject
    behaviour: str | None
    today: str
    axes: list[Json]
    world: JsonObject
    earlier: list[Json]
    rejected: list[Json]
    variation: int  # another one is another set of rows

    def as_json(self) -> JsonObject:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_json(cls, body: Any) -> "RowsBrief":
        return cls(**body)


def rows_question(brief: RowsBrief) -> ModelQuestion:
    schema = rows_schema([str(axis) for axis in brief.axes])
    return fenced_question(VERSION, INSTRUCTIONS, "Write the rows.", brief.as_json(), schema)


def rows_schema(axes: Collection[str]) -> JsonObject:
    """An axis that is off leaves no room for what it would fill."""
    outcomes: list[Json] = ["completion", "refusal"] if REFUSAL_AXIS in axes else ["completion"]
    row: JsonObject = {
        "type": "object",
        "properties": {
            "user_instruction": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT},
            "expected_outcome": {"enum": outcomes},
            "reference_calls": {"type": "array", "items": _CALL, "maxItems": MOST_CALLS},
            "failure_rules": {
                "type": "array",
                "items": {"type": "object"},
                "maxItems": 3 if FAILURE_AXIS in axes else 0,
            },
            "expected_state": {"type": ["object", "null"]},
        },
        "required": ["user_instruction", "expected_outcome", "reference_calls"],
        "additionalProperties": False,
    }
    notes: JsonObject = {"type": "string", "maxLength": LONGEST_NOTE}
    return {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": row, "maxItems": MOST_ROWS},
            "notes": {"type": "array", "items": notes, "maxItems": MOST_NOTES},
        },
        "required": ["rows"],
        "additionalProperties": False,
    }


def rows_problems(data: JsonObject, *, tools: Sequence[str]) -> list[Problem]:
    """Only what makes the whole answer useless is told to the model: single rows are proved, or rejected."""
    rows: Any = data["rows"]
    known = set(tools)
    called = [call["tool"] for row in rows for call in row["reference_calls"]]
    if rows and not any(name in known for name in called):
        return [Problem(path="/rows", message="no row calls a tool that there is")]
    return []


_CALL: JsonObject = {
    "type": "object",
    "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
