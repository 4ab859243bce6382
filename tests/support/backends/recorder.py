"""Records a backend by script: tasks of calls, each with its reply and what it changed."""

import copy
import random
from typing import Any

from pipelines.core.ledger.ledger import differences
from pipelines.core.simulation.fidelity.recording import Recording, read_recording
from support.backends.backend import Backend, Refusal, Row


def record(backend: type[Backend], *, tasks: int, calls: int, seed: int = 7) -> Recording:
    """Each task is a new backend with its own data; the same seed records the same calls."""
    return read_recording({}, record_lines(backend, tasks=tasks, calls=calls, seed=seed))


def record_lines(backend: type[Backend], *, tasks: int, calls: int, seed: int = 7) -> list[Row]:
    """The lines of calls.jsonl."""
    return [_task(backend, number, calls, random.Random(f"{seed}/{number}")) for number in range(tasks)]


def _task(kind: type[Backend], number: int, calls: int, chance: random.Random) -> Row:
    backend = kind(chance)
    state = copy.deepcopy(backend.state)
    made = [_call(backend, *backend.likely_call()) for _ in range(calls)]
    return {"task": f"task {number}", "state": state, "calls": made}


def _call(backend: Backend, tool: str, arguments: Row) -> Row:
    before: Any = copy.deepcopy(backend.state)
    try:
        status, reply = "ok", getattr(backend, tool)(**arguments)
    except Refusal as refusal:
        status, reply = "error", refusal.body
    after: Any = backend.state
    updates = [update.as_json() for update in differences(before, after)]
    return {
        "tool": tool,
        "args": arguments,
        "kind": "gold",
        "status": status,
        "response": copy.deepcopy(reply),
        "updates": updates,
    }
