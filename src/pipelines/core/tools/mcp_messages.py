"""A run's tools over the Model Context Protocol: parses requests and builds results.

Two eras, told apart message by message. Up to 2025-11-25 a client shakes hands (`initialize`) and may name a
session; from 2026-07-28 on each request carries its version and its client. Here nothing is kept between two
messages: a run's state belongs to its token, and the session is named after the client, so that it can be
read off it again.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.tools.tools_schema import Tool

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
SERVER_NAME = "pipelines-odyssey"
CACHE_MS = (
    60_000  # a run's tools never change; this only keeps a client from holding on to a run that is over
)
MAX_BATCH = 50  # messages in one body, as 2025-03-26 allows: each may be a call
MAX_CLIENT = 100  # characters of a client's name that are kept

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
REFUSED = -32050  # the run's proxy refused: it has ended, its rate is exceeded …; `data.code` says which

_META = "io.modelcontextprotocol/"
#: Of the errors that a client of the later era meets with another status than 200.
_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
_ALWAYS_STATUS = (PARSE_ERROR, INVALID_REQUEST)  # there is no id by which a client could find its request

RequestId: TypeAlias = str | int | None


class ProtocolHeaders(NamedTuple):
    """The headers that speak of the protocol, "" where there are none."""

    version: str = ""
    method: str = ""
    name: str = ""
    session: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class McpRequest:
    id: RequestId
    method: str
    params: JsonObject
    is_stateless: bool  # of the later era
    client: str | None  # name and version, as the client tells them


class McpError(Exception):
    """A JSON-RPC error as the answer to a request."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        data: Json = None,
        id: RequestId = None,
        is_stateless: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.id = id
        self.is_stateless = is_stateless

    @property
    def http_status(self) -> int:
        return _STATUS.get(self.code, 200) if self.is_stateless or self.code in _ALWAYS_STATUS else 200

    def as_json(self) -> JsonObject:
        error: JsonObject = {"code": self.code, "message": str(self)}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


# -- reading


def read_request(message: Json, sent: ProtocolHeaders) -> McpRequest | None:
    """The request, or None for what is not answered: a notification, or an answer."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise McpError(INVALID_REQUEST, 'A message must be a JSON object with "jsonrpc": "2.0".')
    method = message.get("method")
    if "id" not in message or (method is None and ("result" in message or "error" in message)):
        return None
    id = message["id"]
    if isinstance(id, bool) or not isinstance(id, (str, int)):
        raise McpError(INVALID_REQUEST, "The id of a request must be a string or an integer.")
    params = message.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        raise McpError(INVALID_REQUEST, "A request needs `method`, a string, and `params`, an object.", id=id)
    meta = params.get("_meta")
    version = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
    if version is None and sent.version not in STATELESS_VERSIONS:
        return McpRequest(
            id=id, method=method, params=params, is_stateless=False, client=client_of(sent.session)
        )
    assert meta is None or isinstance(meta, dict)
    _check_stateless(id, method, params, version, sent)
    return McpRequest(
        id=id,
        method=method,
        params=params,
        is_stateless=True,
        client=_client_name(meta.get(f"{_META}clientInfo") if meta else None),
    )


def _check_stateless(
    id: RequestId, method: str, params: JsonObject, version: Json, sent: ProtocolHeaders
) -> None:
    """A request of the later era says the same in its headers as in its body."""

    def refuse(code: int, message: str, data: Json = None) -> McpError:
        return McpError(code, message, data=data, id=id, is_stateless=True)

    if not isinstance(version, str):
        raise refuse(INVALID_PARAMS, f"params._meta has no {_META}protocolVersion.")
    if sent.version and sent.version != version:
        raise refuse(
            HEADER_MISMATCH, f"The header says version {sent.version[:40]}, the body {version[:40]}."
        )
    if sent.method and sent.method != method:
        raise refuse(
            HEADER_MISMATCH, f"The header Mcp-Method says {sent.method[:80]}, the body {method[:80]}."
        )
    name = params.get("name")
    if method == "tools/call" and sent.name and isinstance(name, str) and _header_text(sent.name) != name:
        raise refuse(HEADER_MISMATCH, "The header Mcp-Name is not the name of the tool in the body.")
    if version not in STATELESS_VERSIONS:
        supported: Json = [*HANDSHAKE_VERSIONS, *STATELESS_VERSIONS]
        data: Json = {"supported": supported, "requested": version[:40]}
        raise refuse(UNSUPPORTED_VERSION, f"Protocol version {version[:40]} is not supported.", data)


def _header_text(value: str) -> str:
    """A header that ASCII could not carry comes as =?base64?…?=."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value


