"""`pipelines models`: which models the server asks, and whether one answers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.options import Answer, with_server

if TYPE_CHECKING:
    from pipelines.cli.client import Server

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Models that the server calls.")


@app.command(name="status")
@with_server
def status_command(
    server: "Server",
    agent: Annotated[str | None, typer.Option(help="For runs of this agent: its id or name.")] = None,
    dataset: Annotated[int | None, typer.Option(min=1, help="For runs of this dataset.")] = None,
) -> Answer:
    """Print the model for each purpose, where it is configured, and whether it has a key and a price."""
    from pipelines.cli.agent.find_agent import find_agent
    from pipelines.cli.output.blocks import new_console

    agent_id = find_agent(server, agent)["id"] if agent is not None else None
    known = server.get("/api/models", agent_id=agent_id, dataset_id=dataset)

    def show(known: Any) -> None:
        for line in status_lines(known):
            new_console().print(line, markup=False, soft_wrap=True)

    return Answer(known, show)


@app.command(name="test")
@with_server
def try_command(
    server: "Server",
    purpose: Annotated[str, typer.Option(help="The purpose: simulator, judge, user or author.")] = "judge",
    model: Annotated[
        str | None, typer.Option(help="Test this model instead of the configured one: openai:gpt-5-mini.")
    ] = None,
) -> Answer:
    """Send one short question to a model. Exit code 1 if it does not answer."""
    body = {"purpose": purpose} | ({"model": model} if model is not None else {})
    tried = server.post("/api/models/test", body)
    return Answer(tried, lambda tried: typer.echo(test_line(tried)), 0 if tried["ok"] else 1)


def status_lines(known: Any) -> list[str]:
    lines = [_status_line(each) for each in known["purposes"]]
    if not known["is_installed"] and any(each["model"] for each in known["purposes"]):
        lines.append("The client for models is not installed: pip install 'pipelines-odyssey[models]'")
    return lines


def _status_line(each: Any) -> str:
    """`judge: openai:gpt-5-mini (PIPELINES_MODEL), key from the server, priced`"""
    if each["model"] is None:
        return f"{each['purpose']}: none"
    parts = [f"{each['purpose']}: {each['model']} ({each['named_by']})"]
    if each["key_from"] is not None:
        parts.append("the org's own key" if each["key_from"] == "credential" else "key from the server")
    if each["is_priced"] is not None:
        parts.append("priced" if each["is_priced"] else "without a known price")
    if each["problem"] is not None:
        parts.append(each["problem"])
    return ", ".join(parts)


def test_line(tried: Any) -> str:
    if not tried["ok"]:
        return f"{tried['model']} gave no answer ({tried['reason']}): {tried['message']}"
    tokens = "not reported" if tried["tokens"] is None else f"{tried['tokens']:,}"
    cost = "unknown" if tried["cost_usd"] is None else f"{tried['cost_usd']:.6f} USD"
    return f"{tried['model']} answered in {tried['took_ms']:,} ms. Tokens: {tokens}. Cost: {cost}."
