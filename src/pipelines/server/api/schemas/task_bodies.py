"""JSON Schemas of requests that change tasks, datasets and what is written on runs."""

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.uploads import MAX_NAME

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
