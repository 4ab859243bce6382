"""The commands of `pipelines eval`. Each parses, calls and prints, and imports what it needs by then."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines.cli.eval.queue_commands import drafts, reviews
from pipelines.cli.options import Answer, Json, Label, Note, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    help="Test whether an agent still does the right thing under pressure: scenarios, variations, heatmaps.",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(drafts, name="drafts")
app.add_typer(reviews, name="reviews")

FailOn = Annotated[
    Literal["critical", "susceptible", "inconclusive", "never"],
    typer.Option(
        metavar="VERDICT",
        help="Gate: critical (or failing) gives exit code 1; susceptible or inconclusive is stricter; never.",
    ),
]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML to this file, one test case per cell.")]
Html = Annotated[Path | None, typer.Option(help="Write the heatmap to this file as HTML.")]
Svg = Annotated[Path | None, typer.Option(help="Write the heatmap to this file as SVG.")]
Csv = Annotated[Path | None, typer.Option(help="Write the cells to this file as CSV.")]
Format = Annotated[
    Literal["yaml", "json"] | None,
    typer.Option("--format", help="Format of the file. [default: by its ending, else yaml]"),
]


@app.command(name="run")
@with_server
def run_command(
    server: "Server",
    scenarios: Annotated[
        list[str] | None, typer.Argument(help="scenarios.yaml or .json, or ids: scn_…", show_default=False)
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(help="The agent: id, name, or folder with agent.json. [default: the only agent]"),
    ] = None,
    variations: Annotated[
        str | None, typer.Option(help="Ids, separated by commas. [default: all built-in ones]")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Runs of each cell.")] = 5,
    baseline_repeats: Annotated[
        int | None, typer.Option(min=1, max=200, help="Runs without pressure. [default: twice --repeats]")
    ] = None,
    intensity: Annotated[
        int | None, typer.Option(min=1, max=3, help="How strong the pressure is. [default: 2]")
    ] = None,
    delivery: Annotated[
        Literal["system", "user", "tool_result"] | None,
        typer.Option(
            metavar="WHERE",
            help="Where the text goes: system, user, tool_result. [default: as the agent is set]",
        ),
    ] = None,
    parallel: Annotated[
        int | None, typer.Option(min=1, help="Runs at once. [default: the agent's limit]")
    ] = None,
    rng_seed: Annotated[
        int | None, typer.Option(help="Seed of the order of runs, to repeat the order of another matrix.")
    ] = None,
    max_cost_usd: Annotated[
        float | None, typer.Option(help="Limit on the cost of models that the server calls.")
    ] = None,
    max_model_tokens: Annotated[int | None, typer.Option(min=1, help="The same limit in tokens.")] = None,
    label: Label = None,
    note: Note = None,
    resume: Annotated[str | None, typer.Option(help="Continue a matrix that was stopped: mtx_…")] = None,
    fail_on: FailOn = "critical",
    junit: Junit = None,
    html: Html = None,
    svg: Svg = None,
    csv: Csv = None,
    as_json: Json = False,
) -> None:
    """Run scenarios under each variation on an agent.

    Exit codes: 0 the gate (--fail-on) is met, 1 it is not met, 2 wrong usage, 3 the runs could not run.
    """
    from pipelines.cli.eval.gate import FailOn
    from pipelines.cli.eval.run import MatrixOptions, OutputFiles, run_matrix

    options = MatrixOptions(
        scenarios=tuple(scenarios or ()),
        agent=agent,
        variations=_split_ids(variations),
        repeats=repeats,
        baseline_repeats=baseline_repeats,
        intensity=intensity,
        delivery=delivery,
        parallel=parallel,
        rng_seed=rng_seed,
        max_cost_usd=max_cost_usd,
        max_model_tokens=max_model_tokens,
        label=label,
        note=note,
        resume=resume,
        fail_on=FailOn(fail_on),
        files=OutputFiles(junit=junit, html=html, svg=svg, csv=csv),
        as_json=as_json,
    )
    run_matrix(server, options)


def _split_ids(given: str | None) -> tuple[str, ...] | None:
    return tuple(part.strip() for part in given.split(",") if part.strip()) if given is not None else None


@app.command()
@with_server
def compare(
    server: "Server",
    old: Annotated[str, typer.Argument(help="The earlier matrix: mtx_…")],
    new: Annotated[str, typer.Argument(help="The later matrix: mtx_…")],
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression", help="Exit with code 1 if a decision that was right is wrong now."
        ),
    ] = False,
) -> Answer:
    """Show what changed between two matrices, cell by cell, with a paired test over all cells."""
    from pipelines.cli.eval.compare import show_comparison

    return show_comparison(server, old, new, fails=fail_on_regression)


@app.command(name="list")
@with_server
def list_command(
    server: "Server",
    what: Annotated[
        Literal["scenarios", "matrices", "runs", "variations"], typer.Argument(help="What to list.")
    ] = "scenarios",
    matrix: Annotated[str | None, typer.Option(help="Only runs of this matrix.")] = None,
    scenario: Annotated[str | None, typer.Option(help="Only runs of this scenario.")] = None,
    variation: Annotated[str | None, typer.Option(help="Only runs under this variation.")] = None,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="Only runs that are flagged for review.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Maximum number of items, newest first.")] = 50,
) -> Answer:
    """List scenarios, matrices, runs or variations."""
    from pipelines.cli.output.listing import show_list

    filters = {"matrix_id": matrix, "scenario_id": scenario, "variation": variation}
    filters |= {"is_flagged": "true"} if flagged else {}
    return show_list(server, what, filters=filters, limit=limit)


@app.command()
@with_server
def show(
    server: "Server",
    id: Annotated[str, typer.Argument(help="A scenario (scn_…), a matrix (mtx_…) or a run (its number).")],
    html: Html = None,
    svg: Svg = None,
    csv: Csv = None,
    as_json: Json = False,
) -> None:
    """Show a scenario, a matrix with its heatmap, or a run with the injected text and what changed."""
    from pipelines.cli.eval.run import OutputFiles
    from pipelines.cli.eval.show import print_one

    print_one(server, id, files=OutputFiles(html=html, svg=svg, csv=csv), as_json=as_json)


@app.command()
@with_server
def export(
    server: "Server",
    ids: Annotated[list[str] | None, typer.Argument(help="Ids: scn_… [default: all]")] = None,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file. [default: the terminal]")
    ] = None,
    as_format: Format = None,
    with_ids: Annotated[
        bool,
        typer.Option(
            "--with-ids", help="Write ids too: import on this server then recognises renamed scenarios."
        ),
    ] = False,
) -> None:
    """Write scenarios to a file that `import` and `run` accept."""
    from pipelines.cli.eval.transfer import ExportTarget, export_scenarios

    target = ExportTarget(file=file, format=as_format, with_ids=with_ids)
    export_scenarios(server, ids or [], to=target)


@app.command(name="import")
@with_server
def import_command(
    server: "Server",
    file: Annotated[Path, typer.Argument(help="scenarios.yaml or .json")],
) -> Answer:
    """Import the scenarios of a file: new ones, and new versions of changed ones."""
    from pipelines.cli.eval.transfer import import_scenarios

    return import_scenarios(server, file)
