"""Killed between two slices of a large change: what nobody was told of is gone, the rest is finished."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import httpx2
import pytest

from support.played_agents import holds, played, refunds
from support.server_process import REFUND_TASK, Api, House, eventually

pytestmark = pytest.mark.fault

TASKS, REPEATS = 60, 100  # thirty slices of runs: long enough to be killed in the middle


@contextmanager
def asked(ask: Callable[[], object]) -> Iterator[None]:
    """Something is asked of a server, which will not live to answer."""

    def until_it_dies() -> None:
        with suppress(httpx2.HTTPError, AssertionError):
            ask()

    asking = threading.Thread(target=until_it_dies)
    asking.start()
    yield
    asking.join()


def stored(house: House, question: str) -> list[Any]:
    """From beside the server; nothing while its file is being made."""
    with closing(sqlite3.connect(house.directory / "odyssey.db", timeout=10)) as database:
        return [row[0] for row in database.execute(question)]


def in_the_middle(house: House, question: str, whole: int) -> None:
    """Killed once some rows, and not all, are there."""
    (count,) = eventually(
        lambda: [n for n in stored(house, question) if n > 0], f"some of {whole} rows are there"
    )
    house.kill()
    (count,) = stored(house, question)
    assert 0 < count < whole


@pytest.mark.slow
def test_killed_in_an_upload(own_house: House):
    api = own_house.open()
    rows = [REFUND_TASK | {"task_input": {"text": f"{number} " + "x" * 900_000}} for number in range(30)]
    with asked(lambda: api.dataset(*rows)):
        in_the_middle(own_house, "SELECT COUNT(*) FROM texts", 61)
    assert stored(own_house, "SELECT COUNT(*) FROM datasets") == [0]
    api = own_house.open()
    assert api.get("/api/datasets")["items"] == []
    for table in ("texts", "loose_texts"):
        assert stored(own_house, f"SELECT COUNT(*) FROM {table}") == [0]
    again = api.dataset(*rows)
    assert len(again["task_ids"]) == 30
    task = api.get(f"/api/tasks/{again['task_ids'][7]}")
    assert task["odyssey_seed"]["task_input"] == rows[7]["task_input"]


def batch_asked_for(api: Api, url: str) -> Callable[[], object]:
    agent = api.agent(url, max_concurrency=2)
    dataset = api.dataset(*[REFUND_TASK | {"user": f"Refund #4521. {n}"} for n in range(TASKS)])
    body = {"agent_id": agent["id"], "dataset_id": dataset["id"], "repeats": REPEATS}
    return lambda: api.post("/api/runs", body)


@pytest.mark.slow
def test_killed_while_a_batch_is_opened(own_house: House):
    api = own_house.open()
    with played(refunds) as agent:
        with asked(batch_asked_for(api, agent.url)):
            in_the_middle(own_house, "SELECT COUNT(*) FROM runs", TASKS * REPEATS)
        api = own_house.open()
        assert api.get("/api/batches")["items"] == []
        assert api.get("/api/runs")["items"] == []
        for table in ("batches", "runs"):
            assert stored(own_house, f"SELECT COUNT(*) FROM {table}") == [0]
        assert agent.dispatches == []
        assert api.ended(api.start_batch(agent.url))["counts"]["by_verdict"] == {"PASS": 1}


@pytest.mark.slow
def test_killed_while_a_batch_is_cancelled_and_while_it_is_resumed(own_house: House):
    api = own_house.open()
    total = TASKS * REPEATS
    cancelled = "SELECT COUNT(*) FROM runs WHERE status = 'cancelled'"
    with played(holds) as agent:
        batch_id = batch_asked_for(api, agent.url)()["batch_id"]  # type: ignore[index]
        eventually(lambda: agent.at_once == 2, "the batch is under way")
        with asked(lambda: api.post(f"/api/batches/{batch_id}/cancel")):
            in_the_middle(own_house, cancelled, total)
        seen = set(agent.runs_seen)
        api = own_house.open()
        assert api.batch(batch_id)["status"] == "cancelled"
        by_status = api.by_status(batch_id)
        assert by_status["cancelled"] >= total - 2  # the two under way may have been cut off before
        assert by_status["cancelled"] + by_status.get("failed", 0) == total
        with asked(lambda: api.post(f"/api/batches/{batch_id}/resume")):
            eventually(lambda: stored(own_house, cancelled)[0] < total - 2, "some are pending again")
            own_house.kill()
        assert stored(own_house, cancelled)[0] > 0
        api = own_house.open()
        assert api.batch(batch_id)["status"] == "running"
        resumed = api.post(f"/api/batches/{batch_id}/resume", status=202)
        assert resumed["status"] == "running"
        assert "cancelled" not in api.by_status(batch_id)
        assert api.batch(batch_id)["counts"]["total"] == total
        api.post(f"/api/batches/{batch_id}/cancel")
        assert set(agent.runs_seen.values()) == {1}
        assert seen <= set(agent.runs_seen)
        agent.may_answer.set()
