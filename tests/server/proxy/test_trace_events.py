"""Trace events: what an agent reports about itself, and in which order it is shown."""

from typing import Any

import pytest

from pipelines.wire.names import TraceEventType
from support.desk import MEBIBYTE, DrivenRun, House, answered, open_house, refused

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", list(TraceEventType))
async def test_an_event_is_accepted_with_its_place(run: DrivenRun, kind: str) -> None:
    payload = {"text": "hm", "nested": {"a": [1, None, 2.5]}}
    reply = await run.event(kind, payload, x_pipelines_actor_id="supervisor")
    assert answered(reply, 200) == {"accepted": True, "sequence": 1, "event_type": kind}
    (row,) = await run.trace()
    assert (row["kind"], row["payload"], row["actor_id"]) == (kind, payload, "supervisor")
    assert row["tool_name"] is row["source"] is row["arguments"] is row["response"] is None


@pytest.mark.parametrize("base", ["traces", "runs/{jti}/traces"])
async def test_both_bases_take_events(run: DrivenRun, base: str) -> None:
    answered(await run.raw(f"{base.format(jti=run.jti)}/custom", b"{}"))


@pytest.mark.parametrize("kind", ["tool_call", "nonsense", "", "Thinking", "custom/x", "%00", "ä"])
async def test_another_type_is_refused(run: DrivenRun, kind: str) -> None:
    refused(await run.event(kind, {}), 400, "trace_event_type_invalid")
    assert await run.trace() == []


BAD_EVENTS: dict[str, tuple[bytes, int, str]] = {
    "no body": (b"", 400, "invalid_json"),
    "not JSON": (b"{", 400, "invalid_json"),
    "not an object": (b"[]", 422, "invalid_request"),
    "NaN": (b'{"x":NaN}', 400, "invalid_json"),
    "a key twice": (b'{"x":1,"x":2}', 400, "invalid_json"),
    "too deep": (b'{"x":' + b"[" * 64 + b"]" * 64 + b"}", 400, "invalid_json"),
    "not UTF-8": (b'{"x":"\xff"}', 400, "invalid_json"),
    "too large": (b" " * (MEBIBYTE + 1), 413, "body_too_large"),
}


@pytest.mark.parametrize("case", BAD_EVENTS)
async def test_a_malformed_event_is_refused(run: DrivenRun, case: str) -> None:
    body, status, code = BAD_EVENTS[case]
    refused(await run.raw("traces/custom", body), status, code)
    assert await run.trace() == []


async def test_events_and_calls_share_one_sequence(run: DrivenRun) -> None:
    answered(await run.event("thinking", {"n": 1}))
    answered(await run.call("get_order", {"order_id": "4521"}))
    answered(await run.event("assistant_message", {"n": 2}))
    rows = await run.trace()
    assert [(row["sequence"], row["kind"]) for row in rows] == [
        (1, "thinking"),
        (2, "tool_call"),
        (3, "assistant_message"),
    ]
    assert [row["sequence"] for row in await run.trace(kind="tool_call")] == [2]


async def test_rows_are_shown_by_when_they_happened_and_ties_by_sequence(run: DrivenRun) -> None:
    times = [
        "2026-01-01T12:00:00+02:00",  # 10:00
        "2026-01-01T09:59:59.999999Z",
        "2026-01-01T10:00:00",  # without a zone it is UTC: a tie with the first
        "2026-01-01T05:00:00-05:00",  # and another
        "2025-12-31",
    ]
    for number, time in enumerate(times, 1):
        answered(await run.event("custom", {"n": number, "__occurred_at": time}))
    expected = [5, 2, 1, 3, 4]
    assert [row["payload"]["n"] for row in await run.trace()] == expected
    for limit in (1, 2, 3):
        assert [row["payload"]["n"] for row in await run.trace(limit=limit)] == expected


@pytest.mark.parametrize(
    "time",
    [17, None, "yesterday", "", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "x" * 10_000, {}],
)
async def test_a_time_that_cannot_be_read_leaves_the_event_where_it_arrived(
    run: DrivenRun, time: Any
) -> None:
    answered(await run.call("get_order", {"order_id": "4521"}))
    answered(await run.event("custom", {"__occurred_at": time}))
    answered(await run.call("get_order", {"order_id": "4521"}))
    rows = await run.trace()
    assert [row["sequence"] for row in rows] == [1, 2, 3]
    assert rows[1]["payload"] == {"__occurred_at": time}


async def test_an_event_from_the_future_does_not_move_the_calls_after_it(
    house: House, run: DrivenRun
) -> None:
    answered(await run.event("custom", {"__occurred_at": "2099-01-01T00:00:00Z"}))
    answered(await run.call("get_order", {"order_id": "4521"}))
    house.platform.live_runs.forget({run.id})
    answered(await run.call("get_order", {"order_id": "4521"}))
    assert [row["sequence"] for row in await run.trace()] == [2, 3, 1]


async def test_events_have_a_rate_of_their_own(tmp_path: Any) -> None:
    async with open_house(tmp_path, proxy_rate_limit=2) as house:
        run = await house.owner.run()
        statuses = [(await run.event("custom", {})).status_code for _ in range(21)]
        assert statuses == [200] * 20 + [429]
        answered(await run.call("get_order", {"order_id": "4521"}))
        assert len(await run.trace()) == 21
