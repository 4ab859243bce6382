"""JSON Schemas of requests that change tasks, datasets and what is written on runs."""

from pipelines.core.tasks.oracle_axes import MOST_NAME
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.uploads import MAX_NAME
from pipelines.engine.runs.annotate_run import LONGEST_COMMENT, LONGEST_LABEL

TASK_ROW: JsonObject = {
    "type": "object",
    "required": ["row"],
    "properties": {"row": {"type": "object", "description": "by the names of the columns of an upload"}},
    "additionalProperties": False,
}
DATASET_NAME: JsonObject = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME}},
    "additionalProperties": False,
}
ANNOTATION: JsonObject = {
    "type": "object",
    "description": "either `comment` or `label`",
    "properties": {
        "comment": {"type": "string", "minLength": 1, "maxLength": LONGEST_COMMENT},
        "label": {"type": "string", "minLength": 1, "maxLength": LONGEST_LABEL},
        "step": {"type": "integer", "minimum": 1, "description": "a sequence of its trace; the whole run"},
        "by": {"type": "string", "minLength": 1, "maxLength": MOST_NAME, "description": "who"},
    },
    "additionalProperties": False,
}
