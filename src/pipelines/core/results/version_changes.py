"""What one version of an agent has that another has not: by its fields, and of its tools by their names."""

from itertools import islice
from typing import Literal, NamedTuple

from pipelines.core.endpoints.endpoint_drift import value_differences
from pipelines.core.text.json_text import Json, JsonObject

MOST_CHANGES = 200


class VersionChange(NamedTuple):
    place: str  # tools_schema / refund_order / description
    kind: Literal["added", "changed", "removed"]
    before: Json = None
    after: Json = None


def version_changes(before: JsonObject, after: JsonObject) -> list[VersionChange]:
    """At most MOST_CHANGES; both as `AgentDefinition.as_stored` has them."""
    found = value_differences(_by_name(before), _by_name(after), ())
    return [_read(one) for one in islice(found, MOST_CHANGES)]


def _by_name(definition: JsonObject) -> JsonObject:
    """Tools that moved are the same tools."""
    tools = definition.get("tools_schema")
    if not isinstance(tools, list):
        return definition
    named: JsonObject = {str(tool["name"]): tool for tool in tools if isinstance(tool, dict)}
    return definition | {"tools_schema": named}


def _read(found: JsonObject) -> VersionChange:
    place = str(found["path"]).removeprefix("/").replace("/", " / ").replace("~1", "/").replace("~0", "~")
    if "after" not in found:
        return VersionChange(place, "removed", found["before"])
    if "before" not in found:
        return VersionChange(place, "added", None, found["after"])
    return VersionChange(place, "changed", found["before"], found["after"])
