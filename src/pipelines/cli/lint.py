"""`pipelines odyssey lint`: what is wrong with the oracles of tasks before any agent is run against them."""

from pathlib import Path

import typer

from pipelines.cli.files import read_json, read_tools, stop_with
from pipelines.cli.task_file import read_task_file
from pipelines.core.json_text import dumps
from pipelines.core.ledger_schema import LedgerSchema, parse_ledger_schema
from pipelines.core.problems import Refused
from pipelines.core.simulation.guesses import guess_warnings
from pipelines.core.verdict.lint import lint_seeds


def print_lint(tasks: Path, tools: Path | None, *, as_json: bool) -> None:
    declared = read_tools(tools) if tools is not None else None
    schema = _ledger_schema(tools) if tools is not None else None
    read = read_task_file(tasks, declared, schema)
    seeds = read.seeds
    oracles = lint_seeds(seeds, tools=declared, ledger_schema=schema)
    guesses = guess_warnings(seeds, tools=declared or (), ledger_schema=schema)
    found = read.in_file([*oracles, *guesses])
    if as_json:
        typer.echo(dumps({"warnings": [problem.as_json() for problem in found]}).decode())
    else:
        for problem in found:
            hint = f" ({problem.hint})" if problem.hint else ""
            typer.echo(f"row {problem.row}, {problem.column}: {problem.message}{hint}")
        tasks_read = f"{len(seeds)} task{'s' if len(seeds) != 1 else ''}"
        typer.echo(f"{tasks_read}, {len(found)} warning{'s' if len(found) != 1 else ''}")
    raise typer.Exit(1 if oracles else 0)  # a guess is to be known of, and may be fine


def _ledger_schema(path: Path) -> LedgerSchema | None:
    """An agent's file has one beside its tools; a bare list of tools has none."""
    body = read_json(path)
    try:
        return parse_ledger_schema(body.get("ledger_schema")) if isinstance(body, dict) else None
    except Refused as refused:
        stop_with(refused.problems, str(path))
