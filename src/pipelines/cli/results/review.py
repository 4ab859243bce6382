"""`pipelines review`: shows runs that need a decision, one at a time, and records verdicts."""

import json
import sys
from dataclasses import dataclass
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.output.batch_report import print_run
from pipelines.cli.output.blocks import new_console, print_block
from pipelines.cli.output.phrases import plural
from pipelines.cli.results.show import show_run

WORDS = {"p": "PASS", "pass": "PASS", "f": "FAIL", "fail": "FAIL", "s": "skip", "skip": "skip"}
QUIT = ("q", "quit")
PROMPT = "pass, fail, skip or quit, then why if you like: "


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewInput:
    verdict: str | None  # PASS or FAIL, without being asked
    note: str | None
    labels: tuple[str, ...]
    reviewer: str | None
    again: bool

    def body(self, verdict: str, note: str | None) -> dict[str, Any]:
        fields = {"verdict": verdict, "note": note, "labels": [*self.labels], "reviewer": self.reviewer}
        body = {key: value for key, value in fields.items() if value}
        return body | ({"again": True} if self.again else {})


def review_runs(
    server: Server, run_id: int | None, review: ReviewInput, *, batch: int | None, limit: int, as_json: bool
) -> None:
    if run_id is not None:
        _review_one(server, run_id, review, as_json=as_json)
        return
    if review.verdict is not None:
        stop("Name the run to decide: pipelines review RUN --verdict …")
    waiting = server.every("/api/runs", needs_review="true", batch_id=batch)
    waiting.reverse()  # the oldest first, as in the queue
    if as_json:
        typer.echo(json.dumps(waiting[:limit], ensure_ascii=False))
        return
    if not waiting:
        typer.echo("Nothing waits for a decision.")
        return
    _print_list(waiting, limit)
    for run in waiting[:limit]:
        typer.echo()
        printed = show_run(server, run["id"])
        printed.show(printed.value)
        if not _ask_verdict(server, run["id"], review):
            return


def _review_one(server: Server, run_id: int, review: ReviewInput, *, as_json: bool) -> None:
    if review.verdict is not None:
        _decide(server, run_id, review.body(review.verdict, review.note), as_json=as_json)
        return
    printed = show_run(server, run_id)
    if as_json:
        typer.echo(json.dumps(printed.value, ensure_ascii=False))
        return
    printed.show(printed.value)
    _ask_verdict(server, run_id, review)


def _print_list(waiting: list[Any], limit: int) -> None:
    console = new_console()
    print_block(console, "", f"{plural(len(waiting), 'run')} wait for a person, the oldest first.", indent=0)
    for run in waiting[:limit]:
        print_run(console, run, repeated=run["repeat_number"] > 1)
    if len(waiting) > limit:
        print_block(console, "", f"… and {len(waiting) - limit:,} more: --limit", indent=0)


def _ask_verdict(server: Server, run_id: int, review: ReviewInput) -> bool:
    """Ask until the run is decided or skipped. False for `quit` or the end of input."""
    while True:
        typer.echo(f"\nrun {run_id}: {PROMPT}", nl=False)
        line = sys.stdin.readline()
        if not line:
            typer.echo()
            return False
        if not sys.stdin.isatty():
            typer.echo(line.rstrip("\n"))  # so that a piped review reads as one that was typed
        word, _, note = line.strip().partition(" ")
        verdict = WORDS.get(word.lower())
        if word.lower() in QUIT:
            return False
        if verdict == "skip":
            return True
        if verdict is not None:
            _decide(server, run_id, review.body(verdict, note.strip() or review.note), as_json=False)
            return True
        typer.echo("Answer pass, fail, skip or quit.")


def _decide(server: Server, run_id: int, body: dict[str, Any], *, as_json: bool) -> None:
    done = server.post(f"/api/runs/{run_id}/verdict", body)
    if as_json:
        typer.echo(json.dumps(done, ensure_ascii=False))
        return
    machine = done["verdict"] or "no verdict"
    if done["human_verdict"] is not None:
        typer.echo(f"run {run_id}: {done['human_verdict']} by a person; the judge said {machine}")
    else:
        missing = plural(done["review"]["reviewers_missing"], "more reviewer")
        typer.echo(f"run {run_id}: recorded; {missing} needed to decide it")
