"""`pipelines cassette`: recorded calls of passthrough tools, looked at, moved, and held against today."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.agent.odyssey import DEFAULT_URL, ApiKey, Json, Url

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Recorded calls of passthrough tools.")
Name = Annotated[str, typer.Argument(help="The cassette's name.")]


@app.command(name="list")
def list_command(as_json: Json = False, url: Url = DEFAULT_URL, api_key: ApiKey = None) -> None:
    """List the cassettes, newest first."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.cassette_report import print_cassettes

    with Server(url, api_key) as server:
        print_cassettes(server, as_json=as_json)


@app.command(name="show")
def show_command(
    name: Name,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing short.")] = False,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Show the calls on a cassette: what was asked, and what was answered."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.cassette_report import print_calls

    with Server(url, api_key) as server:
        print_calls(server, name, tool=tool, full=full, as_json=as_json)


@app.command(name="export")
def export_command(
    name: Name,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here. [default: stdout]")] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Write a cassette as JSON lines, for a repository or another server."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.cassette_report import export

    with Server(url, api_key) as server:
        export(server, name, out)


@app.command(name="import")
def import_command(
    file: Annotated[Path, typer.Argument(help="JSON lines, as export writes them.")],
    name: Annotated[str | None, typer.Option(help="[default: the file's name without .jsonl]")] = None,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Take a cassette from a file, in place of the one of that name."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.cassette_report import import_file

    with Server(url, api_key) as server:
        import_file(server, file, name, as_json=as_json)


@app.command(name="verify")
def verify_command(
    name: Name,
    include_writes: Annotated[
        bool, typer.Option("--include-writes", help="Call tools that may write once more, too.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many calls.")] = 1000,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Ask the live endpoints again and print what differs. Exit: 0 nothing, 1 some, 2 usage, 3 not run."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.cassette_report import verify

    with Server(url, api_key) as server:
        verify(server, name, include_writes=include_writes, limit=limit, as_json=as_json)


@app.command(name="rm")
def remove_command(name: Name, url: Url = DEFAULT_URL, api_key: ApiKey = None) -> None:
    """Delete a cassette."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.cassette_report import path_of

    with Server(url, api_key) as server:
        server.delete(path_of(name))
    typer.echo(f"Cassette {name} is deleted.")
