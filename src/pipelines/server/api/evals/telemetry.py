"""Telemetry in: OTLP over HTTP as every SDK and collector sends it, and a plain list of spans."""

from typing import Any, Literal

from fastapi import APIRouter, Request, Response

from pipelines.core.evals.telemetry.otlp import Encoding, export_response
from pipelines.core.text.json_text import InvalidJson, JsonObject
from pipelines.engine.evals.ingest_spans import Ingested, Telemetry, ingest_spans
from pipelines.engine.platform import Platform
from pipelines.server.api.common import Contributor, Ours, answer, read_body
from pipelines.wire.errors import InvalidJsonBody, UnsupportedMediaType

router = APIRouter(tags=["telemetry"])
MOST_SENT = 16 * 1024 * 1024  # bytes as they are sent; unpacked they may be twice that
PROTOBUF, JSON = "application/x-protobuf", "application/json"
_BINARY: JsonObject = {"schema": {"type": "string", "format": "binary"}}
_SPANS: JsonObject = {"type": "array", "items": {"type": "object"}}
_OTLP: JsonObject = {"schema": {"type": "object", "properties": {"resourceSpans": _SPANS}}}
_SPAN: JsonObject = {
    "type": "object",
    "required": ["name", "trace_id", "span_id"],
    "properties": {
        "name": {"type": "string"},
        "trace_id": {"type": "string", "description": "32 hex digits"},
        "span_id": {"type": "string", "description": "16 hex digits"},
        "attributes": {"type": "object"},
        "start_time": {"description": "ISO 8601, or nanoseconds since 1970"},
        "end_time": {"description": "ISO 8601, or nanoseconds since 1970"},
        "status": {"enum": ["ok", "error", "unset"]},
        "resource": {"type": "object", "description": "attributes of who sent it"},
    },
}
_LIST: JsonObject = {"schema": {"anyOf": [_OTLP["schema"], {"type": "array", "items": _SPAN}]}}
_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {"content": {PROTOBUF: _BINARY, JSON: {"schema": {"type": "object"}}}}
}


def _takes(json: JsonObject) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {JSON: json, PROTOBUF: _BINARY}}}


@router.post("/v1/traces", responses=_ANSWERED, openapi_extra=_takes(_OTLP))
async def take_traces(request: Request, platform: Ours, key: Contributor) -> Response:
    """OTLP/HTTP: spans in protobuf or JSON, gzipped or not; answered in the same encoding.

    Skill spans are kept, masked; others are dropped without a word. Spans that cannot be taken are counted in
    `partial_success`.
    """
    encoding = _encoding(request)
    received = await _ingest(request, platform, key.org_id, encoding, may_be_list=False)
    return _exported(encoding, received)


@router.post("/api/v1/telemetry/ingest", responses=_ANSWERED, openapi_extra=_takes(_LIST))
async def take_telemetry(request: Request, platform: Ours, key: Contributor) -> Response:
    """The same bodies, and a JSON array of spans; JSON is answered with what became of the spans."""
    encoding = _encoding(request)
    received = await _ingest(request, platform, key.org_id, encoding, may_be_list=True)
    return answer(received.as_json()) if encoding == "json" else _exported(encoding, received)


async def _ingest(
    request: Request, platform: Platform, org_id: int, encoding: Encoding, *, may_be_list: bool
) -> Ingested:
    is_gzip = _is_gzip(request)
    body = await read_body(request, MOST_SENT)
    telemetry = Telemetry(data=body, encoding=encoding, is_gzip=is_gzip, may_be_list=may_be_list)
    try:
        return await ingest_spans(platform, org_id, telemetry, masks_ips=request.app.state.masks_ips)
    except InvalidJson as error:
        raise InvalidJsonBody(f"The body cannot be read: {error}.") from None
    finally:
        if not isinstance(body, bytes):
            body.close()


def _encoding(request: Request) -> Literal["protobuf", "json"]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in (PROTOBUF, "application/protobuf"):
        return "protobuf"
    if kind == JSON:
        return "json"
    raise UnsupportedMediaType(
        f"The content type must be {PROTOBUF} or {JSON}, not {kind[:100] or 'missing'}."
    )


def _is_gzip(request: Request) -> bool:
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("gzip", "identity", ""):
        raise UnsupportedMediaType(f"The content encoding must be gzip or none, not {coding[:100]}.")
    return coding == "gzip"


def _exported(encoding: Encoding, taken: Ingested) -> Response:
    body = export_response(encoding, rejected=taken.refused, message=taken.refusal)
    return Response(body, media_type=PROTOBUF if encoding == "protobuf" else JSON)
