"""Many runs of code: they leave nothing on the machine, and workers on Postgres take their share of them."""

import os
from collections import Counter, deque
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from code_desk import code_agent

from pipelines.sandbox.held_folders import USED
from pipelines.sandbox.memory import tree
from support.private_postgres import Cluster
from support.server_process import REFUND_TASK, Api, House, Node, eventually, fresh_house_in

pytestmark = pytest.mark.slow

RUNS, AT_ONCE = 200, 8
NO_LIMIT = {"PIPELINES_PROXY_RATE_LIMIT": "0"}

#: Does its task, and leaves what it can: files wherever it may write, a process that means to stay.
MESSY = """
import signal, subprocess, tempfile
for folder in ("/tmp", "/dev/shm", "/job"):
    with open(f"{folder}/left", "wb") as file:
        file.write(bytes(100_000))
tempfile.mkdtemp()
if os.fork() == 0:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True: signal.pause()
call(proxy_url, run_token, "refund_order", order_id="4521")
return "I have refunded order 4521."
"""
REFUND = """
call(proxy_url, run_token, "refund_order", order_id="4521")
print("with", os.environ["SHOP_KEY"], len(os.environ["SHOP_KEY"]))
return "I have refunded order 4521."
"""


def skip_without_isolation(api: Api) -> None:
    found = api.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])


class Inventory(NamedTuple):
    """What a server has on the machine while nothing runs."""

    processes: Counter[str]  # everything below it by its command, also the dead that nobody has waited for
    mounts: dict[str, list[str]]  # as the test, the server and its launcher see them
    files: set[Path]


def pids_below(house: House) -> set[int]:
    assert house.node is not None
    return set(tree(house.node.process.pid)) - {house.node.process.pid}


def at_rest(house: House) -> set[int]:
    """The processes below a server once none comes or goes: sandboxes are closed and started in its back."""
    looks: deque[set[int]] = deque(maxlen=25)

    def is_still() -> bool:
        looks.append(pids_below(house))
        return len(looks) == looks.maxlen and all(look == looks[0] for look in looks)

    eventually(is_still, "its processes are the same in 25 looks")
    return looks[0]


def inventory(house: House, temporary: Path) -> Inventory:
    assert house.node is not None
    pids = at_rest(house)
    outside = [str(pid) for pid in sorted(pids) if "/driver.py" not in read(f"/proc/{pid}/cmdline")]
    seen_by = ["self", str(house.node.process.pid), *outside]
    found = (path for place in (house.directory, temporary) for path in place.rglob("*"))
    return Inventory(
        processes=Counter(read(f"/proc/{pid}/cmdline") for pid in pids),
        mounts={one: read(f"/proc/{one}/mountinfo").splitlines() for one in seen_by},
        files={path for path in found if ".db" not in path.name},
    )


def handles(house: House) -> int:
    assert house.node is not None
    return len(os.listdir(f"/proc/{house.node.process.pid}/fd"))


def read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return "it has ended"


def test_two_hundred_runs_leave_nothing_behind(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with fresh_house_in(tmp_path / "house", NO_LIMIT | {"TMPDIR": str(temporary)}) as house:
        api = house.open()
        skip_without_isolation(api)
        agent = api.post("/api/agents", code_agent(MESSY, max_concurrency=AT_ONCE), 201)
        # A first run, after which the code is unpacked and sandboxes wait for more of it.
        api.ended(api.batch_of(agent["id"], api.dataset()["id"]))
        before, handles_before = inventory(house, temporary), handles(house)
        batch_id = api.batch_of(agent["id"], api.dataset(*[REFUND_TASK] * RUNS)["id"])
        assert api.ended(batch_id, patience_s=120)["counts"]["by_verdict"] == {"PASS": RUNS}
        assert inventory(house, temporary) == before
        assert handles(house) < handles_before + RUNS // 4
        waiting = pids_below(house)
        assert waiting, "nothing was looked at"
        house.stop()
        eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in waiting), "all have ended")
        assert list(temporary.iterdir()) == []
        assert read("/proc/self/mountinfo").splitlines() == before.mounts["self"]


# -- on Postgres


def test_a_worker_runs_code_too(postgres: Cluster, tmp_path: Path) -> None:
    """In a data directory of its own: it unpacks what the server has stored, and opens its secrets."""
    url = postgres.new_database()
    with ExitStack() as stack, psycopg.connect(url, autocommit=True) as database:
        house = stack.enter_context(fresh_house_in(tmp_path / "server", NO_LIMIT, "--database-url", url))
        api = house.open()
        skip_without_isolation(api)
        api.post("/api/credentials", {"name": "SHOP_KEY", "value": "s3cret-value"}, 201)
        agent = api.post("/api/agents", code_agent(REFUND, max_concurrency=2, secrets=["SHOP_KEY"]), 201)

        def ran_by() -> dict[int, str]:
            """The runs of another batch, and who has run each."""
            batch_id = api.batch_of(agent["id"], api.dataset(*[REFUND_TASK] * 4)["id"])
            assert api.ended(batch_id)["counts"]["by_verdict"] == {"PASS": 4}
            asked = "SELECT id, claimed_by FROM runs WHERE batch_id = %s"
            return dict(database.execute(asked, (batch_id,)).fetchall())

        (server,) = set(ran_by().values())
        shared = {"PIPELINES_SECRET_KEY": (house.directory / "secret.key").read_text().strip()}
        own = ("--data-dir", str(tmp_path / "worker"))
        worker = Node("worker", "--database-url", url, *own, env=NO_LIMIT | shared)
        stack.callback(worker.kill)
        worker.ready()

        def look() -> list[int]:
            return [run_id for run_id, node in ran_by().items() if node != server]

        by_worker = eventually(look, "the worker gets runs")
        for run_id in by_worker:
            assert [row["tool_name"] for row in api.trace(run_id)] == ["refund_order"]
            assert api.get(f"/api/runs/{run_id}/output")["stdout"] == "with [secret SHOP_KEY] 12\n"
        unpacked = {path.name for path in (tmp_path / "worker" / "code").iterdir()}
        assert unpacked == {agent["code"]["hash"], USED}
