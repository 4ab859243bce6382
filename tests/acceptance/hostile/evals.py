"""P: what the eval library reads of scenarios, answers and telemetry, and what it makes of a large matrix."""

import gzip
import json
from collections.abc import Callable

from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.tenant import MEBIBYTE, Row, Tenant
from support.played_agents import Dispatch, played

V1 = "/api/v1/eval"
SCENARIO: Row = {
    "name": "hostile",
    "risk_level": "critical",
    "input_context": {"event": "x"},
    "expected_behavior": {"action": "stop", "note": {"$similar": {"text": "a b c", "max_distance": 0.5}}},
}


def _nested(depth: int) -> Row:
    value: Row = {"action": "stop"}
    for _ in range(depth):
        value = {"a": value}
    return value


BODIES: dict[str, Callable[[int], Row]] = {
    "many leaves": lambda n: SCENARIO | {"expected_behavior": {f"k{at}": at for at in range(n)}},
    "deep": lambda n: SCENARIO | {"expected_behavior": _nested(60)},
    "patterns": lambda n: (
        SCENARIO | {"prohibited": [{"a": {"$regex": "(a|aa)+" * 100 + "$"}} for _ in range(min(n, 5_000))]}
    ),
    "long text": lambda n: SCENARIO | {"input_context": {"text": "word " * n}},
    "many fields": lambda n: SCENARIO | {"fields": {f"/k{at}": {"kind": "scale"} for at in range(n)}},
    "labels": lambda n: SCENARIO | {"decision_labels": {f"l{at}": ["x", "/(x+x+)+y/"] for at in range(n)}},
    "unknown names": lambda n: SCENARIO | {f"expected_behaviour_{at}": 1 for at in range(n)},
}


@kind("P-scenarios")
def odd_scenarios(tenant: Tenant) -> None:
    """Scenarios of every shape that costs something to check."""
    for name, body in tenant.in_turn(BODIES):
        tenant.post(f"{V1}/scenarios", body(tenant.size(5_000, 60_000)), what=f"scenario: {name}")


ANSWERS: dict[str, Callable[[int], str]] = {
    "braces": lambda n: "{" * n,
    "almost objects": lambda n: '{"action": ' * (n // 11),
    "many objects": lambda n: '{"action":"go"} ' * (n // 16),
    "words": lambda n: json.dumps({"action": "stop", "note": "alpha beta " * (n // 12)}),
    "sentences": lambda n: "Do not stop. " * (n // 13),
    "long lists": lambda n: json.dumps({"action": [{"a": at} for at in range(n // 12)]}),
}


@kind("P-answers", seconds=1.5)
def answers_that_are_hard_to_compare(tenant: Tenant) -> None:
    """An agent whose answers are long, nearly JSON, and never the same twice."""
    shapes = tenant.shuffled(ANSWERS)

    def speak(dispatch: Dispatch) -> None:
        _, made = shapes[dispatch.run_id % len(shapes)]
        dispatch.answer(made(50_000 - dispatch.run_id % 1_000))

    with played(speak) as agent:
        agent_id = tenant.agent([], endpoint_url=agent.url)
        scenario = tenant.made(f"{V1}/scenarios", SCENARIO, "a scenario")
        body = {"scenario_ids": [scenario["id"]], "agent_id": agent_id, "repeats": tenant.size(3, 20)}
        matrix = tenant.made(f"{V1}/matrix", body, "a matrix of long answers")
        _look(tenant, matrix["id"])


@kind("P-matrix", growth_mb=MOST_GROWTH_BY_UPLOAD_MB, seconds=1.5)
def a_matrix_of_many_cells(tenant: Tenant) -> None:
    """As many cells as may be, looked at in every form while they are worked off, then stopped."""
    agent_id = tenant.agent([])
    count = tenant.size(40, 1_000)
    ids = [
        tenant.made(f"{V1}/scenarios", SCENARIO | {"name": f"s{at}"}, "a scenario")["id"]
        for at in range(count)
        if at < 20 or tenant.has_time
    ]
    body = {"scenario_ids": ids, "agent_id": agent_id, "repeats": tenant.size(2, 20)}
    _look(tenant, tenant.made(f"{V1}/matrix", body, "a matrix of many cells")["id"])


def _look(tenant: Tenant, matrix_id: str) -> None:
    path = f"{V1}/matrix/{matrix_id}"
    try:
        for form in ("", "/heatmap.html", "/heatmap.svg", "/heatmap.csv", f"/compare?to={matrix_id}"):
            tenant.get(path + form, what=f"matrix{form[:14]}")
        tenant.get(f"{V1}/summary", what="summary")
        tenant.get(f"{V1}/reviews", what="reviews")
    finally:
        tenant.post(f"{path}/cancel", what="cancel the matrix")


def _spans(count: int, **attributes: object) -> Row:
    values = [{"key": key, "value": {"stringValue": str(value)}} for key, value in attributes.items()]
    spans = [
        {"traceId": f"{at:032x}", "spanId": f"{at + 1:016x}", "name": "skill.invoke", "attributes": values}
        for at in range(1, count)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


TELEMETRY: dict[str, Callable[[int], bytes]] = {
    "many spans": lambda n: json.dumps(_spans(n, **{"skill.name": "refund"})).encode(),
    "many secrets": lambda n: json.dumps(_spans(50, **{"skill.input": "a@b.de 4111 " * n})).encode(),
    "deep input": lambda n: json.dumps(_spans(50, **{"skill.input": '{"a":' * 60 + "1" + "}" * 60})).encode(),
    "no spans": lambda n: b'{"resourceSpans":' + b"[" * min(n, 100_000),
    "nulls": lambda n: json.dumps({"resourceSpans": [None] * n}).encode(),
}


@kind("P-telemetry", growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def hostile_telemetry(tenant: Tenant) -> None:
    """Spans by the thousand, bodies that unpack to gigabytes, and drafts from all of it."""
    bomb = gzip.compress(b"\0" * (tenant.size(64, 512) * MEBIBYTE), 9)
    for path in ("/v1/traces", "/api/v1/telemetry/ingest"):
        tenant.post(path, bomb, what="a bomb", Content_Type="application/x-protobuf", Content_Encoding="gzip")
    for name, body in tenant.in_turn(TELEMETRY):
        tenant.post("/v1/traces", body(tenant.size(5_000, 60_000)), what=f"telemetry: {name}")
    tenant.post(f"{V1}/scenarios/auto-generate", {}, what="drafts")
