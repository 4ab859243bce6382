"""`pipelines up`, `worker`, `prune`, `token`, `demo`."""

from typing import Annotated

import typer

from pipelines.cli.options import HOST

app = typer.Typer(add_completion=False)
Host = Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")]
DataDir = Annotated[str | None, typer.Option(help="The server's data directory. [default: .pipelines]")]
DatabaseUrl = Annotated[
    str | None, typer.Option(help="sqlite:///… or postgresql://…  [default: a SQLite file in --data-dir]")
]


@app.command(rich_help_panel=HOST)
def up(
    host: Host = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 picks a free one. [default: 8420]")] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Directory of the database and the keys. [default: .pipelines]")
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Start the server. The first start creates an API key and shows it once."""
    from pipelines.cli.host.up import start

    start(host=host, port=port, data_dir=data_dir, database_url=database_url)


@app.command(rich_help_panel=HOST)
def worker(
    database_url: Annotated[str, typer.Option(help="The server's database: postgresql://…")],
    host: Host = None,
    port: Annotated[int, typer.Option(help="Port of this node's proxy; 0 picks a free one.")] = 0,
    data_dir: Annotated[
        str | None, typer.Option(help="Directory with the server's secret key. [default: .pipelines]")
    ] = None,
) -> None:
    """Run the batches of a server, on this machine or another. You can start any number of workers."""
    from pipelines.cli.host.up import start_worker

    start_worker(host=host, port=port, data_dir=data_dir, database_url=database_url)


@app.command(rich_help_panel=HOST)
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Remove packages and code that no run uses, and the remains of interrupted uploads."""
    from pipelines.cli.host.prune import prune

    prune(is_dry=dry_run, data_dir=data_dir, database_url=database_url)


@app.command(rich_help_panel=HOST)
def token(
    role: Annotated[str, typer.Option(help="viewer, contributor, admin or owner.")] = "contributor",
    subject: Annotated[str, typer.Option(help="Name of the holder, shown beside their actions.")] = "local",
    hours: Annotated[float, typer.Option(min=0.01, max=720, help="Hours until it expires.")] = 12,
    org: Annotated[str | None, typer.Option(help="The org's id or name, if the server has several.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Print a token that expires, to use instead of the API key on /api/v1 and /v1/traces.

    It is a JWT for the server that uses --data-dir.
    """
    from pipelines.cli.host.token import print_token

    print_token(
        role=role, subject=subject, hours=hours, org=org, data_dir=data_dir, database_url=database_url
    )


@app.command(rich_help_panel=HOST)
def demo() -> None:
    """Run the demo on its own server, and keep the server up so that you can open it in a browser."""
    from pipelines.cli.host.demo import run_demo

    run_demo()
