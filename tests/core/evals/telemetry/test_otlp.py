"""Telemetry as it is sent, read into spans; and what is kept of them."""

import base64
import gzip
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from pipelines.core.evals.telemetry.masking import Masking
from pipelines.core.evals.telemetry.otlp import (
    TooLargeInflated,
    UnreadableSpan,
    export_response,
    inflate,
    spans_of,
)
from pipelines.core.evals.telemetry.spans import Span, device_ids, skill_use, time_of
from pipelines.core.evals.telemetry.stored_spans import StoredSpan, stored_parts
from pipelines.core.text.json_text import InvalidJson
from pipelines.core.text.problems import Refused

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
NOW_NS = 1_794_852_216_000_000_000


def otlp_json(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> bytes:
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in (resource or {}).items()]
    group = {"resource": {"attributes": attributes}, "scopeSpans": [{"spans": list(spans)}]}
    return json.dumps({"resourceSpans": [group]}).encode()


def a_span(**changes: Any) -> dict[str, Any]:
    span = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "skill.invoke",
        "kind": "SPAN_KIND_INTERNAL",
        "startTimeUnixNano": str(NOW_NS - 2_000_000_000),
        "endTimeUnixNano": str(NOW_NS - 1_000_000_000),
        "attributes": [{"key": "skill.name", "value": {"stringValue": "triage"}}],
        "status": {"code": 1},
        "unknownToUs": {"x": 1},
    }
    return span | changes


def value_of(value: dict[str, Any]) -> Any:
    (span,) = spans_of(otlp_json(a_span(attributes=[{"key": "a", "value": value}])), "json")
    assert isinstance(span, Span)
    return span.attributes["a"]


def test_a_span_of_json_is_read_with_hex_ids_and_numbers_as_strings():
    (span,) = spans_of(otlp_json(a_span(), resource={"device.id": "d-1"}), "json")
    assert span == Span(
        name="skill.invoke",
        trace_id=TRACE,
        span_id=SPAN,
        start_ns=NOW_NS - 2_000_000_000,
        end_ns=NOW_NS - 1_000_000_000,
        status="ok",
        attributes={"skill.name": "triage"},
        resource={"device.id": "d-1"},
    )


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"stringValue": "x"}, "x"),
        ({"intValue": "9007199254740993"}, 9_007_199_254_740_993),
        ({"intValue": 7}, 7),
        ({"intValue": "99999999999999999999"}, None),
        ({"intValue": "seven"}, None),
        ({"doubleValue": 1.5}, 1.5),
        ({"doubleValue": "NaN"}, "NaN"),
        ({"boolValue": False}, False),
        ({"bytesValue": "AAE="}, "AAE="),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "b"}]}}, [1, "b"]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({"string_value": "snake"}, "snake"),
        ({}, None),
        ({"futureValue": 1}, None),
    ],
)
def test_values_of_attributes_are_read(sent: dict[str, Any], read: Any):
    assert value_of(sent) == read
    assert type(value_of(sent)) is type(read)


ATTRIBUTES = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.text(max_size=8)
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, width=32),
    max_size=4,
)


def put(pairs: Any, values: dict[str, Any]) -> None:
    for key, value in values.items():
        pair = pairs.add()
        pair.key = key
        kind = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}[type(value)]
        setattr(pair.value, kind, value)


@given(attributes=ATTRIBUTES, resource=ATTRIBUTES, trace=st.binary(min_size=16, max_size=16))
@settings(max_examples=60, deadline=None)
def test_protobuf_and_json_say_the_same(attributes: Any, resource: Any, trace: bytes):
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    put(group.resource.attributes, resource)
    span = group.scope_spans.add().spans.add()
    span.name, span.trace_id, span.span_id, span.end_time_unix_nano = (
        "skill.invoke",
        trace,
        b"12345678",
        NOW_NS,
    )
    span.status.code = 2  # type: ignore[assignment]
    put(span.attributes, attributes)
    (read,) = spans_of(request.SerializeToString(), "protobuf")

    def sent(value: Any) -> dict[str, Any]:
        if isinstance(value, bool):
            return {"boolValue": value}
        if isinstance(value, int):
            return {"intValue": str(value)}
        if isinstance(value, float):
            return {"doubleValue": value if value - value == 0 else str(value)}
        return {"stringValue": value}

    as_json = a_span(
        traceId=trace.hex(),
        spanId=b"12345678".hex(),
        startTimeUnixNano=0,
        endTimeUnixNano=NOW_NS,
        status={"code": "STATUS_CODE_ERROR"},
        attributes=[{"key": key, "value": sent(value)} for key, value in attributes.items()],
    )
    body = json.loads(otlp_json(as_json))
    body["resourceSpans"][0]["resource"]["attributes"] = [
        {"key": key, "value": sent(value)} for key, value in resource.items()
    ]
    (other,) = spans_of(json.dumps(body).encode(), "json")
    assert repr(read) == repr(other) or read == other


