"""Names, descriptions and limits of the tools that an OpenAPI document becomes."""

import re

import pytest
from openapi_documents import OK, document, found, one_operation, only_tool, request_of

from pipelines.core.limits.json_schema import schema_problems
from pipelines.core.openapi.document import MAX_DOCUMENT_BYTES
from pipelines.core.openapi.translate import LONGEST_DESCRIPTION, LONGEST_PATH, MOST_NOTES, translate
from pipelines.core.text.json_text import InvalidJson, dumps
from pipelines.core.text.problems import Refused
from support.openapi_operations import JSON, body

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,127}")


def test_a_pattern_that_cannot_be_checked_here_is_left_to_the_backend():
    discovery = found(one_operation(method="post", requestBody=body({"type": "string", "pattern": "(?<=a"})))
    assert discovery.tools[0].input_schema["properties"]["body"] == {"type": "string"}
    assert discovery.notes == (
        "POST /x: the pattern `(?<=a` is not supported here; the backend has to check it",
    )


def test_the_answers_that_are_a_success_make_the_output_schema():
    def answer(schema, media_type=JSON):
        return {"description": "", "content": {media_type: {"schema": schema}}}

    text, number = {"type": "string"}, {"type": "number"}
    assert (
        only_tool(one_operation(responses={"200": answer(text), "404": answer(number)})).output_schema == text
    )
    assert only_tool(one_operation(responses={"204": {"description": ""}})).output_schema is None
    assert only_tool(one_operation(responses={"200": answer(text, "text/csv")})).output_schema is None
    both = only_tool(
        one_operation(responses={"200": answer(text), "2XX": answer(number), "201": answer(text)})
    )
    assert both.output_schema == {"anyOf": [text, number]}


def test_an_output_schema_that_cannot_be_used_leaves_the_tool():
    answer = {"description": "", "content": {JSON: {"schema": {"$ref": "http://evil.example/s.json"}}}}
    discovery = found(one_operation(responses={"200": answer}))
    assert discovery.tools[0].output_schema is None
    assert "its output schema is left out" in discovery.notes[0]
    assert (
        "`http://evil.example/s.json`; references outside of the document are not followed"
    ) in discovery.notes[0]


# -- names


def test_names_are_the_operations_own_or_as_near_as_can_be():
    def operation(own):
        return {"responses": OK} | ({"operationId": own} if own is not None else {})

    discovery = found(
        document(
            {
                "/a": {"get": operation("listOrders"), "post": operation("repos/list for-org")},
                "/b/{id}": {"get": operation("listOrders"), "delete": operation(None)},
                "/c": {"get": operation("9lives"), "post": operation("x" * 200), "put": operation("日本")},
                "/d": {"get": operation("repos list/for-org")},
            }
        )
    )
    by_place = {(tool.call["method"], tool.call["path"]): tool.name for tool in discovery.tools}
    assert by_place == {
        ("GET", "/a"): "listOrders",
        ("POST", "/a"): "repos_list_for-org",
        ("GET", "/b/{id}"): "listOrders_get_b_id",
        ("DELETE", "/b/{id}"): "delete_b_id",
        ("GET", "/c"): "_9lives",
        ("POST", "/c"): by_place["POST", "/c"],
        ("PUT", "/c"): "put_c",
        ("GET", "/d"): "repos_list_for-org_get_d",
    }
    assert len(by_place["POST", "/c"]) == 128
    assert all(NAME.fullmatch(name) for name in by_place.values())
    assert [tool.call.get("operation_id") for tool in discovery.tools][:2] == [
        "listOrders",
        "repos/list for-org",
    ]
    why = "an operation whose operationId is not a valid tool name, or is not unique"
    assert f"`repos/list for-org` (POST /a) is `repos_list_for-org`: {why}" in discovery.notes
    assert f"`listOrders` (GET /b/{{id}}) is `listOrders_get_b_id`: {why}" in discovery.notes
    unnamed = "an operation without an operationId, named by method and path"
    assert f"DELETE /b/{{id}} is `delete_b_id`: {unnamed}" in discovery.notes


