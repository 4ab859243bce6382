"""Spans and drafts on SQLite and Postgres alike: stored once, found by time and device, removed in time."""

from functools import partial
from typing import Any

import pytest

from pipelines.core.evals.telemetry.decisions import SpanLine
from pipelines.core.evals.telemetry.masking import Masking
from pipelines.core.evals.telemetry.spans import Span
from pipelines.core.evals.telemetry.stored_spans import stored_parts
from pipelines.core.text.json_text import loads_own
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.database import Database
from pipelines.storage.evals import drafts, spans
from pipelines.storage.evals.spans import READ_AT_ONCE, Window

pytestmark = pytest.mark.anyio
NOW_NS = 1_794_852_216_000_000_000
NOW = "2026-11-16T18:03:36.000000Z"
DRAFT: Any = {
    "id": "drf_1",
    "kind": "recurring",
    "skill": "s",
    "name": "n",
    "confidence": 0.4,
    "support": {"k": 3, "n": 3},
    "scenario": {},
}


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: [add_org(connection, name, NOW) for name in ("a", "b")])
    return database


def parts(*numbers: int, ended_ns: int = NOW_NS, device: str = "dev-1") -> list[bytes]:
    made = [
        Span(
            "skill.invoke",
            f"{n:032x}",
            f"{n:016x}",
            1,
            ended_ns,
            "ok",
            {"skill.name": "s\0"},
            {"host.id": device},
        )
        for n in numbers
    ]
    *kept, _ = stored_parts(made, Masking(b"k"), arrived_ns=NOW_NS)
    return kept


async def add(database: Database, some: list[bytes], org_id: int = 1, arrived_ns: int = NOW_NS) -> int:
    store = partial(spans.add_spans, org_id=org_id, arrived_ns=arrived_ns)
    return sum([await database.write_part(partial(store, part=part)) for part in some])


async def read(database: Database, window: Window) -> list[Any]:
    found: list[Any] = []
    after = None
    while True:
        page = await database.read(partial(spans.span_lines, window=window, after=after))
        found += [loads_own(line) for line in page.lines]
        after = page.last
        if after is None:
            return found


async def test_spans_are_stored_once_per_org_and_read_newest_first(database: Database):
    assert await add(database, parts(*range(1, 1_201))) == 1_200
    assert await add(database, parts(1, 2, 5_000, ended_ns=NOW_NS + 5)) == 1
    assert await add(database, parts(1), org_id=2) == 1
    window = Window(org_id=1, since_ns=NOW_NS - 1, until_ns=NOW_NS + 10, device_id=None)
    found = await read(database, window)
    assert len(found) == 1_201 > 2 * READ_AT_ONCE
    assert found[0][1] == f"{5_000:016x}"
    assert len({line[0] for line in found}) == 1_201


async def test_spans_are_found_by_their_device(database: Database):
    await add(database, parts(1, 2))
    await add(database, parts(3, device="dev-2"))
    await add(database, parts(4), org_id=2)
    window = Window(org_id=1, since_ns=0, until_ns=NOW_NS, device_id="dev-1")
    assert [line[0][-1] for line in await read(database, window)] == ["2", "1"]
    matched = await database.read(partial(spans.device_matches, window=window))
    assert matched == {"device.id": 0, "host.id": 2, "service.instance.id": 0, "gen_ai.agent.id": 0}


async def test_a_line_is_what_decisions_are_read_from(database: Database):
    span = Span(
        name="execute_tool refund",
        trace_id="4" * 32,
        span_id="2" * 16,
        start_ns=NOW_NS - 9,
        end_ns=NOW_NS,
        status="ok",
        attributes={"skill.input": {"a": 1}, "skill.output": "done"},
        resource={},
        parent_id="1" * 16,
    )
    part, _ = stored_parts([span], Masking(b"k"), arrived_ns=NOW_NS)
    await add(database, [part])
    (line,) = await read(database, Window(org_id=1, since_ns=0, until_ns=NOW_NS, device_id=None))
    assert SpanLine(*line) == SpanLine(
        trace_id="4" * 32,
        span_id="2" * 16,
        parent_id="1" * 16,
        name="execute_tool refund",
        skill="refund",
        status="ok",
        start_ns=NOW_NS - 9,
        end_ns=NOW_NS,
        input={"a": 1},
        outcome="done",
    )


@pytest.mark.parametrize("of_resource", [True, False], ids=["resource", "span"])
@pytest.mark.parametrize("key", ["device.id", "device_id"])
async def test_both_spellings_of_a_device_are_found_on_resource_and_span(
    database: Database, key: str, of_resource: bool
):
    told = {key: "dev-1"}
    span = Span(
        *("skill.invoke", "4" * 32, "2" * 16, 1, NOW_NS, "ok"),
        attributes={} if of_resource else told,
        resource=told if of_resource else {},
    )
    part, _ = stored_parts([span], Masking(b"k"), arrived_ns=NOW_NS)
    await add(database, [part])
    await add(database, parts(7, device="dev-2"))
    window = Window(org_id=1, since_ns=0, until_ns=NOW_NS, device_id="dev-1")
    assert [line[0] for line in await read(database, window)] == ["4" * 32]
    matched = await database.read(partial(spans.device_matches, window=window))
    assert matched["device.id"] == sum(matched.values()) == 1


async def test_old_spans_go_and_their_resources_after_them(database: Database):
    await add(database, parts(*range(1, 701)), arrived_ns=NOW_NS - 100)
    await add(database, parts(5_000, device="dev-2"))
    assert await database.write(partial(spans.remove_old_spans, before_ns=NOW_NS)) == 500
    assert await database.write(partial(spans.remove_old_spans, before_ns=NOW_NS)) == 200
    assert await database.write(partial(spans.remove_old_spans, before_ns=NOW_NS)) == 0
    await database.write(partial(spans.remove_old_resources, before_ns=NOW_NS))
    left = await database.read(
        lambda connection: connection.execute("SELECT host_id FROM span_resources").fetchall()
    )
    assert [row[0] for row in left] == ["dev-2"]


async def test_a_draft_is_kept_once_and_decided_once(database: Database):
    keep = partial(drafts.keep_drafts, org_id=1)
    await database.write(partial(keep, bodies=[DRAFT], now=NOW))
    (head,) = await database.write(partial(keep, bodies=[DRAFT | {"confidence": 0.9}], now="later"))
    assert (head.confidence, head.created_at, head.updated_at) == (0.9, NOW, "later")
    decide = partial(drafts.decide_draft, org_id=1, draft_id="drf_1", scenario_id=None, now="at last")
    assert await database.write(partial(decide, status="dismissed"))
    assert not await database.write(partial(decide, status="adopted"))
    (head,) = await database.write(partial(keep, bodies=[DRAFT], now="after"))
    assert (head.status, head.confidence, head.updated_at) == ("dismissed", 0.9, "at last")
    assert await database.read(partial(drafts.decided_ids, org_id=1)) == ["drf_1"]
