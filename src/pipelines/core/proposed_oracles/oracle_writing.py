"""Writes a proposed oracle: paths as authors write them, and values that leave an agent its own
wording."""

import re
from collections.abc import Sequence

from pipelines.core.matchers.matcher_form import words
from pipelines.core.text.json_text import Json, JsonObject, pointer, same

UNCHANGED: JsonObject = {"unchanged": True}
_PLAIN = re.compile(r"[^\s./\[\]\"~]+")
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(:\d{2})?(\.\d+)?(Z|\+00:00)?")
_SIMILAR = 0.5  # by so much the words of a free text may differ: an agent may put it in its own


def path_key(*parts: str) -> str:
    """`order.4521.status`; a JSON Pointer where a part could be read otherwise."""
    return ".".join(parts) if all(_PLAIN.fullmatch(part) for part in parts) else pointer(parts)


def expectation_for(value: Json, arguments: Sequence[Json]) -> Json:
    """What an agent must come to: exactly this, except where the request leaves it the wording."""
    if not isinstance(value, str) or not any(same(value, each) for each in arguments):
        return value
    moment = _MOMENT.fullmatch(value)
    if moment is not None:
        return {"$regex": f"^{moment[1]}[T ]{moment[2]}"}
    if len(value.split()) > 3 and words(value):
        return {"$similar": {"text": value, "max_distance": _SIMILAR}}
    return value