def called_tool(request: McpRequest) -> tuple[str, JsonObject]:
    name, arguments = request.params.get("name"), request.params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, (dict, type(None))):
        raise error_of(
            request, INVALID_PARAMS, "tools/call needs `name`, a string, and `arguments`, an object."
        )
    return name, arguments or {}


def error_of(request: McpRequest, code: int, message: str, data: Json = None) -> McpError:
    return McpError(code, message, data=data, id=request.id, is_stateless=request.is_stateless)


# -- the client's name


def session_of(client: str | None) -> str:
    """What an answer to `initialize` names the session: the client's name in another writing."""
    return base64.urlsafe_b64encode((client or "-").encode()).decode().rstrip("=")


def client_of(session: str) -> str | None:
    if not session or len(session) > 8 * MAX_CLIENT:
        return None
    try:
        name = base64.urlsafe_b64decode(session + "=" * (-len(session) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    return _cut(name) if name != "-" else None


def _client_name(info: Json) -> str | None:
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return None
    version = info.get("version")
    return _cut(f"{info['name']} {version}" if isinstance(version, str) and version else str(info["name"]))


def _cut(name: str) -> str | None:
    return "".join(each if each.isprintable() else " " for each in name[:MAX_CLIENT]).strip() or None


# -- answering


def result_of(request: McpRequest, result: JsonObject, *, is_kept: bool = False) -> JsonObject:
    """`is_kept`: the client may keep it for a while."""
    if request.is_stateless:
        result |= {"resultType": "complete"}
        result |= {"ttlMs": CACHE_MS, "cacheScope": "private"} if is_kept else {}
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


class InitializeResult(NamedTuple):
    answer: JsonObject
    session: str


def initialize_result(request: McpRequest, server_version: str) -> InitializeResult:
    """The client's version where it is known here, else the newest that shakes hands."""
    requested = request.params.get("protocolVersion")
    version = requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
    answer = result_of(
        request,
        {
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": SERVER_NAME, "version": server_version},
        },
    )
    return InitializeResult(answer, session_of(_client_name(request.params.get("clientInfo"))))


def discovery_result(request: McpRequest, server_version: str) -> JsonObject:
    info: Json = {"name": SERVER_NAME, "version": server_version}
    versions: Json = [*HANDSHAKE_VERSIONS, *STATELESS_VERSIONS]
    return result_of(
        request,
        {
            "supportedVersions": versions,
            "capabilities": {"tools": {}},
            "serverInfo": info,
            "_meta": {f"{_META}serverInfo": info},
        },
        is_kept=True,
    )


def tools_list_result(request: McpRequest, tools: Iterable[Tool]) -> JsonObject:
    """All tools in their declared order: another one would break clients' prompt caches."""
    entries: list[Json] = [_tool_entry(tool) for tool in tools]
    return result_of(request, {"tools": entries}, is_kept=True)


def _tool_entry(tool: Tool) -> JsonObject:
    entry: JsonObject = {"name": tool.name, "inputSchema": _as_object(tool.input_schema)}
    if tool.description:
        entry["description"] = tool.description
    # Clients refuse an output schema whose root is not an object, and results without one where there is.
    if tool.output_schema is not None and tool.output_schema.get("type") == "object":
        entry["outputSchema"] = tool.output_schema
    if tool.annotations is not None:
        entry["annotations"] = tool.annotations.as_json()
    return entry


def _as_object(schema: JsonObject) -> JsonObject:
    return schema if schema.get("type") == "object" else schema | {"type": "object"}


def tool_result(request: McpRequest, response: Json, *, is_error: bool) -> JsonObject:
    """The whole answer as text, a text as it is; an object as structured content too."""
    text = response if isinstance(response, str) else dumps(response).decode()
    result: JsonObject = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if isinstance(response, dict) and not is_error:
        result["structuredContent"] = response
    return result_of(request, result)


def header_values(pairs: Iterable[tuple[bytes, bytes]]) -> ProtocolHeaders:
    found: Mapping[bytes, str] = {
        name: value.decode("latin-1").strip() for name, value in pairs if name.startswith(b"mcp-")
    }
    return ProtocolHeaders(
        version=found.get(b"mcp-protocol-version", ""),
        method=found.get(b"mcp-method", ""),
        name=found.get(b"mcp-name", ""),
        session=found.get(b"mcp-session-id", ""),
    )
