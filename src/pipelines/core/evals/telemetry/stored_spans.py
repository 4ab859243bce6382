"""Turns a body of telemetry into stored rows: masked skill spans, in parts of one short write each.

A part is JSON: `{"resources": {hash: [ids…, text]}, "rows": [[…], …]}`. The last is the account of the body.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pipelines.core.evals.telemetry.masking import Masking
from pipelines.core.evals.telemetry.otlp import UnreadableSpan
from pipelines.core.evals.telemetry.spans import (
    LARGEST_SPAN,
    Span,
    device_ids,
    id_problem,
    is_skill_span,
    is_span_id,
    skill_use,
    time_of,
)
from pipelines.core.text.json_text import Json, JsonObject, dumps

PART_ROWS = 400  # some 4 ms of the one writer, whom tool calls wait for, and a sync of the disk
PART_CHARACTERS = 512 * 1024
MOST_REASONS = 10  # told of the spans that were refused
_LATEST_NS = 2**63 - 1
_SHOWN_NAME = 400  # characters


class StoredSpan(NamedTuple):
    """One row, in the order of its columns."""

    trace_id: str
    span_id: str
    resource: str  # its hash
    agent_id: str | None
    device_id: str | None
    parent_id: str | None
    skill: str
    name: str
    status: str
    start_ns: int
    end_ns: int
    happened_ns: int
    input: str | None  # JSON texts
    outcome: str | None
    attributes: str
    note: str | None


class SpanAccount:
    """What became of the spans of one body."""

    def __init__(self) -> None:
        self.received = 0
        self.kept = 0
        self.others = 0  # not about a skill
        self.refused = 0
        self.off_clock = 0  # kept under the time they arrived
        self.reasons: Counter[str] = Counter()

    def refuse(self, reason: str) -> None:
        self.refused += 1
        if reason in self.reasons or len(self.reasons) < MOST_REASONS:
            self.reasons[reason] += 1

    def as_json(self, masked: Counter[str]) -> JsonObject:
        return {
            "received": self.received,
            "kept": self.kept,
            "others": self.others,
            "refused": self.refused,
            "off_clock": self.off_clock,
            "reasons": dict(self.reasons),
            "masked": dict(masked),
        }


def stored_parts(
    spans: Iterable[Span | UnreadableSpan], masking: Masking, *, arrived_ns: int
) -> Iterator[bytes]:
    account = SpanAccount()
    resources = _Resources(masking)
    used: dict[str, Json] = {}
    rows: list[tuple[object, ...]] = []
    room = PART_CHARACTERS
    for span in spans:
        account.received += 1
        row = _stored_span(span, account, resources, masking, arrived_ns)
        if row is None:
            continue
        rows.append(tuple(row))
        used[row.resource] = resources.rows[row.resource]
        room -= len(row.input or "") + len(row.outcome or "") + len(row.attributes)
        if len(rows) == PART_ROWS or room <= 0:
            yield dumps({"resources": used, "rows": rows})
            rows, used, room = [], {}, PART_CHARACTERS
    if rows:
        yield dumps({"resources": used, "rows": rows})
    yield dumps(account.as_json(masking.counts))


def _stored_span(
    span: Span | UnreadableSpan,
    account: SpanAccount,
    resources: "_Resources",
    masking: Masking,
    arrived_ns: int,
) -> StoredSpan | None:
    if isinstance(span, UnreadableSpan):
        account.refuse(span.reason)
        return None
    if not is_skill_span(span.name, span.attributes):
        account.others += 1
        return None
    problem = id_problem(span)
    row = _row(span, resources, masking, arrived_ns) if problem is None else None
    if row is None:
        account.refuse(problem or f"it is over {LARGEST_SPAN // 1024} KiB")
        return None
    account.kept += 1
    account.off_clock += row.note is not None
    return row


def _row(span: Span, resources: "_Resources", masking: Masking, arrived_ns: int) -> StoredSpan | None:
    """None where it is too large."""
    use = skill_use(span)
    time = time_of(span, arrived_ns)
    input, outcome = _text(masking, use.input), _text(masking, use.outcome)
    attributes = dumps(masking.object(use.rest)).decode()
    if len(input or "") + len(outcome or "") + len(attributes) > LARGEST_SPAN:
        return None
    return StoredSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        resource=resources.hash_of(span.resource),
        agent_id=masking.text(use.agent_id) if use.agent_id is not None else None,
        device_id=masking.text(use.device_id) if use.device_id is not None else None,
        parent_id=span.parent_id if span.parent_id is not None and is_span_id(span.parent_id) else None,
        skill=masking.text(use.skill),
        name=masking.text(span.name[:_SHOWN_NAME]),
        status=span.status,
        start_ns=min(max(span.start_ns, 0), _LATEST_NS),
        end_ns=min(max(span.end_ns, 0), _LATEST_NS),
        happened_ns=time.happened_ns,
        input=input,
        outcome=outcome,
        attributes=attributes,
        note=time.note,
    )


def _text(masking: Masking, value: Json) -> str | None:
    return dumps(masking.json(value)).decode() if value is not None else None


class _Resources:
    """Thousands of spans share one resource: it is masked and named once."""

    def __init__(self, masking: Masking) -> None:
        self.rows: dict[str, Json] = {}
        self._masking = masking
        self._last: JsonObject | None = None
        self._hash = ""

    def hash_of(self, resource: JsonObject) -> str:
        if resource is not self._last:
            masked = self._masking.object(resource)
            text = dumps(dict(sorted(masked.items())))
            self._hash = hashlib.sha256(text).hexdigest()[:32]
            self.rows[self._hash] = [*device_ids(masked), text.decode()]
            self._last = resource
        return self._hash
