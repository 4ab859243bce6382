"""How long `GET /api/runs` takes while a large batch is worked off, against the same when nothing is.

    python bench/lists.py [runs of the batch]

One server process, an agent that answers at once, one client that asks for the first page again and again.
Each is a process of its own: beside the threads of the agent the client would wait for its own interpreter.
The agent has a lower priority, since elsewhere it is on another machine and takes no core of the server's.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.desk import AGENT
from support.played_agents import Dispatch, played
from support.server_process import REFUND_TASK, Api, house_in

ROUNDS = 6  # idle and busy by turns: what else the machine does meanwhile falls on both
SAMPLES = 300  # a round: of 1,800 in all, 18 are slower than the p99
PAUSE_S = 0.01


def ask(url: str, key: str) -> None:
    """The client: prints the milliseconds of each question."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    took: list[float] = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        connection.request("GET", "/api/runs?limit=50", headers={"X-API-Key": key})
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.read()
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_S)
    print(json.dumps(took))


def asked(api: Api) -> list[float]:
    """Milliseconds of each question."""
    command = [sys.executable, __file__, "--ask", api.url, api.key]
    took: list[float] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return took


def told(name: str, took: list[float]) -> dict[str, float]:
    places = statistics.quantiles(took, n=100)
    row = {
        "p50": round(places[49], 1),
        "p90": round(places[89], 1),
        "p99": round(places[98], 1),
        "max": round(max(took), 1),
        "n": len(took),
    }
    print(json.dumps({name: row}), flush=True)
    return row


def done(dispatch: Dispatch) -> None:
    dispatch.answer("Done.")


def serve_agent() -> None:
    """The agent: prints where it is, and serves until its input ends."""
    os.nice(10)
    with played(done) as agent:
        print(agent.url, flush=True)
        sys.stdin.read()


@contextmanager
def agent_apart() -> Iterator[str]:
    """Its URL."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


def main(runs: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        house_in(Path(folder) / "house") as house,
        agent_apart() as agent_url,
    ):
        api: Api = house.open()
        wanted = AGENT | {"endpoint_url": agent_url, "max_concurrency": 8}
        agent_id = api.post("/api/agents", wanted, 201)["id"]
        dataset_id = api.dataset(*[REFUND_TASK] * 200, agent_id=agent_id)["id"]
        api.ended(api.batch_of(agent_id, dataset_id), patience_s=300)
        asked(api)
        idle: list[float] = []
        busy: list[float] = []
        for _ in range(ROUNDS):
            idle += asked(api)
            batch_id = api.batch_of(agent_id, dataset_id, repeats=max(1, runs // 200))
            time.sleep(1)
            busy += asked(api)
            print(json.dumps({"batch then": api.by_status(batch_id)}), flush=True)
            api.post(f"/api/batches/{batch_id}/cancel")
            api.ended(batch_id, patience_s=300)
        before, beside = told("idle", idle), told("beside a batch", busy)
        ratios = {place: round(beside[place] / before[place], 2) for place in ("p50", "p90", "p99")}
        print(json.dumps({"ratios": ratios}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ask"]:
        ask(*sys.argv[2:])
    elif sys.argv[1:2] == ["--agent"]:
        serve_agent()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
