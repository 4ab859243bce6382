"""What `pipelines odyssey dev` prints: each call of a run as it happens, the answer, the verdict."""

import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pipelines.cli.client import Server
from pipelines.cli.output.batch_report import reason_text
from pipelines.cli.output.blocks import COLOURS
from pipelines.cli.output.junit import printable
from pipelines.cli.output.verdict_text import cause_of, to_do_about, unverified_lines

ENDED = ("completed", "failed", "cancelled")
LONGEST_NAME = 24
SOURCE_COLOURS = {"injected": "magenta", "error": "red", "transport_error": "red"}


class Report:
    """Follows the runs of one batch; call `update` until the batch is done."""

    def __init__(self, console: Console, server: Server, numbers: dict[int, int]) -> None:
        self._console = console
        self._server = server
        self._numbers = numbers  # the CSV row of each task
        self._opened: set[int] = set()
        self._closed: set[int] = set()
        self._shown: dict[int, int] = {}  # the last trace row of each run that was printed
        self._warned: set[str] = set()
        self._explained: set[str | None] = set()  # pending reasons whose remedy was printed
        self.verdicts: list[str] = []

    def update(self, batch_id: int) -> None:
        runs = self._server.every("/api/runs", batch_id=batch_id)
        for run in sorted(runs, key=lambda run: int(run["id"])):
            if run["status"] != "pending" and run["id"] not in self._closed:
                self._print_progress(run)

    def _print_progress(self, run: Any) -> None:
        run_id = run["id"]
        if run_id not in self._opened:
            self._opened.add(run_id)
            instruction = self._server.get(f"/api/runs/{run_id}")["odyssey_seed"]["user_instruction"]
            number = self._numbers.get(run["task_id"], run["task_id"])
            self._console.print(f"\n[bold]task {number}[/]  {escape(printable(instruction))}")
        for row in self._server.every(f"/api/runs/{run_id}/trace", kind="tool_call"):
            if row["sequence"] > self._shown.get(run_id, 0):
                self._shown[run_id] = row["sequence"]
                self._print_call(row)
        # Rows first, then the end: a run that is judged makes no more calls.
        if run["status"] in ENDED and (run["verdict"] or run["judge_error"] or run["status"] != "completed"):
            self._closed.add(run_id)
            self._print_end(self._server.get(f"/api/runs/{run_id}"))

    def _print_call(self, row: Any) -> None:
        line = Table.grid(padding=(0, 1, 0, 0), expand=True)
        line.add_column(width=2)
        line.add_column(width=min(LONGEST_NAME, max(12, len(row["tool_name"]))))
        line.add_column(ratio=1, overflow="fold")
        line.add_column(width=9)
        line.add_column(width=3, justify="right")
        line.add_column(width=9, justify="right")
        status, source = row["http_status"], str(row["source"])
        line.add_row(
            "",
            Text(printable(row["tool_name"]), overflow="ellipsis", no_wrap=True),
            Text(_format_arguments(row["arguments"])),
            Text(source, style=SOURCE_COLOURS.get(source, "dim"), overflow="ellipsis", no_wrap=True),
            Text(str(status or "–"), style="red" if status is None or status >= 400 else ""),
            f"{row['latency_ms']} ms",
        )
        self._console.print(line)
        if status is None or status >= 400:
            self._console.print(Text(f"   {_format_error(row)}", style="dim"))

    def _print_end(self, run: Any) -> None:
        if run["final_response"]:
            self._console.print(Padding(Text(f"“{printable(run['final_response'])}”"), (0, 0, 0, 2)))
        verdict = run["verdict"] or ("ERROR" if run["judge_error"] else run["status"])
        self.verdicts.append(verdict)
        mode = cause_of(run)
        text = Table.grid(padding=(0, 2, 0, 0))
        reason = " ".join(filter(None, [f"{mode}:" if mode else "", reason_text(run)]))
        text.add_row(
            Text(f"  {verdict}", style=f"bold {COLOURS.get(verdict, 'red')}"), Text(printable(reason))
        )
        self._console.print(text)
        for line in self._notes(run):
            self._console.print(Padding(Text(printable(line), style="dim"), (0, 0, 0, 2)))
        # What all runs have in common is told with the first of them.
        new = [each for each in map(str, run["soft_warnings"] or ()) if each not in self._warned]
        self._warned.update(new)
        for warning in new:
            self._console.print(Padding(Text(f"warning: {printable(warning)}", style="yellow"), (0, 0, 0, 2)))

    def _notes(self, run: Any) -> list[str]:
        """What to do about a pending run, once per reason; and statements that were not verified."""
        reason, to_do = run.get("pending_reason"), to_do_about(run)
        is_new = bool(to_do) and reason not in self._explained
        self._explained.add(reason)
        notes = [f"not verified: {note}" for note in unverified_lines(run)]
        return [*([f"what to do: {to_do}"] if is_new else []), *notes]


def _format_arguments(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return printable(json.dumps(arguments, ensure_ascii=False))
    parts = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()]
    return printable(" ".join(parts))


def _format_error(row: Any) -> str:
    response = row["response"]
    error = response.get("error") if isinstance(response, dict) else None
    if isinstance(error, dict):
        return printable(f"{error.get('code')}: {error.get('message')}")
    return printable(str(row["error_code"] or response))
