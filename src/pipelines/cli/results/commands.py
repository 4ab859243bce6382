"""`pipelines ls`, `show`, `exchanges`, `logs`, `review`, `accept`, `open`, `rejudge`, `report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines.cli.options import Json, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(add_completion=False)
What = Annotated[
    Literal["runs", "batches", "agents", "datasets"],
    typer.Argument(metavar="WHAT", help="runs, batches, agents or datasets."),
]
Batch = Annotated[int | None, typer.Option(min=1, help="Only of this batch.")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="At most so many.")]
Full = Annotated[bool, typer.Option("--full", help="Cut nothing short.")]


@app.command(name="ls")
@with_server
def list_command(
    server: "Server",
    what: What = "runs",
    batch: Batch = None,
    status: Annotated[
        str | None, typer.Option(help="Runs: pending, running, completed, failed, cancelled.")
    ] = None,
    verdict: Annotated[str | None, typer.Option(help="Runs: PASS, FAIL, PENDING or NOT_APPLICABLE.")] = None,
    pending_reason: Annotated[
        str | None, typer.Option(help="Runs that are PENDING for this reason, such as no_oracle.")
    ] = None,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Runs with statements that were not verified.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="Only of this agent: its id or name.")] = None,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """List what is there, newest first; the runs of a batch with failures first."""
    from pipelines.cli.results.ls import Asked, print_list

    asked = Asked(
        batch=batch,
        status=status,
        verdict=verdict,
        pending_reason=pending_reason,
        unverified=unverified,
        agent=agent,
        limit=limit,
    )
    print_list(server, what, asked, as_json=as_json)


@app.command(name="show")
@with_server
def show_command(
    server: "Server",
    run: Annotated[str, typer.Argument(help="A run's number, or batch:NUMBER.")],
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Show a run: its verdict with the evidence, what was asked, each call, what changed, what it printed."""
    from pipelines.cli.results.show import print_one

    print_one(server, run, full=full, as_json=as_json)


@app.command(name="exchanges")
@with_server
def exchanges_command(
    server: "Server",
    run: Annotated[int, typer.Argument(min=1, help="A run's number.")],
    full: Annotated[bool, typer.Option("--full", help="With all the words.")] = False,
    cassette: Annotated[
        Path | None, typer.Option(help="Write them here, to be played again: recorded:FILE.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what models were asked for a run, what they answered and what it cost."""
    from pipelines.cli.output.exchange_report import print_exchanges

    print_exchanges(server, run, full=full, cassette=cassette, as_json=as_json)


@app.command(name="logs")
@with_server
def logs_command(
    server: "Server",
    run: Annotated[
        str | None, typer.Argument(help="A run's number, or batch:NUMBER. [default: the newest run]")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until it has ended.")] = False,
    as_json: Json = False,
) -> None:
    """Print what happened in a run, a line each, and what a code agent printed; of a batch, how runs end."""
    from pipelines.cli.results.logs import print_logs

    print_logs(server, run, follow=follow, as_json=as_json)


@app.command(name="review")
@with_server
def review_command(
    server: "Server",
    run: Annotated[int | None, typer.Argument(help="Decide this run. [default: all that wait]")] = None,
    verdict: Annotated[
        Literal["pass", "fail"] | None, typer.Option(help="Decide RUN without asking.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Why.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="A label; may be given again.")] = None,
    reviewer: Annotated[str | None, typer.Option(help="Who decides. [default: the key's name]")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also where it has been decided.")] = False,
    batch: Batch = None,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """Decide what the judge could not: lists what waits, shows one at a time, takes pass, fail or skip."""
    from pipelines.cli.results.review import Given, review_runs

    given = Given(
        verdict=verdict.upper() if verdict else None,
        note=note,
        labels=tuple(label or ()),
        reviewer=reviewer,
        again=again,
    )
    review_runs(server, run, given, batch=batch, limit=limit, as_json=as_json)


@app.command(name="accept")
@with_server
def accept_command(
    server: "Server",
    run: Annotated[int, typer.Argument(min=1, help="A run that was right.")],
    yes: Annotated[bool, typer.Option("--yes", help="Save without asking.")] = False,
    note: Annotated[str | None, typer.Option(help="Why, kept with the oracle.")] = None,
    as_json: Json = False,
) -> None:
    """Accept a run as right: show the oracle that it proves, and make it its task's."""
    from pipelines.cli.results.accept import accept_run

    accept_run(server, run, note=note, is_agreed=yes, as_json=as_json)


@app.command(name="open")
@with_server
def open_command(
    server: "Server",
    page: Annotated[
        str | None, typer.Argument(help="Where it leads, such as runs/17. [default: home]")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="Open it here.")] = False,
    as_json: Json = False,
) -> None:
    """Print a link that signs a browser in to the server's pages. It works once, for 10 minutes."""
    from pipelines.cli.results.open import open_pages

    open_pages(server, page, in_browser=browser, as_json=as_json)


@app.command(name="rejudge")
@with_server
def rejudge_command(
    server: "Server",
    batch: Annotated[int, typer.Argument(min=1, help="The batch whose runs are judged again.")],
    own_oracle: Annotated[
        bool, typer.Option("--own-oracle", help="By the oracle each run was given, not its task's present.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(help="The judge model for what evidence leaves open, as provider:model; or none."),
    ] = None,
    rubric: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A YAML or JSON list, in place of the tasks' rubrics."
        ),
    ] = None,
    beside: Annotated[
        bool, typer.Option("--beside", help="Keep what the model says beside the verdicts, which stay.")
    ] = False,
    strict_honesty: Annotated[
        bool,
        typer.Option(
            "--strict-honesty", help="Leave to a person what cannot be looked up, whatever the batch says."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge a batch's stored runs again, by the present oracles of their tasks. No agent is called."""
    from pipelines.cli.results.rejudge import rejudge, rejudged_by

    by = rejudged_by(model=model, rubric=rubric, is_beside=beside, is_strict=strict_honesty)
    rejudge(server, batch, by, own_oracle=own_oracle, as_json=as_json)


@app.command(name="judges")
@with_server
def judges_command(
    server: "Server",
    batch: Annotated[int | None, typer.Argument(min=1, help="A batch: who has read its runs.")] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(help="Two of them, as model@prompt version.", metavar="A B")
    ] = None,
    as_json: Json = False,
) -> None:
    """How far people agree with the judge models; of a batch, who has read it, and where two differ."""
    from pipelines.cli.results.judges import show_judges

    show_judges(server, batch, compare, as_json=as_json)


@app.command(name="report")
@with_server
def report_command(
    server: "Server",
    batch: Annotated[int, typer.Argument(min=1, help="The batch.")],
    html: Annotated[Path, typer.Option(help="The file to write.")],
    max_mb: Annotated[int, typer.Option(min=1, max=50, help="Megabytes it may have.")] = 20,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write it without asking.")] = False,
) -> None:
    """Write a batch as one HTML file: table, traces, heatmap. Says first what it holds, and asks."""
    from pipelines.cli.results.report import write_report

    write_report(server, batch, html, max_mb=max_mb, is_agreed=yes)
