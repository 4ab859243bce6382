"""What time it is in the worlds of a batch: each run has its own start, unless its task says another."""

import sqlite3
from contextlib import closing

import pytest

from support.played_agents import does_nothing, holds, played
from support.server_process import REFUND_TASK, Api, House, eventually

NOON = "2026-05-01T12:00:00.000000Z"


def test_each_run_has_its_own_start_or_what_its_task_says(api: Api) -> None:
    with played(does_nothing) as agent:
        rows = [REFUND_TASK, REFUND_TASK | {"now": NOON}]
        batch_id = api.start_batch(agent.url, *rows, repeats=2, concurrency=1)
        api.ended(batch_id)
    first, dated, second, dated_again = api.runs(batch_id)
    for run in (first, second):
        assert run["simulated_now"] == run["started_at"] > run["created_at"]
    assert first["simulated_now"] != second["simulated_now"]
    assert dated["simulated_now"] == dated_again["simulated_now"] == NOON


def test_a_run_that_has_not_started_has_no_time_yet(api: Api) -> None:
    with played(holds) as agent:
        batch_id = api.start_batch(agent.url, REFUND_TASK, REFUND_TASK, concurrency=1)
        eventually(lambda: agent.at_once == 1, "the agent holds the first")
        started, waiting = api.runs(batch_id)
        assert started["simulated_now"] == started["started_at"]
        assert waiting["simulated_now"] is None
        assert api.get(f"/api/runs/{waiting['id']}")["simulated_now"] is None
        agent.may_answer.set()
        api.ended(batch_id)


@pytest.mark.slow
def test_a_run_stored_with_its_tasks_date_keeps_it(own_house: House) -> None:
    """As versions before did: what was pending then is not given another today."""
    api = own_house.open()
    with played(holds) as agent:
        batch_id = api.start_batch(agent.url, REFUND_TASK, REFUND_TASK, agent={"max_concurrency": 1})
        eventually(lambda: agent.at_once == 1, "the agent holds the first")
        own_house.kill()
        with closing(sqlite3.connect(own_house.directory / "odyssey.db")) as connection, connection:
            connection.execute("UPDATE runs SET simulated_now = ? WHERE status = 'pending'", (NOON,))
        agent.may_answer.set()
        api = own_house.open()
        api.ended(batch_id)
    assert api.runs(batch_id)[1]["simulated_now"] == NOON
