"""`pipelines odyssey …`: plans and how faithful they are. Each command parses, calls and prints."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Simulated tools: see their plans, measure them against recordings.",
    no_args_is_help=True,
    add_completion=False,
)
DEFAULT_URL = "http://127.0.0.1:8420"
Url = Annotated[str, typer.Option(help="The server.", envvar="PIPELINES_URL")]
ApiKey = Annotated[
    str | None, typer.Option(help="[default: the key file in .pipelines]", envvar="PIPELINES_API_KEY")
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


@app.command()
def plan(
    tools: Annotated[Path, typer.Argument(help="tools.json: a tools_schema, or an agent that has one.")],
    state: Annotated[Path | None, typer.Argument(help="state.json: an initial_state.")] = None,
    behavior: Annotated[
        str | None, typer.Option(help="Behaviour text, as in a CSV's behavior column.")
    ] = None,
    tool: Annotated[list[str] | None, typer.Option(help="Only this tool; may be given again.")] = None,
    as_json: Json = False,
) -> None:
    """Print what each tool will do in the sandbox, as YAML to read, copy, correct and keep."""
    from pipelines.cli.plans import print_plans

    print_plans(tools, state, behavior=behavior, only=tool or [], as_json=as_json)


@app.command()
def fidelity(
    directory: Annotated[Path, typer.Argument(help="A recording: tools.json, calls.jsonl, state.json.")],
    plans: Annotated[
        Path | None, typer.Option(help="Authored plans (YAML), used where they name a tool.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay a recording of a real backend and print how often the simulated one answers and acts alike."""
    from pipelines.cli.fidelity import print_fidelity

    print_fidelity(directory, plans, as_json=as_json)


@app.command()
def record(
    run_ids: Annotated[list[int], typer.Argument(help="Runs whose tools were driven for real.")],
    directory: Annotated[Path, typer.Option("--dir", help="Where to write the recording.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Turn stored runs into a recording that `fidelity` can measure."""
    from pipelines.cli.client import Server
    from pipelines.cli.record import write_recording

    write_recording(run_ids, directory, Server(url, api_key))


@app.command()
def lint(
    tasks: Annotated[Path, typer.Argument(help="tasks.csv")],
    tools: Annotated[Path | None, typer.Option(help="tools.json, or an agent that has them.")] = None,
    as_json: Json = False,
) -> None:
    """Find oracles that prove nothing: a do-nothing agent passes them, or nobody can."""
    from pipelines.cli.lint import print_lint

    print_lint(tasks, tools, as_json=as_json)
