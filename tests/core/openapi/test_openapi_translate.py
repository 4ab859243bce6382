"""Documents as tools: names, schemas, bodies, and what is left out."""

import re

import pytest
from openapi_documents import OK, document, found, one_operation, only_tool, request_of

from pipelines.core.limits.json_schema import CompiledSchema, schema_problems
from pipelines.core.openapi.document import MAX_DOCUMENT_BYTES
from pipelines.core.openapi.translate import LONGEST_DESCRIPTION, LONGEST_PATH, MOST_NOTES, translate
from pipelines.core.text.json_text import InvalidJson, dumps
from pipelines.core.text.problems import Refused

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,127}")
JSON = "application/json"


def body(schema, media_type=JSON, *, required=True, **media):
    return {"required": required, "content": {media_type: {"schema": schema, **media}}}


# -- what a tool takes


def test_parameters_and_the_properties_of_a_body_are_arguments():
    tool = only_tool(
        one_operation(
            "/orders/{id}",
            "put",
            parameters=[
                {
                    "name": "id",
                    "in": "path",
                    "required": True,
                    "schema": {"type": "string"},
                    "description": "Whose.",
                },
                {"name": "dry_run", "in": "query", "schema": {"type": "boolean"}},
            ],
            requestBody=body(
                {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
            ),
            summary="Changes an order",
            description="Its status, mostly.",
        )
    )
    assert tool.description == "Changes an order\n\nIts status, mostly."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Whose."},
            "dry_run": {"type": "boolean"},
            "status": {"type": "string"},
        },
        "required": ["id", "status"],
        "additionalProperties": False,
    }
    request = request_of(tool, id="o 1", dry_run=False, status="sent")
    assert (request.method, request.target) == ("PUT", "/orders/o%201?dry_run=false")
    assert (request.headers["Content-Type"], request.body) == (JSON, b'{"status":"sent"}')


def test_equal_names_in_several_places_say_which():
    tool = only_tool(
        one_operation(
            "/o/{id}",
            "post",
            parameters=[
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                {"name": "id", "in": "query", "schema": {"type": "string"}},
                {"name": "id__path", "in": "query", "schema": {"type": "string"}},
            ],
            requestBody=body({"type": "object", "properties": {"id": {"type": "integer"}}}),
        )
    )
    assert list(tool.input_schema["properties"]) == ["id__path_", "id__query", "id__path", "id__body"]
    request = request_of(tool, id__path_="a", id__query="b", id__path="c", id__body=4)
    assert (request.target, request.body) == ("/o/a?id=b&id__path=c", b'{"id":4}')


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "string"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "object", "properties": {"a": {}}, "minProperties": 1},
    ],
)
def test_a_body_that_is_no_plain_object_is_one_argument(schema):
    tool = only_tool(one_operation(method="post", requestBody=body(schema)))
    assert tool.input_schema["properties"] == {"body": schema}
    assert tool.input_schema["required"] == ["body"]
    assert request_of(tool, body=["a"]).body == b'["a"]'


def test_an_open_body_takes_more_than_it_declares_and_a_closed_one_says_what_it_takes():
    properties = {"a": {"type": "string"}}
    open_body = {"type": "object", "properties": properties, "additionalProperties": True}
    tool = only_tool(one_operation(method="post", requestBody=body(open_body)))
    assert request_of(tool, a="x", b=2).body == b'{"a":"x","b":2}'
    tool = only_tool(
        one_operation(method="post", requestBody=body({"type": "object", "properties": properties}))
    )
    with pytest.raises(ValueError, match=r"has no argument `b`; it has `a`"):
        request_of(tool, a="x", b=2)


@pytest.mark.parametrize(("required", "sent"), [(True, b"{}"), (False, None)])
def test_a_body_without_arguments_is_sent_only_where_it_is_required(required, sent):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = only_tool(one_operation(method="post", requestBody=body(schema, required=required)))
    request = request_of(tool)
    assert request.body == sent
    assert ("Content-Type" in request.headers) == required


def test_a_body_of_numbers_and_texts_as_they_are():
    tool = only_tool(one_operation(method="post", requestBody=body({"type": "array"})))
    assert (
        request_of(tool, body=[10**30, 0.1, "é\u2028"]).body
        == '[1000000000000000000000000000000,0.1,"é\u2028"]'.encode()
    )
    with pytest.raises(ValueError, match="`body` has a value that JSON cannot represent"):
        request_of(tool, body=["\ud800"])


def test_json_is_chosen_among_media_types():
    content = {
        "application/xml": {"schema": {"type": "string"}},
        "multipart/form-data": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "application/merge-patch+json": {
            "schema": {"type": "object", "properties": {"b": {"type": "string"}}}
        },
    }
    tool = only_tool(one_operation(method="patch", requestBody={"content": content}))
    request = request_of(tool, b="x")
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert request.body == b'{"b":"x"}'


