"""`pipelines logs`: the events of a run in order, a line each; for a batch, how its runs end."""

import json
import time
from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.files import BATCH, run_or_batch, stop
from pipelines.cli.output.batch_report import cause_and_reason, describe_run, label_of
from pipelines.cli.output.blocks import arguments_text, new_console, one_line, print_block, value_text
from pipelines.cli.output.verdict_text import cause_of
from pipelines.cli.results.show import reply_head

POLL_S = 0.3
LONGEST = 300
UNFINISHED = ("pending", "running")


def print_logs(server: Server, named: str | None, *, follow: bool, as_json: bool) -> None:
    given = named if named is not None else _newest_run(server)
    kind, number = run_or_batch(given)
    print_them = _print_batch_logs if kind == BATCH else _print_run_logs
    print_them(server, number, follow=follow, as_json=as_json)


def _newest_run(server: Server) -> str:
    items = server.get("/api/runs", limit=1)["items"]
    if not items:
        stop("There are no runs yet.")
    return str(items[0]["id"])


def _print_run_logs(server: Server, run_id: int, *, follow: bool, as_json: bool) -> None:
    console = new_console()
    begun = False
    for run, rows in _follow_run(server, run_id, follow=follow):
        if not begun and not as_json and run["started_at"]:
            begun = True
            instruction = one_line(run["user_instruction"], LONGEST)
            _print_line(
                console, run["started_at"], f"run {run_id} begins, task {run['row_number']}: {instruction}"
            )
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False)) if as_json else _print_row(console, row)
    output = server.get(f"/api/runs/{run_id}/output")
    if as_json:
        end = {"run_id": run_id, "status": run["status"], "verdict": run["verdict"]}
        typer.echo(json.dumps(end | {"stdout": output["stdout"], "stderr": output["stderr"]}))
        return
    for stream, label in (("stdout", "out |"), ("stderr", "err |")):
        for printed in output[stream].splitlines():
            print_block(console, label, printed)
    traceback = str((run["error_json"] or {}).get("traceback") or "")
    for line in traceback.splitlines():
        print_block(console, "err |", line)
    if run["ended_at"]:
        text = ": ".join(filter(None, (label_of(run), cause_and_reason(run))))
        _print_line(console, run["ended_at"], f"run {run_id} {run['status']}, {text}")
    else:
        typer.echo(f"run {run_id} is {run['status']}; --follow waits for its end", err=True)


def _follow_run(server: Server, run_id: int, *, follow: bool) -> Iterator[tuple[Any, list[Any]]]:
    """The run and its new rows, again and again. The run is read before its rows: once it has ended it makes
    no more calls, so the rows are complete."""
    printed: set[int] = set()
    while True:
        run = server.get(f"/api/runs/{run_id}")
        rows = [row for row in server.every(f"/api/runs/{run_id}/trace") if row["sequence"] not in printed]
        printed.update(row["sequence"] for row in rows)
        yield run, rows
        if not follow or run["status"] not in UNFINISHED:
            return
        time.sleep(POLL_S)


def _print_row(console: Console, row: Any) -> None:
    actor = f"[{row['actor_id']}] " if row["actor_id"] else ""
    if row["kind"] == "tool_call":
        arguments = arguments_text(row["arguments"], LONGEST)
        text = f"{actor}{row['tool_name']} {arguments} {reply_head(row)}"
        is_bad = row["http_status"] is None or row["http_status"] >= 400
        text += f": {value_text(row['response'], LONGEST)}" if is_bad else ""
    else:
        text = f"{actor}{row['kind']}: {value_text(row['payload'], LONGEST)}"
    _print_line(console, row["occurred_at"], text)


def _print_line(console: Console, moment: str, words: str) -> None:
    print_block(console, moment[11:23], words)


def _print_batch_logs(server: Server, batch_id: int, *, follow: bool, as_json: bool) -> None:
    """A line for each run that has ended. With --follow, the server's events say when there are more."""
    console = new_console()
    printed: set[int] = set()
    for batch in (
        server.events(f"/api/batches/{batch_id}/events")
        if follow
        else (server.get(f"/api/batches/{batch_id}"),)
    ):
        unfinished = sum(batch["counts"]["by_status"].get(status, 0) for status in UNFINISHED)
        if batch["counts"]["total"] - unfinished <= len(printed):
            continue
        runs = server.every("/api/runs", batch_id=batch_id)
        new = [run for run in runs if run["ended_at"] and not run["retried"] and run["id"] not in printed]
        printed.update(run["id"] for run in new)
        for run in sorted(new, key=lambda run: str(run["ended_at"])):
            if as_json:
                typer.echo(json.dumps(run, ensure_ascii=False))
            else:
                mode = cause_of(run)
                text = f"{label_of(run)} {describe_run(run, repeated=batch['repeats'] > 1)}"
                _print_line(console, run["ended_at"], f"{text} ({mode})" if mode else text)
    if not as_json and batch["status"] == "running":
        typer.echo(f"batch {batch_id} is running; --follow waits for its end", err=True)
