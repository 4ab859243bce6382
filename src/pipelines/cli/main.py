"""The `pipelines` command. Rooms behind a command are imported when it is called: --help stays instant."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.agent.commands import app as odyssey_app
from pipelines.cli.coding.commands import app as coding_app
from pipelines.cli.endpoints.cassette_commands import app as cassette_app
from pipelines.cli.endpoints.commands import app as endpoints_app
from pipelines.cli.eval.commands import app as eval_app
from pipelines.cli.host.model_commands import app as models_app
from pipelines.cli.options import Json, Version, with_server
from pipelines.cli.results.commands import app as results_app
from pipelines.cli.suites.ci_commands import app as ci_app
from pipelines.cli.worlds.commands import app as worlds_app

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    help="Odyssey: test AI agents against a world that answers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # As rich markup, `[default: …]` in a help text would be taken for a style and vanish.
    rich_markup_mode="markdown",
)
app.add_typer(odyssey_app, name="odyssey")
app.add_typer(eval_app, name="eval")
app.add_typer(coding_app, name="coding")
app.add_typer(ci_app, name="ci")
app.add_typer(cassette_app, name="cassette")
app.add_typer(endpoints_app, name="endpoints")
app.add_typer(models_app, name="models")
app.add_typer(worlds_app, name="worlds")
app.add_typer(results_app)  # its commands are the app's own


@app.callback(invoke_without_command=True)
def main(version: Version = False) -> None:
    """Beside the commands there is only the version."""


@app.command()
def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one. [default: 8420]")] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Where the database and keys live. [default: .pipelines]")
    ] = None,
    database_url: Annotated[
        str | None, typer.Option(help="sqlite:///… or postgresql://…  [default: in --data-dir]")
    ] = None,
) -> None:
    """Start the server. The first start makes an API key and shows it once."""
    from pipelines.cli.host.up import start

    start(host=host, port=port, data_dir=data_dir, database_url=database_url)


@app.command()
def worker(
    database_url: Annotated[str, typer.Option(help="postgresql://…, the one the server has.")],
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[int, typer.Option(help="Port for this node's proxy; 0 takes a free one.")] = 0,
    data_dir: Annotated[
        str | None, typer.Option(help="Where the server's secret key is. [default: .pipelines]")
    ] = None,
) -> None:
    """Work on the batches of a server, from this machine or another. Any number may."""
    from pipelines.cli.host.up import start_worker

    start_worker(host=host, port=port, data_dir=data_dir, database_url=database_url)


@app.command()
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    data_dir: Annotated[
        str | None, typer.Option(help="Of the server. It may be running. [default: .pipelines]")
    ] = None,
    database_url: Annotated[
        str | None, typer.Option(help="sqlite:///… or postgresql://…  [default: in --data-dir]")
    ] = None,
) -> None:
    """Remove packages and unpacked code that no run uses, and what uploads have left that were cut off."""
    from pipelines.cli.host.prune import prune

    prune(is_dry=dry_run, data_dir=data_dir, database_url=database_url)


@app.command()
def token(
    role: Annotated[str, typer.Option(help="viewer, contributor, admin or owner.")] = "contributor",
    subject: Annotated[str, typer.Option(help="Who holds it: shown with what they do.")] = "local",
    hours: Annotated[float, typer.Option(min=0.01, max=720, help="How long it is valid.")] = 12,
    org: Annotated[str | None, typer.Option(help="Id or name, where the server has several.")] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Of the server. It may be running. [default: .pipelines]")
    ] = None,
    database_url: Annotated[
        str | None, typer.Option(help="sqlite:///… or postgresql://…  [default: in --data-dir]")
    ] = None,
) -> None:
    """Print a token (JWT) for /api/v1 and /v1/traces of the server whose data directory this is."""
    from pipelines.cli.host.token import print_token

    print_token(
        role=role, subject=subject, hours=hours, org=org, data_dir=data_dir, database_url=database_url
    )


@app.command()
def demo() -> None:
    """Run the demo on a server of its own, and keep that up to look at in the browser."""
    from pipelines.cli.host.demo import run_demo

    run_demo()


@app.command(name="run")
@with_server
def run_command(
    server: "Server",
    context: typer.Context,
    suites: Annotated[
        list[str] | None, typer.Argument(help="Suites of pipelines.yaml. [default: all]", show_default=False)
    ] = None,
    agent: Annotated[str | None, typer.Option(help="The agent: its id or name.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A CSV file to upload, or a dataset's id.")] = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="How often each task is run.")] = 1,
    concurrency: Annotated[int | None, typer.Option(min=1, help="At most the agent's own.")] = None,
    fault_seed: Annotated[
        str | None,
        typer.Option(help='Other draws for random failure rules: a number, or "repeat".'),
    ] = None,
    passthrough: Annotated[
        str | None,
        typer.Option(
            help="Answer passthrough tools: live, record, replay or replay_or_live. [default: live]"
        ),
    ] = None,
    cassette: Annotated[str | None, typer.Option(help="What is recorded on, or replayed.")] = None,
    overwrite_cassette: Annotated[
        bool, typer.Option("--overwrite-cassette", help="Empty it before recording.")
    ] = False,
    task: Annotated[
        list[str] | None,
        typer.Option(help="Only this task: its row, or its key or how that begins. Repeatable."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only tasks with this tag. Repeatable.")] = None,
    max_cost_usd: Annotated[
        float | None, typer.Option(help="What it may spend on models that the server asks.")
    ] = None,
    max_model_tokens: Annotated[int | None, typer.Option(min=1, help="The same in tokens.")] = None,
    strict_honesty: Annotated[
        bool,
        typer.Option("--strict-honesty", help="Values that cannot be looked up leave a run to a person."),
    ] = False,
    resume: Annotated[int | None, typer.Option(help="Go on with a batch that was stopped.")] = None,
    fail_under: Annotated[
        float, typer.Option(min=0, max=1, help="Share of decided runs that must pass.")
    ] = 1.0,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    results: Annotated[
        Path | None, typer.Option(help="Suites: write results here, for `pipelines ci compare`.")
    ] = None,
    summary: Annotated[Path | None, typer.Option(help="Suites: add a summary in Markdown here.")] = None,
    as_json: Json = False,
) -> None:
    """Send tasks to an agent and judge what it does. Exit: 0 gate met, 1 not met, 2 usage, 3 not run."""
    from pipelines.cli.files import stop
    from pipelines.cli.run.run import Wanted, run_tasks
    from pipelines.cli.suites.suite_options import run_chosen

    if suites or (agent is None and dataset is None and resume is None):
        run_chosen(context, suites or [], junit=junit, results=results, summary=summary, as_json=as_json)
        return
    if results is not None or summary is not None:
        stop("--results and --summary are for suites: name what is run in a pipelines.yaml.")
    wanted = Wanted(
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
        resume=resume,
        fail_under=fail_under,
        junit=junit,
        as_json=as_json,
        tasks=tuple(task or ()),
        tags=tuple(tag or ()),
    )
    run_tasks(server, wanted)


@app.command()
def judge(
    recording: Annotated[
        Path, typer.Argument(help="Messages, ATIF, OTLP spans or exported runs: JSON or JSON lines.")
    ],
    tasks: Annotated[
        Path | None, typer.Option(help="What the runs were given, with oracles. [default: no oracle]")
    ] = None,
    tools: Annotated[
        Path | None, typer.Option(help="The tools: a list, or an agent.json. [default: the recording's]")
    ] = None,
    before: Annotated[Path | None, typer.Option(help="Of one run: the state it started from.")] = None,
    after: Annotated[Path | None, typer.Option(help="Of one run: the state it left.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    as_json: Json = False,
) -> None:
    """Judge runs that were recorded elsewhere; no server is needed. Exit: as of `run`."""
    from pipelines.cli.results.judge import Given, judge_file

    given = Given(
        recording=recording,
        tasks=tasks,
        tools=tools,
        before=before,
        after=after,
        junit=junit,
        as_json=as_json,
    )
    judge_file(given)


@app.command()
@with_server
def compare(
    server: "Server",
    old: Annotated[str, typer.Argument(help="The earlier batch; `previous`: before NEW.")] = "previous",
    new: Annotated[str, typer.Argument(help="The later batch; `latest`: the newest.")] = "latest",
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit code 1 where a task regressed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print which tasks flipped between two batches, failures first, and whether it is more than chance."""
    from pipelines.cli.results.compare import print_comparison

    print_comparison(server, old, new, fails=fail_on_regression, as_json=as_json)


def run() -> None:
    app()


def run_odyssey() -> None:
    """`odyssey …` is short for `pipelines odyssey …`."""
    sys.argv[1:1] = ["odyssey"]
    app()
