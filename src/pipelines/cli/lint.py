"""`pipelines odyssey lint`: what is wrong with the oracles of tasks before any agent is run against them."""

from pathlib import Path

import typer

from pipelines.cli.files import read_ledger_schema, read_tools
from pipelines.cli.task_file import read_task_file
from pipelines.core.json_text import dumps
from pipelines.core.upload_warnings import plan_warnings
from pipelines.core.verdict.lint import lint_seeds


def print_lint(tasks: Path, tools: Path | None, *, as_json: bool) -> None:
    declared = read_tools(tools) if tools is not None else None
    schema = read_ledger_schema(tools) if tools is not None else None
    read = read_task_file(tasks, declared, schema)
    seeds = read.seeds
    oracles = lint_seeds(seeds, tools=declared, ledger_schema=schema)
    unread, about_plans = plan_warnings(seeds, tools=declared, ledger_schema=schema)
    found = read.in_file([*unread, *oracles, *about_plans])
    if as_json:
        typer.echo(dumps({"warnings": [problem.as_json() for problem in found]}).decode())
    else:
        for problem in found:
            hint = f" ({problem.hint})" if problem.hint else ""
            typer.echo(f"row {problem.row}, {problem.column}: {problem.message}{hint}")
        tasks_read = f"{len(seeds)} task{'s' if len(seeds) != 1 else ''}"
        typer.echo(f"{tasks_read}, {len(found)} warning{'s' if len(found) != 1 else ''}")
    raise typer.Exit(
        1 if oracles else 0
    )  # a guess, or a sentence without effect, is to be known of and may be fine
