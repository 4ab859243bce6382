"""What a long history costs: lists, start-up and disk with 10,000, 100,000 and 500,000 runs.

    python bench/history.py [--json] [--runs 10000,100000,500000] [--samples 10]

200 runs are real. The others are copies of their rows, in batches of 100, made while no server runs.
Figures are processor time of the server: a busy machine changes it less than the time on the clock.
"""

import argparse
import json
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from machine import TICKS_PER_S
from pipelines.server.config.settings import DATABASE_FILE
from support.desk import TOOLS
from support.played_agents import played
from support.server_process import REFUND_TASK, Api, House, house_in
from web import signed_in
from web_data import acts

REAL_RUNS, BATCH_RUNS = 200, 100
MOST_RATIO, MOST_START_S = 1.5, 3.0
LEAST_MS = 5.0  # a page that takes less is not compared: the system counts processor time in steps of 10 ms
PAGES = {
    "home": "/",
    "runs": "/runs",
    "failed runs": "/runs?verdict=FAIL",
    "batches": "/batches",
    "agents": "/agents",
    "datasets": "/datasets",
    "review": "/review",
    "find": "/search?q=4521",
    "API: runs": "/api/runs?limit=50",
    "API: batches": "/api/batches?limit=50",
}
Report = dict[str, Any]


