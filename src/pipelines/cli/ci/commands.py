"""`pipelines ci …`: a workflow for GitHub or GitLab, and results of two rounds compared."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Answer, with_json

app = typer.Typer(help="Agent tests on every pull request.", no_args_is_help=True, add_completion=False)


@app.command()
def init(
    github: Annotated[bool, typer.Option("--github", help="Write a GitHub Actions workflow.")] = False,
    gitlab: Annotated[bool, typer.Option("--gitlab", help="Write a GitLab CI job.")] = False,
    install: Annotated[
        str | None,
        typer.Option(help="Command that installs Odyssey in CI. [default: from the repository]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    directory: Annotated[Path, typer.Option("--dir", help="The repository.")] = Path(),
) -> None:
    """Write pipelines.yaml (if there is none) and a workflow that runs it and compares with main."""
    from pipelines.cli.ci.init import write_workflows

    write_workflows(directory, github=github, gitlab=gitlab, install=install, is_forced=force)


@app.command()
@with_json
def compare(
    old: Annotated[
        Path, typer.Argument(help="Earlier results: a file that `pipelines run --results` wrote.")
    ],
    new: Annotated[Path, typer.Argument(help="Current results.")],
    comment: Annotated[
        Path | None, typer.Option(help="Write a Markdown comment to this file if something changed.")
    ] = None,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with code 1 if something regressed.")
    ] = False,
) -> Answer:
    """Show what changed between two files of results. Needs no server."""
    from pipelines.cli.ci.compare import show_comparison

    return show_comparison(old, new, comment=comment, fails=fail_on_regression)
