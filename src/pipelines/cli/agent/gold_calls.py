"""`pipelines odyssey oracle`: the oracles of a file's tasks from gold calls, replayed without a server."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from pipelines.cli.files import (
    read_agent_rules,
    read_bytes,
    read_json,
    read_ledger_schema,
    read_tools,
    stop,
    stop_with,
)
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import new_console, print_block
from pipelines.cli.output.phrases import plural
from pipelines.cli.task_file import print_notes
from pipelines.core.task_files.column_naming import ColumnNaming
from pipelines.core.task_files.file_formats import FORMATS, LARGEST_YAML
from pipelines.core.task_files.read_tasks import ReadTasks, format_of, read_tasks, tasks_as_csv, tasks_as_rows
from pipelines.core.task_files.table_layout import layout_of
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.csv_text import records_of
from pipelines.core.text.file_text import decode
from pipelines.core.text.json_text import InvalidJson, Json, dumps, loads
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import read_yaml
from pipelines.core.worlds.rows.gold_calls import GoldCall, GoldOracle, oracle_of_calls, read_gold_calls

COLUMN = "gold_calls"
TOOL_FILES = ("tools.json", "agent.json")
_INDENT = 16


class _Task(NamedTuple):
    row: int  # where it stands in the file
    seed: Seed
    calls: list[GoldCall]


def derive_oracles(tasks: Path, calls: Path | None, *, tools: Path | None, out: Path | None) -> Answer:
    """Exits with 1 if a call failed: that task gets no oracle."""
    tools = tools or _find_tools_file(tasks)
    target = out or tasks.with_name(f"{tasks.stem}.oracles.csv")
    if target.resolve() == tasks.resolve():
        stop(f"{target} is the file of tasks itself: name another with --out.")
    declared, schema, rules = read_tools(tools), read_ledger_schema(tools), read_agent_rules(tools)
    try:
        read = read_tasks(
            read_bytes(tasks),
            format=format_of(tasks.name),
            tools=declared,
            ledger_schema=schema,
            naming=ColumnNaming(left_out=frozenset({COLUMN})),
        )
        given = (
            _read_calls_file(calls, len(read.seeds)) if calls is not None else _read_calls_column(tasks, read)
        )
    except Refused as refused:
        stop_with(refused.problems, str(tasks))
    print_notes(note for note in read.notes if COLUMN not in note)
    rows = _read_calls(read, given, str(calls or tasks))
    found = [
        oracle_of_calls(task.seed, task.calls, declared, schema, rules) if task.calls else None
        for task in rows
    ]
    _write(target, [_add_oracle(task.seed, one) for task, one in zip(rows, found, strict=True)])
    value = {"tasks": [*map(_task_json, rows, found)], "written": str(target)}
    code = 1 if any(one is not None and one.failures for one in found) else 0
    return Answer(value, lambda _: _print(rows, found, target), code)


def _find_tools_file(tasks: Path) -> Path:
    candidates = [path for name in TOOL_FILES if (path := tasks.with_name(name)).is_file()]
    if not candidates:
        stop(f"Which tools answer the calls? Pass --tools, or put {TOOL_FILES[0]} beside {tasks.name}.")
    return candidates[0]


# Where the calls stand


def _read_calls_file(path: Path, count: int) -> list[Json]:
    body = read_json(path)
    if not isinstance(body, list) or len(body) != count:
        has = f"{len(body):,}" if isinstance(body, list) else "no"
        message = (
            f"must be an array with the calls of each task: there are {count:,} tasks, and {has} entries"
        )
        stop_with([Problem(path="the file", message=message, hint="null for a task without")], str(path))
    return body


def _read_calls_column(tasks: Path, read: ReadTasks) -> list[Json]:
    """The `gold_calls` of each task, by its row."""
    is_table = tasks.suffix.lower() not in FORMATS
    cells = _read_table_cells(tasks) if is_table else _read_row_values(tasks)
    if not any(cells.values()):
        stop(f"{tasks} has no column `{COLUMN}`: name a file of calls behind --from-calls.")
    problems: list[Problem] = []
    found = [_parse_cell(cells.get(row), f"row {row}, column {COLUMN}", problems) for row in read.rows]
    if problems:
        stop_with(problems, str(tasks))
    return found


def _read_table_cells(tasks: Path) -> dict[int, Json]:
    layout = layout_of(decode(read_bytes(tasks)).text, ColumnNaming(left_out=frozenset({COLUMN})))
    if COLUMN not in layout.header:
        return {}
    at = layout.header.index(COLUMN)
    records = enumerate(records_of(layout.text, layout.separator), start=1)
    return {row: cells[at] for row, cells in records if row > layout.header_row and at < len(cells)}


def _read_row_values(tasks: Path) -> dict[int, Json]:
    text = decode(read_bytes(tasks)).text
    if format_of(tasks.name) == "jsonl":
        lines = enumerate(text.split("\n"), start=1)
        rows: dict[int, Json] = {number: loads(line) for number, line in lines if line.strip()}
    else:
        is_json = format_of(tasks.name) == "json"
        whole = loads(text) if is_json else read_yaml(text, what="task", most_bytes=LARGEST_YAML).value
        listed = whole.get("rows") if isinstance(whole, dict) else whole
        rows = dict(enumerate(listed if isinstance(listed, list) else [], start=1))
    return {number: row.get(COLUMN) for number, row in rows.items() if isinstance(row, dict)}


def _parse_cell(cell: Json, place: str, problems: list[Problem]) -> Json:
    """In a table the value is JSON text; in other formats it may be text or a value."""
    if not isinstance(cell, str):
        return cell
    try:
        return loads(cell) if cell.strip() else None
    except InvalidJson as error:
        problems.append(Problem(path=place, message=error.predicate))
        return None


def _read_calls(read: ReadTasks, given: Sequence[Json], where: str) -> list[_Task]:
    problems: list[Problem] = []
    tasks = []
    for row, seed, body in zip(read.rows, read.seeds, given, strict=True):
        calls = read_gold_calls(body, f"row {row}, {COLUMN}", problems) if body is not None else []
        tasks.append(_Task(row, seed, calls))
    if problems:
        stop_with(problems, where)
    return tasks


# What comes of them


def _add_oracle(seed: Seed, found: GoldOracle | None) -> Seed:
    axes = found.axes if found is not None else None
    return replace(seed, **axes) if axes is not None else seed  # type: ignore[arg-type]


def _write(target: Path, seeds: Sequence[Seed]) -> None:
    data = dumps(tasks_as_rows(seeds)) if target.suffix.lower() == ".json" else tasks_as_csv(seeds)
    try:
        target.write_bytes(data)
    except OSError as error:
        stop(f"{target}: {error.strerror or error}")


def _print(rows: Sequence[_Task], found: Sequence[GoldOracle | None], target: Path) -> None:
    console = new_console()
    for task, one in zip(rows, found, strict=True):
        _print_row(console, task, one)
    derived = [one for one in found if one is not None and one.axes is not None]
    failed = sum(one is not None and bool(one.failures) for one in found)
    vacuous = sum(one.is_vacuous for one in derived)
    text = f"{plural(len(rows), 'task')}: {plural(len(derived), 'oracle')} derived, {failed} failed"
    text += f", {vacuous} passed by an agent that does nothing" if vacuous else ""
    print_block(console, "", f"{text}. Written to {target}", indent=0)


def _print_row(console: Console, task: _Task, found: GoldOracle | None) -> None:
    label = f"row {task.row}"
    if found is None:
        print_block(console, label, "no gold calls; the task is unchanged", indent=_INDENT)
    elif found.axes is None:
        print_block(console, label, "no oracle, because a gold call failed", indent=_INDENT, style="red")
        for failure in found.failures:
            print_block(console, "", failure, indent=_INDENT)
    else:
        print_block(console, label, task.seed.user_instruction[:200], indent=_INDENT, style="bold")
        for axis, value in found.axes.items():
            print_block(console, f"  {axis}", json.dumps(value, ensure_ascii=False), indent=_INDENT + 2)
        if found.is_vacuous:
            says = "an agent that does nothing passes this oracle, so it proves nothing"
            print_block(console, "  warning", says, indent=_INDENT + 2, style="yellow")
        for note in found.notes:
            print_block(console, "  note", note, indent=_INDENT + 2)


def _task_json(task: _Task, found: GoldOracle | None) -> Json:
    if found is None:
        return {"row": task.row, "axes": None, "notes": [], "is_vacuous": False, "failures": []}
    return {
        "row": task.row,
        "axes": found.axes,
        "notes": [*found.notes],
        "is_vacuous": found.is_vacuous,
        "failures": [*found.failures],
    }
