"""The `pipelines` command. Rooms behind a command are imported when it is called: --help stays instant."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from pipelines import __version__
from pipelines.cli import odyssey

app = typer.Typer(
    help="Odyssey: test AI agents against a world that answers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(odyssey.app, name="odyssey")
stderr = Console(stderr=True, highlight=False)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one. [default: 8420]")] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Where the database and keys live. [default: .pipelines]")
    ] = None,
    database_url: Annotated[
        str | None, typer.Option(help="sqlite:///PATH. [default: a file in the data directory]")
    ] = None,
) -> None:
    """Start the server. The first start makes an API key and shows it once."""
    from pipelines.cli.up import start

    start(host=host, port=port, data_dir=data_dir, database_url=database_url)


def run() -> None:
    app()


def run_odyssey() -> None:
    """`odyssey …` is short for `pipelines odyssey …`."""
    sys.argv[1:1] = ["odyssey"]
    app()
