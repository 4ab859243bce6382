"""One org's many slow runs of code, and another's small batch: the small one does not wait for them."""

import sqlite3
import time
from pathlib import Path

import pytest
from code_desk import code_agent

from pipelines.storage.accounts.keys import add_key, add_org, new_key
from pipelines.wire.names import Role
from support.server_process import REFUND_TASK, Api, eventually, fresh_house_in

SLOW_S = 60
SLOW_RUNS, SMALL_RUNS = 24, 6


def second_org(api: Api, directory: Path) -> Api:
    """Orgs are made by the operator, beside the API."""
    key, now = new_key(), "2026-05-01T12:00:00.000000Z"
    with sqlite3.connect(directory / "odyssey.db", timeout=30) as connection:
        connection.row_factory = sqlite3.Row
        org_id = add_org(connection, "another", now)
        add_key(connection, org_id=org_id, name="key", role=Role.ADMIN, key=key, now=now)
    return Api(api.url, key)


def code_batch(api: Api, body: str, tasks: int) -> int:
    agent = api.post("/api/agents", code_agent(body, max_concurrency=24, run_timeout_s=120), 201)
    dataset = api.dataset(*[REFUND_TASK] * tasks, agent_id=agent["id"])
    return api.batch_of(agent["id"], dataset["id"])


@pytest.mark.slow
def test_a_small_batch_does_not_wait_for_another_orgs_many_slow_runs(tmp_path: Path) -> None:
    with fresh_house_in(tmp_path / "house", {"PIPELINES_UNSAFE_CODE": "yes"}) as house:
        api = house.open()
        other = second_org(api, tmp_path / "house")
        slow = code_batch(api, f"import time; time.sleep({SLOW_S}); return 'Done.'", SLOW_RUNS)
        eventually(lambda: api.by_status(slow).get("running", 0) == SLOW_RUNS, "all of them are claimed", 90)
        started = time.monotonic()
        small = other.ended(code_batch(other, "return 'Done.'", SMALL_RUNS), patience_s=SLOW_S)
        took = time.monotonic() - started
        print(f"{SMALL_RUNS} runs beside {SLOW_RUNS} slow ones took {took:.1f} s")
        assert small["counts"]["by_status"] == {"completed": SMALL_RUNS}
        assert took < SLOW_S - 10  # none of the slow ones had to end first
        assert api.by_status(slow).get("completed", 0) == 0
        api.post(f"/api/batches/{slow}/cancel")