def test_what_is_left_out_is_told_before_a_thousand_names():
    paths = {f"/{at}": {"get": {"operationId": f"a/{at}", "responses": OK}} for at in range(1_000)}
    paths["/bad"] = {"get": {"operationId": "bad", "parameters": "all"}}
    notes = found(document(paths)).notes
    assert notes[0].startswith("GET /bad: left out: ")
    assert notes[1].startswith(
        "`a/0` (GET /0) is `a_0`: an operation whose operationId is not a valid tool name"
    )
    assert notes[-1].startswith("990 more operations whose operationId is not a valid tool name")
    assert len(notes) == 12


def test_a_document_that_gains_an_operation_keeps_its_names():
    def names(paths):
        made = document({path: {"get": {"operationId": own, "responses": OK}} for path, own in paths.items()})
        return {tool.call["path"]: tool.name for tool in found(made).tools}

    before = names({"/b": "x/y", "/c": "x y"})
    after = names({"/c": "x y", "/0": "x_y_z", "/b": "x/y"})
    assert after == before | {"/0": "x_y_z"}


# -- what is left out


LEFT_OUT = [
    (
        {"parameters": [{"$ref": "http://evil.example/p.json"}]},
        "/paths/~1x/post/parameters/0 refers to `http://evil.example/p.json`",
    ),
    (
        {"parameters": [{"$ref": "file:///etc/passwd"}]},
        "`file:///etc/passwd`; references outside of the document are not followed",
    ),
    (
        {"requestBody": body({"properties": {"a": {"$ref": "other.yaml#/A"}}})},
        "/schema/properties/a: refers to `other.yaml#/A`",
    ),
    (
        {"requestBody": body({"$ref": "#/components/schemas/Gone"})},
        "`#/components/schemas/Gone`, which does not exist",
    ),
    ({"parameters": [{"name": "a", "in": "body"}]}, "`in` one of `path`, `query`, `header`"),
    ({"parameters": [{"name": "a", "in": "query", "style": "matrix"}]}, "has the style `matrix`"),
    ({"parameters": [{"name": "a\r\nb", "in": "header"}]}, "a name that is not allowed in a header"),
    ({"requestBody": body({"type": "tuple"})}, "its input schema is not a valid JSON Schema"),
    ({"requestBody": body({"type": "array", "items": 7})}, "a schema must be a JSON object, not a number"),
    ({"parameters": "all"}, "parameters must be a list"),
]


@pytest.mark.parametrize(("operation", "words"), LEFT_OUT)
def test_an_operation_that_cannot_be_translated_is_named_and_the_others_stay(operation, words):
    made = document(
        {
            "/x": {"post": {"operationId": "bad", "responses": OK, **operation}},
            "/y": {"get": {"operationId": "good", "responses": OK}},
        }
    )
    discovery = found(made)
    assert [tool.name for tool in discovery.tools] == ["good"]
    [note] = discovery.notes
    assert note.startswith("POST /x: left out: ")
    assert words in note


@pytest.mark.parametrize("path", ["x", "/a/../b", "/a?b=c", "/a\\b", "/./a"])
def test_a_path_that_leads_elsewhere_is_left_out(path):
    assert found(one_operation(path)).tools == ()


def test_schemas_that_stand_for_too_much_are_left_out():
    schemas = {f"S{at}": {"allOf": [{"$ref": f"#/components/schemas/S{at + 1}"}] * 2} for at in range(40)}
    schemas["S40"] = {"type": "string"}
    made = one_operation(
        method="post", requestBody=body({"$ref": "#/components/schemas/S0"}), components={"schemas": schemas}
    )
    discovery = found(made)
    assert discovery.tools == ()
    assert "stands for more than 1,000,000 nodes" in discovery.notes[0]


def test_references_that_only_lead_to_references_end():
    parameters = {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}}
    made = one_operation(
        parameters=[{"$ref": "#/components/parameters/a"}], components={"parameters": parameters}
    )
    assert "leads to too many references in a row" in found(made).notes[0]


def test_descriptions_are_bounded():
    tool = only_tool(one_operation(description="x" * 100_000))
    assert len(tool.description) == LONGEST_DESCRIPTION


