"""`pipelines rejudge`: judges a batch's stored runs again, in parts, and prints what changed."""

import json
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.output.blocks import new_console, print_block
from pipelines.cli.output.phrases import plural
from pipelines.cli.progress import stderr
from pipelines.core.text.problems import Refused
from pipelines.core.text.yaml_text import read_yaml

MOST_RUBRIC_BYTES = 256 * 1024
AT_ONCE = 32  # runs in one request: where a model reads them, each takes seconds
MOST_SHOWN = 50


def rejudge_body(
    *, model: str | None, rubric: Path | None, is_beside: bool, is_strict: bool
) -> dict[str, Any]:
    """The body of the request. The server checks it."""
    body: dict[str, Any] = {"model": model} if model is not None else {}
    if rubric is not None:
        body["rubric"] = _read_rubric(rubric)
    body |= {"beside": True} if is_beside else {}
    return body | ({"honesty": "strict"} if is_strict else {})


def _read_rubric(path: Path) -> Any:
    try:
        return read_yaml(path.read_text(), what="rubric", most_bytes=MOST_RUBRIC_BYTES).value or []
    except Refused as refused:
        stop(f"{path}: {refused.problems[0].said()}")
    except UnicodeDecodeError:
        stop(f"{path} is no text in UTF-8.")


def rejudge(server: Server, batch_id: int, by: dict[str, Any], *, own_oracle: bool, as_json: bool) -> None:
    oracle = "own" if own_oracle else "present"
    changes: list[Any] = []
    failed: list[Any] = []
    judged = 0
    cursor: str | None = ""
    total = server.get(f"/api/batches/{batch_id}")["counts"]["total"]
    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("", total=total)
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            path = f"/api/batches/{batch_id}/judge?oracle={oracle}&limit={AT_ONCE}{more}"
            done = server.post(path, by)
            judged, cursor = judged + done["judged"], done["next_cursor"]
            changes += done["changes"]
            failed += done["failed"]
            bar.update(task, completed=judged)
    batch = server.get(f"/api/batches/{batch_id}")
    if as_json:
        report = {"batch": batch, "oracle": oracle, "judged": judged, "changed": len(changes)}
        typer.echo(json.dumps(report | {"changes": changes, "failed": failed}))
    else:
        _print(batch, oracle, judged, changes, failed)


def _print(batch: Any, oracle: str, judged: int, changes: list[Any], failed: list[Any]) -> None:
    console = new_console()
    by = "the current oracles of their tasks" if oracle == "present" else "the oracles they were given"
    line = f"{plural(judged, 'run')} judged again by {by}; no agent was called."
    print_block(console, "", line, indent=0)
    for change in changes[:MOST_SHOWN]:
        before, after = (_side(change[key]) for key in ("from", "to"))
        print_block(console, f"run {change['run_id']}", f"{before} → {after}")
    if len(changes) > MOST_SHOWN:
        print_block(console, "", f"… and {len(changes) - MOST_SHOWN:,} more: --json", indent=0)
    for each in failed[:MOST_SHOWN]:
        print_block(console, f"run {each['run_id']}", f"not read: {each['message']}")
    text = f"{plural(len(changes), 'verdict')} changed" if changes else "No verdict changed"
    summary = batch["summary"]
    rate = f"{summary['passed']} of {summary['judged']} judged runs pass"
    print_block(console, "", f"{text}; now {rate}. Earlier verdicts: pipelines show RUN", indent=0)


def _side(verdict: Any) -> str:
    cause = verdict["failure_mode"] or verdict.get("pending_reason")
    mode = f" ({cause})" if cause else ""
    return f"{verdict['verdict'] or 'ERROR'}{mode}"
