"""What differs between two versions of an agent, and arguments to begin with."""

import pytest

from pipelines.core.results.version_changes import MOST_CHANGES, VersionChange, version_changes
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.example_arguments import example_arguments

GET: JsonObject = {"name": "get", "description": "Get it."}
PUT: JsonObject = {"name": "put", "description": "Put it."}


def test_tools_are_known_by_their_names_and_not_by_their_places() -> None:
    before: JsonObject = {"name": "A", "tools_schema": [GET, PUT]}
    after: JsonObject = {"name": "B", "tools_schema": [PUT | {"description": "Put."}, {"name": "new"}]}
    assert version_changes(before, after) == [
        VersionChange("name", "changed", "A", "B"),
        VersionChange("tools_schema / get", "removed", GET),
        VersionChange("tools_schema / put / description", "changed", "Put it.", "Put."),
        VersionChange("tools_schema / new", "added", None, {"name": "new"}),
    ]
    assert version_changes(before, {"name": "A", "tools_schema": [PUT, GET]}) == []


def test_there_is_an_end_to_what_is_told() -> None:
    many: JsonObject = {str(number): number for number in range(1_000)}
    assert len(version_changes({}, many)) == MOST_CHANGES


WORLD: JsonObject = {"order": {"4521": {}}, "users": {"u-1": {}}, "empty": {}}


@pytest.mark.parametrize(
    ("field", "schema", "value"),
    [
        ("order_id", {"type": "string"}, "4521"),
        ("order_ids", {"type": "array", "items": {"type": "string"}}, ["4521"]),
        ("user_id", {"type": "string"}, "u-1"),
        ("order_id", {"type": "integer"}, 4521),
        ("user_id", {"type": "integer"}, 1),
        ("empty_id", {"type": "string"}, ""),
        ("status", {"enum": ["new", "old"]}, "new"),
        ("limit", {"type": "integer", "minimum": 5}, 5),
        ("limit", {"type": "integer", "default": 20}, 20),
        ("note", {"type": ["string", "null"]}, ""),
        ("odd", True, ""),
        ("deep", {"type": "object", "properties": {"order_id": {"type": "string"}}}, {"order_id": "4521"}),
    ],
)
def test_arguments_begin_with_the_right_types_and_ids_of_the_world(
    field: str, schema: Json, value: Json
) -> None:
    assert example_arguments({"properties": {field: schema}, "required": [field]}, WORLD) == {field: value}


def test_what_is_not_required_is_left_out_unless_nothing_is() -> None:
    fields: JsonObject = {"a": {"type": "string"}, "b": {"type": "boolean"}}
    assert example_arguments({"properties": fields, "required": ["a"]}, {}) == {"a": ""}
    assert example_arguments({"properties": fields}, {}) == {"a": "", "b": True}
    assert example_arguments({}, {}) == {}
