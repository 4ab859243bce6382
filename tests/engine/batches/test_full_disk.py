"""A disk that is full for a while: nothing that was confirmed is lost, nothing is done twice, nothing that
was refused is done later, and no restart is needed."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.played_agents import holds, played
from support.server_process import REFUND_TASK, Api, House, eventually, house_in
from support.small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.fault

SETTINGS = {"PIPELINES_WORKER_SILENT_S": "2", "PIPELINES_PROXY_RATE_LIMIT": "0"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


@pytest.fixture(params=["one disk", "the queue alone"])
def house(request: pytest.FixtureRequest, disk: SmallDisk, tmp_path: Path) -> Iterator[House]:
    """Where the database has a disk of its own, only the queue of batches is on the full one."""
    apart = {"PIPELINES_DATABASE_URL": f"sqlite:///{tmp_path / 'apart.db'}"}
    more = apart if request.param == "the queue alone" else {}
    with house_in(disk.folder / "house", SETTINGS | more) as opened:
        yield opened


def readiness(api: Api) -> int:
    return httpx2.get(f"{api.url}/health/ready", timeout=30).status_code


def asked(api: Api, agent_id: int, dataset_id: int) -> httpx2.Response:
    return api.client.post("/api/runs", json={"agent_id": agent_id, "dataset_id": dataset_id})


def runs_of_all(api: Api) -> int:
    return len(api.get("/api/runs", limit=500)["items"])


def test_the_first_batch_during_a_full_disk_spoils_none_after_it(disk: SmallDisk, house: House) -> None:
    api = house.open()
    with played(holds) as agent:
        agent.may_answer.set()
        agent_id, dataset = api.agent(agent.url)["id"], api.dataset(*[REFUND_TASK] * 3)
        assert readiness(api) == 200
        with disk.full():
            assert readiness(api) == 503
            replies = [asked(api, agent_id, dataset["id"]) for _ in range(3)]
            assert {reply.status_code for reply in replies} <= {202, 503}, [one.text for one in replies]
        kept = [reply.json()["batch_id"] for reply in replies if reply.status_code == 202]
        eventually(lambda: readiness(api) == 200, "what was kept is queued")
        kept.append(api.batch_of(agent_id, dataset["id"]))
        for batch_id in kept:
            assert api.ended(batch_id)["counts"]["by_status"] == {"completed": 3}
        assert len(agent.runs_seen) == 3 * len(kept)
        assert set(agent.runs_seen.values()) == {1}
        house.kill()
        api = house.open()  # what was refused does not run at the next start either
        api.ended(api.batch_of(agent_id, dataset["id"]))
        assert len(agent.runs_seen) == runs_of_all(api) == 3 * len(kept) + 3


def test_a_batch_that_ends_on_a_full_disk_ends_when_there_is_room(disk: SmallDisk, house: House) -> None:
    api = house.open()
    with played(holds) as agent:
        agent_id, dataset = api.agent(agent.url)["id"], api.dataset(*[REFUND_TASK] * 2)
        first = api.batch_of(agent_id, dataset["id"])
        eventually(lambda: agent.at_once == 2, "both runs are with the agent")
        with disk.full():
            agent.may_answer.set()
            eventually(lambda: agent.at_once == 0, "the agent has answered both")
            assert readiness(api) == 503
            assert asked(api, agent_id, dataset["id"]).status_code in (202, 503)
        assert api.ended(first)["counts"]["by_status"] == {"completed": 2}
        eventually(lambda: readiness(api) == 200, "it is ready again")
        for _ in range(2):
            second = api.batch_of(agent_id, dataset["id"])
            assert api.ended(second)["counts"]["by_status"] == {"completed": 2}
        assert set(agent.runs_seen.values()) == {1}
        eventually(lambda: len(agent.runs_seen) == runs_of_all(api), "every stored run has run once")
