"""Bodies of the review queue as the OpenAPI document shows them. The real checks are core's."""

from pipelines.core.evals.reviews.review import MOST_REVIEWERS, Verdict
from pipelines.core.evals.reviews.review_requests import (
    MOST_AT_ONCE,
    MOST_LABEL,
    MOST_LABELS,
    MOST_NAME,
    MOST_NOTE,
    MOST_RUNS,
)
from pipelines.core.text.json_text import JsonObject

_NAME: JsonObject = {"type": "string", "minLength": 1, "maxLength": MOST_NAME}
_NOTE: JsonObject = {"type": "string", "maxLength": MOST_NOTE}
_WANTED: JsonObject = {"type": "integer", "minimum": 1, "maximum": MOST_REVIEWERS}
_SAID: JsonObject = {
    "verdict": {
        "enum": [verdict.value for verdict in Verdict],
        "description": "of a shift: all but PASS and FAIL; of an ordinary run: PASS or FAIL",
    },
    "note": _NOTE,
    "labels": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MOST_LABEL},
        "maxItems": MOST_LABELS,
    },
    "runs": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_RUNS,
        "description": "needs_more_runs: how many; without it, as many as would decide the cell",
    },
    "expected_behavior": {
        "type": "object",
        "description": "acceptable_shift: what is expected from now on; without it, what was seen",
    },
}
VERDICT: JsonObject = {
    "type": "object",
    "required": ["verdict"],
    "properties": {**_SAID, "reviewer": _NAME},
    "additionalProperties": False,
}
RUN_VERDICT: JsonObject = {
    "type": "object",
    "required": ["verdict"],
    "properties": {
        "verdict": {"enum": [Verdict.PASS.value, Verdict.FAIL.value]},
        "note": _NOTE,
        "labels": _SAID["labels"],
        "reviewer": _NAME,
        "again": {"type": "boolean", "description": "also where it has been decided"},
    },
    "additionalProperties": False,
}
WHO: JsonObject = {"type": "object", "properties": {"reviewer": _NAME}, "additionalProperties": False}
REOPEN: JsonObject = {
    "type": "object",
    "properties": {"reviewer": _NAME, "note": _NOTE},
    "additionalProperties": False,
}
_OPENED: JsonObject = {
    "note": _NOTE,
    "reviewer": _NAME,
    "reviewers_wanted": _WANTED,
    "blind": {"type": "boolean"},
}
OPENING: JsonObject = {
    "oneOf": [
        {
            "type": "object",
            "description": "a run",
            "required": ["run_id"],
            "properties": {"run_id": {"type": "integer", "minimum": 1}, **_OPENED},
            "additionalProperties": False,
        },
        {
            "type": "object",
            "description": "a cell; without `matrix_id`, of the newest matrix that has it",
            "required": ["scenario_id", "variation"],
            "properties": {"scenario_id": _NAME, "variation": _NAME, "matrix_id": _NAME, **_OPENED},
            "additionalProperties": False,
        },
    ]
}
BULK: JsonObject = {
    "type": "object",
    "required": ["action", "ids"],
    "properties": {
        "action": {"enum": ["claim", "release", "verdict"]},
        "ids": {"type": "array", "items": _NAME, "minItems": 1, "maxItems": MOST_AT_ONCE},
        **_SAID,
        "reviewer": _NAME,
    },
    "additionalProperties": False,
}
SETTINGS: JsonObject = {
    "type": "object",
    "properties": {
        "reviewers_wanted": _WANTED,
        "blind": {"type": "boolean"},
        "audit_share": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "additionalProperties": False,
}
