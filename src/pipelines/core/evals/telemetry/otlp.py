"""Telemetry as it is sent: OTLP in protobuf or JSON, gzipped or not, or a plain JSON list of spans.

Of OTLP/JSON: ids are hex, not base64 as protobuf's own JSON would have them, 64-bit numbers may be strings,
and fields that are not known are ignored. What is wrong with one span is that span's fault; a body that is no
such thing at all is refused whole.
"""

import base64
import binascii
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from pipelines.core.evals.telemetry.spans import Span, SpanStatus
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import MAX_DEPTH, Json, JsonObject, dumps, loads
from pipelines.core.text.problems import Problem, Refused

Encoding: TypeAlias = Literal["protobuf", "json"]
WHAT = "the telemetry"
MOST_INFLATED = 32 * 1024 * 1024  # a collector's batch of 8,192 spans is some 8 MiB
_GZIP = 16 + zlib.MAX_WBITS
_STATUS: dict[int, SpanStatus] = {0: "unset", 1: "ok", 2: "error"}
_STATUS_NAMES: dict[str, SpanStatus] = {
    "STATUS_CODE_UNSET": "unset", "STATUS_CODE_OK": "ok", "STATUS_CODE_ERROR": "error",
    "unset": "unset", "ok": "ok", "error": "error",
}  # fmt: skip


class UnreadableSpan(NamedTuple):
    """A span that cannot be read, and why."""

    reason: str


class TooLargeInflated(Exception):
    """A gzipped body is larger than the limit; how much larger is not found out."""


def inflate(data: bytes, most: int = MOST_INFLATED) -> bytes:
    """What was gzipped, of any number of members. Whatever its header claims, no more than `most` is made."""
    parts: list[bytes] = []
    room = most + 1
    while data:
        member = zlib.decompressobj(_GZIP)
        try:
            part = member.decompress(data, room)
        except zlib.error as error:
            raise _refusal(f"is not gzip: {error}") from None
        parts.append(part)
        room -= len(part)
        if room <= 0:
            raise TooLargeInflated
        if not member.eof:
            raise _refusal("is an incomplete gzip file")
        data = member.unused_data.lstrip(b"\0")
    return b"".join(parts)


def spans_of(
    data: bytes, encoding: Encoding, *, may_be_list: bool = False
) -> Iterator[Span | UnreadableSpan]:
    """Every span of a body. Refused, or InvalidJson, before the first one where it is no such body."""
    if encoding == "protobuf":
        return _of_protobuf(data)
    value = loads(data)
    if isinstance(value, list) and may_be_list:
        return (_plain_span(item) for item in value)
    if not isinstance(value, dict):
        expected_form = "an object with `resourceSpans`" + (", or an array of spans" if may_be_list else "")
        raise _refusal(f"must be {expected_form}, not {kind(value)}")
    if value and "resourceSpans" not in value and "resource_spans" not in value:
        raise _refusal(
            "has no `resourceSpans`", "OTLP/JSON: {resourceSpans: [{resource, scopeSpans: [{spans}]}]}"
        )
    return _of_json(value)


