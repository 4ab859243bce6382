"""A served platform, spans of the OpenTelemetry SDK, and the scenario that comes of them."""

import gzip
import json
import time
from pathlib import Path
from typing import Any

import httpx2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from served import KEY, running

from support.agent_traffic import FIRST_WEEK, is_worth_keeping, otlp, spans_of_week
from support.desk import answered

#: The body of auto-generate in the seed, its device made whole.
DEVICE = "3a7df4c2-91b0-4e6f-8a2d-5c7e9f013b46"
SEED_BODY = {"device_id": DEVICE, "lookback_hours": 168, "max_scenarios": 20}


def recorded() -> list[ReadableSpan]:
    """Uses of two skills, as an agent instrumented with the SDK records them."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"device.id": DEVICE, "service.name": "desk"}))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("agent")
    for number in range(30):
        with (
            tracer.start_as_current_span("invoke_agent desk"),
            tracer.start_as_current_span("skill.invoke") as span,
        ):
            span.set_attribute("skill.name", "triage")
            told = {
                "event": "deployment_failed",
                "owner_email": f"owner{number}@example.com",
                "data_loss_risk": True,
            }
            span.set_attribute("skill.input", json.dumps(told))
            span.set_attribute(
                "skill.output", json.dumps({"action": "escalate_to_owner", "ticket": f"T-{number}"})
            )
            span.set_status(StatusCode.OK)
        with tracer.start_as_current_span("execute_tool refund") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "refund")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps({"order_id": f"O-{number}"}))
            outcome = "approved" if number % 3 else "declined"
            span.set_attribute("gen_ai.tool.call.result", json.dumps({"decision": outcome}))
    return list(memory.get_finished_spans())


def exported(spans: list[ReadableSpan]) -> bytes:
    """What the SDK's OTLP exporter sends; it is not installed here, its messages are."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    put(group.resource.attributes, spans[0].resource.attributes)
    scope = group.scope_spans.add()
    for span in spans:
        sent = scope.spans.add()
        context = span.get_span_context()
        assert context is not None
        sent.name = span.name
        sent.trace_id = context.trace_id.to_bytes(16, "big")
        sent.span_id = context.span_id.to_bytes(8, "big")
        sent.start_time_unix_nano, sent.end_time_unix_nano = span.start_time or 0, span.end_time or 0
        sent.status.code = span.status.status_code.value  # type: ignore[assignment]
        put(sent.attributes, span.attributes or {})
    return request.SerializeToString()


def put(pairs: Any, values: Any) -> None:
    for key, value in values.items():
        pair = pairs.add()
        pair.key, pair.value.string_value = key, str(value)


def test_a_week_of_many_agents_becomes_drafts_worth_keeping(tmp_path: Path) -> None:
    spans = spans_of_week(FIRST_WEEK, seed=4, now_ns=time.time_ns())
    with (
        running(tmp_path / "data") as server,
        httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as client,
    ):
        for start in range(0, len(spans), 2_000):  # a trace may come in two bodies
            body = gzip.compress(otlp(spans[start : start + 2_000]))
            headers = {"content-type": "application/json", "content-encoding": "gzip"}
            assert answered(client.post("/v1/traces", content=body, headers=headers)) == {}
        found = answered(client.post("/api/v1/eval/scenarios/auto-generate", json={}))["scenarios"]
        kept = [draft for at, draft in enumerate(found) if is_worth_keeping(draft, FIRST_WEEK, found[:at])]
        assert len(found) == 20
        assert len(kept) >= 12
        of_device = answered(
            client.post("/api/v1/eval/scenarios/auto-generate", json={"device_id": "dev-1"})
        )["looked_at"]
        named = [span for span in spans if device_of(span) == "dev-1" and is_stored(span)]
        assert of_device["spans"] == of_device["device_id_matched"]["device.id"] == len(named)
        for draft in found:
            is_open = not draft["scenario"]["expected_behavior"]
            corrections = {"expected_behavior": {"decision": "ask"}} if is_open else {}
            answered(client.post(f"/api/v1/eval/drafts/{draft['id']}/adopt", json=corrections), 201)


def device_of(span: dict[str, Any]) -> str:
    told = {pair["key"]: pair["value"].get("stringValue") for pair in span["attributes"]} | span["resource"]
    return str(told.get("device.id", told.get("device_id")))


def is_stored(span: dict[str, Any]) -> bool:
    return str(span["name"]).startswith(("skill.invoke", "execute_tool"))


def test_from_spans_over_drafts_to_a_scenario(tmp_path: Path) -> None:
    spans = recorded()
    headers = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
    body = gzip.compress(exported(spans))
    with (
        running(tmp_path / "data") as server,
        httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as client,
    ):
        for _ in range(2):  # an exporter that heard no answer sends again
            reply = client.post("/v1/traces", content=body, headers=headers)
            assert reply.headers["content-type"] == "application/x-protobuf"
            told = ExportTraceServiceResponse()
            told.ParseFromString(reply.content)
            assert told.partial_success.rejected_spans == 0
        answer = answered(client.post("/api/v1/eval/scenarios/auto-generate", json=SEED_BODY))
        assert answer["looked_at"]["spans"] == 60
        found = {draft["skill"]: draft for draft in answer["scenarios"]}
        assert {skill: (d["kind"], d["support"]) for skill, d in found.items()} == {
            "triage": ("recurring", {"k": 30, "n": 30}),
            "refund": ("decision_point", {"k": 20, "n": 30}),
        }
        assert round(found["triage"]["confidence"], 2) == 0.89
        assert found["triage"]["scenario"]["expected_behavior"] == {"action": "escalate_to_owner"}
        assert "@example.com" not in json.dumps(answer)
        made = answered(
            client.post(
                f"/api/v1/eval/drafts/{found['triage']['id']}/adopt", json={"risk_level": "critical"}
            ),
            201,
        )
        answered(client.post(f"/api/v1/eval/drafts/{found['refund']['id']}/dismiss"))
        assert answered(client.get(f"/api/v1/eval/scenarios/{made['id']}"))["risk_level"] == "critical"
        assert (
            answered(client.post("/api/v1/eval/scenarios/auto-generate", json=SEED_BODY))["scenarios"] == []
        )
