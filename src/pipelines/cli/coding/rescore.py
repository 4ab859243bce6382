"""`pipelines coding rescore`: grade stored changes again, without the agent, and print changed verdicts."""

import json
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pipelines.cli.client import Server
from pipelines.cli.coding.scenario_files import read_any
from pipelines.cli.coding.show import print_results
from pipelines.cli.files import stop
from pipelines.cli.output.blocks import COLOURS, new_console, print_block
from pipelines.cli.output.phrases import plural
from pipelines.cli.progress import stderr
from pipelines.cli.run.run import is_number
from pipelines.core.text.json_text import JsonObject

BATCH = "batch:"
AT_ONCE = 10  # runs in one request: each is graded in sandboxes of its own
MOST_SHOWN = 50


def rescore(server: Server, named: str, scorers: Path | None, *, as_json: bool) -> None:
    body = _request_body(scorers)
    number = named.removeprefix(BATCH)
    if not is_number(number):
        stop(f"{named}: give the number of a run, such as 12, or batch:3. See: pipelines ls runs")
    if named.startswith(BATCH):
        _rescore_batch(server, int(number), body, as_json=as_json)
    else:
        _rescore_run(server, int(number), body, as_json=as_json)


def _request_body(path: Path | None) -> JsonObject:
    """The body with a list of scorers, from a list or an object that has one, such as a scenario."""
    if path is None:
        return {}
    read = read_any(path)
    scorers = read.get("scorers") if isinstance(read, dict) else read
    if not isinstance(scorers, list):
        stop(f"{path}: expected a list of scorers, or `scorers:` with one.")
    return {"scorers": scorers}


def _rescore_run(server: Server, run_id: int, body: JsonObject, *, as_json: bool) -> None:
    before = server.get(f"/api/runs/{run_id}")["verdict"]
    server.post(f"/api/runs/{run_id}/rescore", body, timeout=None)
    run, coding = server.get(f"/api/runs/{run_id}"), server.get(f"/api/runs/{run_id}/coding")
    if as_json:
        typer.echo(json.dumps({"run": run, "coding": coding}, ensure_ascii=False))
        return
    console = new_console()
    after = run["verdict"] or "ERROR"
    style = f"bold {COLOURS.get(after, 'magenta')}"
    text = f"was {before}" if before != after else "as before"
    print_block(console, f"Run {run_id}: {after}", f"({text}; no agent was called)", style=style)
    print_results(console, coding)


def _rescore_batch(server: Server, batch_id: int, body: JsonObject, *, as_json: bool) -> None:
    changes: list[Any] = []
    rescored = 0
    cursor: str | None = ""
    total = server.get(f"/api/batches/{batch_id}")["counts"]["total"]
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("", total=total)
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            path = f"/api/batches/{batch_id}/rescore?limit={AT_ONCE}{more}"
            done = server.post(path, body, timeout=None)
            rescored, cursor = rescored + done["rescored"], done["next_cursor"]
            changes += done["changes"]
            bar.update(task, completed=rescored)
    if as_json:
        report = {"batch_id": batch_id, "rescored": rescored, "changed": len(changes), "changes": changes}
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    console = new_console()
    for change in changes[:MOST_SHOWN]:
        print_block(console, f"run {change['run_id']}", f"{_side(change['from'])} → {_side(change['to'])}")
    if len(changes) > MOST_SHOWN:
        print_block(console, "", f"… and {len(changes) - MOST_SHOWN:,} more: --json", indent=0)
    text = f"{plural(len(changes), 'verdict')} changed" if changes else "no verdict changed"
    summary = f"{plural(rescored, 'run')} graded again, {text}; no agent was called."
    print_block(console, "", summary, indent=0)


def _side(verdict: Any) -> str:
    cause = verdict["failure_mode"] or verdict.get("pending_reason")
    mode = f" ({cause})" if cause else ""
    return f"{verdict['verdict'] or 'ERROR'}{mode}"