@given(data=st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_no_bytes_break_the_readers(data: bytes):
    for encoding in ("protobuf", "json"):
        with suppress(Refused, InvalidJson):
            list(spans_of(data, encoding, may_be_list=True))  # type: ignore[arg-type]
    with suppress(Refused, TooLargeInflated):
        inflate(data, 1_000)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "resourceSpans",
                    "resource",
                    "scopeSpans",
                    "spans",
                    "attributes",
                    "key",
                    "value",
                    "status",
                    "traceId",
                    "name",
                    "arrayValue",
                    "values",
                    "intValue",
                    "kvlistValue",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(body=JUNK)
@settings(max_examples=200, deadline=None)
def test_no_json_breaks_the_reader(body: Any):
    with suppress(Refused):
        spans = list(spans_of(json.dumps(body).encode(), "json", may_be_list=True))
        list(stored_parts(spans, Masking(b"k"), arrived_ns=NOW_NS))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"7", "must be an object with `resourceSpans`, or an array of spans, not a number"),
        (b'{"spans": []}', "has no `resourceSpans`"),
    ],
)
def test_what_is_no_telemetry_is_refused(body: bytes, said: str):
    with pytest.raises(Refused) as refused:
        spans_of(body, "json", may_be_list=True)
    assert refused.value.problems[0].message == said


def test_an_empty_request_is_fine():
    assert list(spans_of(b"{}", "json")) == []
    assert list(spans_of(b"", "protobuf")) == []


def test_a_list_of_spans_is_read_plainly():
    body = [
        {
            "name": "skill.invoke",
            "trace_id": "0x" + TRACE.upper(),
            "span_id": SPAN,
            "attributes": {"skill.input": {"a": 1}},
            "start_time": "2026-11-16T18:03:35Z",
            "end_time": NOW_NS,
            "status": "ERROR",
            "resource": {"attributes": {"host.id": "h"}},
        },
        "no span",
        {"name": "skill.invoke", "trace_id": TRACE, "span_id": SPAN, "end_time": "yesterday"},
    ]
    span, *others = spans_of(json.dumps(body).encode(), "json", may_be_list=True)
    assert span == Span(
        name="skill.invoke",
        trace_id=TRACE,
        span_id=SPAN,
        start_ns=1_794_852_215_000_000_000,
        end_ns=NOW_NS,
        status="error",
        attributes={"skill.input": {"a": 1}},
        resource={"host.id": "h"},
    )
    assert others == [
        UnreadableSpan("a span must be an object, not a string"),
        UnreadableSpan("one of its times is neither ISO 8601 nor nanoseconds since 1970"),
    ]


# -- gzip


def test_gzip_is_unpacked_also_in_members():
    assert inflate(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"


def test_gzip_stops_at_the_limit_whatever_it_claims():
    bomb = gzip.compress(bytes(1_000_000))
    claims_ten_gigabytes = bomb[:-4] + (10 * 2**30 % 2**32).to_bytes(4, "little")
    with pytest.raises(TooLargeInflated):
        inflate(claims_ten_gigabytes, 1_000)
    with pytest.raises(Refused):  # and a claim that is wrong is no gzip
        inflate(claims_ten_gigabytes)
    assert inflate(bomb) == bytes(1_000_000)


NO_GZIP = {
    "another format": b"not gzip",
    "cut off": gzip.compress(b"abcdef")[:-3],
    "more behind it": gzip.compress(b"a") + b"tail",
}


# By name: the time is part of what gzip writes, and tests are named alike on every worker.
@pytest.mark.parametrize("data", NO_GZIP.values(), ids=NO_GZIP)
def test_what_is_no_gzip_is_refused(data: bytes):
    with pytest.raises(Refused):
        inflate(data)


# -- the answer


@pytest.mark.parametrize(("rejected", "message"), [(0, ""), (1, "no id"), (300, "é" * 200), (2**40, "x")])
def test_the_answer_is_an_export_response(rejected: int, message: str):
    answer = ExportTraceServiceResponse()
    answer.ParseFromString(export_response("protobuf", rejected=rejected, message=message))
    assert answer.partial_success.rejected_spans == rejected
    assert answer.partial_success.error_message == (message if rejected else "")
    told = json.loads(export_response("json", rejected=rejected, message=message))
    assert told == (
        {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}} if rejected else {}
    )


