"""Sending tasks of other ranges to be proved and stored, and the table of what became of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pipelines.cli.client import Server
from pipelines.cli.coding.scenarios import SCENARIOS
from pipelines.cli.output.blocks import new_console, print_block, print_title
from pipelines.cli.output.phrases import plural
from pipelines.cli.progress import stderr
from pipelines.core.coding.imported import ImportedTask, RefusedTask
from pipelines.core.results.gate import ExitCode
from pipelines.core.text.json_text import JsonObject

LONGEST_REASON = 600
STYLES = {"imported": "green", "could be taken": "green", "refused": "red"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """How an import is to go."""

    replace: bool
    is_dry: bool
    as_json: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What became of one task."""

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


def take_all(server: Server, wish: Wish, tasks: Sequence[ImportedTask | RefusedTask]) -> None:
    """One after the other: each proof runs the task twice."""
    if wish.is_dry:
        _finish(wish, [_foreseen(task) for task in tasks])
        return
    taken: list[Taken] = []
    columns = (TextColumn("proving {task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, transient=True) as bar:
        shown = bar.add_task("", total=len(tasks))
        for task in tasks:
            bar.update(shown, description=task.name)
            taken.append(_take(server, wish, task))
            bar.advance(shown)
    _finish(wish, taken)


def _foreseen(task: ImportedTask | RefusedTask) -> Taken:
    if isinstance(task, RefusedTask):
        return Taken(name=task.name, what="refused", reasons=task.reasons)
    return Taken(name=task.name, what="could be taken", notes=task.notes)


def _take(server: Server, wish: Wish, task: ImportedTask | RefusedTask) -> Taken:
    if isinstance(task, RefusedTask):
        return _foreseen(task)
    body = task.as_json() | {"replace": wish.replace}
    refusal, made = server.refusal_or_answer(f"{SCENARIOS}/import", body, timeout=None)
    if refusal is not None:
        return Taken(name=task.name, what="refused", reasons=(refusal,), notes=task.notes)
    if made["refused"]:
        return Taken(name=task.name, what="refused", reasons=tuple(made["refused"]), notes=task.notes)
    return Taken(
        name=task.name, what="imported", scenario_id=made["id"], notes=(*task.notes, *made.get("notes", ()))
    )


def _finish(wish: Wish, taken: Sequence[Taken]) -> None:
    if wish.as_json:
        typer.echo(json.dumps([each.as_json() for each in taken], ensure_ascii=False))
    else:
        _print(taken)
    if any(each.what == "refused" for each in taken):
        raise typer.Exit(int(ExitCode.NOT_MET))


def _print(taken: Sequence[Taken]) -> None:
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
    told = f"{plural(len(taken), 'task')}: {len(good)} {word}, {len(taken) - len(good)} refused"
    print_title(console, told)
