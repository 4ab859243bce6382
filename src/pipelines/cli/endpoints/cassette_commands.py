"""`pipelines cassette`: recorded calls of passthrough tools, looked at, moved, and held against today."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Answer, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Recorded calls of live tools: tools that a real service answers.",
)
Name = Annotated[str, typer.Argument(help="The cassette's name.")]


@app.command(name="list")
@with_server
def list_command(server: "Server") -> Answer:
    """List the cassettes, newest first."""
    from pipelines.cli.output.cassette_report import show_cassettes

    return show_cassettes(server)


@app.command(name="show")
@with_server
def show_command(
    server: "Server",
    name: Name,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Show long values in full.")] = False,
) -> Answer:
    """Show the calls on a cassette with their arguments and answers."""
    from pipelines.cli.output.cassette_report import show_calls

    return show_calls(server, name, tool=tool, full=full)


@app.command(name="export")
@with_server
def export_command(
    server: "Server",
    name: Name,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file. [default: stdout]")
    ] = None,
) -> None:
    """Write a cassette as JSON lines, for a repository or another server."""
    from pipelines.cli.output.cassette_report import export

    export(server, name, out)


@app.command(name="import")
@with_server
def import_command(
    server: "Server",
    file: Annotated[Path, typer.Argument(help="JSON lines, as `export` writes them.")],
    name: Annotated[str | None, typer.Option(help="[default: the file's name without .jsonl]")] = None,
) -> Answer:
    """Import a cassette from a file. It replaces a cassette of the same name."""
    from pipelines.cli.output.cassette_report import import_file

    return import_file(server, file, name)


@app.command(name="verify")
@with_server
def verify_command(
    server: "Server",
    name: Name,
    include_writes: Annotated[
        bool, typer.Option("--include-writes", help="Also repeat calls of tools that may write.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of calls.")] = 1000,
) -> Answer:
    """Repeat the calls live and print what differs.

    Exit codes: 0 nothing differs, 1 something differs, 2 wrong usage, 3 the calls could not run.
    """
    from pipelines.cli.output.cassette_report import verify

    return verify(server, name, include_writes=include_writes, limit=limit)


@app.command(name="rm")
@with_server
def remove_command(server: "Server", name: Name) -> None:
    """Delete a cassette."""
    from pipelines.cli.output.cassette_report import path_of

    server.delete(path_of(name))
    typer.echo(f"Cassette {name} is deleted.")
