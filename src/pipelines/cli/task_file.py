"""Reads a file of tasks with the server's reader, and prints its notes once."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pipelines.cli.files import or_stop, read_bytes, stderr
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.task_files.read_tasks import ReadTasks, format_of, read_tasks
from pipelines.core.tools.tools_schema import Tool


def read_task_file(path: Path, tools: Sequence[Tool] | None, ledger_schema: LedgerSchema | None) -> ReadTasks:
    raw, format = read_bytes(path), format_of(path.name)
    read = or_stop(path, read_tasks, raw, format=format, tools=tools, ledger_schema=ledger_schema)
    print_notes(read.notes)
    return read


def print_notes(notes: Iterable[str]) -> None:
    """Prints to stderr, so that stdout stays machine-readable."""
    for note in notes:
        stderr.print(f"Note: {note}", markup=False)
