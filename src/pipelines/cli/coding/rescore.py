"""`pipelines coding rescore`: grade stored changes again, without the agent, and print changed verdicts."""

from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pipelines.cli.client import Server
from pipelines.cli.coding.scenario_files import read_any
from pipelines.cli.coding.show import print_results
from pipelines.cli.files import BATCH, run_or_batch, stop
from pipelines.cli.options import Answer
from pipelines.cli.output.batch_report import print_changes
from pipelines.cli.output.blocks import COLOURS, new_console, print_block
from pipelines.cli.output.phrases import plural
from pipelines.cli.progress import stderr
from pipelines.core.text.json_text import JsonObject

AT_ONCE = 10  # runs in one request: each is graded in sandboxes of its own


def rescore(server: Server, named: str, scorers: Path | None) -> Answer:
    body = _request_body(scorers)
    kind, number = run_or_batch(named)
    return (_rescore_batch if kind == BATCH else _rescore_run)(server, number, body)


def _request_body(path: Path | None) -> JsonObject:
    """The body with a list of scorers, from a list or an object that has one, such as a scenario."""
    if path is None:
        return {}
    read = read_any(path)
    scorers = read.get("scorers") if isinstance(read, dict) else read
    if not isinstance(scorers, list):
        stop(f"{path}: expected a list of scorers, or `scorers:` with one.")
    return {"scorers": scorers}


def _rescore_run(server: Server, run_id: int, body: JsonObject) -> Answer:
    before = server.get(f"/api/runs/{run_id}")["verdict"]
    server.post(f"/api/runs/{run_id}/rescore", body, timeout=None)
    run, coding = server.get(f"/api/runs/{run_id}"), server.get(f"/api/runs/{run_id}/coding")
    return Answer({"run": run, "coding": coding}, lambda _: _print_run(run, coding, before))


def _print_run(run: Any, coding: Any, before: str | None) -> None:
    console = new_console()
    after = run["verdict"] or "ERROR"
    style = f"bold {COLOURS.get(after, 'magenta')}"
    text = f"was {before}" if before != after else "as before"
    print_block(console, f"Run {run['id']}: {after}", f"({text}; no agent was called)", style=style)
    print_results(console, coding)


def _rescore_batch(server: Server, batch_id: int, body: JsonObject) -> Answer:
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
    report = {"batch_id": batch_id, "rescored": rescored, "changed": len(changes), "changes": changes}
    return Answer(report, _print_batch)


def _print_batch(report: Any) -> None:
    console, changes = new_console(), report["changes"]
    print_changes(console, changes)
    text = f"{plural(len(changes), 'verdict')} changed" if changes else "no verdict changed"
    summary = f"{plural(report['rescored'], 'run')} graded again, {text}; no agent was called."
    print_block(console, "", summary, indent=0)