# -- skills


def use_of(name: str = "skill.invoke", **attributes: Any) -> Any:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return skill_use(Span(name, TRACE, SPAN, 0, 0, "ok", named, {}))


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        (
            "skill.invoke",
            {"skill.name": "s", "skill.input": '{"a": 1}', "skill.output": '{"b": 2}'},
            ("s", {"a": 1}, {"b": 2}),
        ),
        (
            "av.skill.invoke",
            {"av.skill.name": "s", "av.skill.input": '{"a": 1}', "av.skill.outcome": "done"},
            ("s", {"a": 1}, "done"),
        ),
        (
            "skill.invoke",
            {"skill.name": "s", "skill.input.a": 1, "skill.input.b.c": "x", "skill.output.action": "go"},
            ("s", {"a": 1, "b": {"c": "x"}}, {"action": "go"}),
        ),
        (
            "execute_tool refund",
            {"gen_ai.tool.call.arguments": '{"id": "1"}', "gen_ai.tool.call.result": '{"ok": true}'},
            ("refund", {"id": "1"}, {"ok": True}),
        ),
        (
            "execute_tool",
            {"gen_ai.tool.name": "refund", "gen_ai.tool.call.arguments": {"id": "1"}},
            ("refund", {"id": "1"}, None),
        ),
        (
            "skill.invoke",
            {"input.value": "plain text", "output.value": "[1, 2]"},
            ("skill.invoke", "plain text", [1, 2]),
        ),
        ("skill.invoke", {"skill.name": "s", "skill.input": "{broken"}, ("s", "{broken", None)),
        (
            "skill.invoke",
            {"skill.name": "s", "skill.input.a": 1, "skill.input.a.b": 2},
            ("s", {"a": 1, "a.b": 2}, None),
        ),
    ],
)
def test_skill_input_and_outcome_are_found(name: str, attributes: dict[str, Any], expected: Any):
    use = skill_use(Span(name, TRACE, SPAN, 0, 0, "ok", attributes, {}))
    assert (use.skill, use.input, use.outcome) == expected


def test_the_rest_of_the_attributes_stays():
    use = use_of(skill__name="s", skill__input="{}", gen_ai__agent__id="a-1", other=1)
    assert use.rest == {"gen_ai.agent.id": "a-1", "other": 1}
    assert use.agent_id == "a-1"


@pytest.mark.parametrize(
    ("start", "end", "note"),
    [
        (NOW_NS - 10, NOW_NS - 5, None),
        (NOW_NS, NOW_NS + 60 * 10**9, None),
        (NOW_NS - 5, NOW_NS - 10, "the span ends before it starts"),
        (NOW_NS, NOW_NS + 3_600 * 10**9, "the sender's clock is ahead"),
        (10**18, 10**18 + 1, "the span is more than a year old, or the sender's clock is behind"),
        (0, 0, "the span has no time"),
        (0, 2**64 - 1, "the sender's clock is ahead"),
    ],
)
def test_a_clock_that_is_off_gives_way_to_the_time_of_arrival(start: int, end: int, note: str | None):
    time = time_of(Span("skill.invoke", TRACE, SPAN, start, end, "ok", {}, {}), NOW_NS)
    assert time.note == note
    assert time.happened_ns == (NOW_NS if note else end)


@pytest.mark.parametrize(
    ("resource", "ids"),
    [
        ({"device.id": "d", "host.id": 7, "other": "x"}, ("d", "7", None, None)),
        ({"device_id": "d"}, ("d", None, None, None)),
        ({"device.id": "d", "device_id": "other"}, ("d", None, None, None)),
        ({"device.id": "", "device_id": 12}, ("12", None, None, None)),
        ({"device_id": ["d"]}, (None, None, None, None)),
    ],
)
def test_a_device_is_known_by_any_of_its_ids(resource: dict[str, Any], ids: tuple[str | None, ...]):
    assert device_ids(resource) == ids


@pytest.mark.parametrize("key", ["device.id", "device_id"])
def test_a_span_may_name_its_device_itself(key: str):
    use = skill_use(Span("skill.invoke", TRACE, SPAN, 0, 0, "ok", {key: "d-1"}, {}))
    assert use.device_id == "d-1"


