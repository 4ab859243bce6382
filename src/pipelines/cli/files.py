"""Reads the files that commands take. An invalid file ends the command with a message and exit code 2."""

from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console

from pipelines.core.ledger.ledger_schema import LedgerSchema, parse_ledger_schema
from pipelines.core.results.gate import ExitCode
from pipelines.core.simulation.rules.axis import parse_agent_rules
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.core.text.problems import Problem, Refused, said_of
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema

stderr = Console(stderr=True, highlight=False, soft_wrap=True)
MOST_SHOWN = 50


class Stopped(typer.Exit):
    """The end of a command, with the message that was printed."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(int(code))
        self.message = message


def stop(message: str, code: ExitCode = ExitCode.USAGE) -> NoReturn:
    stderr.print(message, style="red", markup=False)
    raise Stopped(message, code)


def stop_with(problems: list[Problem], where: str) -> NoReturn:
    """End the command with all problems, each with its place and what to do about it."""
    stderr.print(f"[red]{where}: {len(problems)} problem{'s' if len(problems) != 1 else ''}[/]")
    for problem in problems[:MOST_SHOWN]:
        hint = f" ({problem.hint})" if problem.hint else ""
        stderr.print(f"  {problem.said()}{hint}", markup=False)
    if len(problems) > MOST_SHOWN:
        stderr.print(f"  … and {len(problems) - MOST_SHOWN} more")
    raise typer.Exit(2)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        stop(f"{path}: {error.strerror or error}")
    except UnicodeDecodeError:
        stop(f"{path} is not UTF-8 text")


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        stop(f"{path}: {error.strerror or error}")


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        stop(f"{path}: {error.strerror or error}")


def read_json(path: Path) -> Json:
    try:
        return loads(read_text(path))
    except InvalidJson as error:
        stop(said_of(str(path), error.predicate))


def read_object(path: Path) -> JsonObject:
    value = read_json(path)
    if not isinstance(value, dict):
        stop(f"{path} must be a JSON object")
    return value


def read_lines(path: Path) -> list[Json]:
    """One JSON value per line; blank lines are skipped."""
    values = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            try:
                values.append(loads(line))
            except InvalidJson as error:
                stop(said_of(f"{path}, line {number}", error.predicate))
    return values


def read_tools(path: Path) -> tuple[Tool, ...]:
    """A list of tools, or an object with `tools_schema` (such as an agent) or `tools` (an MCP server's)."""
    body = read_json(path)
    listed = body.get("tools_schema", body.get("tools")) if isinstance(body, dict) else body
    try:
        return parse_tools_schema(listed)
    except Refused as refused:
        stop_with(refused.problems, str(path))


def read_agent_rules(path: Path) -> tuple[JsonObject, ...]:
    """The typed rules of an agent's file, which apply to all its tasks; a bare list of tools has none."""
    body = read_json(path)
    try:
        names = {tool.name for tool in read_tools(path)}
        return parse_agent_rules(body.get("rules"), tools=names) if isinstance(body, dict) else ()
    except Refused as refused:
        stop_with(refused.problems, str(path))


def read_ledger_schema(path: Path) -> LedgerSchema | None:
    """The ledger schema of an agent's file; a bare list of tools has none."""
    body = read_json(path)
    try:
        return parse_ledger_schema(body.get("ledger_schema")) if isinstance(body, dict) else None
    except Refused as refused:
        stop_with(refused.problems, str(path))


BATCH = "batch:"


def run_or_batch(named: str) -> tuple[str, int]:
    """What `12` and `batch:3` name: "" for a run, BATCH for a batch, and its number."""
    kind = BATCH if named.startswith(BATCH) else ""
    number = named.removeprefix(BATCH)
    if not is_number(number):
        stop(f"{named}: give the number of a run, such as 12, or batch:3. See: pipelines ls runs")
    return kind, int(number)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