# -- whole documents


def test_yaml_is_read_as_json_is():
    text = b"""
openapi: 3.1.0
info: {title: Orders, version: "1"}
paths:
  /orders/{id}:
    get:
      operationId: get_order
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
      responses:
        "200": {description: OK}
"""
    [tool] = translate(text).tools
    assert tool.name == "get_order"
    assert schema_problems(tool.input_schema, "", "it") == []


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (97 + at, 97 + at, b",".join([b"*%c" % (96 + at)] * 9)) for at in range(1, 12)
)

NO_DOCUMENTS = [
    (b'{"swagger": "2.0", "paths": {}}', "/swagger is Swagger 2.0; OpenAPI 3.0, 3.1 and 3.2 are supported"),
    (b'{"openapi": "4.0", "paths": {}}', "/openapi is '4.0'"),
    (b"{}", "/openapi is missing"),
    (b'{"openapi": "3.0.0"}', "/paths must be a JSON object with the operations, not null"),
    (b"- a", "it must be a JSON object, not an array"),
    (b"just text", "it must be a JSON object, not a string"),
    (b"\xff\xfe", "it is not UTF-8 text (byte 0)"),
    (BOMB, "anchors and aliases are not part of"),
    (b"openapi: 3.1.0\npaths: " + b"[" * 100 + b"]" * 100, "nested"),
]


@pytest.mark.parametrize(("text", "words"), NO_DOCUMENTS)
def test_what_is_no_document_is_refused(text, words):
    with pytest.raises(Refused) as refused:
        translate(text)
    assert words in refused.value.problems[0].said()


def test_json_that_can_be_read_in_two_ways_is_refused():
    with pytest.raises(InvalidJson, match="twice"):
        translate(b'{"openapi": "3.1.0", "openapi": "3.0.0", "paths": {}}')


def test_a_document_of_fifty_megabytes_is_not_read():
    with pytest.raises(Refused) as refused:
        translate(b" " * (50 * 1024 * 1024))
    assert f"at most {MAX_DOCUMENT_BYTES:,} are allowed" in refused.value.problems[0].message


def test_what_is_found_can_be_registered_and_has_all_that_a_call_needs():
    """Through JSON, as it is stored."""
    from pipelines.core.text.json_text import loads_own
    from pipelines.core.tools.live_tools import DiscoveredTool
    from pipelines.core.tools.tools_schema import parse_tools_schema

    tool = only_tool(one_operation("/o/{id}", requestBody=None))
    again = DiscoveredTool.from_stored(loads_own(dumps(tool.as_json())))
    assert again == tool
    assert request_of(again, id="7").target == "/o/7"
    parse_tools_schema([{"name": tool.name, "input_schema": tool.input_schema}])


# -- what is too large


def test_an_operation_that_takes_too_much_to_describe_is_left_out_and_its_neighbours_are_not():
    wide = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(20_000)}}
    small = {"get": {"operationId": "small", **OK}}
    long = {"get": {"operationId": "long", **OK}}
    paths = {
        "/wide": {"post": {"operationId": "wide", "requestBody": body(wide), **OK}},
        "/" + "x" * LONGEST_PATH: long,
        "/small": small,
    }
    discovery = found(document(paths))
    assert [tool.name for tool in discovery.tools] == ["small"]
    wide_note, long_note = discovery.notes
    assert "POST /wide: left out: its input schema has" in wide_note
    assert f"its path has {LONGEST_PATH + 1:,} characters; at most {LONGEST_PATH:,}" in long_note
    assert len(long_note) < 500


def test_an_answer_that_takes_too_much_to_describe_leaves_the_tool_usable():
    wide = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(20_000)}}
    answers = {"200": {"description": "x", "content": {JSON: {"schema": wide}}}}
    tool = only_tool(one_operation("/wide", "get", responses=answers))
    assert tool.output_schema is None


def test_notes_are_bounded_however_much_there_is_to_say():
    paths = {f"/{at}": {"get": 1} for at in range(MOST_NOTES + 100)}
    assert len(found(document(paths)).notes) <= MOST_NOTES + 20
