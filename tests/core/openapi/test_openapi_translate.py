"""Documents as tools: names, schemas, bodies, and what is left out."""

import pytest
from openapi_documents import OK, document, found, one_operation, only_tool, request_of

from pipelines.core.limits.json_schema import CompiledSchema
from support.openapi_operations import JSON, body

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
