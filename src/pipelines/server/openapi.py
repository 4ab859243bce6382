"""The OpenAPI document: parameters and bodies from FastAPI, names and answers from `document/`.

It is built at the first request for it. It only documents: requests are not validated with it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from pipelines.core.text.json_text import dumps
from pipelines.server import docs_page
from pipelines.server.tokens import takes_tokens
from pipelines.wire.names import API_V1, HEADER_RUN_TOKEN, OTLP_TRACES, PROXY_BASE

Described = dict[str, Any]
_EVERYWHERE = {
    "400": "The request cannot be read.",
    "401": "Who is asking is not known.",
    "403": "The key's role does not allow it.",
    "404": "Not there, or another org's.",
    "409": "Not in the present state.",
    "422": "Read, understood and wrong: details list every problem.",
    "503": "Could not be stored; worth a retry.",
}
_WITH_BODY = {"413": "The body is over the limit.", "415": "Not a kind of body this takes."}
_PROXY_ONLY = {"429": "Too many calls; Retry-After says how long to wait.", "502": "Could not be simulated."}
_UNASKED = {"/metrics": {"401": "A key is needed here."}, "/health/ready": {"503": "Not ready, and why."}}
_SECURITY_SCHEMES = {
    "api_key": {"type": "http", "scheme": "bearer", "description": "pk_live_…"},
    "api_key_header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    "run_token": {"type": "http", "scheme": "bearer", "description": "the token of one run"},
    "run_token_header": {"type": "apiKey", "in": "header", "name": HEADER_RUN_TOKEN},
}
_RETRY_AFTER = {"Retry-After": {"description": "whole seconds", "schema": {"type": "integer"}}}


def install(app: FastAPI) -> None:
    def document() -> Described:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(FastAPI.openapi(app))
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way to extend it


class Written:
    """The document as it is sent: made once, beside the loop, since it takes a while and anybody may ask."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._making = asyncio.Lock()
        self._made: tuple[bytes, bytes] | None = None

    async def document(self) -> bytes:
        return (await self._both())[0]

    async def page(self) -> bytes:
        return (await self._both())[1]

    async def _both(self) -> tuple[bytes, bytes]:
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
        return self._made

    def _make(self) -> tuple[bytes, bytes]:
        document = self._app.openapi()
        return dumps(document), docs_page.render(document).encode()


def _complete(document: Described) -> Described:
    from pipelines.server.document import answers, proxy

    document["tags"] = [{"name": name, "description": about} for name, about in answers.TAGS.items()]
    document["paths"] |= proxy.paths()
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):  # errors are told in our own shape
        schemas.pop(name, None)
    schemas |= {name: {"title": name, **schema} for name, schema in _objects(answers.SCHEMAS)}
    document["components"]["securitySchemes"] = _SECURITY_SCHEMES
    known = {(operation.method.lower(), operation.path): operation for operation in answers.OPERATIONS}
    for path, operations in document["paths"].items():
        for method, described in operations.items():
            operation = known.get((method, path))
            if operation is not None:
                described["operationId"] = operation.id
                described["responses"] = {
                    str(status): _answer(operation.id, status, content, answers.examples())
                    for status, content in operation.answers.items()
                }
            described.setdefault("description", described["summary"])
            _secure(path, described)
            _add_errors(path, described)
            if path in proxy.CALLS:
                _add_tool_failures(described, proxy.SOURCE_HEADER)
            if path in proxy.MCP:
                _add_mcp_failures(described)
    return document


def _objects(schemas: Described) -> list[tuple[str, Described]]:
    return sorted(schemas.items())


def _answer(name: str, status: int, answered: Any, examples: Described) -> Described:
    from pipelines.server.document.answers import example_name
    from pipelines.server.document.derived import schema_of

    if answered is None:
        return {"description": "Done."}
    if not isinstance(answered, Mapping):
        answered = {"application/json": answered}
    content = {kind: {"schema": schema_of(schema)} for kind, schema in answered.items()}
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        content["application/json"]["example"] = examples[example_name(f"{name} {status}", schema)]
    return {"description": _SAID.get(status, "OK"), "content": content}


def _add_mcp_failures(described: Described) -> None:
    """What is no message, or of no known version, is told in the protocol's own words."""
    either = [{"$ref": f"#/components/schemas/{name}"} for name in ("McpAnswer", "ErrorAnswer")]
    for status in ("400", "404"):
        described["responses"][status]["content"] = {"application/json": {"schema": {"anyOf": either}}}


_SAID = {200: "OK", 201: "Made.", 202: "Asked for: it goes on by itself."}


def _secure(path: str, described: Described) -> None:
    if path.startswith(PROXY_BASE):
        described["security"] = [{"run_token": []}, {"run_token_header": []}]
    elif path.startswith("/api/") or path == OTLP_TRACES:
        described["security"] = [{"api_key": []}, {"api_key_header": []}]
        if takes_tokens(path):
            described["security"].append({"token": []})


def _add_errors(path: str, described: Described) -> None:
    described["responses"].pop("422", None)
    statuses = _UNASKED.get(path, {})
    if "security" in described:
        statuses = _EVERYWHERE | (_WITH_BODY if "requestBody" in described else {})
    if path.startswith(PROXY_BASE):
        statuses = statuses | _PROXY_ONLY
    name = "ErrorAnswerWithDetail" if path.startswith(API_V1) else "ErrorAnswer"
    for status in sorted(statuses):
        description: Described = {"description": statuses[status]}
        description |= {"headers": _RETRY_AFTER} if status in ("429", "503") else {}
        description["content"] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
        described["responses"].setdefault(status, description)


def _add_tool_failures(described: Described, source: Described) -> None:
    """A failure rule, or a plan, may answer with any status; what it says is in the tool's own reply."""
    failure = {"application/json": {"schema": {"$ref": "#/components/schemas/ToolFailure"}}}
    for status, response in described["responses"].items():
        response["headers"] = {**response.get("headers", {}), **source}
        if status != "200":
            response["content"] = failure
    description = "What the tool answered with a status of its own."
    described["responses"]["default"] = {"description": description, "headers": source, "content": failure}
