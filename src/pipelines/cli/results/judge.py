"""`pipelines judge`: verdicts on runs that were recorded elsewhere. No server, no model, no network."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.files import (
    or_stop,
    read_bytes,
    read_json,
    read_ledger_schema,
    read_tools,
    stop,
    stop_with,
    write_text,
)
from pipelines.cli.gate import gate_code
from pipelines.cli.output.batch_report import label_of, print_run, rank_of, warnings_of
from pipelines.cli.output.blocks import COLOURS, new_console, print_block, print_title
from pipelines.cli.output.junit import as_junit
from pipelines.cli.output.phrases import plural
from pipelines.cli.task_file import read_task_file
from pipelines.core.recordings.judge_recorded import judge_recorded
from pipelines.core.recordings.match_tasks import KnownTask, NamedRun, match_tasks
from pipelines.core.recordings.own_tasks import known_tasks, tasks_of_recordings
from pipelines.core.recordings.read import Recording, read_recording
from pipelines.core.recordings.recorded_run import RecordedRun
from pipelines.core.recordings.states import check_state, with_changes
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema
from pipelines.core.verdict.verdict import JudgeError

TOOLS_UNREADABLE = "the tools that the recording declares cannot be read: give them with --tools"


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOptions:
    """The options of the command."""

    recording: Path
    tasks: Path | None = None
    tools: Path | None = None
    before: Path | None = None
    after: Path | None = None
    junit: Path | None = None
    as_json: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _RunWithTask:
    """A run with the task that it is judged by."""

    run: RecordedRun
    seed: Seed
    task: KnownTask
    note: str | None = None  # how the task was found


def judge_file(options: JudgeOptions) -> None:
    recording = _read(options)
    tools = read_tools(options.tools) if options.tools is not None else None
    placed = _match_tasks(recording, options, tools)
    counts: Counter[int] = Counter()
    runs = []
    for number, each in enumerate(placed, 1):
        counts[each.task.row] += 1
        runs.append(_judge_run(each, tools, number, counts[each.task.row]))
    repeats = max(counts.values(), default=1)
    if options.junit is not None:
        batch = {"id": options.recording.name, "agent_id": "recorded", "repeats": repeats}
        write_text(options.junit, as_junit(batch, runs, _classname(options)))
    if options.as_json:
        typer.echo(dumps({"recognised": recording.summary(), "runs": runs}).decode())
    else:
        _print(f"{options.recording.name}: {recording.summary()}", runs, repeated=repeats > 1)
    if code := gate_code(runs, 1.0):
        raise typer.Exit(int(code))


def _read(options: JudgeOptions) -> Recording:
    recording = or_stop(options.recording, read_recording, read_bytes(options.recording))
    if options.before is None and options.after is None:
        return recording
    if len(recording.runs) != 1:
        count = plural(len(recording.runs), "run")
        stop(
            f"--before and --after are for one run; {options.recording} has {count}: put them beside each run"
        )
    before, after = (_read_state(path) for path in (options.before, options.after))
    (run,) = recording.runs
    run = replace(
        run,
        state_before=before if before is not None else run.state_before,
        state_after=after if after is not None else run.state_after,
    )
    return Recording(runs=(run,))


def _read_state(path: Path | None) -> JsonObject | None:
    if path is None:
        return None
    problems: list[Problem] = []
    state = check_state(read_json(path), "", problems)
    if problems:
        stop_with(problems, str(path))
    return state


def _match_tasks(
    recording: Recording, options: JudgeOptions, tools: tuple[Tool, ...] | None
) -> list[_RunWithTask]:
    runs = recording.runs
    if options.tasks is None:
        seeds, places = or_stop(options.recording, tasks_of_recordings, runs)
        tasks = known_tasks(seeds)
        return [
            _RunWithTask(run=run, seed=seeds[at], task=tasks[at])
            for run, at in zip(runs, places, strict=True)
        ]
    schema = read_ledger_schema(options.tools) if options.tools is not None else None
    seeds = list(read_task_file(options.tasks, tools, schema).seeds)
    tasks = known_tasks(seeds)
    problems: list[Problem] = []
    named = [NamedRun(run.place, run.task, run.instruction) for run in runs]
    matches = match_tasks(named, tasks, problems)
    if problems:
        stop_with(problems, str(options.recording))
    return [
        _RunWithTask(run=run, seed=seeds[match.task], task=tasks[match.task], note=match.note)
        for run, match in zip(runs, matches, strict=True)
        if match is not None
    ]


def _judge_run(placed: _RunWithTask, tools: tuple[Tool, ...] | None, number: int, repeat: int) -> JsonObject:
    """The run in the API's format, so that reports, gates and JUnit work as for live runs."""
    notes = [placed.note] if placed.note is not None else []
    if tools is None:
        tools, unread = _declared_tools(placed.run)
        notes += [TOOLS_UNREADABLE] if unread else []
    run = with_changes(placed.run, placed.seed.initial_state, tools)
    found = judge_recorded(run, placed.seed, tools)
    verdict = None if isinstance(found, JudgeError) else found
    parts = [*run.notes, *notes]
    return {
        "id": number,
        "name": run.name,
        "place": run.place or None,
        "format": run.format,
        "task_id": placed.task.row,
        "row_number": placed.task.row,
        "task_key": placed.task.key,
        "user_instruction": placed.seed.user_instruction,
        "repeat_number": repeat,
        "status": run.status,
        "verdict": verdict.verdict if verdict is not None else None,
        "failure_mode": verdict.failure_mode if verdict is not None else None,
        "judgement": found.as_json(),
        "judge_error": found.message if isinstance(found, JudgeError) else None,
        "error_class": run.error_class,
        "error_json": run.error_json,
        "human_verdict": None,
        "retried": False,
        "has_state": run.has_state,
        "soft_warnings": [*parts],
    }


def _declared_tools(run: RecordedRun) -> tuple[tuple[Tool, ...], bool]:
    """The tools of a recording that declares them, and whether they could not be read."""
    if run.tools is None:
        return (), False
    try:
        return parse_tools_schema(run.tools), False
    except Refused:
        return (), True


def _print(title: str, runs: list[Any], *, repeated: bool) -> None:
    console = new_console()
    print_title(console, title)
    for run in sorted(runs, key=rank_of):
        print_run(console, run, repeated=repeated, in_short=label_of(run) == "PASS")
    console.print()
    for label, count in Counter(map(label_of, sorted(runs, key=rank_of))).items():
        print_block(console, f"{count:,} {label}", "", style=COLOURS.get(label, "magenta"))
    for line in warnings_of(runs):
        print_block(console, "note", line, style="yellow")


def _classname(options: JudgeOptions) -> str:
    return f"recorded/{options.tasks.name if options.tasks is not None else options.recording.name}"
