"""How long `GET /api/runs` takes while a large batch is worked off, against the same when nothing is.

    python bench/lists.py [runs of the batch]

One server process, an agent that answers at once, one client that asks for the first page again and again.
"""

import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx2

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from desk import AGENT
from nodes import REFUND_TASK, Api, house_in
from played_agents import Dispatch, played

SAMPLES = 300
PAUSE_S = 0.01


def asked(client: httpx2.Client, until: threading.Event | None = None) -> list[float]:
    """Milliseconds of each question."""
    took: list[float] = []
    while len(took) < SAMPLES and not (until is not None and until.is_set()):
        began = time.perf_counter()
        assert client.get("/api/runs", params={"limit": 50}).is_success
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_S)
    return took


def told(name: str, took: list[float]) -> dict[str, float]:
    places = statistics.quantiles(took, n=100)
    row = {
        "p50": round(places[49], 1),
        "p99": round(places[98], 1),
        "max": round(max(took), 1),
        "n": len(took),
    }
    print(json.dumps({name: row}), flush=True)
    return row


def done(dispatch: Dispatch) -> None:
    dispatch.answer("Done.")


def main(runs: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        house_in(Path(folder) / "house") as house,
        played(done) as agent,
    ):
        api: Api = house.open()
        client = httpx2.Client(base_url=api.url, headers={"X-API-Key": api.key}, timeout=60)
        agent_id = api.post("/api/agents", AGENT | {"endpoint_url": agent.url, "max_concurrency": 8}, 201)[
            "id"
        ]
        dataset_id = api.dataset(*[REFUND_TASK] * 200, agent_id=agent_id)["id"]
        api.ended(api.batch_of(agent_id, dataset_id), patience_s=300)
        asked(client)
        idle = told("idle", asked(client))
        batch_id = api.batch_of(agent_id, dataset_id, repeats=max(1, runs // 200))
        time.sleep(1)
        busy = told("beside a batch", asked(client))
        counts = api.by_status(batch_id)
        print(
            json.dumps({"p99 ratio": round(busy["p99"] / idle["p99"], 2), "batch then": counts}), flush=True
        )
        api.post(f"/api/batches/{batch_id}/cancel")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
