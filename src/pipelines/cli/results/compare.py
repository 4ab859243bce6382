"""`pipelines compare`: which tasks changed between two batches, and whether it is more than chance."""

from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.options import Answer
from pipelines.cli.output.junit import one_line, printable
from pipelines.cli.output.phrases import plural

LATEST, PREVIOUS = "latest", "previous"
MOST_SHOWN = 30  # tasks of one kind
TESTS = {"mcnemar": "exact McNemar test", "sign_flip": "sign-flip test"}
TITLES = {
    "regressed": ("REGRESSED", "bold red"),
    "unjudged": ("UNJUDGED", "yellow"),
    "still_failing": ("FAILING", "red"),
    "improved": ("IMPROVED", "green"),
    "fixed": ("FIXED", "bold green"),
    "only_from": ("GONE", "dim"),
    "only_to": ("NEW", "cyan"),
    "passing": ("PASSING", "green"),
}
MARGIN = 10  # columns of the longest title, and one


def show_comparison(server: Server, old: str, new: str, *, fails: bool) -> Answer:
    newer = _batch_id(server, new)
    older = _previous(server, newer) if old == PREVIOUS else _batch_id(server, old)
    compared = server.get(f"/api/batches/{older}/compare", to=newer)
    lost = [*regressions(compared)] if fails else []
    return Answer(
        compared, lambda compared: _print(Console(highlight=False), compared, lost), int(bool(lost))
    )


def regressions(compared: Any) -> Iterator[str]:
    """Tasks that pass less often than before, and tasks that passed and could not be judged now."""
    count = compared["counts"]["regressed"]
    if count:
        yield plural(count, "task")
    lost = len([task for task in compared["tasks"] if task["is_lost"]])
    if lost:
        yield f"{plural(lost, 'task')} that passed and could not be judged now"


def _batch_id(server: Server, word: str) -> int:
    if word.isascii() and word.isdigit():
        return int(word)
    if word != LATEST:
        stop(f"{word!r} is no batch: give its number, or {LATEST}; for OLD also {PREVIOUS}.")
    newest = server.get("/api/batches", limit=1)["items"]
    if not newest:
        stop("There is no batch yet: see `pipelines run`.")
    return int(newest[0]["id"])


def _previous(server: Server, batch_id: int) -> int:
    """The batch of the same agent before this one."""
    agent_id = server.get(f"/api/batches/{batch_id}")["agent_id"]
    older = [each["id"] for each in server.every("/api/batches", agent_id=agent_id) if each["id"] < batch_id]
    if not older:
        stop(f"Batch {batch_id} is the first of its agent: there is none to compare it with.")
    return int(max(older))


def _print(console: Console, compared: Any, lost: list[str]) -> None:
    console.print(
        f"{_batch_name(compared['from'])}  →  {_batch_name(compared['to'])}", style="bold", markup=False
    )
    for warning in compared["warnings"]:
        console.print(Text(f"warning: {printable(warning)}", style="yellow"))
    for change, (title, style) in TITLES.items():
        tasks = [task for task in compared["tasks"] if task["change"] == change]
        for task in tasks[:MOST_SHOWN]:
            _print_task(console, task, Text(f"{title:{MARGIN}}", style=style))
        if len(tasks) > MOST_SHOWN:
            console.print(f"{'':{MARGIN}}… and {len(tasks) - MOST_SHOWN} more {title.lower()}: --json")
    _print_summary(console, compared)
    if lost:
        typer.echo(f"Regressed: {', '.join(lost)}", err=True)


def _print_task(console: Console, task: Any, title: Text) -> None:
    """Two lines, and one for each note, so that a narrow terminal cuts nothing."""
    room = max(20, console.width - MARGIN)
    console.print(title + Text(one_line(f"{task['row_number']}. {task['user_instruction']}", room)))
    console.print(Text(f"{'':{MARGIN}}{printable(task['task_key'])}  {_figures(task)}", style="dim"))
    for note in task["notes"]:
        console.print(Text(f"{'':{MARGIN}}{note}: not tested", style="yellow"))


def _figures(task: Any) -> str:
    sides = [task["from"], task["to"]]
    text = " → ".join(f"{side['passed']}/{side['judged']}" if side else "–" for side in sides)
    runs = " → ".join(f"{side['run_ids'][0]}" if side else "–" for side in sides)
    side = task["to"] or {}
    modes = ", ".join((*side.get("failure_modes", ()), *side.get("pending_reasons", ())))
    return f"pass {text}, run {runs}" + (f", {modes}" if modes else "")


def _batch_name(batch: Any) -> str:
    return f"batch {batch['id']} (agent {batch['agent_id']} v{batch['agent_version']})"


def _print_summary(console: Console, compared: Any) -> None:
    counts, test = compared["counts"], compared["test"]
    fields = {
        "regressed": "regressed",
        "unjudged": "not judged in one of them",
        "still_failing": "still failing",
        "improved": "better, not fixed",
        "fixed": "fixed",
        "passing": "passing as before",
        "only_from": "only in the first",
        "only_to": "only in the second",
    }
    summary = ", ".join(f"{counts[change]} {words}" for change, words in fields.items() if counts[change])
    console.print(f"\n{plural(sum(counts.values()), 'task')}: {summary or 'none'}.")
    if test["p"] is None:
        console.print("Nothing could be tested: no task was judged in both under the same conditions.")
        return
    mean, name = (test["mean_difference"] or 0.0) * 100, TESTS[test["name"]]
    console.print(
        f"Pass rate {mean:+.0f} points over {plural(test['tasks'], 'task')}: p {test['p']:.3g} ({name})."
    )
