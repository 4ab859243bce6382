"""`pipelines run`: its flags. Without an agent, it runs suites."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import AGENTS, Json, Label, Note, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(add_completion=False)


@app.command(name="run", rich_help_panel=AGENTS)
@with_server
def run_command(
    server: "Server",
    context: typer.Context,
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            help="Suites of pipelines.yaml. Without --agent and --dataset, all run.", show_default=False
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="The agent: its id, name or folder.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A CSV file to upload, or a dataset's id.")] = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="How often to run each task.")] = 1,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Runs at once, up to the agent's own limit.")
    ] = None,
    fault_seed: Annotated[
        str | None,
        typer.Option(
            help='Random seed of failure rules: a number, or "repeat" for a different one in each repeat.'
        ),
    ] = None,
    passthrough: Annotated[
        str | None,
        typer.Option(
            help="How to answer passthrough tools: live, record, replay or replay_or_live. [default: live]"
        ),
    ] = None,
    cassette: Annotated[str | None, typer.Option(help="The cassette to record on, or to replay.")] = None,
    overwrite_cassette: Annotated[
        bool, typer.Option("--overwrite-cassette", help="Empty the cassette before recording.")
    ] = False,
    task: Annotated[
        list[str] | None,
        typer.Option(help="Only this task: its row, its key, or the start of its key. Repeatable."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only tasks with this tag. Repeatable.")] = None,
    max_cost_usd: Annotated[
        float | None, typer.Option(help="Limit on the cost of models that the server calls.")
    ] = None,
    max_model_tokens: Annotated[int | None, typer.Option(min=1, help="The same limit in tokens.")] = None,
    strict_honesty: Annotated[
        bool,
        typer.Option(
            "--strict-honesty", help="Leave a run for review if it states values that no record confirms."
        ),
    ] = False,
    label: Label = None,
    note: Note = None,
    resume: Annotated[int | None, typer.Option(help="Number of a stopped batch to continue.")] = None,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of decided runs that must pass. [default: 1.0]")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    results: Annotated[
        Path | None, typer.Option(help="With suites: write results for `pipelines ci compare` to this file.")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(help="With suites: append a summary in Markdown to this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run tasks on an agent and judge the runs.

    Exit codes: 0 the gate is met (--fail-under, or the gate of a suite), 1 it is not met, 2 wrong usage,
    3 the runs could not run.
    """
    from pipelines.cli.files import stop
    from pipelines.cli.run.run import RunOptions, run_tasks
    from pipelines.cli.run.suite_options import run_suites_with_options

    if suites or (agent is None and dataset is None and resume is None):
        run_suites_with_options(
            context, suites or [], junit=junit, results=results, summary=summary, as_json=as_json
        )
        return
    if results is not None or summary is not None:
        stop("--results and --summary are for suites: name what is run in a pipelines.yaml.")
    options = RunOptions(
        agent=agent,
        dataset=dataset,
        repeats=repeats,
        concurrency=concurrency,
        fault_seed=fault_seed,
        passthrough=passthrough,
        cassette=cassette,
        overwrite_cassette=overwrite_cassette,
        max_cost_usd=max_cost_usd,
        max_model_tokens=max_model_tokens,
        honesty="strict" if strict_honesty else None,
        label=label,
        note=note,
        resume=resume,
        fail_under=fail_under,
        junit=junit,
        as_json=as_json,
        tasks=tuple(task or ()),
        tags=tuple(tag or ()),
    )
    run_tasks(server, options)