@pytest.mark.parametrize(
    ("sent", "parent_id"),
    [
        ({"parentSpanId": "00F067AA0BA902B8"}, "00f067aa0ba902b8"),
        ({"parent_span_id": "00f067aa0ba902b8"}, "00f067aa0ba902b8"),
        ({"parentSpanId": ""}, None),
        ({}, None),
    ],
)
def test_the_span_around_a_span_is_read(sent: dict[str, Any], parent_id: str | None):
    (span,) = spans_of(otlp_json(a_span(**sent)), "json")
    assert isinstance(span, Span)
    assert span.parent_id == parent_id
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans.add()
    made.parent_span_id = bytes.fromhex(parent_id or "")
    (span,) = spans_of(request.SerializeToString(), "protobuf")
    assert isinstance(span, Span)
    assert span.parent_id == parent_id
    plain = {"name": "skill.invoke", "trace_id": TRACE, "span_id": SPAN}
    listed = [plain | {"parent_id": f"0x{parent_id}" if parent_id else None}]
    (span,) = spans_of(json.dumps(listed).encode(), "json", may_be_list=True)
    assert isinstance(span, Span)
    assert span.parent_id == parent_id


# -- what is kept


def kept(*spans: Any) -> tuple[list[StoredSpan], Any]:
    *parts, account = stored_parts(spans, Masking(b"k"), arrived_ns=NOW_NS)
    rows = [StoredSpan(*row) for part in parts for row in json.loads(part)["rows"]]
    return rows, json.loads(account)


def test_only_skill_spans_are_kept_and_the_rest_is_counted():
    spans = [
        Span("skill.invoke", TRACE, SPAN, NOW_NS, NOW_NS, "ok", {"skill.name": "s"}, {}),
        Span("GET /orders", TRACE, SPAN, NOW_NS, NOW_NS, "ok", {"http.method": "GET"}, {}),
        Span("chat gpt", TRACE, SPAN, NOW_NS, NOW_NS, "ok", {"gen_ai.operation.name": "chat"}, {}),
        Span(
            "tools/call x", TRACE, SPAN, NOW_NS, NOW_NS, "ok", {"gen_ai.operation.name": "execute_tool"}, {}
        ),
        Span("skill.invoke", "0" * 32, SPAN, NOW_NS, NOW_NS, "ok", {}, {}),
        Span("skill.invoke", TRACE, "xyz", NOW_NS, NOW_NS, "ok", {}, {}),
        Span("skill.invoke", TRACE, SPAN, NOW_NS, NOW_NS, "ok", {"big": "ä " * 200_000}, {}),
        UnreadableSpan("it is no span"),
    ]
    rows, account = kept(*spans)
    assert [row.skill for row in rows] == ["s", "tools/call x"]
    assert (account["received"], account["kept"], account["others"], account["refused"]) == (8, 2, 2, 4)
    assert sorted(account["reasons"]) == [
        "it is no span",
        "it is over 256 KiB",
        "its span id is not 16 hex digits, or all zeros",
        "its trace id is not 32 hex digits, or all zeros",
    ]


def test_nothing_is_kept_unmasked():
    secret, mail = "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "jane@example.com"
    attributes = {
        "skill.name": f"mail {mail}",
        "skill.input": json.dumps({"to": mail, "password": "hunter2", "nested": [{"note": f"key {secret}"}]}),
        "skill.output": f"sent to {mail}",
        "header": f"Bearer {secret}",
        mail: 1,
    }
    span = Span(f"skill.invoke {mail}", TRACE, SPAN, NOW_NS, NOW_NS, "ok", attributes, {"user.email": mail})
    parts = b"".join(stored_parts([span._replace(name="skill.invoke")], Masking(b"k"), arrived_ns=NOW_NS))
    for hidden in (secret, mail, "hunter2"):
        assert hidden.encode() not in parts
    assert base64.b64encode(mail.encode()) not in parts


def test_parts_are_small_enough_for_one_write():
    spans = [
        Span("skill.invoke", TRACE, f"{n + 1:016x}", NOW_NS, NOW_NS, "ok", {"x": "word " * 500}, {})
        for n in range(900)
    ]
    *parts, _ = stored_parts(spans, Masking(b"k"), arrived_ns=NOW_NS)
    assert len(parts) >= 3
    assert max(map(len, parts)) < 700_000
