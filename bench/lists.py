"""How long `GET /api/runs` takes while a large batch is worked off, against the same when nothing is.

    python bench/lists.py [--json] [--runs 20000] [--rounds 6]

One server process, an agent that answers at once, one client that asks for the first page again and again.
Each is a process of its own: beside the threads of the agent the client would wait for its own interpreter.
The agent has a lower priority, since elsewhere it is on another machine and takes no core of the server's.
"""

import argparse
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
from typing import Any
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


def told(took: list[float]) -> dict[str, float]:
    places = statistics.quantiles(took, n=100)
    return {
        "p50": round(places[49], 1),
        "p90": round(places[89], 1),
        "p99": round(places[98], 1),
        "max": round(max(took), 1),
        "n": len(took),
    }


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


def measured(runs: int, rounds: int) -> dict[str, Any]:
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
        for _ in range(rounds):
            idle += asked(api)
            batch_id = api.batch_of(agent_id, dataset_id, repeats=max(1, runs // 200))
            time.sleep(1)
            busy += asked(api)
            print(json.dumps({"batch then": api.by_status(batch_id)}), file=sys.stderr, flush=True)
            api.post(f"/api/batches/{batch_id}/cancel")
            api.ended(batch_id, patience_s=300)
    before, beside = told(idle), told(busy)
    ratios = {place: round(beside[place] / before[place], 2) for place in ("p50", "p90", "p99")}
    return {"idle": before, "beside_a_batch": beside, "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=20_000, help="of the batch")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    report = measured(options.runs, options.rounds)
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for name, row in report.items():
        print(f"{name}: " + ", ".join(f"{place} {figure}" for place, figure in row.items()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ask"]:
        ask(*sys.argv[2:])
    elif sys.argv[1:2] == ["--agent"]:
        serve_agent()
    else:
        main()
