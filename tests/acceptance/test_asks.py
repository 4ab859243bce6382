"""Late replies over real sockets: in order, and a server that dies or stops in the middle of one."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from served import Server, running, visiting

from support.desk import DrivenRun, Row, answered, outage, refused

pytestmark = pytest.mark.anyio
PATIENCE_S = 40
ORDER = {"order_id": "4521"}
NEVER_MS = 300_000  # longer than any test: the server ends first


def late(tool: str, n: int, ms: int, duration: int = 1, **error: Any) -> Row:
    rule = {"trigger": "after_n_calls", "tool": tool, "n": n, "duration": duration, "latency_ms": ms}
    return rule | ({"error": error} if error else {})


def note(text: str) -> Row:
    return {"order_id": "7001", "text": text}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that leave it running. It stops as it should, with nothing to say."""
    with running(tmp_path_factory.mktemp("lasting") / "data") as server:
        yield server
        assert server.stop() == 0
        assert server.errors.read_text() == ""


async def until(look: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        while not (found := await look()):
            pass
    return found


async def test_late_replies_keep_the_order_and_come_late(lasting: Server) -> None:
    rules = [
        late("get_order", n=1, ms=150),
        late("add_note", n=2, ms=30, duration=3),
        outage("add_note", n=8),
        late("add_note", n=12, ms=10, code=503, message="Late and down"),
    ]
    async with visiting(lasting) as org:
        run = await org.run(failure_rules=rules)
        calls = [run.call("get_order", ORDER)]
        calls += [run.call("add_note", note(str(n)), idempotency_key=str(n)) for n in range(20)]
        calls += [run.call("get_orders", ORDER), run.event("thinking", {})]
        replies = [reply.json() for reply in await asyncio.gather(*calls)]
        rows = await run.trace(limit=500)
    assert sorted(row["sequence"] for row in rows) == list(range(1, 24))
    calls_made = sorted((r for r in rows if r["kind"] == "tool_call"), key=lambda row: row["sequence"])
    notes: list[str] = []
    of_notes = [row for row in calls_made if row["tool_name"] == "add_note"]
    for row in of_notes:
        if row["source"] == "odyssey":
            notes.append(row["arguments"]["text"])
            assert row["response"]["notes"] == notes
    matched = [row["matched_rule_index"] for row in of_notes]
    assert matched == [None, 1, 1, 1, None, None, None, 2, None, None, None, 3, *[None] * 8]
    by_text = {row["arguments"]["text"]: row for row in of_notes}
    for text, reply in enumerate(replies[1:21]):
        row = by_text[str(text)]
        assert {name: row[name] for name in ("response", "source", "latency_ms")} == {
            name: reply[name] for name in ("response", "source", "latency_ms")
        }
    assert replies[0]["latency_ms"] >= 150
    assert all(row["latency_ms"] >= 30 for row in of_notes[1:4])


async def a_call_that_is_out(run: DrivenRun) -> "asyncio.Task[httpx2.Response]":
    """A refund that the server holds back; it is on record when this returns."""
    before = len(await run.trace())
    call = asyncio.ensure_future(run.call("refund_order", ORDER, idempotency_key="k"))

    async def is_on_record() -> bool:
        return len(await run.trace()) > before

    await until(is_on_record)
    return call


async def test_a_kill_in_the_middle_of_a_late_call_leaves_it_unknown(tmp_path: Path) -> None:
    rules = [late("refund_order", n=1, ms=NEVER_MS), outage("refund_order", n=2)]
    with running(tmp_path / "data") as server:
        async with visiting(server) as org:
            run = await org.run(failure_rules=rules)
            answered(await run.call("add_note", note("before")), 200)
            out = await a_call_that_is_out(run)
            behind = asyncio.ensure_future(run.call("add_note", note("behind")))
            await until(lambda: _has_rows(run, 3))
            server.kill()
            for call in (out, behind):
                with pytest.raises(httpx2.TransportError):
                    await call
    with running(tmp_path / "data") as server:
        async with visiting(server) as org:
            run = DrivenRun(org.client, run.opened)
            codes = [row["error_code"] for row in await run.trace()]
            assert codes == [None, "outcome_unknown", "outcome_unknown"]
            again = [await run.call("refund_order", ORDER, idempotency_key="k") for _ in range(2)]
            for reply in again:
                error = refused(reply, 502, "outcome_unknown")
                assert "details" not in error, "which process asked is nobody's business"
                assert "until" not in reply.text
            assert again[0].content == again[1].content
            refused(
                await run.call("refund_order", note("x"), idempotency_key="k"), 409, "idempotency_key_reused"
            )
            assert answered(await run.call("add_note", note("after")))["response"]["notes"] == [
                "before",
                "after",
            ]
            # The first refund was counted: the second is the rule's.
            second = await run.call("refund_order", ORDER)
            assert (second.status_code, second.json()["matched_rule_index"]) == (502, 1)
            assert [row["sequence"] for row in await run.trace()] == [1, 2, 3, 4, 5, 6]
            finished = answered(await run.finish())
            assert finished["status"] == "completed"


async def _has_rows(run: DrivenRun, count: int) -> bool:
    return len(await run.trace()) >= count


@pytest.mark.slow
async def test_a_stop_in_the_middle_of_a_late_call_does_not_wait_for_it(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        async with visiting(server) as org:
            run = await org.run(failure_rules=[late("refund_order", n=1, ms=NEVER_MS)])
            out = await a_call_that_is_out(run)
            began = time.monotonic()
            code = await asyncio.to_thread(server.stop)
            assert code == 0, server.errors.read_text()
            assert time.monotonic() - began < 15
            refused(await out, 502, "outcome_unknown")
    assert server.errors.read_text() == ""
    with running(tmp_path / "data") as again:
        async with visiting(again) as org:
            run = DrivenRun(org.client, run.opened)
            refused(await run.call("refund_order", ORDER, idempotency_key="k"), 502, "outcome_unknown")
            assert answered(await run.call("get_order", ORDER), 200)["response"]["status"] == "shipped"


async def test_a_caller_that_hangs_up_does_not_undo_its_call(lasting: Server) -> None:
    async with visiting(lasting) as org:
        run = await org.run(failure_rules=[late("refund_order", n=1, ms=300)])
        out = await a_call_that_is_out(run)
        out.cancel()
        reply = answered(await run.call("refund_order", ORDER, idempotency_key="k"), 200)
        assert (reply["source"], reply["matched_rule_index"]) == ("odyssey", 0)
        assert (await run.ledger())["state"]["order"]["4521"]["status"] == "refunded"
        assert len(await run.trace()) == 1


async def test_cancelling_a_run_answers_its_late_calls_at_once(lasting: Server) -> None:
    async with visiting(lasting) as org:
        run = await org.run(failure_rules=[late("refund_order", n=1, ms=NEVER_MS)])
        out = await a_call_that_is_out(run)
        answered(await org.client.post(f"/api/runs/{run.id}/cancel"))
        refused(await out, 409, "run_not_active")
