"""`pipelines worlds`: one shared world for an agent's tools, reviewed; then proved rows, and a dataset."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipelines.cli.options import Answer, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Generate tasks from an agent's tools: first the data (world), then tasks (rows) verified on it.",
)
Number = Annotated[int, typer.Argument(help="The session's number.", metavar="SESSION", min=1)]
Revision = Annotated[
    int | None, typer.Option(min=1, help="Only if the world still has this revision.", show_default=False)
]

MaxCost = Annotated[
    float | None,
    typer.Option(help="Limit on the cost of the author's model, in dollars.", show_default=False),
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="The same limit in tokens.", show_default=False)]


@app.command(name="new")
@with_server
def new_command(
    server: "Server",
    agent: Annotated[str, typer.Option(help="The agent whose tools to use: its id, name or folder.")],
    name: Annotated[str | None, typer.Option(help="Name of the dataset. [default: the agent's name]")] = None,
    size: Annotated[
        Literal["compact", "standard", "rich"], typer.Option(help="About 6, 12 or 20 entities of each type.")
    ] = "standard",
    bucket: Annotated[
        list[str] | None,
        typer.Option(help='"NAME:ROWS" or "NAME:ROWS:THEME". Repeatable. [default: chosen for you]'),
    ] = None,
    instructions: Annotated[
        str | None, typer.Option(help="A description of the world that you want.")
    ] = None,
    behavior: Annotated[
        str | None, typer.Option(help="The backend's rules, or a file of them; they apply to every row.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed gives the same world.")] = None,
    now: Annotated[str | None, typer.Option(help="The time in the world. [default: noon today]")] = None,
    author: Annotated[
        Literal["embedded", "model"], typer.Option(help="Who writes the world; `embedded` needs no model.")
    ] = "embedded",
    max_cost_usd: MaxCost = None,
    max_model_tokens: MaxTokens = None,
) -> Answer:
    """Generate a world for an agent's tools, and show it with its advisories."""
    from pipelines.cli.worlds.sessions import NewWorld, open_world

    new_world = NewWorld(
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
    return open_world(server, new_world)


@app.command(name="ls")
@with_server
def list_command(server: "Server") -> Answer:
    """List the sessions, newest first."""
    from pipelines.cli.output.world_report import show_sessions

    return show_sessions(server)


@app.command(name="show")
@with_server
def show_command(
    server: "Server",
    session: Number,
    type: Annotated[str | None, typer.Option(help="Show every entity of this type.")] = None,
    revisions: Annotated[
        bool, typer.Option("--revisions", help="Show what was changed, and by whom.")
    ] = False,
) -> Answer:
    """Show a session: its world, its advisories and the state of its rows."""
    from pipelines.cli.output.world_report import show_revisions, show_session

    if revisions:
        return show_revisions(server, session)
    return show_session(server, session, only=type)


@app.command(name="refine")
@with_server
def refine_command(
    server: "Server",
    session: Number,
    prompt: Annotated[
        str | None, typer.Argument(help='The change, such as "add 3 cancelled orders".')
    ] = None,
    fix: Annotated[
        int | None,
        typer.Option(min=1, help="Instead: apply the fix of this advisory, by its number in `show`."),
    ] = None,
    revision: Revision = None,
) -> Answer:
    """Change the world with a sentence. Everything else stays as it is."""
    from pipelines.cli.worlds.sessions import refine_world

    return refine_world(server, session, prompt, fix=fix, revision=revision)


@app.command(name="regenerate")
@with_server
def regenerate_command(
    server: "Server",
    session: Number,
    row: Annotated[int | None, typer.Option(min=1, help="Replace only this row, and keep the world.")] = None,
    bucket: Annotated[
        str | None, typer.Option(help="Replace only the rows of this bucket, and keep the world.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the new world. [default: another one]")
    ] = None,
) -> Answer:
    """Generate the world again. When there are rows: generate a row or a bucket again."""
    from pipelines.cli.worlds.sessions import regenerate_part

    return regenerate_part(server, session, row=row, bucket=bucket, seed=seed)


@app.command(name="paste")
@with_server
def paste_command(
    server: "Server",
    session: Number,
    file: Annotated[Path, typer.Argument(help="An initial_state as JSON; - is standard input.")],
    revision: Revision = None,
) -> Answer:
    """Replace the world with your own. All of it is checked."""
    from pipelines.cli.worlds.sessions import paste_world

    return paste_world(server, session, file, revision=revision)


@app.command(name="undo")
@with_server
def undo_command(server: "Server", session: Number) -> Answer:
    """Undo the latest change of the world. Repeat it to undo the change before."""
    from pipelines.cli.worlds.sessions import undo_change

    return undo_change(server, session)


@app.command(name="continue")
@with_server
def continue_command(
    server: "Server",
    session: Number,
    revision: Revision = None,
    wait: Annotated[bool, typer.Option(help="Wait for the rows and show them.")] = True,
) -> Answer:
    """Freeze the world and generate its rows. Each row is verified before it is kept."""
    from pipelines.cli.worlds.sessions import continue_session

    return continue_session(server, session, revision=revision, waits=wait)


@app.command(name="resume")
@with_server
def resume_command(
    server: "Server",
    session: Number,
    max_cost_usd: MaxCost = None,
    max_model_tokens: MaxTokens = None,
) -> Answer:
    """Continue buckets that have too few rows, with a new model budget if you give one."""
    from pipelines.cli.worlds.sessions import resume

    budget = {"max_cost_usd": max_cost_usd, "max_model_tokens": max_model_tokens}
    return resume(server, session, budget)


@app.command(name="rows")
@with_server
def rows_command(
    server: "Server",
    session: Number,
    bucket: Annotated[str | None, typer.Option(help="Only rows of this bucket: its name or number.")] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="Show rejected drafts, and why.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Show calls and oracles, with long values in full.")
    ] = False,
) -> Answer:
    """Show the rows: what the user asks, what counts as right, and the calls that verify it."""
    from pipelines.cli.output.world_rows import show_rows

    return show_rows(server, session, bucket=bucket, rejected=rejected, full=full)


@app.command(name="drop")
@with_server
def drop_command(
    server: "Server",
    session: Number,
    row: Annotated[list[int] | None, typer.Option(min=1, help="A row. Repeatable.")] = None,
    bucket: Annotated[str | None, typer.Option(help="All rows of this bucket: its name or number.")] = None,
) -> Answer:
    """Remove rows before they become a dataset."""
    from pipelines.cli.worlds.sessions import drop

    return drop(server, session, rows=tuple(row or ()), bucket=bucket)


@app.command(name="finalize")
@with_server
def finalize_command(server: "Server", session: Number) -> Answer:
    """Turn the rows into a dataset. Every task starts from the frozen world."""
    from pipelines.cli.worlds.sessions import finalize

    return finalize(server, session)


@app.command(name="abandon")
@with_server
def abandon_command(server: "Server", session: Number) -> Answer:
    """End a session without a dataset."""
    from pipelines.cli.worlds.sessions import abandon

    return abandon(server, session)
