"""`pipelines rejudge`: judges a batch's stored runs again, in parts, and prints what changed."""

from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.options import Answer
from pipelines.cli.output.batch_report import MOST_CHANGES as MOST_SHOWN
from pipelines.cli.output.batch_report import print_changes
from pipelines.cli.output.blocks import new_console, print_block
from pipelines.cli.output.phrases import plural
from pipelines.cli.progress import stderr
from pipelines.core.text.problems import Refused
from pipelines.core.text.yaml_text import read_yaml

MOST_RUBRIC_BYTES = 256 * 1024
AT_ONCE = 32  # runs in one request: where a model reads them, each takes seconds


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


def rejudge(server: Server, batch_id: int, by: dict[str, Any], *, own_oracle: bool) -> Answer:
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
    report = {"batch": batch, "oracle": oracle, "judged": judged, "changed": len(changes)}
    return Answer(report | {"changes": changes, "failed": failed}, _print)


def _print(report: Any) -> None:
    console, changes = new_console(), report["changes"]
    is_present = report["oracle"] == "present"
    by = "the current oracles of their tasks" if is_present else "the oracles they were given"
    line = f"{plural(report['judged'], 'run')} judged again by {by}; no agent was called."
    print_block(console, "", line, indent=0)
    print_changes(console, changes)
    for each in report["failed"][:MOST_SHOWN]:
        print_block(console, f"run {each['run_id']}", f"not read: {each['message']}")
    text = f"{plural(len(changes), 'verdict')} changed" if changes else "No verdict changed"
    summary = report["batch"]["summary"]
    rate = f"{summary['passed']} of {summary['judged']} judged runs pass"
    print_block(console, "", f"{text}; now {rate}. Earlier verdicts: pipelines show RUN", indent=0)
