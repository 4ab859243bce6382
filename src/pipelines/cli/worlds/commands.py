"""`pipelines worlds`: one shared world for an agent's tools, reviewed; then proved rows, and a dataset."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines.cli.options import Json, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

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
@with_server
def new_command(
    server: "Server",
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
) -> None:
    """Make a world for an agent's tools, and show it with what to look at."""
    from pipelines.cli.worlds.sessions import NewWorld, open_world

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
    open_world(server, wanted, as_json=as_json)


@app.command(name="ls")
@with_server
def list_command(server: "Server", as_json: Json = False) -> None:
    """List the sessions, newest first."""
    from pipelines.cli.output.world_report import print_sessions

    print_sessions(server, as_json=as_json)


@app.command(name="show")
@with_server
def show_command(
    server: "Server",
    session: Number,
    type: Annotated[str | None, typer.Option(help="Every entity of this type.")] = None,
    revisions: Annotated[bool, typer.Option("--revisions", help="What was changed, and by whom.")] = False,
    as_json: Json = False,
) -> None:
    """Show a session: its world, what to look at in it, and how far its rows are."""
    from pipelines.cli.output.world_report import print_revisions, print_session

    if revisions:
        print_revisions(server, session, as_json=as_json)
    else:
        print_session(server, session, only=type, as_json=as_json)


@app.command(name="refine")
@with_server
def refine_command(
    server: "Server",
    session: Number,
    prompt: Annotated[str | None, typer.Argument(help='Such as "add 3 cancelled orders".')] = None,
    fix: Annotated[
        int | None, typer.Option(min=1, help="Instead: the fix of this advisory, as `show` counts them.")
    ] = None,
    revision: Revision = None,
    as_json: Json = False,
) -> None:
    """Change the world by a sentence; what is not asked about stays as it is."""
    from pipelines.cli.worlds.sessions import refine

    refine(server, session, prompt, fix=fix, revision=revision, as_json=as_json)


@app.command(name="regenerate")
@with_server
def regenerate_command(
    server: "Server",
    session: Number,
    row: Annotated[int | None, typer.Option(min=1, help="Instead: another row for this one.")] = None,
    bucket: Annotated[str | None, typer.Option(help="Instead: all rows of this bucket.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the world. [default: another one]")] = None,
    as_json: Json = False,
) -> None:
    """Make the world anew; once rows are there, a row or a bucket."""
    from pipelines.cli.worlds.sessions import regenerate

    regenerate(server, session, row=row, bucket=bucket, seed=seed, as_json=as_json)


@app.command(name="paste")
@with_server
def paste_command(
    server: "Server",
    session: Number,
    file: Annotated[Path, typer.Argument(help="An initial_state as JSON; - is standard input.")],
    revision: Revision = None,
    as_json: Json = False,
) -> None:
    """Put a world of your own in place of the present one; it is checked whole."""
    from pipelines.cli.worlds.sessions import paste

    paste(server, session, file, revision=revision, as_json=as_json)


@app.command(name="undo")
@with_server
def undo_command(server: "Server", session: Number, as_json: Json = False) -> None:
    """Go back to the world before the latest change that still stands."""
    from pipelines.cli.worlds.sessions import undo

    undo(server, session, as_json=as_json)


@app.command(name="continue")
@with_server
def continue_command(
    server: "Server",
    session: Number,
    revision: Revision = None,
    wait: Annotated[bool, typer.Option(help="Wait for the rows, and show them.")] = True,
    as_json: Json = False,
) -> None:
    """Freeze the world and make its rows, each proved before it is kept."""
    from pipelines.cli.worlds.sessions import go_on

    go_on(server, session, revision=revision, waits=wait, as_json=as_json)


@app.command(name="resume")
@with_server
def resume_command(
    server: "Server",
    session: Number,
    max_cost_usd: MaxCost = None,
    max_model_tokens: MaxTokens = None,
    as_json: Json = False,
) -> None:
    """Go on with buckets that ended short, with another budget for the model if one is given."""
    from pipelines.cli.worlds.sessions import resume

    budget = {"max_cost_usd": max_cost_usd, "max_model_tokens": max_model_tokens}
    resume(server, session, budget, as_json=as_json)


@app.command(name="rows")
@with_server
def rows_command(
    server: "Server",
    session: Number,
    bucket: Annotated[str | None, typer.Option(help="Only of this one: its name or number.")] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="Drafts without proof, and why.")] = False,
    full: Annotated[bool, typer.Option("--full", help="With calls and oracle, cut nowhere.")] = False,
    as_json: Json = False,
) -> None:
    """Show the rows: what users ask, what counts as right, and the calls that prove it."""
    from pipelines.cli.output.world_rows import print_rows_of

    print_rows_of(server, session, bucket=bucket, rejected=rejected, full=full, as_json=as_json)


@app.command(name="drop")
@with_server
def drop_command(
    server: "Server",
    session: Number,
    row: Annotated[list[int] | None, typer.Option(min=1, help="A row; may be given again.")] = None,
    bucket: Annotated[str | None, typer.Option(help="All rows of this one: its name or number.")] = None,
    as_json: Json = False,
) -> None:
    """Leave rows out of the dataset to be."""
    from pipelines.cli.worlds.sessions import drop

    drop(server, session, rows=tuple(row or ()), bucket=bucket, as_json=as_json)


@app.command(name="finalize")
@with_server
def finalize_command(server: "Server", session: Number, as_json: Json = False) -> None:
    """Make a dataset of the rows; every task starts from the frozen world."""
    from pipelines.cli.worlds.sessions import finalize

    finalize(server, session, as_json=as_json)


@app.command(name="abandon")
@with_server
def abandon_command(server: "Server", session: Number, as_json: Json = False) -> None:
    """End a session without a dataset."""
    from pipelines.cli.worlds.sessions import abandon

    abandon(server, session, as_json=as_json)
