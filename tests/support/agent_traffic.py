"""A week of telemetry of several agents, each with a rule of its own that the drafts have to find.

A `Trade` is one skill: what its inputs are like, how the agent decides and how its spans are sent. Around the
decisions stands what real traffic has: ids, times, free text, retries, tool spans, failures, missing fields.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.core.evals.telemetry.masking import Masking
from pipelines.core.evals.telemetry.otlp import spans_of
from pipelines.core.evals.telemetry.stored_spans import StoredSpan, stored_parts
from pipelines.core.text.json_text import dumps

Row = dict[str, Any]
#: text: input and output as JSON text. flat: one attribute a field. calls: no output, tool spans inside.
#: agent_tool: a GenAI tool span that answers with a decision. chain: GenAI tool spans, one after another.
Form = Literal["text", "flat", "calls", "agent_tool", "chain"]
WEEK_NS = 7 * 86_400 * 10**9
NOW_NS = 1_794_852_216_000_000_000


@dataclass(frozen=True, kw_only=True)
class Trade:
    skill: str
    count: int
    form: Form
    given: Callable[[random.Random], Row]
    #: What the agent ought to do by its own rule; None: nothing in the input decides.
    rule: Callable[[Row], Row | None]
    chosen: Callable[[random.Random], Row] | None = None  # where the rule says nothing
    more: Callable[[random.Random], Row] = lambda chance: {}  # of the outcome, beside the decision
    exceptions: float = 0.0
    exception: Row | None = None
    drops: tuple[str, ...] = ()  # fields that are missing now and then


def spans_of_week(trades: list[Trade], seed: int, now_ns: int = NOW_NS) -> list[Row]:
    """OTLP/JSON spans with their resource under `resource`, in the order of time."""
    chance = random.Random(seed)
    made = [span for trade in trades for _ in range(trade.count) for span in _trace(trade, chance, now_ns)]
    return sorted(made, key=lambda span: int(span["startTimeUnixNano"]))


def otlp(spans: list[Row]) -> bytes:
    """One export request: a group for each resource."""
    groups: dict[str, Row] = {}
    for span in spans:
        told = span["resource"]
        group = groups.setdefault(
            json.dumps(told), {"resource": {"attributes": pairs(told)}, "scopeSpans": [{"spans": []}]}
        )
        group["scopeSpans"][0]["spans"].append({key: span[key] for key in span if key != "resource"})
    return json.dumps({"resourceSpans": list(groups.values())}).encode()


def lines_of(spans: list[Row]) -> list[bytes]:
    """What drafts are made from, after all that stands before: reading, masking, keeping."""
    *parts, _ = stored_parts(spans_of(otlp(spans), "json"), Masking(b"key"), arrived_ns=NOW_NS)
    rows = [StoredSpan(*row) for part in parts for row in json.loads(part)["rows"]]
    return [line_of(row) for row in sorted(rows, key=lambda row: -row.happened_ns)]


def line_of(row: StoredSpan) -> bytes:
    told = [json.loads(text) if text is not None else None for text in (row.input, row.outcome)]
    ids = [row.trace_id, row.span_id, row.parent_id]
    return dumps([*ids, row.name, row.skill, row.status, row.start_ns, row.end_ns, *told])


def pairs(values: Row) -> list[Row]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def any_value(value: Any) -> Row:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    return {"stringValue": value}


def _trace(trade: Trade, chance: random.Random, now_ns: int) -> Iterator[Row]:
    given = trade.given(chance)
    for name in trade.drops:
        if chance.random() < 0.03:
            given.pop(name, None)
    decided = trade.rule(given)
    if decided is None and trade.chosen is not None:
        decided = trade.chosen(chance)
    if trade.exception is not None and chance.random() < trade.exceptions:
        decided = trade.exception
    assert decided is not None
    trace = _Trace(chance, now_ns)
    yield trace.span("POST /requests", {"http.request.method": "POST"}, at=0, lasts=9_000)
    yield trace.span("chat gpt-5", {"gen_ai.operation.name": "chat"}, at=5, lasts=300)
    if trade.form == "chain":
        yield from _chain(trade, trace, given, decided)
    elif trade.form == "agent_tool":
        yield trace.tool(trade.skill, given, decided | trade.more(chance), at=400)
    else:
        yield from _skill(trade, trace, given, decided)


def _skill(trade: Trade, trace: "_Trace", given: Row, decided: Row) -> Iterator[Row]:
    chance = trace.chance
    named = {"skill.name": trade.skill}
    asked = (
        {f"skill.input.{key}": value for key, value in given.items()}
        if trade.form == "flat"
        else {"skill.input": json.dumps(given)}
    )
    if chance.random() < 0.05:  # it failed, and was tried again
        yield trace.span("skill.invoke", named | asked, at=400, lasts=200, status=2)
    used = trace.span("skill.invoke", named | asked, at=1_000, lasts=4_000, status=chance.choice((0, 1)))
    outcome = decided | trade.more(chance)
    if trade.form == "calls":
        for place, tool in enumerate(decided["tools"]):
            yield trace.tool(tool, {"sku": given.get("sku")}, {"ok": True}, at=2_000 + place * 500)
    else:
        reply = {"found": True, "rows": chance.randrange(4)}
        yield trace.tool("look_up", {"key": chance.randrange(10**6)}, reply, at=1_500, parent=used["spanId"])
        if chance.random() > 0.02:  # some outcomes never reach the exporter
            told = (
                {f"skill.output.{key}": value for key, value in outcome.items()}
                if trade.form == "flat"
                else {"skill.output": json.dumps(outcome)}
            )
            used["attributes"] += pairs(told)
    yield used


def _chain(trade: Trade, trace: "_Trace", given: Row, decided: Row) -> Iterator[Row]:
    """A look-up whose reply is what the agent decides on, then what it chose to call."""
    asked = {key: value for key, value in given.items() if key.endswith("_id")}
    parent = trace.new_id()
    yield trace.span("invoke_agent desk", {"gen_ai.operation.name": "invoke_agent"}, at=300, id=parent)
    yield trace.tool(trade.skill, asked, given, at=400, parent=parent)
    for place, tool in enumerate(decided["tools"]):
        yield trace.tool(tool, asked, {"ok": True}, at=1_000 + place * 500, parent=parent)


class _Trace:
    def __init__(self, chance: random.Random, now_ns: int) -> None:
        self.chance = chance
        self.id = f"{chance.getrandbits(128):032x}"
        self.began_ns = now_ns - chance.randrange(60 * 10**9, WEEK_NS)
        device, key = f"dev-{chance.randrange(6)}", chance.choice(("device.id", "device_id"))
        is_of_resource = chance.random() < 0.5
        self.resource: Row = {"service.name": "fleet"} | ({key: device} if is_of_resource else {})
        self.own: Row = {} if is_of_resource else {key: device}

    def new_id(self) -> str:
        return f"{self.chance.getrandbits(64) | 1:016x}"

    def span(
        self,
        name: str,
        attributes: Row,
        *,
        at: int,
        lasts: int = 200,
        status: int = 0,
        parent: str = "",
        id: str = "",
    ) -> Row:
        start_ns = self.began_ns + at * 10**6
        return {
            "traceId": self.id,
            "spanId": id or self.new_id(),
            "parentSpanId": parent,
            "name": name,
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(start_ns + lasts * 10**6),
            "attributes": pairs(attributes | self.own),
            "status": {"code": status},
            "resource": self.resource,
        }

    def tool(self, name: str, arguments: Row, reply: Row, *, at: int, parent: str = "") -> Row:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": f"call_{self.new_id()}",
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": json.dumps(reply),
        }
        return self.span(f"execute_tool {name}", attributes, at=at, lasts=100, parent=parent)


def is_worth_keeping(draft: Row, trades: list[Trade], before: list[Row]) -> bool:
    """What a tester keeps of a look: a case at a border, one of a region without a border, a disagreement.

    What is expected must follow from the agent's own rule for every input that is described, not only for the
    example; it is left empty where the traffic settles nothing. A rare input is not kept: it tests no rule.
    """
    (trade,) = [each for each in trades if draft["skill"] in (each.skill, f"after {each.skill}")]
    expected, given = draft["scenario"]["expected_behavior"], draft["scenario"]["input_context"]
    others = [other for other in before if other["skill"] == draft["skill"]]
    if not expected:
        alike = [other for other in others if other["name"] == draft["name"]]
        return not alike and (trade.exceptions > 0 or trade.rule(_decided_on(trade, given)) is None)
    if draft["kind"] == "edge_case" or not _follows(trade, given, expected):
        return False
    chance = random.Random(0)
    drawn = [_as_asked(trade, trade.given(chance)) for _ in range(1_000)]
    described = [each for each in drawn if _is_described(each, draft["shape"])]
    if sum(_follows(trade, each, expected) for each in described) < 0.95 * len(described):
        return False
    alike = [other for other in others if other["scenario"]["expected_behavior"] == expected]
    if draft["kind"] == "decision_point":
        return not any(o["kind"] == "decision_point" and o["shape"] == draft["shape"] for o in alike)
    return not alike


def _follows(trade: Trade, given: Row, expected: Row) -> bool:
    rule = trade.rule(_decided_on(trade, given))
    return rule is not None and expected | rule == expected


def _as_asked(trade: Trade, given: Row) -> Row:
    return {trade.skill: given} if trade.form == "chain" else given


def _decided_on(trade: Trade, given: Row) -> Row:
    told: Row = given[trade.skill] if trade.form == "chain" else given
    return told


def _is_described(given: Row, shape: Row) -> bool:
    for path, told in shape.items():
        value: Any = given
        for part in path.split("/")[1:]:
            value = value.get(part) if isinstance(value, dict) else None
        if value is None or "present" in told or "absent" in told:
            is_there = value is not None
            if told.get("present", is_there) != is_there or told.get("absent", not is_there) == is_there:
                return False
            continue
        number = float(value) if "at_most" in told or "at_least" in told else 0.0
        if not told.get("at_least", number) <= number <= told.get("at_most", number):
            return False
        if value not in told.get("in", [value]) or value in told.get("not_in", []):
            return False
    return True


WORDS = (
    "please",
    "check",
    "the",
    "order",
    "because",
    "nobody",
    "has",
    "answered",
    "so",
    "far",
    "and",
    "late",
)


def prose(chance: random.Random) -> str:
    return " ".join(chance.sample(WORDS, 8)) + f" ({chance.randrange(10**6)})"


def money(chance: random.Random, most: float) -> float:
    return round(chance.uniform(1, most), 2)


def ids(chance: random.Random) -> Row:
    return {
        "order_id": f"ORD-{chance.randrange(10**6):06d}",
        "requested_at": f"2026-11-1{chance.randrange(8)}T{chance.randrange(24):02d}:00:00Z",
        "note": prose(chance),
    }


FIRST_WEEK = [
    Trade(
        skill="decide_refund",
        count=220,
        form="text",
        given=lambda c: ids(c)
        | {"amount": money(c, 120), "currency": c.choice(("EUR", "USD")), "is_member": c.random() < 0.4},
        rule=lambda g: {"decision": "approve" if g["amount"] <= 50 else "escalate"},
        more=lambda c: {"ticket": f"T-{c.randrange(10**6)}", "took_ms": c.randrange(900)},
        exceptions=0.02,
        exception={"decision": "reject"},
        drops=("currency", "note"),
    ),
    Trade(
        skill="provision_device",
        count=150,
        form="flat",
        given=lambda c: {
            "serial": f"SN{c.randrange(10**8):08d}",
            "model": c.choice(("edge-2", "edge-4", "hub-1", "cam-7")),
            "firmware_age_days": c.randrange(400),
            "site": c.choice(("north", "south", "east")),
        },
        rule=lambda g: {
            "action": "use_vendor_flow"
            if g["model"] == "cam-7"
            else ("update_first" if g["firmware_age_days"] > 180 else "enroll")
        },
        drops=("site",),
    ),
    Trade(
        skill="precheck_loan",
        count=260,
        form="text",
        given=lambda c: {
            "application_id": str(c.randrange(10**9)),
            "score": c.randrange(480, 820),
            "debt_ratio": round(c.uniform(0.05, 0.8), 3),
            "term_months": c.choice((12, 24, 36, 60)),
            "purpose": c.choice(("car", "home", "study", "other")),
        },
        rule=lambda g: {
            "verdict": "decline"
            if g["debt_ratio"] > 0.43
            else ("manual_review" if g["score"] < 640 else "prequalify")
        },
        more=lambda c: {"reason": prose(c)},
    ),
    Trade(
        skill="approve_deploy",
        count=180,
        form="text",
        given=lambda c: {
            "commit": f"{c.getrandbits(160):040x}",
            "service": f"svc-{c.choice('abcdefgh')}",
            "environment": c.choice(("production", "staging", "staging", "dev")),
            "failed_tests": c.choice((0, 0, 0, 1, 2, 5)),
            "changed_lines": c.randrange(1, 900),
        },
        rule=lambda g: {
            "action": "auto_deploy"
            if g["environment"] != "production"
            else ("block" if g["failed_tests"] > 0 else "request_review")
        },
        more=lambda c: {"notified": c.random() < 0.5},
    ),
    Trade(
        skill="triage_ticket",
        count=200,
        form="text",
        given=lambda c: {
            "subject": prose(c),
            "severity": c.choice(("low", "medium", "high", "critical")),
            "channel": c.choice(("mail", "chat", "phone")),
            "age_minutes": c.randrange(3_000),
        },
        rule=lambda g: {
            "queue": "on_call" if g["severity"] == "critical" else "tier_one",
            "page": g["severity"] == "critical",
        },
        more=lambda c: {"cached": c.random() < 0.5},
        drops=("channel",),
    ),
    Trade(
        skill="moderate_post",
        count=160,
        form="text",
        given=lambda c: {
            "post_id": c.randrange(10**8),
            "text": prose(c),
            "length": c.randrange(20, 500),
            "language": c.choice(("en", "de", "fr")),
            "reports": c.randrange(6),
        },
        rule=lambda g: None,
        chosen=lambda c: {"action": c.choice(("keep", "hide", "ask_human"))},
    ),
    Trade(
        skill="confirm_booking",
        count=140,
        form="flat",
        given=lambda c: {
            "booking": f"BK{c.randrange(10**7)}",
            "guests": c.randrange(1, 7),
            "room": c.choice(("single", "double", "suite")),
        },
        rule=lambda g: {"outcome": "confirmed"},
        exceptions=0.03,
        exception={"outcome": "waitlisted"},
    ),
    Trade(
        skill="match_invoice",
        count=150,
        form="text",
        given=lambda c: {
            "invoice": f"INV-{c.randrange(10**6)}",
            "billed": (billed := money(c, 900)),
            "ordered": billed if c.random() < 0.6 else round(billed + c.uniform(-90, 90), 2),
            "supplier": f"sup-{c.randrange(300)}",
        },
        rule=lambda g: {"decision": "pay" if abs(g["billed"] - g["ordered"]) < 1 else "hold"},
    ),
    Trade(
        skill="restock",
        count=170,
        form="calls",
        given=lambda c: {
            "sku": f"SKU-{c.randrange(5_000)}",
            "stock": c.randrange(120),
            "season": c.choice(("summer", "winter")),
        },
        rule=lambda g: {"tools": ["create_order", "notify_buyer"] if g["stock"] < 20 else ["log_level"]},
    ),
    Trade(
        skill="get_parcel",
        count=150,
        form="chain",
        given=lambda c: {
            "parcel_id": f"P-{c.randrange(10**7)}",
            "days_late": c.randrange(0, 30),
            "insured": c.random() < 0.5,
            "carrier": c.choice(("north", "swift", "blue")),
        },
        rule=lambda g: {"tools": ["refund_postage"] if g["days_late"] > 10 else ["send_status"]},
    ),
    Trade(
        skill="assess_claim",
        count=130,
        form="agent_tool",
        given=lambda c: {
            "claim": f"C{c.randrange(10**6)}",
            "kind": c.choice(("glass", "theft", "storm")),
            "damage": c.randrange(50, 9_000),
            "photos": c.randrange(8),
        },
        rule=lambda g: {
            "decision": "send_assessor"
            if g["damage"] > 3_000
            else ("ask_police_report" if g["kind"] == "theft" else "settle")
        },
    ),
]  # fmt: skip
