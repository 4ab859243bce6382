"""How much of a recorded backend is learnt: from half of a recording, measured on the other half.

    python bench/learning.py [--json] [RECORDING…]

A RECORDING is a directory with tools.json, calls.jsonl and perhaps state.json. Without any, three backends
of tests/support/backends are recorded and learnt; the last figures are of a recording of 1,000 calls of 30
tools. Every second task is learnt from, the others are measured; then the other way round. Each call meets
the real state, and counts when its reply and its change are exactly right. No model is asked.
"""

import argparse
import json
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.fidelity.fidelity import Report, replay
from pipelines.core.simulation.fidelity.recording import RecordedTask, Recording, read_recording
from pipelines.core.simulation.learning import LearnedPlans, LearnedTool, Options, Workbench
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema
from support.backends import BACKENDS
from support.backends.recorder import record

TASKS, CALLS = 40, 12  # of the recorded backends
FEW = 4  # examples of each tool
MANY_CALLS, MANY_TOOLS = 1_000, 30
BUDGET_S = 300.0  # so that the time is measured and not the limit of it

_bench: Workbench | None = None


def main() -> None:
    options = _options()
    figures: dict[str, Any] = {}
    for name, recording, tools in _recordings(options.recordings):
        figures[name] = _measured(recording, tools, options.processes)
    if not options.recordings:
        figures["1,000 calls of 30 tools"] = _large(options.processes)
    print(json.dumps(figures, indent=1) if options.json else _table(figures))


def _recordings(paths: Sequence[Path]) -> Iterator[tuple[str, Recording, tuple[Tool, ...]]]:
    for path in paths:
        state = path / "state.json"
        lines = [json.loads(line) for line in (path / "calls.jsonl").read_text().splitlines()]
        recording = read_recording(json.loads(state.read_text()) if state.exists() else {}, lines)
        yield path.name, recording, parse_tools_schema(json.loads((path / "tools.json").read_text()))
    for name, backend in BACKENDS.items() if not paths else ():
        yield name, record(backend, tasks=TASKS, calls=CALLS), parse_tools_schema(list(backend.tools))


def _measured(recording: Recording, tools: tuple[Tool, ...], processes: int) -> dict[str, Any]:
    halves = [replace(recording, tasks=recording.tasks[at::2]) for at in (0, 1)]
    read, learnt, few, seconds = [], [], [], 0.0
    for ours, others in (halves, halves[::-1]):
        began = time.perf_counter()
        plans = _learnt(ours, tools, processes)
        seconds += time.perf_counter() - began
        read.append(_replayed(others, tools))
        learnt.append(_replayed(others, plans.applied_to(tools)))
        few.append(_replayed(others, _learnt(_first_calls(ours), tools, processes).applied_to(tools)))
    shares = {"read": _shares(read), "learnt": _shares(learnt), f"from {FEW} examples": _shares(few)}
    return {"calls": sum(len(task.calls) for task in recording.tasks), **shares, "seconds": round(seconds, 1)}


def _replayed(recording: Recording, tools: tuple[Tool, ...]) -> Report:
    return replay(recording, lambda world: build_simulator(tools, world=world), clock=time.perf_counter)


def _shares(reports: Sequence[Report]) -> dict[str, float | None]:
    outcomes = [one for report in reports for one in report.outcomes]
    writes = [one for one in outcomes if one.changes]
    finals = [one for report in reports for one in report.final_states.values()]
    return {
        "exactly right": _share([one.fm_forced and one.cm_forced for one in outcomes]),
        "state after a change": _share([one.cm_forced for one in writes]),
        "tasks ending in the right state": _share(finals),
    }


def _share(hits: Sequence[bool]) -> float | None:
    return round(sum(hits) / len(hits), 3) if hits else None


def _first_calls(recording: Recording) -> Recording:
    """The first calls of each tool. The calls between them stay, so that the state is the real one: they are
    left out of the examples by the name of their tool."""
    seen: dict[str, int] = {}

    def named(task: RecordedTask) -> RecordedTask:
        calls = []
        for call in task.calls:
            seen[call.tool] = seen.get(call.tool, 0) + 1
            calls.append(call if seen[call.tool] <= FEW else replace(call, tool="not learnt from"))
        return replace(task, calls=tuple(calls))

    return replace(recording, tasks=tuple(map(named, recording.tasks)))


# -- learning in several processes


def _learnt(recording: Recording, tools: tuple[Tool, ...], processes: int) -> LearnedPlans:
    bench = Workbench(recording, tools, Options(budget_s=BUDGET_S))
    with ProcessPoolExecutor(processes, initializer=_prepare, initargs=(recording, tools)) as pool:
        return bench.learned(pool.map(_learn_tool, bench.names()))


def _prepare(recording: Recording, tools: tuple[Tool, ...]) -> None:
    global _bench
    _bench = Workbench(recording, tools, Options(budget_s=BUDGET_S))


def _learn_tool(name: str) -> LearnedTool:
    assert _bench is not None
    return _bench.learn_tool(name)


# -- a large recording


def _large(processes: int) -> dict[str, Any]:
    """All three backends as one: their tools and more of them under other names, in tasks of each."""
    tools: list[Any] = []
    tasks: list[RecordedTask] = []
    chance = random.Random(3)
    for at, (name, backend) in enumerate(BACKENDS.items()):
        left = MANY_TOOLS // 3
        names = [tool["name"] for tool in backend.tools][:left]
        tools += [{**tool, "name": f"{name}_{tool['name']}"} for tool in backend.tools[:left]]
        recording = record(backend, tasks=MANY_CALLS // 3 // 10, calls=11, seed=chance.randrange(99) + at)
        tasks += [_renamed(task, name, names) for task in recording.tasks]
    whole = Recording(state={}, tasks=tuple(tasks))
    began, spent = time.perf_counter(), _processor_seconds()
    plans = _learnt(whole, parse_tools_schema(tools), processes)
    seconds = time.perf_counter() - began
    own, helpers = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "calls": sum(one.calls for one in plans.tools),
        "tools": len(plans.tools),
        "seconds": round(seconds, 1),
        # On a machine that is busy with something else, this says what learning takes.
        "processor seconds": round(_processor_seconds() - spent, 1),
        "MiB of the largest process": round(max(own, helpers) / 1024),
    }


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _renamed(task: RecordedTask, name: str, names: Sequence[str]) -> RecordedTask:
    calls = [
        replace(call, tool=f"{name}_{call.tool}" if call.tool in names else "none") for call in task.calls
    ]
    return replace(task, name=f"{name} {task.name}", calls=tuple(calls))


def _table(figures: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {json.dumps(found)}" for name, found in figures.items())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("recordings", nargs="*", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
