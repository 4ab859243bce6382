"""The time of day is set an hour ahead and back while everything is under way: nothing notices."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.desk import AGENT, TASK
from support.played_agents import Dispatch, call_tool, played
from support.repository import TESTS
from support.server_process import REFUND_TASK, Api, events_of, eventually, house_in

HOUR = 3600.0
TTL_S = 40  # of a run by hand: longer than the jumps before its end take on a loaded machine
LIMIT = 20  # calls a minute
ENV = {
    "PIPELINES_PROXY_RATE_LIMIT": str(LIMIT),
    "PIPELINES_MANUAL_RUN_TTL_S": str(TTL_S),
    "PIPELINES_WORKER_SILENT_S": "1",
}
ORDER = {"order_id": "4521"}


class Jumping(NamedTuple):
    api: Api
    file: Path

    def jump(self, seconds: float) -> None:
        self.file.write_text(str(seconds))


@pytest.fixture
def jumping(tmp_path: Path) -> Iterator[Jumping]:
    file = tmp_path / "clock"
    file.write_text("0")
    with house_in(tmp_path / "house", ENV) as house:
        house.program = (str(TESTS / "support" / "jumping_clock.py"), str(file))
        yield Jumping(house.open(), file)


def manual_run(api: Api) -> dict[str, Any]:
    agent_id = api.post("/api/agents", AGENT, 201)["id"]
    (task_id,) = api.dataset(TASK, agent_id=agent_id)["task_ids"]
    opened: dict[str, Any] = api.post(
        "/api/runs", {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}, 201
    )
    return opened


def call(run: dict[str, Any]) -> int:
    return call_tool(run["odyssey_proxy_url"], run["run_token"], "get_order", ORDER).status


@pytest.mark.slow
def test_a_clock_that_is_set_interrupts_nothing_and_runs_end_when_they_are_due(jumping: Jumping) -> None:
    api = jumping.api
    statuses: list[int] = []

    def works(dispatch: Dispatch) -> None:
        statuses.append(dispatch.call("refund_order", ORDER).status)
        dispatch.until_let_go()
        statuses.append(dispatch.call("get_order", ORDER).status)
        dispatch.answer("Order 4521 is refunded.")

    with played(works) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 6, agent={"max_concurrency": 2})
        events: list[tuple[str, Any]] = []
        watching = threading.Thread(target=lambda: events.extend(events_of(api, batch_id)), daemon=True)
        watching.start()
        eventually(lambda: len(statuses) == 2, "two runs are under way")
        called, opened_at = manual_run(api), time.monotonic()
        assert call(called) == 200
        limited = manual_run(api)
        assert [call(limited) for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
        for seconds in (HOUR, 0, -HOUR, HOUR):
            opened = manual_run(api)  # its first call comes after the jump
            jumping.jump(seconds)
            assert [call(opened), call(called), call(limited)] == [200, 200, 429]
            time.sleep(1.5)  # longer than a worker may be silent
            assert api.by_status(batch_id) == {"running": 2, "pending": 4}
        jumping.jump(-HOUR)
        agent.may_answer.set()
        assert api.ended(batch_id)["counts"]["by_verdict"] == {"PASS": 6}
        watching.join(30)
    assert events[-1][0] == "end"
    assert set(statuses) == {200}
    eventually(lambda: call(called) == 409, "the run by hand expires", 2 * TTL_S)
    assert time.monotonic() - opened_at >= TTL_S