def test_a_form():
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "place": {"type": "object"},
            "filter": {"type": "object"},
        },
    }
    encoding = {"ids": {"style": "form", "explode": False}, "filter": {"style": "deepObject"}}
    media_type = "application/x-www-form-urlencoded"
    tool = only_tool(one_operation(method="post", requestBody=body(schema, media_type, encoding=encoding)))
    request = request_of(tool, name="a b&", tags=["x", "y"], ids=[1, 2], place={"x": 1}, filter={"a": 1})
    assert request.headers["Content-Type"] == media_type
    assert request.body == b"name=a+b%26&tags=x&tags=y&ids=1,2&place=%7B%22x%22%3A1%7D&filter%5Ba%5D=1"


def test_a_form_of_parts():
    schema = {
        "type": "object",
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "note": {"type": "string"},
            "meta": {"type": "object"},
        },
    }
    encoding = {"file": {"contentType": "image/png, image/jpeg"}}
    tool = only_tool(
        one_operation(method="post", requestBody=body(schema, "multipart/form-data", encoding=encoding))
    )
    assert tool.input_schema["properties"]["file"]["contentEncoding"] == "base64"
    request = request_of(tool, file="iVBORw==", note='é"\r\n', meta={"a": 1})
    head, boundary = request.headers["Content-Type"].split("; boundary=")
    assert head == "multipart/form-data"
    parts = request.body.decode("latin-1").split(f"--{boundary}")
    assert parts[1] == (
        '\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n'
        "Content-Type: image/png\r\n\r\n\x89PNG\r\n"
    )
    assert parts[2] == '\r\nContent-Disposition: form-data; name="note"\r\n\r\n\xc3\xa9"\r\n\r\n'
    assert parts[3].endswith('name="meta"\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n')
    assert parts[4] == "--\r\n"
    assert request_of(tool, file="iVBORw==", note='é"\r\n', meta={"a": 1}) == request
    with pytest.raises(ValueError, match="`file` must be base64"):
        request_of(tool, file="not base64!")


@pytest.mark.parametrize(
    ("media_type", "schema", "argument", "sent"),
    [
        ("text/plain", {"type": "string"}, "héllo", "héllo".encode()),
        ("application/xml", {"type": "object"}, "<a/>", b"<a/>"),
        ("application/octet-stream", {"type": "string", "format": "binary"}, "AAE=", b"\x00\x01"),
        ("image/png", {}, "AAE=", b"\x00\x01"),
        ("*/*", {"type": "object", "additionalProperties": True}, {"a": 1}, b'{"a":1}'),
    ],
)
def test_other_bodies_are_one_argument(media_type, schema, argument, sent):
    tool = only_tool(one_operation(method="post", requestBody=body(schema, media_type)))
    request = request_of(tool, body=argument)
    assert request.body == sent
    assert request.headers["Content-Type"] == ("application/json" if media_type == "*/*" else media_type)


# -- who may be asked what


def test_no_argument_says_who_asks_or_whom():
    names = (
        "Authorization",
        "Host",
        "Cookie",
        "Content-Length",
        "Transfer-Encoding",
        "X-Api-Key",
        "Accept",
        "X-Ok",
    )
    discovery = found(
        one_operation(
            parameters=[
                *({"name": name, "in": "header", "schema": {"type": "string"}} for name in names),
                {"name": "api_key", "in": "query", "schema": {"type": "string"}},
                {"name": "sid", "in": "cookie", "schema": {"type": "string"}},
                {"name": "more", "in": "query", "schema": {"type": "object"}},
            ],
            components={
                "securitySchemes": {
                    "a": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                    "b": {"type": "apiKey", "in": "query", "name": "api_key"},
                    "c": {"type": "apiKey", "in": "cookie", "name": "sid"},
                }
            },
        )
    )
    assert list(discovery.tools[0].input_schema["properties"]) == ["more", "X-Ok"]
    assert any("`X-Api-Key` is for authentication" in note for note in discovery.notes)
    for member in ("api_key",):
        with pytest.raises(ValueError, match="with the names of other parameters: `api_key`"):
            request_of(discovery.tools[0], more={member: "stolen"})


def test_what_the_path_says_and_nobody_declares_is_text():
    discovery = found(
        one_operation(
            "/a/{b}/{c}",
            parameters=[
                {"name": "b", "in": "path", "required": True, "schema": {"type": "integer"}},
                {"name": "gone", "in": "path", "required": True, "schema": {"type": "integer"}},
            ],
        )
    )
    assert discovery.tools[0].input_schema["properties"] == {
        "b": {"type": "integer"},
        "c": {"type": "string"},
    }
    assert discovery.notes == (
        "GET /a/{b}/{c}: the path parameter `gone` is not in the path, so it is left out",
        "GET /a/{b}/{c}: `c` of the path is not declared, so it is taken as text",
    )


