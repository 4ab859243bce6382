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
from pipelines.cli.options import Answer, Json, Version, with_server
from pipelines.cli.results.commands import RESULTS
from pipelines.cli.results.commands import app as results_app
from pipelines.cli.suites.ci_commands import app as ci_app
from pipelines.cli.worlds.commands import app as worlds_app

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    help="Odyssey: test AI agents against simulated tools.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # As rich markup, `[default: …]` in a help text would be taken for a style and vanish.
    rich_markup_mode="markdown",
)
#: The sections of `pipelines --help`.
AGENTS, TASKS, LIVE, HOST = "Test an agent", "Tasks", "Passthrough tools", "Server"
app.add_typer(odyssey_app, name="odyssey", rich_help_panel=AGENTS)
app.add_typer(eval_app, name="eval", rich_help_panel=AGENTS)
app.add_typer(ci_app, name="ci", rich_help_panel=AGENTS)
app.add_typer(coding_app, name="coding", rich_help_panel=TASKS)
app.add_typer(worlds_app, name="worlds", rich_help_panel=TASKS)
app.add_typer(cassette_app, name="cassette", rich_help_panel=LIVE)
app.add_typer(endpoints_app, name="endpoints", rich_help_panel=LIVE)
app.add_typer(models_app, name="models", rich_help_panel=HOST)
app.add_typer(results_app)  # its commands are the app's own


Host = Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")]
DataDir = Annotated[str | None, typer.Option(help="The server's data directory. [default: .pipelines]")]
DatabaseUrl = Annotated[
    str | None, typer.Option(help="sqlite:///… or postgresql://…  [default: in --data-dir]")
]


@app.callback(invoke_without_command=True)
def main(version: Version = False) -> None:
    """The only option without a command is --version."""


@app.command(rich_help_panel=HOST)
def up(
    host: Host = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 picks a free one. [default: 8420]")] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Directory of the database and the keys. [default: .pipelines]")
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Start the server. The first start creates an API key and shows it once."""
    from pipelines.cli.host.up import start

    start(host=host, port=port, data_dir=data_dir, database_url=database_url)


@app.command(rich_help_panel=HOST)
def worker(
    database_url: Annotated[str, typer.Option(help="The server's database: postgresql://…")],
    host: Host = None,
    port: Annotated[int, typer.Option(help="Port of this node's proxy; 0 picks a free one.")] = 0,
    data_dir: Annotated[
        str | None, typer.Option(help="Directory with the server's secret key. [default: .pipelines]")
    ] = None,
) -> None:
    """Run the batches of a server, on this machine or another. You can start any number of workers."""
    from pipelines.cli.host.up import start_worker

    start_worker(host=host, port=port, data_dir=data_dir, database_url=database_url)


@app.command(rich_help_panel=HOST)
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Remove packages and code that no run uses, and the remains of interrupted uploads."""
    from pipelines.cli.host.prune import prune

    prune(is_dry=dry_run, data_dir=data_dir, database_url=database_url)


@app.command(rich_help_panel=HOST)
def token(
    role: Annotated[str, typer.Option(help="viewer, contributor, admin or owner.")] = "contributor",
    subject: Annotated[str, typer.Option(help="Name of the holder, shown beside their actions.")] = "local",
    hours: Annotated[float, typer.Option(min=0.01, max=720, help="Hours until it expires.")] = 12,
    org: Annotated[str | None, typer.Option(help="The org's id or name, if the server has several.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Print a token (JWT) for /api/v1 and /v1/traces of the server that uses --data-dir."""
    from pipelines.cli.host.token import print_token

    print_token(
        role=role, subject=subject, hours=hours, org=org, data_dir=data_dir, database_url=database_url
    )


@app.command(rich_help_panel=HOST)
def demo() -> None:
    """Run the demo on its own server, and keep the server up so that you can open it in a browser."""
    from pipelines.cli.host.demo import run_demo

    run_demo()


@app.command(name="run", rich_help_panel=AGENTS)
@with_server
def run_command(
    server: "Server",
    context: typer.Context,
    suites: Annotated[
        list[str] | None, typer.Argument(help="Suites of pipelines.yaml. [default: all]", show_default=False)
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
            help='Seed of random failure rules: a number, or "repeat" for another one in each repeat.'
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
    resume: Annotated[int | None, typer.Option(help="Continue a batch that was stopped.")] = None,
    fail_under: Annotated[
        float, typer.Option(min=0, max=1, help="Share of decided runs that must pass.")
    ] = 1.0,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    results: Annotated[
        Path | None, typer.Option(help="Suites: write results to this file, for `pipelines ci compare`.")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Suites: append a summary in Markdown to this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run tasks on an agent and judge the runs. Exit: 0 gate met, 1 not met, 2 usage, 3 not run."""
    from pipelines.cli.files import stop
    from pipelines.cli.run.run import RunOptions, run_tasks
    from pipelines.cli.suites.suite_options import run_suites_with_options

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
        resume=resume,
        fail_under=fail_under,
        junit=junit,
        as_json=as_json,
        tasks=tuple(task or ()),
        tags=tuple(tag or ()),
    )
    run_tasks(server, options)


@app.command(rich_help_panel=AGENTS)
def judge(
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
    """Judge runs that were recorded elsewhere, without a server. Exit codes as for `run`."""
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


@app.command(rich_help_panel=RESULTS)
@with_server
def compare(
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


def run() -> None:
    app()


def run_odyssey() -> None:
    """`odyssey …` is short for `pipelines odyssey …`."""
    sys.argv[1:1] = ["odyssey"]
    app()
