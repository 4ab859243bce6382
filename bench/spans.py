"""Telemetry at size: how fast 100,000 skill spans are taken and drafted from, and what memory that takes.

    python bench/spans.py [--json] [--spans 100000]

A server of its own, OTLP in protobuf and gzip, batches as large as a collector sends them, from four
connections; meanwhile another org reads its lists, and how long that takes is told too. Memory is that of the
server and its helper processes together, at its most; processor time is theirs too, and on a busy machine it
says more than the clock.
"""

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.server_process import house_in

SPANS = 100_000
BATCH = 4_096
CONNECTIONS = 4
SKILLS = ("triage", "refund", "lookup", "escalate", "close")
HEADERS = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}


def measure(spans: int = SPANS) -> dict[str, Any]:
    """Rates in spans per second, times in seconds and milliseconds, memory in MB."""
    bodies = list(_bodies(spans))
    with tempfile.TemporaryDirectory() as folder, house_in(Path(folder) / "house") as house:
        api = house.open()
        assert house.node is not None
        key = {"X-API-Key": api.key}
        with httpx2.Client(base_url=api.url, headers=key, timeout=600) as client:
            _send(client, next(iter(_bodies(BATCH, first=10**9))))  # the helper processes are there
            with _memory(house.node.process.pid) as memory, _neighbour(api.url, key) as waits:
                pid = house.node.process.pid
                used, began = _cpu_s(pid), time.perf_counter()
                with ThreadPoolExecutor(CONNECTIONS) as senders:
                    list(senders.map(lambda body: _send(client, body), bodies))
                ingest_s, ingest_cpu_s = time.perf_counter() - began, _cpu_s(pid) - used
                used, began = _cpu_s(pid), time.perf_counter()
                reply = client.post("/api/v1/eval/scenarios/auto-generate", json={"max_scenarios": 100})
                draft_s, draft_cpu_s = time.perf_counter() - began, _cpu_s(pid) - used
            found = reply.raise_for_status().json()
    return {
        "spans": spans,
        "sent_mb": round(sum(map(len, bodies)) / 1e6, 1),
        "ingest_s": round(ingest_s, 2),
        "ingest_spans_per_s": round(spans / ingest_s),
        "ingest_cpu_us_per_span": round(ingest_cpu_s / spans * 1e6, 1),
        "draft_s": round(draft_s, 2),
        "draft_cpu_s": round(draft_cpu_s, 2),
        "drafts": len(found["scenarios"]),
        "spans_looked_at": found["looked_at"]["spans"],
        "memory_mb": round(max(memory)),
        "neighbour_p50_ms": round(statistics.median(waits), 1),
        "neighbour_p99_ms": round(sorted(waits)[int(len(waits) * 0.99)], 1),
        "neighbour_max_ms": round(max(waits), 1),
    }


def _send(client: httpx2.Client, body: bytes) -> None:
    client.post("/v1/traces", content=body, headers=HEADERS).raise_for_status()


def _bodies(spans: int, first: int = 1) -> Iterator[bytes]:
    chance = random.Random(first)
    for start in range(0, spans, BATCH):
        request = ExportTraceServiceRequest()
        group = request.resource_spans.add()
        _put(group.resource.attributes, {"service.name": "desk", "device.id": f"device-{start % 3}"})
        scope = group.scope_spans.add()
        for number in range(first + start, first + min(start + BATCH, spans)):
            _fill(scope.spans.add(), number, chance)
        yield gzip.compress(request.SerializeToString(), 1)


def _fill(span: Any, number: int, chance: random.Random) -> None:
    """One use of a skill in twenty fails; one in five names a person to be masked."""
    span.name = "skill.invoke"
    span.trace_id, span.span_id = chance.randbytes(16), chance.randbytes(8)
    span.end_time_unix_nano = time.time_ns() - chance.randrange(86_400 * 10**9)
    span.start_time_unix_nano = span.end_time_unix_nano - chance.randrange(10**9)
    span.status.code = 2 if number % 20 == 0 else 1
    production = chance.random() < 0.7
    told = {
        "event": "deployment_failed",
        "environment": "production" if production else "staging",
        "order_id": f"ORD-{number:08d}",
        "amount": chance.randrange(100_000) / 100,
        "note": f"case {number}" + (f" of jane{number}@example.com" if number % 5 == 0 else " as before"),
        "data_loss_risk": chance.random() < 0.2,
    }
    action = "escalate_to_owner" if production or chance.random() < 0.4 else "retry"
    outcome = {"action": action, "priority": "high" if production else "low", "ticket": f"T-{number}"}
    _put(
        span.attributes,
        {
            "skill.name": chance.choice(SKILLS),
            "skill.input": json.dumps(told),
            "skill.output": json.dumps(outcome),
            "gen_ai.agent.name": "desk",
            "attempt": "1",
        },
    )


def _put(pairs: Any, values: dict[str, str]) -> None:
    for key, value in values.items():
        pair = pairs.add()
        pair.key, pair.value.string_value = key, value


@contextmanager
def _neighbour(url: str, key: dict[str, str]) -> Iterator[list[float]]:
    """Milliseconds that somebody else waits for a list meanwhile."""
    waits: list[float] = []
    done = threading.Event()

    def ask() -> None:
        with httpx2.Client(base_url=url, headers=key, timeout=60) as client:
            while not done.wait(0.02):
                began = time.perf_counter()
                client.get("/api/agents").raise_for_status()
                waits.append((time.perf_counter() - began) * 1000)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waits
    finally:
        done.set()
        asking.join()


@contextmanager
def _memory(pid: int) -> Iterator[list[float]]:
    """MB in use by a process and its children, looked at ten times a second."""
    seen: list[float] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.1):
            seen.append(sum(map(_resident_mb, [pid, *_children(pid)])))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        done.set()
        looking.join()


def _cpu_s(pid: int) -> float:
    """Of a process and its children, those too that have ended."""
    ticks = 0
    for one in (pid, *_children(pid)):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15] if one == pid else fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    told = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(line) for line in told.stdout.split()]


def _resident_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next(
        (int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmRSS")), 0.0
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--spans", type=int, default=SPANS)
    options = parser.parse_args()
    found = measure(options.spans)
    print(
        json.dumps(found) if options.json else "\n".join(f"{name:24}{value}" for name, value in found.items())
    )


if __name__ == "__main__":
    main()