def test_parameters_of_a_path_are_replaced_by_the_operations_own():
    item = {
        "parameters": [{"$ref": "#/components/parameters/page"}, {"name": "v", "in": "query", "schema": {}}],
        "get": {
            "operationId": "op",
            "responses": OK,
            "parameters": [{"name": "v", "in": "query", "required": True, "schema": {"type": "string"}}],
        },
    }
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}}
    tool = only_tool(document({"/x": item}, components={"parameters": {"page": page}}))
    assert tool.input_schema["properties"] == {"page": {"type": "integer"}, "v": {"type": "string"}}
    assert tool.input_schema["required"] == ["v"]


# -- schemas


def inputs(schema, version="3.0.3", components=None):
    made = one_operation(
        method="post",
        requestBody=body({"type": "array", "items": schema}),
        version=version,
        components=components,
    )
    whole = only_tool(made).input_schema
    return whole["properties"]["body"]["items"]


THREE_TO_TWENTY_TWENTY = [
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
    (
        {"allOf": [{"type": "string"}], "nullable": True},
        {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]},
    ),
    ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 1}),
    ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, {"type": "number", "maximum": 1}),
    ({"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
    ({"type": "string", "x-thing": 1, "xml": {}, "externalDocs": {}}, {"type": "string"}),
    ({"type": "object", "properties": {"x-real": {}}}, {"type": "object", "properties": {"x-real": {}}}),
]


@pytest.mark.parametrize(("schema", "expected"), THREE_TO_TWENTY_TWENTY)
def test_a_schema_of_3_0_is_one_of_2020_12(schema, expected):
    assert inputs(schema) == expected


def test_a_schema_of_3_1_is_taken_as_it_is():
    schema = {
        "type": ["string", "null"],
        "minLength": 1,
        "if": {"const": "a"},
        "then": {"maxLength": 1},
        "examples": ["a"],
        "exclusiveMinimum": 3,
    }
    assert inputs(schema, version="3.1.0") == schema


def test_what_a_server_sets_is_no_input_and_what_it_is_told_no_output():
    account = {
        "type": "object",
        "required": ["id", "name", "password"],
        "properties": {
            "id": {"$ref": "#/components/schemas/Id"},
            "name": {"type": "string"},
            "password": {"type": "string", "writeOnly": True},
        },
    }
    reference = {"$ref": "#/components/schemas/Account"}
    tool = only_tool(
        one_operation(
            method="post",
            requestBody=body(reference),
            responses={"201": {"description": "Made", "content": {JSON: {"schema": reference}}}},
            components={"schemas": {"Account": account, "Id": {"type": "integer", "readOnly": True}}},
        )
    )
    assert tool.input_schema["required"] == ["name", "password"]
    assert list(tool.input_schema["properties"]) == ["name", "password"]
    assert tool.output_schema["$defs"]["Account"]["required"] == ["id", "name"]
    assert list(tool.output_schema["$defs"]) == ["Account", "Id"]


def test_what_a_base_says_is_read_only_is_not_required_beside_it():
    schema = {"allOf": [{"$ref": "#/components/schemas/Base"}], "required": ["id", "name"]}
    base = {"type": "object", "properties": {"id": {"type": "string", "readOnly": True}}}
    made = inputs(schema, components={"schemas": {"Base": base}})
    assert made["required"] == ["name"]


def test_only_definitions_that_are_needed_come_along_and_loops_stay_loops():
    node = {
        "type": "object",
        "properties": {
            "next": {"$ref": "#/components/schemas/Node"},
            "of": {"$ref": "#/components/schemas/Of"},
        },
    }
    schemas = {"Node": node, "Of": {"type": "string"}, "Unused": {"type": "string"}}
    reference = {"$ref": "#/components/schemas/Node"}
    tool = only_tool(
        one_operation(
            method="post",
            requestBody=body({"type": "array", "items": reference}),
            components={"schemas": schemas},
        )
    )
    assert list(tool.input_schema["$defs"]) == ["Node", "Of"]
    checked = CompiledSchema(tool.input_schema)
    assert checked.accepts({"body": [{"next": {"next": {"of": "a"}}}]})
    assert not checked.accepts({"body": [{"next": {"next": {"of": 1}}}]})


def test_definitions_that_would_share_a_name_do_not():
    schemas = {"a b": {"type": "string"}, "a/b": {"type": "integer"}}
    items = [{"$ref": "#/components/schemas/a%20b"}, {"$ref": "#/components/schemas/a~1b"}]
    tool = only_tool(
        one_operation(method="post", requestBody=body({"anyOf": items}), components={"schemas": schemas})
    )
    assert tool.input_schema["$defs"] == {"a_b": {"type": "string"}, "a_b_2": {"type": "integer"}}


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
