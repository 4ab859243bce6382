"""`pipelines odyssey record`: stored runs as a recording, in the format that `fidelity` replays."""

from pathlib import Path
from typing import Any

import httpx2
import typer

from pipelines.cli.files import stop
from pipelines.core.json_text import JsonObject, dumps
from pipelines.core.simulation.recording import recording_from_run

KEY_FILE = Path(".pipelines/api-key")


def write_recording(run_ids: list[int], directory: Path, *, url: str, api_key: str | None) -> None:
    key = api_key or _key_from_file()
    with httpx2.Client(base_url=url, headers={"X-API-Key": key}, timeout=60) as client:
        lines: list[JsonObject] = []
        tools: Any = None
        for run_id in run_ids:
            run = _get(client, f"/api/runs/{run_id}")
            declared = _get(client, f"/api/agents/{run['agent_id']}?version={run['agent_version']}")[
                "tools_schema"
            ]
            if tools is not None and tools != declared:
                stop(
                    f"run {run_id} has other tools than the runs before it; record it into its own directory"
                )
            tools = declared
            state = _get(client, f"/api/runs/{run_id}/ledger?step=0")["state"]
            rows = [row | {"status": row["http_status"]} for row in _trace(client, run_id)]
            lines.append(recording_from_run(task=str(run_id), initial_state=state, rows=rows))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tools.json").write_bytes(dumps(tools))
    (directory / "calls.jsonl").write_bytes(b"".join(dumps(line) + b"\n" for line in lines))
    calls = sum(len(line["calls"]) for line in lines if isinstance(line["calls"], list))
    typer.echo(
        f"{calls} calls of {len(lines)} runs in {directory}; measure: pipelines odyssey fidelity {directory}"
    )


def _key_from_file() -> str:
    try:
        return KEY_FILE.read_text().strip()
    except OSError:
        stop(f"no API key: pass --api-key, set PIPELINES_API_KEY, or run where {KEY_FILE} is")


def _trace(client: httpx2.Client, run_id: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = _get(client, f"/api/runs/{run_id}/trace?limit=500{cursor}")
        rows += page["items"]
        if page["next_cursor"] is None:
            return sorted(rows, key=lambda row: int(row["sequence"]))
        cursor = f"&cursor={page['next_cursor']}"


def _get(client: httpx2.Client, path: str) -> Any:
    try:
        response = client.get(path)
    except httpx2.HTTPError as error:
        stop(f"{client.base_url}: {error}")
    if response.is_error:
        stop(f"{path}: {response.json()['error']['message']}")
    return response.json()
