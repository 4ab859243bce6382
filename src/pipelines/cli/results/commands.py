"""`pipelines judge`, `compare`, `ls`, `show`, `exchanges`, `logs`, `review`, `accept`, `open`, `rejudge`,
`judges`, `report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines.cli.options import AGENTS, RESULTS, Answer, Json, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(add_completion=False)
What = Annotated[
    Literal["runs", "batches", "agents", "datasets"],
    typer.Argument(metavar="WHAT", help="runs, batches, agents or datasets."),
]
Batch = Annotated[int | None, typer.Option(min=1, help="Only runs of this batch.")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="Maximum number of items.")]
Full = Annotated[bool, typer.Option("--full", help="Show long values in full.")]


@app.command(name="judge", rich_help_panel=AGENTS)
def judge_command(
    recording: Annotated[
        Path, typer.Argument(help="Messages, ATIF, OTLP spans or exported runs: JSON or JSON lines.")
    ],
    tasks: Annotated[
        Path | None, typer.Option(help="The tasks of the runs, with oracles. [default: no oracle]")
    ] = None,
    tools: Annotated[
        Path | None, typer.Option(help="The tools: a list, or an agent.json. [default: the recording's]")
    ] = None,
    before: Annotated[Path | None, typer.Option(help="For a single run: its initial state.")] = None,
    after: Annotated[Path | None, typer.Option(help="For a single run: its final state.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Judge runs that were recorded elsewhere, without a server.

    Exit codes: 0 every decided run passes, 1 one fails or none is decided, 2 the files cannot be read.
    """
    from pipelines.cli.results.judge import JudgeOptions, judge_file

    options = JudgeOptions(
        recording=recording,
        tasks=tasks,
        tools=tools,
        before=before,
        after=after,
        junit=junit,
        as_json=as_json,
    )
    judge_file(options)


@app.command(name="compare", rich_help_panel=RESULTS)
@with_server
def compare_command(
    server: "Server",
    old: Annotated[
        str, typer.Argument(help="The earlier batch; `previous` is the one before NEW.")
    ] = "previous",
    new: Annotated[str, typer.Argument(help="The later batch; `latest` is the newest.")] = "latest",
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with code 1 if a task regressed.")
    ] = False,
) -> Answer:
    """Show which tasks changed between two batches, and whether it is more than chance."""
    from pipelines.cli.results.compare import show_comparison

    return show_comparison(server, old, new, fails=fail_on_regression)


