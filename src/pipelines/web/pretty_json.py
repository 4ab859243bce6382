"""JSON as people edit it: short objects and lists in one line, the rest one below the other."""

import json

from pipelines.core.text.json_text import Json

LINE = 88


def pretty_json(value: Json, indent: int = 0) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= LINE or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [
            f"{inner}{json.dumps(name, ensure_ascii=False)}: {pretty_json(part, indent + 2)}"
            for name, part in value.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    items = [f"{inner}{pretty_json(part, indent + 2)}" for part in value]
    return "[\n" + ",\n".join(items) + "\n" + " " * indent + "]"
