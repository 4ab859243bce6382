"""`pipelines odyssey record`: stored runs as a recording, in the format that `fidelity` replays.

Runs whose calls the simulator answered are refused: they are no recording of a real backend.
"""

from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.output.phrases import plural
from pipelines.core.simulation.fidelity.recording import SIMULATED, recording_from_run
from pipelines.core.text.json_text import JsonObject, dumps

REAL = (
    "Record calls of the real backend instead: write them as calls.jsonl (docs/reference/cli.md, "
    "`pipelines odyssey fidelity`). --simulated records these calls too, marked as simulated."
)


def write_recording(server: Server, run_ids: list[int], directory: Path, *, may_be_simulated: bool) -> None:
    lines: list[JsonObject] = []
    tools: Any = None
    for run_id in run_ids:
        run = server.get(f"/api/runs/{run_id}")
        declared = server.get(f"/api/agents/{run['agent_id']}", version=run["agent_version"])["tools_schema"]
        if tools is not None and tools != declared:
            stop(f"Run {run_id} has other tools than the runs before it; record it into its own directory.")
        tools = declared
        state = server.get(f"/api/runs/{run_id}/ledger", step=0)["state"]
        rows = [row | {"status": row["http_status"]} for row in server.every(f"/api/runs/{run_id}/trace")]
        rows.sort(key=lambda row: int(row["sequence"]))
        lines.append(
            recording_from_run(
                task=str(run_id), initial_state=state, rows=rows, recorded_at=run["created_at"]
            )
        )
    simulated = _check_sources(run_ids, lines, may_be_simulated=may_be_simulated)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tools.json").write_bytes(dumps(tools))
    (directory / "calls.jsonl").write_bytes(b"".join(dumps(line) + b"\n" for line in lines))
    calls = sum(len(_calls_of(line)) for line in lines)
    typer.echo(f"{plural(calls, 'call')} of {plural(len(lines), 'run')} in {directory}")
    if simulated:
        typer.echo(f"{plural(simulated, 'call')} of them answered by the simulator itself: no real backend.")
    typer.echo(f"Measure them: pipelines odyssey fidelity {directory}")


def _check_sources(run_ids: list[int], lines: list[JsonObject], *, may_be_simulated: bool) -> int:
    """How many calls the simulator answered. Ends the command if there may be none."""
    parts = []
    simulated = 0
    for run_id, line in zip(run_ids, lines, strict=True):
        calls = _calls_of(line)
        by_simulator = len([call for call in calls if call.get("source") == SIMULATED])
        simulated += by_simulator
        if not calls:
            stop(f"Run {run_id} has no tool call that a backend answered; there is nothing to record.")
        if by_simulator:
            parts.append(
                f"Run {run_id}: the simulator answered {by_simulator} of {plural(len(calls), 'call')}."
            )
    if parts and not may_be_simulated:
        stop("\n".join(["This is not a recording of a real backend.", *parts, REAL]))
    return simulated


def _calls_of(line: JsonObject) -> list[JsonObject]:
    calls = line["calls"]
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
