"""What a run of uploaded code costs, and whether it leaves anything behind.

    python bench/code_mode.py [--json] [--rounds 30]

One tool call each: in a sandbox that waits, in one that must be started, and, as the reference, in a bare
subprocess of the same Python. They take turns in one run, so that a busy machine is busy for all of them.
"""

import argparse
import asyncio
import json
import os
import platform
import socket
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pipelines.sandbox.job import CodeJob, CodeOutcome, parse_entrypoint
from pipelines.sandbox.memory import tree
from pipelines.sandbox.pool import SandboxPool

RUNS, AT_ONCE = 200, 8
AGENT = """
import urllib.request

def run(task_input, *, proxy_url, run_token):
    headers = {"Authorization": "Bearer " + run_token, "Content-Type": "application/json"}
    url = proxy_url + "/tools/get_order"
    request = urllib.request.Request(url, data=b'{"order_id": "7"}', headers=headers)
    return {"final_response": urllib.request.urlopen(request).read().decode()}
"""
BARE = """
import sys
from agent import run
print(run({}, proxy_url=sys.argv[1], run_token="token"))
"""
REPLY = b'{"tool_name": "get_order", "response": {"status": "shipped"}, "source": "odyssey"}'


async def answer(connection: socket.socket) -> None:
    """A tiny proxy: one request, one reply."""
    loop = asyncio.get_running_loop()
    request = b""
    while not request.endswith(b"}"):
        request += await loop.sock_recv(connection, 65_536)
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(REPLY)
    await loop.sock_sendall(connection, head + REPLY)


async def accept_forever(listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(listener)
        with connection:
            await answer(connection)


async def bare(python: Path, script: Path, url: str) -> None:
    process = await asyncio.create_subprocess_exec(python, script, url, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert b"shipped" in output, output


async def sandboxed(pool: SandboxPool, job: CodeJob, *, warm: bool | None) -> CodeOutcome:
    outcome = await pool.run(job, serve=answer)
    assert outcome.error is None, outcome
    assert warm is None or outcome.was_warm is warm, "measured the wrong thing"
    return outcome


async def settled(pool: SandboxPool) -> None:
    """Until the pool has nothing to do but wait."""
    stock = pool._stock
    assert stock is not None
    while stock._tasks:
        await asyncio.gather(*stock._tasks)
    await asyncio.sleep(0.05)  # what is preloaded while waiting


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


async def take_turns(folder: Path, rounds: int) -> dict[str, list[float]]:
    waiting, starting = SandboxPool(warm=1), SandboxPool(warm=0)
    await waiting.start()
    await starting.start()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    accepting = asyncio.create_task(accept_forever(listener))
    job = job_of(folder)
    python, script = waiting.python.executable, folder / "bare.py"
    await sandboxed(waiting, job, warm=False)
    times: dict[str, list[float]] = {"bare": [], "warm": [], "cold": []}
    for _ in range(rounds):
        await settled(waiting)
        times["warm"].append(await timed(lambda: sandboxed(waiting, job, warm=True)))
        await settled(waiting)
        times["cold"].append(await timed(lambda: sandboxed(starting, job, warm=False)))
        times["bare"].append(await timed(lambda: bare(python, script, url)))
    accepting.cancel()
    listener.close()
    await waiting.close()
    await starting.close()
    return times


def job_of(folder: Path) -> CodeJob:
    return CodeJob(
        source_dir=folder,
        entrypoint=parse_entrypoint("agent.py"),
        task_input={"user_instruction": "Where is order 7?"},
        run_token="token",
        proxy_path="",
    )


def inventory(folder: Path) -> dict[str, int]:
    """What could be left behind."""
    return {
        "processes": len(tree(os.getpid())),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "files": sum(1 for _ in folder.rglob("*")),
        "handles": len(os.listdir("/proc/self/fd")),
    }


async def many(folder: Path) -> dict[str, Any]:
    before = inventory(folder)
    pool = SandboxPool(warm=2, most_running=AT_ONCE)
    await pool.start()
    job = job_of(folder)
    started = time.perf_counter()
    outcomes = await asyncio.gather(*(sandboxed(pool, job, warm=None) for _ in range(RUNS)))
    took = time.perf_counter() - started
    await pool.close()
    after = inventory(folder)
    left = {name: after[name] - count for name, count in before.items()}
    warm = sum(outcome.was_warm for outcome in outcomes)
    return {"runs": RUNS, "at_once": AT_ONCE, "runs_per_s": RUNS / took, "warm": warm, "left_behind": left}


async def measure(rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)  # noqa: ASYNC240
        tempfile.tempdir = str(folder)  # so that everything temporary is counted
        (folder / "agent.py").write_text(AGENT)
        (folder / "bare.py").write_text(BARE)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        times = await take_turns(folder, rounds)
        leftovers = await many(folder)
        tempfile.tempdir = None
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "rounds": rounds,
        "ms": {
            name: {"median": round(medians[name], 1), "least": round(min(values), 1)}
            for name, values in times.items()
        },
        "ratios": {name: round(medians[name] / medians["bare"], 2) for name in ("warm", "cold")},
        "many": leftovers,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    found = asyncio.run(measure(options.rounds))
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, figures in found["ms"].items():
        ratio = f"  {found['ratios'][name]} x bare" if name in found["ratios"] else ""
        print(f"{name:5} {figures['median']:8.1f} ms (least {figures['least']:.1f}){ratio}")
    every = found["many"]
    print(f"{every['runs']} runs, {every['at_once']} at once: {every['runs_per_s']:.1f} a second")
    print(f"left behind: {every['left_behind']}")


if __name__ == "__main__":
    main()