def main() -> None:
    options = _options()
    sizes = [int(size) for size in options.runs.split(",")]
    report: Report = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_before": round(os.getloadavg()[0], 2),
        "sizes": {},
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        played(acts) as agent,
        house_in(Path(folder) / "house", {"PIPELINES_LOG_LEVEL": "warning"}) as house,
    ):
        batch = _seed(house.open(), agent.url)
        house.stop()
        empty = _disk_bytes(house)
        for size in sizes:
            _say(f"{size:,} runs")
            _grow(house.directory / DATABASE_FILE, batch, size)
            report["sizes"][str(size)] = _measure(house, options.samples)
    first, last = (report["sizes"][str(size)] for size in (sizes[0], sizes[-1]))
    report["bytes_per_run"] = round((last["disk_bytes"] - empty) / max(1, sizes[-1] - REAL_RUNS))
    report["ratios"] = {
        name: round(max(last["cpu_ms"][name], LEAST_MS) / max(first["cpu_ms"][name], LEAST_MS), 2)
        for name in PAGES
    }
    report["worst_ratio"] = max(report["ratios"].values())
    report["start_s"], report["start_cpu_s"] = last["start_s"], last["start_cpu_s"]
    print(json.dumps(report, indent=2) if options.json else _text(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", default="10000,100000,500000")
    parser.add_argument("--samples", type=int, default=10)
    return parser.parse_args()


def _seed(api: Api, url: str) -> int:
    """The batch with the real runs."""
    agent = int(api.agent(url, tools_schema=TOOLS, max_concurrency=16)["id"])
    rows = [REFUND_TASK | {"user": f"Refund order #4521, please ({number})."} for number in range(REAL_RUNS)]
    batch = api.batch_of(agent, api.dataset(*rows, agent_id=agent)["id"])
    api.ended(batch, 600)
    return batch


def _measure(house: House, samples: int) -> Report:
    began = time.perf_counter()
    api = house.open()
    start_s, start_cpu_s = time.perf_counter() - began, _used_s(house)
    with closing(signed_in(api)) as client:
        cpu: dict[str, float] = {}
        wall: dict[str, float] = {}
        for name, path in PAGES.items():
            ask = api.client if path.startswith("/api") else client
            assert ask.get(path).status_code == 200, path
            took, used = [], _used_s(house)
            for _ in range(samples):
                at = time.perf_counter()
                ask.get(path)
                took.append((time.perf_counter() - at) * 1000)
            cpu[name] = round((_used_s(house) - used) / samples * 1000, 1)
            wall[name] = round(statistics.median(took), 1)
        memory = _memory_mb(house)
    house.stop()
    return {
        "start_s": round(start_s, 2),
        "start_cpu_s": round(start_cpu_s, 2),
        "memory_mb": memory,
        "disk_bytes": _disk_bytes(house),
        "cpu_ms": cpu,
        "p50_ms": wall,
    }


def _grow(database: Path, batch: int, size: int) -> None:
    """Copies of the runs of this batch and their traces, in new batches, until there are so many runs."""
    with closing(sqlite3.connect(database)) as connection, connection:
        (there,) = connection.execute("SELECT COUNT(*) FROM runs").fetchone()
        for at in range(there, size, BATCH_RUNS):
            _copy_batch(connection, batch, min(BATCH_RUNS, size - at))
        connection.execute("ANALYZE")


def _copy_batch(connection: sqlite3.Connection, batch: int, runs: int) -> None:
    columns = _columns(connection, "batches")
    (new_batch,) = connection.execute("SELECT MAX(id) + 1 FROM batches").fetchone()
    kept = ", ".join(columns[1:])
    connection.execute(
        f"INSERT INTO batches (id, {kept}) SELECT ?, {kept} FROM batches WHERE id = ?", (new_batch, batch)
    )
    own = _columns(connection, "runs")
    fresh = [name for name in own if name in ("id", "jti", "token_hash", "batch_id")]
    same = [name for name in own if name not in fresh]
    rows = connection.execute(
        f"SELECT id, {', '.join(same)} FROM runs WHERE batch_id = ? ORDER BY id", (batch,)
    ).fetchall()
    (last,) = connection.execute("SELECT MAX(id) FROM runs").fetchone()

    def made() -> Iterator[list[Any]]:
        for at in range(runs):
            given: dict[str, Any] = {"id": last + 1 + at, "batch_id": new_batch}
            yield [*(given.get(name, uuid.uuid4().hex) for name in fresh), *rows[at % len(rows)][1:]]

    marks = ", ".join("?" * len(own))
    connection.executemany(f"INSERT INTO runs ({', '.join([*fresh, *same])}) VALUES ({marks})", made())
    traced = ", ".join(f"t.{name}" for name in _columns(connection, "trace_rows")[1:])
    pairs = [(last + 1 + at, rows[at % len(rows)][0]) for at in range(runs)]
    connection.executemany(
        f"INSERT INTO trace_rows SELECT ?, {traced} FROM trace_rows t WHERE t.run_id = ?", pairs
    )


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _disk_bytes(house: House) -> int:
    return sum(path.stat().st_size for path in house.directory.glob(f"{DATABASE_FILE}*"))


def _used_s(house: House) -> float:
    assert house.node is not None
    fields = Path(f"/proc/{house.node.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:13]) / TICKS_PER_S


def _memory_mb(house: House) -> float:
    assert house.node is not None
    status = Path(f"/proc/{house.node.process.pid}/status").read_text()
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)


def _text(report: Report) -> str:
    lines = [f"{report['machine']}, load before {report['load_before']}"]
    for size, found in report["sizes"].items():
        lines.append(f"\n{int(size):,} runs: start {found['start_s']} s, {found['memory_mb']} MB of memory,")
        lines[-1] += f" {found['disk_bytes'] / 1e6:,.0f} MB on disk"
        lines += [
            f"  {name:14} {found['cpu_ms'][name]:7.1f} ms of processor time, {found['p50_ms'][name]:7.1f} ms"
            for name in PAGES
        ]
    lines.append(f"\n{report['bytes_per_run']:,} bytes a run (with its trace)")
    lines.append(f"slowest growth: {report['worst_ratio']} × (target: at most {MOST_RATIO} ×)")
    lines.append(f"start: {report['start_s']} s (target: at most {MOST_START_S} s),")
    lines[-1] += f" {report['start_cpu_s']} s of processor time"
    return "\n".join(lines)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
