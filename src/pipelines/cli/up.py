"""`pipelines up`: prepare the data directory, say where things are, serve until told to stop."""

import socket
from typing import Any

import typer
import uvicorn
from rich.console import Console

from pipelines.core.problems import Refused
from pipelines.server.app import App
from pipelines.server.first_start import FirstStart, prepare
from pipelines.server.http_protocol import OneWriteProtocol
from pipelines.server.settings import Settings, load_settings

stderr = Console(stderr=True, highlight=False)
GRACE_S = 5  # what is in flight at Ctrl-C may take this long to end


def start(**flags: Any) -> None:
    try:
        settings = load_settings(**flags)
        started = prepare(settings)
    except Refused as refused:
        for problem in refused.problems:
            hint = f" ({problem.hint})" if problem.hint else ""
            stderr.print(f"[red]{problem.path}[/]: {problem.message}{hint}")
        raise typer.Exit(2) from None
    try:
        listener = _listen(settings)
    except OSError as error:
        stderr.print(f"[red]Cannot listen on {settings.host}:{settings.port}[/]: {error.strerror or error}")
        stderr.print("Choose another with --port, or --port 0 for any free one.")
        raise typer.Exit(2) from None
    url = _url(settings, listener)
    _announce(settings, started, url)
    config = uvicorn.Config(
        App(settings, own_url=url),
        http=OneWriteProtocol,
        loop="uvloop",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # PIPELINES_PUBLIC_URL says what agents should call; headers could be forged
        timeout_graceful_shutdown=GRACE_S,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((settings.host, settings.port))
    listener.listen(2048)
    return listener


def _url(settings: Settings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}"


def _announce(settings: Settings, started: FirstStart, url: str) -> None:
    typer.echo(f"Odyssey is at {url}  (API docs: {url}/docs)")
    typer.echo(f"Data: {settings.data_dir.resolve()}")
    if started.key is not None:
        typer.echo(f"API key, shown this once: {started.key}")
        typer.echo(f"It is also in {started.key_file}, readable only by you.")
    typer.echo("Stop with Ctrl-C.")
