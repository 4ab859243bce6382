"""`GET /metrics`: what happened is what is told, in a format that scrapers read, to whom it concerns."""

import asyncio
import re
import sqlite3
import time
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from pipelines import __version__
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.engine.platform import DISPATCHES
from pipelines.server.proxy.tally import Tally
from pipelines.server.service import loop_lag
from pipelines.server.service.loop_lag import LoopLag
from pipelines.server.service.metrics import METRICS, Sample, written
from pipelines.wire.names import PROXY_BASE, Role
from support.desk import House, Org, answered, open_house, outage, refused
from support.proxy_twins import Served, call_of, converse, twins

pytestmark = pytest.mark.anyio
SAMPLE = re.compile(r'(\w+)(\{(?:\w+="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)')
PATIENCE_S = 20


def read(text: str) -> dict[str, float]:
    """Every sample by its name and labels; what is no sample and no remark fails."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            found[match[1] + (match[2] or "")] = float(match[3])
    return found


async def scraped(client: httpx2.AsyncClient) -> dict[str, float]:
    response = await client.get("/metrics")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(response.text)


def calls(source: str) -> str:
    return f'pipelines_tool_call_seconds_count{{source="{source}"}}'


async def test_tool_calls_are_counted_by_who_answered_them(house: House, org: Org) -> None:
    run = await org.run(failure_rules=[outage("search_inventory", n=1)])
    for _ in range(3):
        answered(await run.call("get_order", {"order_id": "4521"}))
    answered(await run.call("search_inventory", {"query": "mug"}), 502)
    answered(await run.call("get_order", {"wrong": 1}), 422)
    told = await scraped(house.stranger)
    assert [told[calls(source)] for source in ("odyssey", "injected", "error", "passthrough")] == [3, 1, 1, 0]
    assert 0 < told['pipelines_tool_call_seconds_sum{source="odyssey"}'] < PATIENCE_S
    assert told["pipelines_live_runs"] == 1
    assert told["pipelines_rows_unstored"] == 0
    assert told["pipelines_rows_stored_total"] == 5
    assert told["pipelines_storage_groups_total"] >= 5  # one call after the other, and the changes before
    assert told['pipelines_slots_held{for="judging"}'] == told['pipelines_slots_waiting{for="judging"}'] == 0


async def test_what_is_refused_at_the_door_is_counted_by_its_code(house: House, org: Org) -> None:
    run = await org.run()
    for _ in range(2):
        wrong = {"Authorization": "Bearer none"}
        refused(await house.stranger.post(f"{PROXY_BASE}/tools/x", headers=wrong), 401, "invalid_run_token")
    refused(await run.raw("tools", b"", method="DELETE"), 405, "method_not_allowed")
    told = await scraped(house.stranger)
    assert told['pipelines_proxy_refusals_total{code="invalid_run_token"}'] == 2
    assert told['pipelines_proxy_refusals_total{code="method_not_allowed"}'] == 1
    assert told[calls("error")] == 0


async def test_a_call_over_the_rate_is_a_refusal(tmp_path: Path) -> None:
    async with open_house(tmp_path / "house", proxy_rate_limit=1) as house:
        run = await house.owner.run()
        answered(await run.call("get_order", {"order_id": "4521"}))
        refused(await run.call("get_order", {"order_id": "4521"}), 429, "rate_limited")
        told = await scraped(house.stranger)
    assert told['pipelines_proxy_refusals_total{code="rate_limited"}'] == 1
    assert told[calls("odyssey")] == 1


def test_the_lean_way_counts_as_asgi_does(tmp_path: Path) -> None:
    with twins(tmp_path, runs=1) as pair:
        run = pair.fresh_run()
        requests = [call_of(run, "get_order")] * 5 + [call_of(run, "search_inventory", b'{"query":"mug"}')]
        counts = [of_calls(served, requests) for served in (pair.lean, pair.asgi)]
    assert counts[0] == counts[1]
    assert counts[0][calls("injected")] == 2
    assert counts[0][calls("odyssey")] == 4


def of_calls(served: Served, requests: list[bytes]) -> dict[str, float]:
    converse(served, requests)
    told = read(httpx2.get("http://{}:{}/metrics".format(*served.address)).text)
    return {name: value for name, value in told.items() if "_count" in name or "refusals" in name}


async def test_a_call_that_waits_is_seen_waiting(house: House, org: Org) -> None:
    late = {"trigger": "after_n_calls", "tool": "get_order", "n": 1, "duration": 1, "latency_ms": 300_000}
    run = await org.run(failure_rules=[late])
    call = asyncio.ensure_future(run.call("get_order", {"order_id": "4521"}))
    async with asyncio.timeout(PATIENCE_S):
        while (waiting := (await scraped(house.stranger))["pipelines_calls_waiting"]) == 0:
            pass
    assert waiting == 1
    house.app.give_up_asking()
    await call
    assert (await scraped(house.stranger))["pipelines_calls_waiting"] == 0


async def test_batches_and_their_runs_are_counted_while_they_are_under_way(house: House, org: Org) -> None:
    run = await org.run()
    done = await org.run()
    with sqlite3.connect(house.settings.database_path) as aside:
        aside.execute(
            "INSERT INTO batches"
            " (id, org_id, agent_id, agent_version, repeats, concurrency, status, created_at)"
            " VALUES (7, 1, 1, 1, 1, 1, 'running', ''), (8, 1, 1, 1, 1, 1, 'completed', '')"
        )
        aside.execute("UPDATE runs SET batch_id = 7, status = 'pending' WHERE id = ?", (run.id,))
        aside.execute("UPDATE runs SET batch_id = 8, status = 'completed' WHERE id = ?", (done.id,))
    aside.close()
    told = await scraped(house.stranger)
    assert told["pipelines_batches_under_way"] == 1
    assert told['pipelines_runs{state="pending"}'] == 1
    assert told['pipelines_runs{state="completed"}'] == 0


async def test_a_database_that_cannot_be_read_takes_no_other_figure_away(house: House) -> None:
    assert (await scraped(house.stranger))["pipelines_storage_up"] == 1
    with sqlite3.connect(house.settings.database_path) as aside:
        aside.execute("ALTER TABLE batches RENAME TO elsewhere")
    told = await scraped(house.stranger)
    with sqlite3.connect(house.settings.database_path) as again:
        again.execute("ALTER TABLE elsewhere RENAME TO batches")
    for connection in (aside, again):
        connection.close()
    assert told["pipelines_storage_up"] == 0
    assert told["process_resident_memory_bytes"] > 10_000_000
    assert "pipelines_batches_under_way" not in told


async def test_every_metric_of_the_table_is_told_and_no_other(house: House) -> None:
    await house.stranger.post(f"{PROXY_BASE}/tools/x")
    response = await house.stranger.get("/metrics")
    assert re.findall(r"^# TYPE (\w+) (\w+)$", response.text, re.MULTILINE) == [
        (metric.name, metric.kind) for metric in METRICS
    ]
    names = {re.sub(r"_(bucket|sum|count)$", "", name.partition("{")[0]) for name in read(response.text)}
    assert names == {metric.name for metric in METRICS}
    assert f'pipelines_build_info{{version="{__version__}",' in response.text


async def test_the_buckets_of_the_histogram_add_up(house: House, org: Org) -> None:
    run = await org.run()
    for _ in range(4):
        answered(await run.call("get_order", {"order_id": "4521"}))
    text = (await house.stranger.get("/metrics")).text
    pattern = r'^pipelines_tool_call_seconds_bucket\{source="odyssey",le="(\S+)"\} (\d+)$'
    buckets = re.findall(pattern, text, re.MULTILINE)
    bounds = [float(bound) for bound, _ in buckets]
    counts = [int(count) for _, count in buckets]
    assert bounds == sorted(set(bounds))
    assert bounds[-1] == float("inf")
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, 4)  # no call takes less than 64 µs


@pytest.mark.parametrize(("milliseconds", "bound"), [(0.9, "0.001024"), (1.1, "0.002048"), (900, "1.048576")])
async def test_a_call_is_in_the_first_bucket_that_is_long_enough(
    house: House, milliseconds: float, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as clock:
        clock.setattr(time, "perf_counter", lambda: 1.0 + milliseconds / 1e3)
        house.app.proxy.tally.answered("odyssey", 1.0)
    text = (await house.stranger.get("/metrics")).text
    pattern = r'^pipelines_tool_call_seconds_bucket\{source="odyssey",le="(\S+)"\} 1$'
    assert re.findall(pattern, text, re.MULTILINE)[0] == bound


async def test_runs_that_hold_a_slot_or_wait_for_one_are_counted(house: House) -> None:
    dispatching = house.platform.dispatching
    async with AsyncExitStack() as held:
        while dispatching.held < DISPATCHES:
            await held.enter_async_context(dispatching.slot(SlotHolder(1)))
        waiting = asyncio.ensure_future(held.enter_async_context(dispatching.slot(SlotHolder(1))))
        await asyncio.sleep(0)
        told = await scraped(house.stranger)
        waiting.cancel()
    figures = [told[f'pipelines_slots_{of}{{for="dispatching"}}'] for of in ("held", "waiting")]
    assert figures == [DISPATCHES, 1]


@pytest.mark.parametrize(("microseconds", "place"), [(0, 0), (1, 1), (1000, 10), (1025, 11), (10**9, 30)])
def test_a_latency_has_its_place(microseconds: int, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 1.0 + microseconds / 1e6 + 1e-8)
    tally = Tally()
    tally.answered("odyssey", 1.0)
    assert tally.by_source["odyssey"].by_place[place] == 1


@pytest.mark.parametrize("reached", [{"host": "0.0.0.0"}, {"public_url": "https://odyssey.example.com"}])
async def test_where_others_reach_the_server_a_key_of_any_role_is_needed(
    tmp_path: Path, reached: dict[str, str]
) -> None:
    async with open_house(tmp_path / "house", **reached) as house:
        refused(await house.stranger.get("/metrics"), 401, "missing_api_key")
        viewer = await house.owner.key_of(Role.VIEWER)
        assert "pipelines_live_runs" in await scraped(viewer.client)
        wrong = {"Authorization": "Bearer pk_live_wrong"}
        refused(await house.stranger.get("/metrics", headers=wrong), 401, "invalid_api_key")


async def test_a_loop_that_stood_still_is_told(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lag, "EVERY_S", 0.001)
    lag = LoopLag()
    assert lag.worst_s == 0.0
    time.sleep(0.05)  # noqa: ASYNC251 - nobody else gets a turn meanwhile: that is what is measured
    async with asyncio.timeout(PATIENCE_S):
        while lag.worst_s < 0.04:  # noqa: ASYNC110 - until the timer had its turn
            await asyncio.sleep(0)
    lag.close()


def test_labels_cannot_break_the_format() -> None:
    text = written([Sample("pipelines_runs", 1, {"state": 'a"b\\c\nd'})])
    assert r'pipelines_runs{state="a\"b\\c\nd"} 1' in text.splitlines()
