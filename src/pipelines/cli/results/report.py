"""`pipelines report`: writes a batch as one file to share, after listing what it contains."""

import sys
from pathlib import Path

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import stderr, stop, write_text
from pipelines.core.results.gate import ExitCode
from pipelines.web.words import size, some

BATCHES = "/api/batches"


def write_report(server: Server, batch: int, path: Path, *, max_mb: int, is_agreed: bool) -> None:
    summary = server.get(f"{BATCHES}/{batch}/report/contents", max_mb=max_mb)
    _print_contents(summary, path)
    if not is_agreed and not _confirm():
        stop("Nothing was written.", ExitCode.USAGE)
    text = server.text(f"{BATCHES}/{batch}/report", max_mb=max_mb)
    write_text(path, text)
    typer.echo(f"{path}: {size(len(text.encode()))}, {some(summary['runs'], 'run')}")


def _print_contents(told: dict[str, object], path: Path) -> None:
    """Prints to stderr, so that people see it when stdout is redirected."""
    runs, steps, estimated = (int(str(told[name])) for name in ("runs", "steps", "estimated_bytes"))
    stderr.print(
        f"{path} will hold {some(runs, 'run')} with {some(steps, 'step')}, about {size(estimated)}:",
        markup=False,
    )
    contains = told["contains"]
    assert isinstance(contains, list)
    for part in contains:
        stderr.print(f"  - {part}", markup=False)
    stderr.print(
        "Credentials, and what has the shape of a secret, are masked. Names, addresses and whatever else the"
        " tasks and replies hold are not: hand it on as you would hand on those."
    )
    if told["is_cut"]:
        stderr.print(
            f"Not all of it fits into {told['max_mb']} MB: failures come first, and it says what is missing."
        )
    if told["status"] == "running":
        stderr.print("The batch has not ended: the file will show it as it is now.")


def _confirm() -> bool:
    if not sys.stdin.isatty():
        stop("There is no terminal to confirm it: pass --yes to write the file.", ExitCode.USAGE)
    return typer.confirm("Write it?", err=True)
