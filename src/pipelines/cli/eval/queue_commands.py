"""`pipelines eval drafts …` and `pipelines eval reviews …`: what waits for a person."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import Answer, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

drafts = typer.Typer(
    help="Scenarios drafted from telemetry: inspect, correct, adopt or dismiss them.",
    no_args_is_help=True,
    add_completion=False,
)
reviews = typer.Typer(
    help="Decisions for a person: flagged shifts, audits, open verdicts.",
    no_args_is_help=True,
    add_completion=False,
)
DraftIds = Annotated[list[str], typer.Argument(help="drf_…")]
ReviewStatus = Annotated[
    str | None,
    typer.Option(help="waiting (open or disputed), open, disputed, decided or any. [default: waiting]"),
]
DraftStatus = Annotated[str | None, typer.Option(help="draft, adopted, dismissed or any. [default: draft]")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="Maximum number of items.")]


@drafts.command(name="list")
@with_server
def list_drafts(server: "Server", status: DraftStatus = None, limit: Limit = 50) -> Answer:
    """List drafts, the highest confidence first, each with the number of traces behind it."""
    from pipelines.cli.eval.drafts import show_drafts

    return show_drafts(server, status=status, limit=limit)


@drafts.command(name="show")
@with_server
def show_draft_command(server: "Server", draft_id: Annotated[str, typer.Argument(help="drf_…")]) -> Answer:
    """Show a draft as YAML that you can correct and adopt."""
    from pipelines.cli.eval.drafts import show_draft

    return show_draft(server, draft_id)


@drafts.command()
@with_server
def generate(
    server: "Server",
    device_id: Annotated[
        str | None, typer.Option(help="A device, host, instance or agent id of the spans. [default: any]")
    ] = None,
    lookback_hours: Annotated[int, typer.Option(min=1, help="How many hours to look back.")] = 168,
    max_scenarios: Annotated[int, typer.Option(min=1, help="Maximum number of drafts.")] = 20,
) -> Answer:
    """Draft scenarios from stored telemetry. A second scan adds no duplicates."""
    from pipelines.cli.eval.drafts import generate_drafts

    body: dict[str, str | int] = {"lookback_hours": lookback_hours, "max_scenarios": max_scenarios}
    body |= {"device_id": device_id} if device_id is not None else {}
    return generate_drafts(server, body)


@drafts.command()
@with_server
def adopt(
    server: "Server",
    draft_ids: DraftIds,
    corrections: Annotated[
        Path | None, typer.Option(help="YAML or JSON file with fields that replace the draft's.")
    ] = None,
) -> Answer:
    """Turn drafts into scenarios. A draft says what the agent did, not what it should do: check it first."""
    from pipelines.cli.eval.drafts import adopt_drafts

    return adopt_drafts(server, draft_ids, corrections=corrections)


@drafts.command()
@with_server
def dismiss(server: "Server", draft_ids: DraftIds) -> None:
    """Dismiss drafts. A later scan does not create them again."""
    from pipelines.cli.eval.drafts import dismiss_drafts

    dismiss_drafts(server, draft_ids)


@reviews.command(name="list")
@with_server
def list_reviews(
    server: "Server",
    status: ReviewStatus = None,
    kind: Annotated[
        str | None, typer.Option(help="shift (flagged), audit, task_verdict or judge_error. [default: all]")
    ] = None,
    matrix: Annotated[str | None, typer.Option(help="Only of this matrix.")] = None,
    limit: Limit = 50,
) -> Answer:
    """List items that need a decision, the highest risk first."""
    from pipelines.cli.eval.reviews import show_reviews

    return show_reviews(server, status=status, kind=kind, matrix=matrix, limit=limit)


@reviews.command(name="show")
@with_server
def show_review_command(server: "Server", review_id: Annotated[str, typer.Argument(help="rev_…")]) -> Answer:
    """Show one item: before and after, field by field, and the possible verdicts."""
    from pipelines.cli.eval.reviews import show_review

    return show_review(server, review_id)


@reviews.command()
@with_server
def decide(
    server: "Server",
    review_id: Annotated[str, typer.Argument(help="rev_…")],
    verdict: Annotated[
        str, typer.Argument(help="confirmed_susceptible, acceptable_shift, …: `show` lists them.")
    ],
    note: Annotated[str | None, typer.Option(help="Why.")] = None,
    reviewer: Annotated[
        str | None, typer.Option(help="Name of the reviewer. [default: the key's name]")
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="With needs_more_runs: how many more.")] = None,
) -> Answer:
    """Record a verdict and print its effect."""
    from pipelines.cli.eval.reviews import decide_review

    fields = {"verdict": verdict, "note": note, "reviewer": reviewer, "runs": runs}
    body = {key: value for key, value in fields.items() if value is not None}
    return decide_review(server, review_id, body)
