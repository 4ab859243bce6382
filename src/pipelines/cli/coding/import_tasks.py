"""Sends tasks of other benchmarks to be verified and stored, and prints the result of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pipelines.cli.client import Server
from pipelines.cli.coding.scenarios import SCENARIOS
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import new_console, print_block, print_title
from pipelines.cli.output.phrases import plural
from pipelines.cli.progress import stderr
from pipelines.core.coding.imported import ImportedTask, RefusedTask
from pipelines.core.results.gate import ExitCode
from pipelines.core.text.json_text import JsonObject

LONGEST_REASON = 600
STYLES = {"imported": "green", "could be taken": "green", "refused": "red"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOptions:
    """The options of an import."""

    replace: bool
    is_dry: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportResult:
    """The result for one task."""

    name: str
    what: Literal["imported", "could be taken", "refused"]
    scenario_id: Any = None
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        return {
            "name": self.name,
            "result": self.what,
            "scenario_id": self.scenario_id,
            "reasons": [*self.reasons],
            "notes": [*self.notes],
        }


def import_all(server: Server, options: ImportOptions, tasks: Sequence[ImportedTask | RefusedTask]) -> Answer:
    """Import one task after the other: verifying a task runs it twice."""
    if options.is_dry:
        return _show_results([_dry_run_result(task) for task in tasks])
    imported: list[ImportResult] = []
    columns = (TextColumn("proving {task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, transient=True) as bar:
        row = bar.add_task("", total=len(tasks))
        for task in tasks:
            bar.update(row, description=task.name)
            imported.append(_import_task(server, options, task))
            bar.advance(row)
    return _show_results(imported)


def _dry_run_result(task: ImportedTask | RefusedTask) -> ImportResult:
    if isinstance(task, RefusedTask):
        return ImportResult(name=task.name, what="refused", reasons=task.reasons)
    return ImportResult(name=task.name, what="could be taken", notes=task.notes)


def _import_task(server: Server, options: ImportOptions, task: ImportedTask | RefusedTask) -> ImportResult:
    if isinstance(task, RefusedTask):
        return _dry_run_result(task)
    body = task.as_json() | {"replace": options.replace}
    refusal, answer = server.refusal_or_answer(f"{SCENARIOS}/import", body, timeout=None)
    if refusal is not None:
        return ImportResult(name=task.name, what="refused", reasons=(refusal,), notes=task.notes)
    if answer["refused"]:
        return ImportResult(
            name=task.name, what="refused", reasons=tuple(answer["refused"]), notes=task.notes
        )
    return ImportResult(
        name=task.name,
        what="imported",
        scenario_id=answer["id"],
        notes=(*task.notes, *answer.get("notes", ())),
    )


def _show_results(taken: Sequence[ImportResult]) -> Answer:
    is_refused = any(each.what == "refused" for each in taken)
    code = ExitCode.NOT_MET if is_refused else ExitCode.MET
    return Answer([each.as_json() for each in taken], lambda _: _print_results(taken), code)


def _print_results(taken: Sequence[ImportResult]) -> None:
    console = new_console()
    for each in taken:
        place = f" (scenario {each.scenario_id})" if each.scenario_id is not None else ""
        print_block(console, each.what.upper(), f"{each.name}{place}", indent=15, style=STYLES[each.what])
        for reason in each.reasons:
            print_block(console, "", reason[:LONGEST_REASON], indent=15)
        for note in each.notes:
            print_block(console, "", note, indent=15, rest="dim")
    good = [each for each in taken if each.what != "refused"]
    word = "imported" if any(each.what == "imported" for each in taken) or not good else "could be taken"
    text = f"{plural(len(taken), 'task')}: {len(good)} {word}, {len(taken) - len(good)} refused"
    print_title(console, text)
