"""T: tool endpoints whose documents, addresses and other fields are made to be costly."""

import json
import time
from collections.abc import Callable
from typing import Any

from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.services import service
from hostile.tenant import MEBIBYTE, Row, Tenant

ENDPOINTS = "/api/tool-endpoints"
NOWHERE = "http://127.0.0.1:9"
INFO: Row = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}}
ANY: Row = {"type": "object"}


def operation(name: str, schema: Row | None = None, **more: Any) -> Row:
    body = {"requestBody": {"content": {"application/json": {"schema": schema}}}} if schema else {}
    return {"operationId": name, "responses": {"200": {"description": "x"}}, **body, **more}


def _document(schema: Row, **more: Any) -> Row:
    return INFO | {"paths": {"/t": {"post": operation("t", schema)}}, **more}


def _operations(count: int, schema: Row, **more: Any) -> Row:
    paths = {f"/t{at}": {"post": operation(f"t{at}", schema, **more)} for at in range(count)}
    return INFO | {"paths": paths}


def _nested(levels: int) -> Row:
    schema: Row = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema, "b": {"type": "string"}}}
    return schema


def _chain(levels: int, word: str) -> Row:
    """Schemas that each name the next one twice."""
    place = "#/components/schemas/d"
    schemas: Row = {f"d{at}": {word: [{"$ref": f"{place}{at + 1}"}] * 2} for at in range(levels)}
    schemas[f"d{levels}"] = {"type": "string"}
    return _document({"$ref": f"{place}0"}, components={"schemas": schemas})


def _shared(count: int, properties: int) -> Row:
    """Operations that all use one large schema: each tool has it whole."""
    large = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(properties)}}
    used = {"$ref": "#/components/schemas/large"}
    return _operations(count, used) | {"components": {"schemas": {"large": large}}}


def _parameters(count: int, place: str) -> Row:
    listed = [
        {"name": f"p{at}", "in": place, "required": place == "path", "schema": {"type": "string"}}
        for at in range(count)
    ]
    path = "/t" + "".join(f"/{{p{at}}}" for at in range(count)) if place == "path" else "/t"
    return INFO | {"paths": {path: {"get": operation("t", parameters=listed)}}}


def _yaml(count: int) -> str:
    """Each anchor names the one before ten times."""
    lines = ["openapi: 3.1.0", "info: {title: t, version: '1'}", "x0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"x{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, count)]
    return "\n".join([*lines, "paths: {}"])


