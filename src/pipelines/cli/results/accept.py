"""`pipelines accept`: shows the oracle that follows from a run, and saves it once a person agrees."""

import json
import sys
from typing import Any

import typer
from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.output.blocks import COLOURS, new_console, print_block
from pipelines.cli.progress import stderr

_INDENT = 18  # as wide as the longest name of an axis


def accept_run(server: Server, run_id: int, *, note: str | None, is_agreed: bool, as_json: bool) -> None:
    """Without `--yes` and without a terminal, the oracle is only shown."""
    proposal = server.get(f"/api/runs/{run_id}/oracle")
    if not as_json:
        _print_proposal(new_console(), proposal)
    if not (is_agreed or (not as_json and _confirm())):
        if as_json:
            typer.echo(json.dumps(proposal, ensure_ascii=False))
        return
    done = server.post(f"/api/runs/{run_id}/oracle/accept", {"note": note} if note else {})
    if as_json:
        typer.echo(json.dumps(done, ensure_ascii=False))
    else:
        _print_accepted(new_console(), done)


def _print_proposal(console: Console, proposal: Any) -> None:
    summary = (
        f"Run {proposal['run_id']} accepted as correct makes this the oracle of task {proposal['task_id']}:"
    )
    print_block(console, "", summary, indent=0)
    for axis, value in proposal["axes"].items():
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            print_block(console, axis, text, indent=_INDENT, style="bold")
    for note in proposal["notes"]:
        print_block(console, "note", note, indent=_INDENT)
    judged = proposal["judgement"] or {"verdict": "ERROR", "reasoning": proposal["judge_error"]["message"]}
    summary = f"{judged['verdict']}: {judged['reasoning']}"
    print_block(console, "verdict by it", summary, indent=_INDENT, rest=COLOURS.get(judged["verdict"], ""))


def _confirm() -> bool:
    if not sys.stdin.isatty():
        stderr.print("Not saved: there is no terminal to confirm it. Pass --yes to save it.", markup=False)
        return False
    return typer.confirm("Save it?", err=True)


def _print_accepted(console: Console, done: Any) -> None:
    run = done["run"]
    text = f"Oracle version {done['oracle_version']} of task {done['task_id']}; run {run['id']} is now "
    print_block(console, "", text + (run["verdict"] or "not judged") + ".", indent=0)
    for warning in done["warnings"]:
        print_block(console, "warning", f"{warning['path']}: {warning['message']}", indent=_INDENT)
    batch = f" {run['batch_id']}" if run["batch_id"] else " BATCH"
    print_block(console, "", f"Judge earlier runs by it: pipelines rejudge{batch}", indent=0)
