"""The OpenAPI document: the management API as FastAPI sees it, and the proxy, which is not FastAPI's."""

import asyncio
from typing import Any

from fastapi import FastAPI

from pipelines.core.json_text import dumps
from pipelines.server import docs_page
from pipelines.server.tokens import takes_tokens
from pipelines.wire.names import (
    HEADER_ACTOR_ID,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_RUN_TOKEN,
    OTLP_TRACES,
    PROXY_BASE,
    TraceEventType,
)

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "detail": {"type": "string", "description": "the message again; under /api/v1 only"},
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "details": {},
                "retryable": {"type": "boolean"},
            },
        },
    },
}
_JSON_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
_EVERYWHERE = {
    "400": "The request cannot be read.",
    "401": "Who is asking is not known.",
    "403": "The key's role does not allow it.",
    "404": "Not there, or another org's.",
    "409": "Not in the present state.",
    "413": "The body is over the limit.",
    "415": "Not a kind of body this takes.",
    "422": "Read, understood and wrong: details list every problem.",
    "503": "Could not be stored; worth a retry.",
}
_PROXY_ONLY = {"429": "Too many calls; Retry-After says how long to wait.", "502": "Could not be simulated."}


def install(app: FastAPI) -> None:
    def document() -> dict[str, Any]:
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


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Error"] = _ERROR
    components["securitySchemes"] = {
        "api_key": {"type": "http", "scheme": "bearer", "description": "pk_live_…"},
        "api_key_header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "run_token": {"type": "http", "scheme": "bearer", "description": "the token of one run"},
        "run_token_header": {"type": "apiKey", "in": "header", "name": HEADER_RUN_TOKEN},
    }
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path.startswith("/api/") or path == OTLP_TRACES:
                operation["security"] = [{"api_key": []}, {"api_key_header": []}]
                if takes_tokens(path):
                    operation["security"].append({"token": []})
                _add_errors(operation, _EVERYWHERE)
    for base, parameters in (
        (PROXY_BASE, []),
        (f"{PROXY_BASE}/runs/{{jti}}", [_path_parameter("jti")]),
    ):
        for path, operations in _proxy_paths(base, parameters).items():
            document["paths"][path] = operations
    return document


def _proxy_paths(base: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    actor = _header(HEADER_ACTOR_ID, "which sub-agent is acting")
    once = _header(HEADER_IDEMPOTENCY_KEY, "a retry with the same key gets the first reply")
    kinds = list(TraceEventType)
    return {
        f"{base}/tools": {
            "get": _operation("The run's tools.", parameters),
        },
        f"{base}/tools/{{tool_name}}": {
            "post": _operation(
                "One tool call: the body is the arguments object. Errors of the simulated backend and"
                " injected failures answer with their own status.",
                [*parameters, _path_parameter("tool_name"), actor, once],
                body=True,
                extra={"default": "what the tool answered"},
            ),
        },
        f"{base}/traces/{{event_type}}": {
            "post": _operation(
                "What the agent reports about itself; `__occurred_at` (ISO-8601) orders it.",
                [*parameters, _path_parameter("event_type", enum=[kind.value for kind in kinds]), actor],
                body=True,
            ),
        },
    }


def _operation(
    summary: str,
    parameters: list[dict[str, Any]],
    *,
    body: bool = False,
    extra: dict[str, str] | None = None,
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "tags": ["proxy"],
        "summary": summary,
        "parameters": parameters,
        "security": [{"run_token": []}, {"run_token_header": []}],
        "responses": {"200": {"description": "OK", "content": {"application/json": {}}}},
    }
    for status, text in (extra or {}).items():
        operation["responses"][status] = {"description": text}
    _add_errors(operation, _EVERYWHERE | _PROXY_ONLY)
    if body:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    return operation


def _add_errors(operation: dict[str, Any], statuses: dict[str, str]) -> None:
    operation["responses"].pop("422", None)
    for status, text in statuses.items():
        operation["responses"].setdefault(status, {"description": text, "content": _JSON_ERROR})


def _path_parameter(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", **schema}}


def _header(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": description,
        "schema": {"type": "string"},
    }
