"""`pipelines ci …`: a workflow for GitHub or GitLab, and results of two rounds compared."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Json

app = typer.Typer(help="Agent tests on every pull request.", no_args_is_help=True, add_completion=False)


@app.command()
def init(
    github: Annotated[bool, typer.Option("--github", help="Write a workflow of GitHub Actions.")] = False,
    gitlab: Annotated[bool, typer.Option("--gitlab", help="Write a job of GitLab CI.")] = False,
    install: Annotated[
        str | None,
        typer.Option(help="The line that installs Odyssey there. [default: as the repository has it]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what `init` would write.")] = False,
    directory: Annotated[Path, typer.Option("--dir", help="The repository.")] = Path(),
) -> None:
    """Write pipelines.yaml (if there is none) and a workflow that runs it and compares with main."""
    from pipelines.cli.suites.ci_init import write_workflows

    write_workflows(directory, github=github, gitlab=gitlab, install=install, is_forced=force)


@app.command()
def compare(
    old: Annotated[Path, typer.Argument(help="Results of before: a file of `pipelines run --results`.")],
    new: Annotated[Path, typer.Argument(help="Results of now.")],
    comment: Annotated[
        Path | None, typer.Option(help="Write a comment in Markdown here, if something flipped.")
    ] = None,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit code 1 when something regressed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what flipped between two files of results. No server is needed."""
    from pipelines.cli.suites.ci_compare import print_comparison

    print_comparison(old, new, comment=comment, fails=fail_on_regression, as_json=as_json)