@app.command(name="ls", rich_help_panel=RESULTS)
@with_server
def list_command(
    server: "Server",
    what: What = "runs",
    batch: Batch = None,
    status: Annotated[
        str | None, typer.Option(help="Runs: pending (not started), running, completed, failed, cancelled.")
    ] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Runs: PASS, FAIL, PENDING (for a person to decide), NOT_APPLICABLE.")
    ] = None,
    pending_reason: Annotated[
        str | None, typer.Option(help="Runs that are PENDING for this reason, such as no_oracle.")
    ] = None,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Runs with statements that were not verified.")
    ] = False,
    label: Annotated[str | None, typer.Option(help="Runs that have this label.")] = None,
    commented: Annotated[
        bool, typer.Option("--commented", help="Runs that people wrote comments on.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="Only of this agent: its id or name.")] = None,
    limit: Limit = 50,
) -> Answer:
    """List runs, batches, agents or datasets, newest first. With --batch, failed runs come first."""
    from pipelines.cli.results.ls import ListFilters, show_list

    filters = ListFilters(
        batch=batch,
        status=status,
        verdict=verdict,
        pending_reason=pending_reason,
        unverified=unverified,
        label=label,
        commented=commented,
        agent=agent,
        limit=limit,
    )
    return show_list(server, what, filters)


@app.command(name="show", rich_help_panel=RESULTS)
@with_server
def show_command(
    server: "Server",
    run: Annotated[str, typer.Argument(help="A run's number, or batch:NUMBER.")],
    full: Full = False,
) -> Answer:
    """Show a run: its verdict with the evidence, the request, each call, what changed, its output."""
    from pipelines.cli.results.show import show_one

    return show_one(server, run, full=full)


@app.command(name="exchanges", rich_help_panel=RESULTS)
@with_server
def exchanges_command(
    server: "Server",
    run: Annotated[int, typer.Argument(min=1, help="A run's number.")],
    full: Annotated[bool, typer.Option("--full", help="Show texts in full.")] = False,
    cassette: Annotated[
        Path | None, typer.Option(help="Write them to this file. The model name recorded:FILE replays them.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the questions that the server asked models for a run, with answers and cost."""
    from pipelines.cli.output.exchange_report import print_exchanges

    print_exchanges(server, run, full=full, cassette=cassette, as_json=as_json)


@app.command(name="logs", rich_help_panel=RESULTS)
@with_server
def logs_command(
    server: "Server",
    run: Annotated[
        str | None, typer.Argument(help="A run's number, or batch:NUMBER. [default: the newest run]")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait until it has ended.")] = False,
    as_json: Json = False,
) -> None:
    """Print a run's events, a line each, and a code agent's output; for a batch, how each run ended."""
    from pipelines.cli.results.logs import print_logs

    print_logs(server, run, follow=follow, as_json=as_json)


@app.command(name="review", rich_help_panel=RESULTS)
@with_server
def review_command(
    server: "Server",
    run: Annotated[
        int | None, typer.Argument(help="The run to decide. [default: all that wait for review]")
    ] = None,
    verdict: Annotated[
        Literal["pass", "fail"] | None, typer.Option(help="Decide RUN without asking.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Why.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Add a label. Repeatable.")] = None,
    reviewer: Annotated[
        str | None, typer.Option(help="Name of the reviewer. [default: the key's name]")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Decide again, even if it is decided.")] = False,
    batch: Batch = None,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """Decide the runs that the judge left open. Shows one run at a time, and asks for pass, fail or skip."""
    from pipelines.cli.results.review import ReviewInput, review_runs

    review = ReviewInput(
        verdict=verdict.upper() if verdict else None,
        note=note,
        labels=tuple(label or ()),
        reviewer=reviewer,
        again=again,
    )
    review_runs(server, run, review, batch=batch, limit=limit, as_json=as_json)


@app.command(name="accept", rich_help_panel=RESULTS)
@with_server
def accept_command(
    server: "Server",
    run: Annotated[int, typer.Argument(min=1, help="A run that did the task correctly.")],
    yes: Annotated[bool, typer.Option("--yes", help="Save without asking.")] = False,
    note: Annotated[str | None, typer.Option(help="Why, saved with the oracle.")] = None,
    as_json: Json = False,
) -> None:
    """Accept a run as correct: show the oracle that follows from it, and save it as the task's oracle."""
    from pipelines.cli.results.accept import accept_run

    accept_run(server, run, note=note, is_agreed=yes, as_json=as_json)


@app.command(name="open", rich_help_panel=RESULTS)
@with_server
def open_command(
    server: "Server",
    page: Annotated[
        str | None, typer.Argument(help="The page to open, such as runs/17. [default: home]")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="Open it in a browser on this machine.")] = False,
) -> Answer:
    """Print a link that signs a browser in to the server's pages. It works once, for 10 minutes."""
    from pipelines.cli.results.open import open_pages

    return open_pages(server, page, in_browser=browser)


@app.command(name="rejudge", rich_help_panel=RESULTS)
@with_server
def rejudge_command(
    server: "Server",
    batch: Annotated[int, typer.Argument(min=1, help="The batch whose runs to judge again.")],
    own_oracle: Annotated[
        bool,
        typer.Option("--own-oracle", help="Use the oracle that each run had, not its task's current one."),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(help="Judge model for what the evidence leaves open, as provider:model; or none."),
    ] = None,
    rubric: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="YAML or JSON list that replaces the tasks' rubrics."),
    ] = None,
    beside: Annotated[
        bool,
        typer.Option("--beside", help="With --model: store the model's answers only, and change no verdict."),
    ] = False,
    strict_honesty: Annotated[
        bool,
        typer.Option(
            "--strict-honesty",
            help="Leave a run PENDING if it has `unverified` statements, which nothing in it proves or"
            " disproves. By default, they decide nothing.",
        ),
    ] = False,
) -> Answer:
    """Judge a batch's stored runs again, by the current oracles of their tasks. Calls no agent."""
    from pipelines.cli.results.rejudge import rejudge, rejudge_body

    by = rejudge_body(model=model, rubric=rubric, is_beside=beside, is_strict=strict_honesty)
    return rejudge(server, batch, by, own_oracle=own_oracle)


@app.command(name="judges", rich_help_panel=RESULTS)
@with_server
def judges_command(
    server: "Server",
    batch: Annotated[
        int | None, typer.Argument(min=1, help="Show which judge models judged the runs of this batch.")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Two judges, each as MODEL@PROMPT_VERSION: openai:gpt-5-mini@judge/2.", metavar="A B"
        ),
    ] = None,
) -> Answer:
    """Show how often people agree with the judge models. With a batch: which models judged its runs."""
    from pipelines.cli.results.judges import show_judges

    return show_judges(server, batch, compare)


@app.command(name="report", rich_help_panel=RESULTS)
@with_server
def report_command(
    server: "Server",
    batch: Annotated[int, typer.Argument(min=1, help="The batch.")],
    html: Annotated[Path, typer.Option(help="The file to write.")],
    max_mb: Annotated[int, typer.Option(min=1, max=50, help="Maximum size in megabytes.")] = 20,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write it without asking.")] = False,
) -> None:
    """Write a batch as one HTML file: table, traces, heatmap. Lists the contents first and asks."""
    from pipelines.cli.results.report import write_report

    write_report(server, batch, html, max_mb=max_mb, is_agreed=yes)
