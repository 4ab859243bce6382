"""`pipelines worlds`: one shared world for an agent's tools, reviewed; then proved rows, and a dataset."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines.cli.agent.odyssey import DEFAULT_URL, ApiKey, Json, Url

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Make tasks from an agent's tools: one shared world, and rows that are proved on it.",
)
Number = Annotated[int, typer.Argument(help="The session's number.", metavar="SESSION", min=1)]
Revision = Annotated[
    int | None, typer.Option(min=1, help="Only if this is still the world's revision.", show_default=False)
]

MaxCost = Annotated[
    float | None, typer.Option(help="What a model as the author may cost, in dollars.", show_default=False)
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="The same in tokens.", show_default=False)]


@app.command(name="new")
def new_command(
    agent: Annotated[str, typer.Option(help="Whose tools: its id, name, or folder.")],
    name: Annotated[str | None, typer.Option(help="Of the dataset to be. [default: the agent's]")] = None,
    size: Annotated[
        Literal["compact", "standard", "rich"], typer.Option(help="About 6, 12 or 20 of each type.")
    ] = "standard",
    bucket: Annotated[
        list[str] | None,
        typer.Option(help='"NAME:ROWS" or "NAME:ROWS:THEME"; may be given again. [default: some are chosen]'),
    ] = None,
    instructions: Annotated[str | None, typer.Option(help="What the world should be like, in words.")] = None,
    behavior: Annotated[
        str | None, typer.Option(help="The backend's rules, or a file of them; every row has them.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same one gives the same world.")] = None,
    now: Annotated[str | None, typer.Option(help="What time it is there. [default: noon today]")] = None,
    author: Annotated[
        Literal["embedded", "model"], typer.Option(help="Who makes it; `embedded` needs no model.")
    ] = "embedded",
    max_cost_usd: MaxCost = None,
    max_model_tokens: MaxTokens = None,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Make a world for an agent's tools, and show it with what to look at."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import NewWorld, open_world

    wanted = NewWorld(
        agent=agent,
        name=name,
        size=size,
        buckets=tuple(bucket or ()),
        instructions=instructions,
        behavior=behavior,
        seed=seed,
        now=now,
        author=author,
        max_cost_usd=max_cost_usd,
        max_model_tokens=max_model_tokens,
    )
    with Server(url, api_key) as server:
        open_world(server, wanted, as_json=as_json)


@app.command(name="ls")
def list_command(as_json: Json = False, url: Url = DEFAULT_URL, api_key: ApiKey = None) -> None:
    """List the sessions, newest first."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.world_report import print_sessions

    with Server(url, api_key) as server:
        print_sessions(server, as_json=as_json)


@app.command(name="show")
def show_command(
    session: Number,
    type: Annotated[str | None, typer.Option(help="Every entity of this type.")] = None,
    revisions: Annotated[bool, typer.Option("--revisions", help="What was changed, and by whom.")] = False,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Show a session: its world, what to look at in it, and how far its rows are."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.world_report import print_revisions, print_session

    with Server(url, api_key) as server:
        if revisions:
            print_revisions(server, session, as_json=as_json)
        else:
            print_session(server, session, only=type, as_json=as_json)


@app.command(name="refine")
def refine_command(
    session: Number,
    prompt: Annotated[str | None, typer.Argument(help='Such as "add 3 cancelled orders".')] = None,
    fix: Annotated[
        int | None, typer.Option(min=1, help="Instead: the fix of this advisory, as `show` counts them.")
    ] = None,
    revision: Revision = None,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Change the world by a sentence; what is not asked about stays as it is."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import refine

    with Server(url, api_key) as server:
        refine(server, session, prompt, fix=fix, revision=revision, as_json=as_json)


@app.command(name="regenerate")
def regenerate_command(
    session: Number,
    row: Annotated[int | None, typer.Option(min=1, help="Instead: another row for this one.")] = None,
    bucket: Annotated[str | None, typer.Option(help="Instead: all rows of this bucket.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the world. [default: another one]")] = None,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Make the world anew; once rows are there, a row or a bucket."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import regenerate

    with Server(url, api_key) as server:
        regenerate(server, session, row=row, bucket=bucket, seed=seed, as_json=as_json)


@app.command(name="paste")
def paste_command(
    session: Number,
    file: Annotated[Path, typer.Argument(help="An initial_state as JSON; - is standard input.")],
    revision: Revision = None,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Put a world of your own in place of the present one; it is checked whole."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import paste

    with Server(url, api_key) as server:
        paste(server, session, file, revision=revision, as_json=as_json)


@app.command(name="undo")
def undo_command(
    session: Number, as_json: Json = False, url: Url = DEFAULT_URL, api_key: ApiKey = None
) -> None:
    """Go back to the world before the latest change that still stands."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import undo

    with Server(url, api_key) as server:
        undo(server, session, as_json=as_json)


@app.command(name="continue")
def continue_command(
    session: Number,
    revision: Revision = None,
    wait: Annotated[bool, typer.Option(help="Wait for the rows, and show them.")] = True,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Freeze the world and make its rows, each proved before it is kept."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import go_on

    with Server(url, api_key) as server:
        go_on(server, session, revision=revision, waits=wait, as_json=as_json)


@app.command(name="resume")
def resume_command(
    session: Number,
    max_cost_usd: MaxCost = None,
    max_model_tokens: MaxTokens = None,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Go on with buckets that ended short, with another budget for the model if one is given."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import resume

    budget = {"max_cost_usd": max_cost_usd, "max_model_tokens": max_model_tokens}
    with Server(url, api_key) as server:
        resume(server, session, budget, as_json=as_json)


@app.command(name="rows")
def rows_command(
    session: Number,
    bucket: Annotated[str | None, typer.Option(help="Only of this one: its name or number.")] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="Drafts without proof, and why.")] = False,
    full: Annotated[bool, typer.Option("--full", help="With calls and oracle, cut nowhere.")] = False,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Show the rows: what users ask, what counts as right, and the calls that prove it."""
    from pipelines.cli.client import Server
    from pipelines.cli.output.world_rows import print_rows_of

    with Server(url, api_key) as server:
        print_rows_of(server, session, bucket=bucket, rejected=rejected, full=full, as_json=as_json)


@app.command(name="drop")
def drop_command(
    session: Number,
    row: Annotated[list[int] | None, typer.Option(min=1, help="A row; may be given again.")] = None,
    bucket: Annotated[str | None, typer.Option(help="All rows of this one: its name or number.")] = None,
    as_json: Json = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
) -> None:
    """Leave rows out of the dataset to be."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import drop

    with Server(url, api_key) as server:
        drop(server, session, rows=tuple(row or ()), bucket=bucket, as_json=as_json)


@app.command(name="finalize")
def finalize_command(
    session: Number, as_json: Json = False, url: Url = DEFAULT_URL, api_key: ApiKey = None
) -> None:
    """Make a dataset of the rows; every task starts from the frozen world."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import finalize

    with Server(url, api_key) as server:
        finalize(server, session, as_json=as_json)


@app.command(name="abandon")
def abandon_command(
    session: Number, as_json: Json = False, url: Url = DEFAULT_URL, api_key: ApiKey = None
) -> None:
    """End a session without a dataset."""
    from pipelines.cli.client import Server
    from pipelines.cli.worlds.world_commands import abandon

    with Server(url, api_key) as server:
        abandon(server, session, as_json=as_json)
