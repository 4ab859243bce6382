"""`pipelines odyssey record`: stored runs as a recording, in the format that `fidelity` replays."""

from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.core.json_text import JsonObject, dumps
from pipelines.core.simulation.recording import recording_from_run


def write_recording(run_ids: list[int], directory: Path, server: Server) -> None:
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
        lines.append(recording_from_run(task=str(run_id), initial_state=state, rows=rows))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tools.json").write_bytes(dumps(tools))
    (directory / "calls.jsonl").write_bytes(b"".join(dumps(line) + b"\n" for line in lines))
    calls = sum(len(line["calls"]) for line in lines if isinstance(line["calls"], list))
    typer.echo(f"{calls} calls of {len(lines)} runs in {directory}")
    typer.echo(f"Measure them: pipelines odyssey fidelity {directory}")
