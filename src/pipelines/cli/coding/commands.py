"""The commands of `pipelines coding`. Each parses, calls and prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Answer, Json, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    help="Coding tasks: a repository, the change to make, and how to grade it.",
    no_args_is_help=True,
    add_completion=False,
)
scenario_app = typer.Typer(help="Scenarios of coding tasks.", no_args_is_help=True, add_completion=False)
import_app = typer.Typer(
    help="Import tasks of other benchmarks. Each is verified before it is stored.",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(scenario_app, name="scenario")
app.add_typer(import_app, name="import")
Ref = Annotated[str, typer.Argument(help="The scenario's name or id.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace scenarios of the same name.")]


@scenario_app.command(name="add")
@with_server
def add_command(
    server: "Server",
    file: Annotated[Path, typer.Argument(help="YAML or JSON: one scenario, or a list of them.")],
    as_json: Json = False,
) -> None:
    """Store the scenarios of a file. A scenario of the same name is updated."""
    from pipelines.cli.coding.scenarios import add_file

    add_file(server, file, as_json=as_json)


@scenario_app.command(name="ls")
@with_server
def list_command(server: "Server") -> Answer:
    """List the scenarios, newest first."""
    from pipelines.cli.coding.scenarios import show_scenarios

    return show_scenarios(server)


@scenario_app.command(name="show")
@with_server
def show_command(server: "Server", ref: Ref) -> Answer:
    """Print a scenario as YAML that `add` accepts."""
    from pipelines.cli.coding.scenarios import show_scenario

    return show_scenario(server, ref)


@scenario_app.command(name="rm")
@with_server
def remove_command(server: "Server", ref: Ref) -> None:
    """Delete a scenario. Tasks that were created from it keep their copies."""
    from pipelines.cli.coding.scenarios import remove_scenario

    remove_scenario(server, ref)


@import_app.command(name="harbor")
@with_server
def harbor_command(
    server: "Server",
    path: Annotated[
        Path, typer.Argument(help="A task folder in Harbor's format, or a folder of task folders.")
    ],
    replace: Replace = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what could be imported.")] = False,
) -> Answer:
    """Import tasks in Harbor's format.

    Exit codes: 0 all are imported, 1 some are refused, 2 wrong usage, 3 the import could not run.
    """
    from pipelines.cli.coding.import_tasks import ImportOptions
    from pipelines.cli.coding.imports import import_harbor

    return import_harbor(server, ImportOptions(replace=replace, is_dry=dry_run), path)


@import_app.command(name="swebench")
@with_server
def swebench_command(
    server: "Server",
    file: Annotated[Path, typer.Argument(help="Rows in SWE-bench's format: .jsonl or .json.")],
    repos: Annotated[
        Path | None,
        typer.Option(
            help="Folder DIR with repositories: DIR/owner/name, name.git or name.bundle. [default: GitHub]"
        ),
    ] = None,
    requirements: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Packages that setup and tests need.")
    ] = None,
    setup: Annotated[str | None, typer.Option(help="Command that sets up a repository.")] = None,
    test_command: Annotated[
        str | None,
        typer.Option(help="Command that runs the tests and writes $PIPELINES_JUNIT_FILE. [default: pytest]"),
    ] = None,
    timeout_s: Annotated[
        int | None, typer.Option(min=1, max=3600, help="Seconds that the tests may take.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this instance_id. Repeatable.")] = None,
    replace: Replace = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what could be imported.")] = False,
) -> Answer:
    """Import rows in SWE-bench's format.

    Exit codes: 0 all are imported, 1 some are refused, 2 wrong usage, 3 the import could not run.
    """
    from pipelines.cli.coding.import_tasks import ImportOptions
    from pipelines.cli.coding.imports import import_swebench
    from pipelines.cli.files import read_text
    from pipelines.core.coding.import_swebench import RowSetting

    setting = RowSetting(
        requirements=read_text(requirements) if requirements is not None else None,
        setup_command=setup,
        test_command=test_command,
        timeout_s=timeout_s,
    )
    options = ImportOptions(replace=replace, is_dry=dry_run)
    return import_swebench(server, options, file, repos=repos, setting=setting, only=tuple(only or ()))


@app.command(name="rescore")
@with_server
def rescore_command(
    server: "Server",
    named: Annotated[str, typer.Argument(metavar="RUN|batch:N", help="A run's number, or batch:NUMBER.")],
    scorers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Scorers, YAML or JSON. [default: the scenario's current ones]"),
    ] = None,
) -> Answer:
    """Grade stored changes again, without the agent, and print which verdicts changed."""
    from pipelines.cli.coding.rescore import rescore

    return rescore(server, named, scorers)
