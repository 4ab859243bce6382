"""How long a row takes to be stored, how many go through, and how long the event loop stands still for it.

    python bench/stored_rows.py [--json] [--seconds 2] [--rounds 3] [--against path/to/other/src]

Appenders each wait for their row before they append the next; "mixed" adds changes that go to the writer
thread. A ticker wakes every millisecond and notes how late it was, less what it waited for a core. With
--against, another version of the package is measured in turn with this one: a ratio compares neighbours.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent.parent / "src"
RUNS = 128
TICK_S = 0.001
CASES = [(level, kind) for level in ("normal", "full") for kind in ("1", "32", "mixed")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)  # in a child: measure one
    options = parser.parse_args()
    if options.case:
        print(json.dumps(_measured(*options.case, options.seconds)))
        return
    versions = {"this": HERE} | ({"other": options.against} if options.against else {})
    found: dict[str, list[dict[str, float]]] = {}
    for turn in range(options.rounds):
        print(f"round {turn + 1}", file=sys.stderr)
        for level, kind in CASES:
            for name, source in versions.items():
                found.setdefault(f"{level:7}{kind:6}{name}", []).append(
                    _in_child(source, level, kind, options.seconds)
                )
    report = {
        case: {key: round(statistics.median(each[key] for each in rounds), 1) for key in rounds[0]}
        for case, rounds in found.items()
    }
    print(json.dumps(report, indent=2) if options.json else _table(report))


def _in_child(source: Path, level: str, kind: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, __file__, "--seconds", str(seconds), "--case", level, kind]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(source)}, capture_output=True, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _measured(level: str, kind: str, seconds: float) -> dict[str, float]:
    import uvloop

    sys.setswitchinterval(0.0005)  # as the server does

    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as directory:
        return uvloop.run(_load(Path(directory) / "bench.db", level, kind, seconds))


async def _load(path: Path, level: Any, kind: str, seconds: float) -> dict[str, float]:
    from pipelines.storage.database.database import Database
    from pipelines.storage.database.sqlite_store import SqliteStore

    database = Database(SqliteStore(path, synchronous=level))
    waits: list[float] = []
    late: list[float] = []
    appenders = [_append(database, number, waits) for number in range(1 if kind == "1" else 32)]
    if kind == "mixed":
        appenders += [_change(database, number) for number in range(4)]
    tasks = [asyncio.ensure_future(each) for each in [_tick(late), *appenders]]
    began, began_cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(seconds)
    took, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    log_bytes = os.stat(f"{path}-wal").st_size
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await database.close()
    return {
        "rows_per_s": len(waits) / took,
        "p50_us": statistics.median(waits) * 1e6,
        "p99_us": _p99(waits) * 1e6,
        "cpu_us": cpu / len(waits) * 1e6,
        "blocked_p99_ms": _p99(late) * 1e3,
        "blocked_max_ms": max(late) * 1e3,
        "log_mb": log_bytes / 1e6,
    }


def _p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


async def _append(database: Any, first_run: int, waits: list[float]) -> None:
    """Rows of four runs in turn: 32 appenders keep 128 runs going."""
    row = _row_maker()
    sequence = 0
    while True:
        sequence += 1
        for run_id in range(first_run, RUNS, 32):
            began = time.perf_counter()
            await database.append(row(run_id, sequence))
            waits.append(time.perf_counter() - began)


async def _change(database: Any, number: int) -> None:
    """What a batch does between tool calls: short changes of rows of its own."""
    from pipelines.storage.accounts.keys import add_org

    while True:
        await database.write(lambda connection: add_org(connection, f"org {number}", "now"))
        await asyncio.sleep(0.002)


def _row_maker() -> Callable[[int, int], Any]:
    from pipelines.storage.database.trace_rows import TraceRow

    filled = {
        "kind": "tool_call",
        "tool_name": "get_order",
        "source": "odyssey",
        "http_status": 200,
        "latency_ms": 0.123,
        "occurred_at": "2026-05-01T12:00:00.000000Z",
        "arguments": '{"order_id":"4521"}',
        "response": '{"status":"shipped","shipped_at":"2026-04-01","amount":79.5}',
    }
    blank = TraceRow(**(dict.fromkeys(TraceRow._fields) | filled))  # type: ignore[arg-type]
    return lambda run_id, sequence: TraceRow(run_id, sequence, *blank[2:])


async def _tick(late: list[float]) -> None:
    """How much later than asked the loop came back; its own work is part of it, waiting for a core is not."""
    while True:
        due, waited_s = time.perf_counter() + TICK_S, _waited_for_core_s()
        await asyncio.sleep(TICK_S)
        late.append(max(0.0, time.perf_counter() - due - (_waited_for_core_s() - waited_s)))


def _waited_for_core_s() -> float:
    """How long this thread could have run but others had its core: noise of the machine."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def _table(report: dict[str, dict[str, float]]) -> str:
    names = list(next(iter(report.values())))
    lines = [f"{'':22}" + "".join(f"{name:>16}" for name in names)]
    lines += [
        f"{case:22}" + "".join(f"{value:>16,.1f}" for value in figures.values())
        for case, figures in report.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
