"""Options that many commands share, and the server that a command is given.

Light on purpose: the modules that declare commands import this one, and `--help` has to be instant.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, cast

import typer

from pipelines import __version__

if TYPE_CHECKING:
    from pipelines.cli.client import Server

P = ParamSpec("P")
DEFAULT_URL = "http://127.0.0.1:8420"
Url = Annotated[str, typer.Option(help="The server's URL.", envvar="PIPELINES_URL")]
ApiKey = Annotated[
    str | None,
    typer.Option(help="The API key. [default: the key file in .pipelines]", envvar="PIPELINES_API_KEY"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(__version__)
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_print_version)
]


def with_server(command: "Callable[Concatenate[Server, P], None]") -> Callable[P, None]:
    """Give a command the server of its --url and --api-key, options that this adds at its end.

        @app.command()
        @with_server
        def show(server: "Server", run: int) -> None: ...

    The command's first parameter is that server. It connects with the first request, so that a command
    which turns out to need no server needs no key either.
    """

    def call_with_server(*, url: str, api_key: str | None, **given: Any) -> None:
        from pipelines.cli.client import Server

        with Server(url, api_key) as server:
            command(server, **given)  # type: ignore[call-arg]

    wrapper: Any = wraps(command)(call_with_server)
    _, *own = inspect.signature(command).parameters.values()
    added = [
        inspect.Parameter("url", inspect.Parameter.KEYWORD_ONLY, default=DEFAULT_URL, annotation=Url),
        inspect.Parameter("api_key", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ApiKey),
    ]
    # Typer reads the options from these.
    wrapper.__signature__ = inspect.Signature([*own, *added])
    wrapper.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
    return cast(Callable[P, None], wrapper)
