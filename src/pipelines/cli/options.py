"""Options that many commands share; the server that a command is given, and how its answer is printed.

Light on purpose: the modules that declare commands import this one, and `--help` has to be instant.
"""

import inspect
import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, NamedTuple, ParamSpec, cast

import typer

from pipelines import __version__

if TYPE_CHECKING:
    from pipelines.cli.client import Server

P = ParamSpec("P")
#: The sections of `pipelines --help`.
AGENTS, TASKS, LIVE, HOST, RESULTS = "Test an agent", "Tasks", "Passthrough tools", "Server", "Results"
DEFAULT_URL = "http://127.0.0.1:8420"
Url = Annotated[str, typer.Option(help="The server's URL.", envvar="PIPELINES_URL")]
ApiKey = Annotated[
    str | None,
    typer.Option(help="The API key. [default: the key file in .pipelines]", envvar="PIPELINES_API_KEY"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Label = Annotated[str | None, typer.Option(help="The build of the agent, such as a commit or a version.")]
Note = Annotated[str | None, typer.Option(help="A note for people, such as what this build changes.")]


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(__version__)
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_print_version)
]


class Answer(NamedTuple):
    """What a command found: the value that --json prints, and how people see it otherwise."""

    value: Any
    show: Callable[[Any], object]
    code: int = 0  # the command's exit code

    @classmethod
    def line(cls, value: Any, text: str) -> "Answer":
        return cls(value, lambda _: typer.echo(text))


def with_json(command: Callable[P, Answer]) -> Callable[P, None]:
    """Give a command --json and print its answer, for people or as JSON."""

    def call_and_print(*, as_json: bool, **given: Any) -> None:
        _print_answer(command(**given), as_json=as_json)  # type: ignore[call-arg]

    parameters = inspect.signature(command).parameters.values()
    return cast(Callable[P, None], _with_parameters(command, call_and_print, [*parameters, _JSON]))


def with_server(command: "Callable[Concatenate[Server, P], Answer | None]") -> Callable[P, None]:
    """Give a command the server of its --url and --api-key, options that this adds at its end.

        @app.command()
        @with_server
        def show(server: "Server", run: int) -> Answer: ...

    The command's first parameter is that server. It connects with the first request, so that a command
    which turns out to need no server needs no key either. A command that returns an Answer has --json too.
    """
    signature = inspect.signature(command)

    def call_with_server(*, url: str, api_key: str | None, **given: Any) -> None:
        from pipelines.cli.client import Server

        as_json = given.pop("as_json") if answers else False
        with Server(url, api_key) as server:
            answer = command(server, **given)  # type: ignore[call-arg]
            if answer is not None:
                _print_answer(answer, as_json=as_json)

    answers = signature.return_annotation in (Answer, "Answer")
    _, *own = signature.parameters.values()
    added = [*([_JSON] if answers else []), _URL, _API_KEY]
    return cast(Callable[P, None], _with_parameters(command, call_with_server, [*own, *added]))


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_JSON = _option("as_json", Json, False)
_URL = _option("url", Url, DEFAULT_URL)
_API_KEY = _option("api_key", ApiKey, None)


def _with_parameters(command: Any, wrapper: Any, parameters: list[inspect.Parameter]) -> Any:
    """The wrapper under the command's name. Typer reads the options from these."""
    wrapped: Any = wraps(command)(wrapper)
    wrapped.__signature__ = inspect.Signature(parameters)
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapped


def _print_answer(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(answer.value, ensure_ascii=False))
    else:
        answer.show(answer.value)
    if answer.code:
        raise typer.Exit(answer.code)
