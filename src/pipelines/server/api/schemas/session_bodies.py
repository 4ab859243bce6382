"""Bodies of seed sessions as the OpenAPI document shows them. The real checks are core's."""

from pipelines.core.models.model_budget import MOST_TOKENS, MOST_USD
from pipelines.core.tasks.seed_session import (
    AUTHORS,
    AXES,
    EMBEDDED,
    LONGEST_BUCKET,
    LONGEST_INSTRUCTIONS,
    LONGEST_NAME,
    LONGEST_PROMPT,
    LONGEST_ROW_TEXT,
    LONGEST_THEME,
    MOST_BUCKETS,
    MOST_RNG_SEED,
    MOST_ROWS,
    SIZES,
    STANDARD,
)
from pipelines.core.text.json_text import JsonObject

_TEXT: JsonObject = {"type": "string"}
_RNG_SEED: JsonObject = {
    "type": "integer",
    "minimum": 0,
    "maximum": MOST_RNG_SEED,
    "description": "the same one gives the same world; left out: one is drawn",
}
_REVISION: JsonObject = {
    "type": "integer",
    "minimum": 1,
    "description": "the one that was looked at; refused with `stale_revision` where there is a later one",
}
_BUDGET: JsonObject = {
    "max_cost_usd": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "maximum": MOST_USD,
        "description": "what it may spend on a model as its author, in dollars",
    },
    "max_model_tokens": {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": MOST_TOKENS,
        "description": "the same in tokens; needed where the model has no known price",
    },
}
_BUCKET: JsonObject = {
    "type": "object",
    "required": ["name", "rows"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_BUCKET},
        "theme": {"type": "string", "maxLength": LONGEST_THEME, "description": "left out: the name"},
        "rows": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS},
    },
    "additionalProperties": False,
}
SEED_SESSION: JsonObject = {
    "type": "object",
    "required": ["agent_id", "name"],
    "properties": {
        "agent_id": {"type": "integer", "minimum": 1},
        "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
        "size": {
            "enum": [*SIZES],
            "default": STANDARD,
            "description": "about 6, 12 or 20 entities of each type",
        },
        "instructions": {
            "type": "string",
            "maxLength": LONGEST_INSTRUCTIONS,
            "description": "what the world should be like, in words",
        },
        "behavior": {"type": "string", "description": "the backend's rules; every row has them"},
        "axes": {
            "type": "array",
            "items": {"enum": [*AXES]},
            "description": "what rows are given; left out: all there is something for",
        },
        "buckets": {
            "type": "array",
            "items": _BUCKET,
            "minItems": 1,
            "maxItems": MOST_BUCKETS,
            "description": f"themes, and how many rows of each, {MOST_ROWS:,} in all; left out: some are"
            " chosen",
        },
        "author": {"enum": [*AUTHORS], "default": EMBEDDED},
        "rng_seed": _RNG_SEED,
        "now": {**_TEXT, "format": "date-time", "description": "in the world; left out: noon today, UTC"},
        **_BUDGET,
    },
    "additionalProperties": False,
}
REFINEMENT: JsonObject = {
    "type": "object",
    "required": ["prompt"],
    "properties": {
        "prompt": {"type": "string", "minLength": 1, "maxLength": LONGEST_PROMPT},
        "revision": _REVISION,
    },
    "additionalProperties": False,
}
REGENERATION: JsonObject = {
    "type": "object",
    "properties": {"rng_seed": _RNG_SEED, "revision": _REVISION},
    "additionalProperties": False,
}
PASTED_WORLD: JsonObject = {
    "type": "object",
    "required": ["state"],
    "properties": {
        "state": {"type": "object", "description": "{entity_type: {id: attributes}}"},
        "revision": _REVISION,
    },
    "additionalProperties": False,
}
RESUMED: JsonObject = {"type": "object", "properties": _BUDGET, "additionalProperties": False}
OF_REVISION: JsonObject = {
    "type": "object",
    "properties": {"revision": _REVISION},
    "additionalProperties": False,
}
ROW_TEXT: JsonObject = {
    "type": "object",
    "required": ["user_instruction"],
    "properties": {
        "user_instruction": {"type": "string", "minLength": 1, "maxLength": LONGEST_ROW_TEXT},
    },
    "additionalProperties": False,
}