def export_response(encoding: Encoding, *, rejected: int, message: str) -> bytes:
    """An ExportTraceServiceResponse: empty where all was taken, else how many spans were not, and why."""
    if encoding == "json":
        if not rejected:
            return b"{}"
        return dumps({"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}})
    if not rejected:
        return b""
    text = message.encode()
    partial = b"\x08" + _varint(rejected) + b"\x12" + _varint(len(text)) + text
    return b"\x0a" + _varint(len(partial)) + partial


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _refusal(message: str, hint: str | None = None) -> Refused:
    return Refused([Problem(path="", message=message, hint=hint)], WHAT)


# -- protobuf


def _of_protobuf(data: bytes) -> Iterator[Span | UnreadableSpan]:
    # Here, since loading them takes a while: the server itself never does, only the helper process.
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(data)
    except DecodeError:
        raise _refusal("is not an ExportTraceServiceRequest in protobuf") from None
    return _protobuf_spans(request)


def _protobuf_spans(request: Any) -> Iterator[Span]:
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scope in group.scope_spans:
            for span in scope.spans:
                yield Span(
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    start_ns=span.start_time_unix_nano,
                    end_ns=span.end_time_unix_nano,
                    status=_STATUS.get(span.status.code, "unset"),
                    attributes=_attributes(span.attributes),
                    resource=resource,
                    parent_id=span.parent_span_id.hex() or None,
                )


def _attributes(pairs: Any) -> JsonObject:
    return {pair.key: _any_value(pair.value) for pair in pairs}


def _any_value(value: Any, depth: int = 0) -> Json:
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "string_value":
        return value.string_value  # type: ignore[no-any-return]
    if depth >= MAX_DEPTH:
        return None
    if which == "array_value":
        return [_any_value(item, depth + 1) for item in value.array_value.values]
    if which == "kvlist_value":
        return {pair.key: _any_value(pair.value, depth + 1) for pair in value.kvlist_value.values}
    if which == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    if which == "double_value":
        return _finite(value.double_value)
    return getattr(value, which)  # type: ignore[no-any-return]  # a whole number or a boolean


def _finite(value: float) -> Json:
    """JSON has no infinities."""
    return value if value - value == 0 else str(value)


# -- JSON


def _of_json(body: JsonObject) -> Iterator[Span | UnreadableSpan]:
    for group in _objects(body, "resourceSpans", "resource_spans"):
        resource = group.get("resource")
        attributes = _json_attributes(resource.get("attributes")) if isinstance(resource, dict) else {}
        for scope in _objects(group, "scopeSpans", "scope_spans"):
            for span in _either(scope, "spans", "spans") or ():
                yield _json_span(span, attributes)


def _either(body: JsonObject, name: str, snake: str) -> list[Json]:
    found = body.get(name, body.get(snake))
    return found if isinstance(found, list) else []


def _objects(body: JsonObject, name: str, snake: str) -> Iterator[JsonObject]:
    return (item for item in _either(body, name, snake) if isinstance(item, dict))


def _json_span(span: Json, resource: JsonObject) -> Span | UnreadableSpan:
    if not isinstance(span, dict):
        return UnreadableSpan(f"a span must be an object, not {kind(span)}")
    status = span.get("status")
    try:
        return Span(
            name=_text(span, "name", "name"),
            trace_id=_text(span, "traceId", "trace_id").lower(),
            span_id=_text(span, "spanId", "span_id").lower(),
            start_ns=_whole(span.get("startTimeUnixNano", span.get("start_time_unix_nano", 0))),
            end_ns=_whole(span.get("endTimeUnixNano", span.get("end_time_unix_nano", 0))),
            status=_status(status.get("code") if isinstance(status, dict) else None),
            attributes=_json_attributes(span.get("attributes")),
            resource=resource,
            parent_id=_text(span, "parentSpanId", "parent_span_id").lower() or None,
        )
    except (ValueError, binascii.Error) as error:
        return UnreadableSpan(str(error))


def _text(span: JsonObject, name: str, snake: str) -> str:
    value = span.get(name, span.get(snake, ""))
    if not isinstance(value, str):
        raise ValueError(f"its `{name}` is not a string")
    return value


def _whole(value: Json) -> int:
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64:
        return value
    raise ValueError("one of its numbers is not a whole number")


def _is_whole(value: Json) -> bool:
    try:
        return isinstance(_whole(value), int)
    except ValueError:
        return False


def _status(code: Json) -> SpanStatus:
    if isinstance(code, str):
        return _STATUS_NAMES.get(code) or _STATUS_NAMES.get(code.lower(), "unset")
    return _STATUS.get(code, "unset") if isinstance(code, int) else "unset"


def _json_attributes(pairs: Json) -> JsonObject:
    if not isinstance(pairs, list):
        return {}
    found: JsonObject = {}
    for pair in pairs:
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str):
            found[key] = _json_value(pair.get("value"))
    return found


def _json_value(value: Json) -> Json:
    """The nesting of the text was bounded when it was read."""
    if not isinstance(value, dict) or not value:
        return None
    (name, inner), *_ = value.items()
    match name.replace("_v", "V"):
        case "intValue":
            return _whole(inner) if _is_whole(inner) else None
        case "doubleValue":
            return inner if isinstance(inner, int | float | str) else None
        case "arrayValue":
            values = inner.get("values") if isinstance(inner, dict) else None
            return [_json_value(item) for item in values] if isinstance(values, list) else []
        case "kvlistValue":
            return _json_attributes(inner.get("values")) if isinstance(inner, dict) else {}
        case "stringValue" | "boolValue" | "bytesValue":
            return inner
    return None


# -- a plain list


def _plain_span(span: Json) -> Span | UnreadableSpan:
    """`{name, trace_id, span_id, parent_id, attributes, start_time, end_time, status, resource}`, plain."""
    if not isinstance(span, dict):
        return UnreadableSpan(f"a span must be an object, not {kind(span)}")
    attributes, resource, status = span.get("attributes"), span.get("resource"), span.get("status")
    try:
        return Span(
            name=_text(span, "name", "name"),
            trace_id=_text(span, "trace_id", "traceId").lower().removeprefix("0x"),
            span_id=_text(span, "span_id", "spanId").lower().removeprefix("0x"),
            start_ns=_moment(span.get("start_time")),
            end_ns=_moment(span.get("end_time")),
            status=_status(status.get("code") if isinstance(status, dict) else status),
            attributes=_plain_object(attributes, "attributes"),
            resource=_resource(_plain_object(resource, "resource")),
            parent_id=_parent(span),
        )
    except ValueError as error:
        return UnreadableSpan(str(error))


def _parent(span: JsonObject) -> str | None:
    """SDKs print null where a span has no parent."""
    parent = span.get("parent_id", span.get("parent_span_id"))
    return parent.lower().removeprefix("0x") or None if isinstance(parent, str) else None


def _plain_object(value: Json, name: str) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"its `{name}` must be an object, not {kind(value)}")
    return value


def _resource(resource: JsonObject) -> JsonObject:
    """SDKs print a resource as its attributes, or as an object that holds them."""
    inner = resource.get("attributes")
    return inner if isinstance(inner, dict) else resource


def _moment(value: Json) -> int:
    """Nanoseconds since 1970, of a number of them or of an ISO date; without a zone it is UTC."""
    if value is None:
        return 0
    if isinstance(value, str) and not value.removeprefix("-").isdecimal():
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("one of its times is neither ISO 8601 nor nanoseconds since 1970") from None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1_000
    return _whole(value)