Shape = Callable[[int], Row | str]
#: Each of about so many bytes.
DOCUMENTS: dict[str, Shape] = {
    "many operations": lambda n: _operations(min(n // 150, 5_000), ANY),
    "too many operations": lambda n: _operations(n // 150, ANY),
    "operations of one name": lambda n: (
        INFO | {"paths": {f"/t{at}": {"post": operation("t", ANY)} for at in range(min(n // 150, 5_000))}}
    ),
    "one large schema for all": lambda n: _shared(n // 30_000, 3_000),
    "a schema of many properties": lambda n: _document(
        {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(n // 25)}}
    ),
    "a long enum": lambda n: _document({"type": "object", "properties": {"x": {"enum": [*range(n // 8)]}}}),
    "a deep schema": lambda n: _document(_nested(25)),
    "too deep": lambda n: INFO | {"x": json.loads("[" * 500 + "]" * 500)},
    "many deep schemas": lambda n: _operations(n // 20_000, _nested(20)),
    "a tree of references": lambda n: _chain(25, "allOf"),
    "a tree of alternatives": lambda n: _chain(25, "oneOf"),
    "a circle": lambda n: _document(
        {"$ref": "#/components/schemas/a"},
        components={
            "schemas": {
                "a": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/b"}}},
                "b": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/a"}}},
            }
        },
    ),
    "a chain of references": lambda n: _document(
        {"$ref": "#/components/schemas/d0"},
        components={
            "schemas": {
                f"d{at}": {"properties": {"x": {"$ref": f"#/components/schemas/d{at + 1}"}}}
                for at in range(n // 80)
            }
        },
    ),
    "a long path": lambda n: INFO | {"paths": {"/t" + "/x" * (n // 2): {"get": operation("t")}}},
    "a path of parameters": lambda n: _parameters(n // 120, "path"),
    "query parameters": lambda n: _parameters(n // 110, "query"),
    "headers": lambda n: _parameters(n // 110, "header"),
    "long descriptions": lambda n: _operations(100, ANY, description="d" * (n // 100)),
    "long names": lambda n: (
        INFO | {"paths": {f"/{at}": {"get": operation(f"{at}" + "n" * (n // 20))} for at in range(20)}}
    ),
    "patterns": lambda n: _document(
        {"type": "object", "properties": {f"p{at}": {"pattern": "^(a+)+$" * 20} for at in range(n // 180)}}
    ),
    "many paths without operations": lambda n: INFO | {"paths": {f"/{at}": {} for at in range(n // 12)}},
    "many servers": lambda n: INFO | {"paths": {}, "servers": [{"url": NOWHERE}] * (n // 30)},
    "YAML of anchors": lambda n: _yaml(min(n // 60, 200)),
    "YAML of lines": lambda n: (
        "openapi: 3.1.0\n" + "".join(f"x{at}: [1, {{a: b}}]\n" for at in range(n // 40))
    ),
    "brackets": lambda n: "[" * n,
    "braces of YAML": lambda n: "{a: " * (n // 4),
    "no document": lambda n: "x" * n,
    "blanks": lambda n: " \n" * (n // 2),
    "quotes": lambda n: '"' + "\\u00e9" * (n // 6),
}


def _text(document: Row | str) -> str:
    return document if isinstance(document, str) else json.dumps(document)


def endpoint(name: str, **config: Any) -> Row:
    return {"name": name, "type": "http_openapi", "config": {"base_url": NOWHERE} | config}


def named(what: str) -> str:
    return "".join(x if x.isalnum() else "-" for x in what) + f"-{time.monotonic_ns()}"


def _handle(tenant: Tenant, body: Row, what: str) -> None:
    """Registered, looked at in every way, discovered again, and deleted."""
    reply = tenant.post(ENDPOINTS, body, what=f"register {what}")
    if reply.status != 201:
        return
    path = f"{ENDPOINTS}/{reply.json()['id']}"
    tenant.get(f"{path}/tools?limit=500", what=f"tools of {what}")
    tenant.get(f"{ENDPOINTS}?limit=500", what=f"list with {what}")
    if tenant.is_long:
        tenant.post(f"{path}/discover", {"accept": True}, what=f"discover {what}")
        tenant.ask("PUT", path, {"name": named("again")}, what=f"rename {what}")
        tenant.ask("PUT", path, {"config": body["config"] | {"spec": "{}"}}, what=f"change {what}")
    tenant.ask("DELETE", path, what=f"delete {what}")


@kind("T-documents", seconds=2.0, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def hostile_documents(tenant: Tenant) -> None:
    """OpenAPI documents of every shape, as text."""
    size = tenant.size(1, 15) * MEBIBYTE

    def register(item: tuple[str, Shape]) -> None:
        name, made = item
        _handle(tenant, endpoint(named(name), spec=_text(made(size))), name)

    first = ("one large schema for all", "a schema of many properties", "many deep schemas")
    tenant.together(register, tenant.shuffled(DOCUMENTS, *first), at_once=3)


@kind("T-fetched", seconds=1.5, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def fetched_documents(tenant: Tenant) -> None:
    """The same from a server of the tenant's own."""
    size = tenant.size(1, 15) * MEBIBYTE
    names = [name for name, _ in tenant.shuffled(DOCUMENTS)][:4]
    answers = {f"d{at}": _text(DOCUMENTS[name](size)).encode() for at, name in enumerate(names)}
    with service(answers | {"d9": b"[" * (24 * MEBIBYTE)}) as url:

        def register(at: int) -> None:
            name = names[at] if at < len(names) else "over the limit"
            _handle(tenant, endpoint(named(name), spec_url=f"{url}/d{at}"), f"fetched: {name}")

        tenant.together(register, [*range(len(names)), 9], at_once=3)


def _fields(n: int) -> dict[str, Row]:
    document = _document(ANY)
    made = endpoint("fields", spec=document)
    auth = {"type": "api_key", "credential": "C"}
    return {
        "a document as an object": endpoint("x", spec=DOCUMENTS["a schema of many properties"](n)),
        "values as a document": endpoint("x", spec={"x": [1] * (n // 3)}),
        "a long base_url": made | {"config": {"base_url": NOWHERE + "/a%2e" * (n // 5), "spec": "{}"}},
        "a base_url of dots": made | {"config": {"base_url": NOWHERE + "/.." * (n // 3), "spec": "{}"}},
        "a long host": made | {"config": {"base_url": "http://" + "a." * (n // 2), "spec": "{}"}},
        "a long header": made | {"auth": auth | {"header": "X-" + "a" * n}},
        "a long credential": made | {"auth": auth | {"credential": "C" * n}},
        "a long name": made | {"name": "n" * n},
        "many unknown fields": made | {f"naem{at}": 1 for at in range(min(n // 12, 120_000))},
        "unknown fields of the config": made
        | {"config": {f"bas_url{at}": 1 for at in range(min(n // 15, 120_000))}},
        "a type of many letters": made | {"type": "http_openap" * (n // 11)},
        "many arguments": {
            "name": "x",
            "type": "mcp_server",
            "config": {"command": "true", "args": ["a"] * min(n // 4, 200_000)},
        },
        "many variables": {
            "name": "x",
            "type": "mcp_server",
            "config": {
                "command": "true",
                "env_vars": {f"V{at}": f"C{at}" for at in range(min(n // 20, 100_000))},
            },
        },
        "requirements": {
            "name": "x",
            "type": "code",
            "config": {"source": "def f(): pass", "requirements": ["a[" + "b," * 240] * 200},
        },
        "many requirements": {
            "name": "x",
            "type": "code",
            "config": {"source": "def f(): pass", "requirements": ["a==1"] * min(n // 8, 200_000)},
        },
        "hosts": {
            "name": "x",
            "type": "code",
            "config": {"source": "def f(): pass", "allow_hosts": ["*." + "a." * 240] * min(n // 500, 5_000)},
        },
        "files": {
            "name": "x",
            "type": "code",
            "config": {"files": {f"f{at}.py": "x = 1\n" for at in range(min(n // 20, 60_000))}},
        },
        "functions": {
            "name": "x",
            "type": "code",
            "config": {"source": "def f(): pass", "functions": ["f" * 400] * min(n // 410, 10_000)},
        },
        "a large zip": {"name": "x", "type": "code", "config": {"zip": "UEsD" * (n // 4)}},
    }


@kind("T-fields", seconds=1.0)
def hostile_fields(tenant: Tenant) -> None:
    """Every field as large as a body may be."""
    shapes = _fields(tenant.size(2, 6) * MEBIBYTE)
    tenant.together(
        lambda item: tenant.post(ENDPOINTS, item[1], what=f"endpoint with {item[0]}"),
        tenant.shuffled(shapes, "many unknown fields", "requirements", "many variables"),
        at_once=3,
    )
