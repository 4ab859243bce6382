"""`pipelines exchanges`: the model calls of a run, printed or saved as a cassette; costs and estimates."""

import json
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import write_text
from pipelines.cli.output.blocks import new_console, print_block, print_title, shortened
from pipelines.cli.output.phrases import plural

LONGEST = 400  # characters of a text; --full has all of it
RECORDED_FIELDS = (
    "purpose",
    "model",
    "request",
    "answer",
    "failure",
    "input_tokens",
    "output_tokens",
    "cost_usd",
)
PURPOSES = ("simulator", "judge", "user", "author")


def print_exchanges(server: Server, run_id: int, *, full: bool, cassette: Path | None, as_json: bool) -> None:
    """Print or save the exchanges of a run, the oldest first."""
    listed = server.every(f"/api/runs/{run_id}/exchanges")[::-1]
    if not (full or as_json or cassette is not None):
        return _print_list(run_id, listed)
    whole = [server.get(f"/api/model-exchanges/{each['id']}") for each in listed]
    if cassette is not None:
        lines = [
            json.dumps({name: each[name] for name in RECORDED_FIELDS}, ensure_ascii=False) for each in whole
        ]
        write_text(cassette, "".join(f"{line}\n" for line in lines))
        typer.echo(f"{plural(len(whole), 'exchange')} in {cassette}: PIPELINES_MODEL=recorded:{cassette}")
    elif as_json:
        typer.echo(json.dumps(whole, ensure_ascii=False))
    else:
        _print_whole(whole)
    return None


def _print_list(run_id: int, listed: list[Any]) -> None:
    console = new_console()
    if not listed:
        print_block(console, "", f"No model was asked for run {run_id}.", indent=0)
    for each in listed:
        print_block(console, f"{each['id']}", _exchange_title(each))
        if each["problem"]:
            print_block(console, "", shortened(each["problem"], LONGEST), indent=4)


def _print_whole(whole: list[Any]) -> None:
    console = new_console()
    for each in whole:
        print_title(console, f"{each['id']} {_exchange_title(each)}")
        request = each["request"] or {"system": "", "messages": []}
        print_block(console, "", request["system"], indent=2, rest="dim")
        for message in request["messages"]:
            print_block(console, f"  {message['role']}: ", message["content"], indent=4)
        print_block(console, "  answer: ", each["answer"] or each["problem"] or "none", indent=4)
        console.print()


def _exchange_title(each: Any) -> str:
    """`judge, openai:gpt-5-mini, answered, 1,204 tokens, 0.000812 USD, 941 ms`"""
    parts = [each["purpose"], each["model"], each["failure"] or each["status"]]
    tokens = [count for count in (each["input_tokens"], each["output_tokens"]) if count is not None]
    parts += [f"{sum(tokens):,} tokens"] if tokens else []
    parts += [f"{each['cost_usd']:.6f} USD"] if each["cost_usd"] is not None else []
    parts += [f"{each['latency_ms']:,} ms"] if each["latency_ms"] is not None else []
    parts += [f"replays exchange {each['replay_of']}"] if each["replay_of"] is not None else []
    return ", ".join(parts)


def cost_lines(costs: Any) -> list[str]:
    """Costs of the models that the platform called: `models: judge 0.0012 USD (3 questions)`."""
    known = [(purpose, costs[purpose]) for purpose in PURPOSES if costs.get(purpose)]
    if not known:
        return []
    total = costs["total_usd"]
    text = ", ".join(f"{purpose} {cost_text(cost)}" for purpose, cost in known)
    return [f"models: {text}", *([f"cost in all: {total:,.4f} USD"] if total is not None else [])]


def cost_text(cost: Any) -> str:
    dollars = "cost unknown" if cost["cost_usd"] is None else f"{cost['cost_usd']:,.4f} USD"
    replayed = f", {cost['replayed']:,} replayed" if cost["replayed"] else ""
    unpriced = f", {cost['unpriced']:,} without a price" if cost["unpriced"] else ""
    return (
        f"{dollars} ({plural(cost['questions'], 'question')}{replayed}{unpriced}, {cost['tokens']:,} tokens)"
    )


def estimate_line(estimate: Any) -> str | None:
    """The estimate for a batch before it starts; None if nothing is known."""
    models, agent, time = estimate["models"], estimate["agent"], estimate["time"]
    text = [f"about {time['total_ms'] / 1000:,.0f} s"] if time["total_ms"] is not None else []
    text += [f"agent {agent['cost_usd']:,.4f} USD"] if agent["cost_usd"] is not None else []
    if models["tokens"]:
        dollars = "cost unknown" if models["cost_usd"] is None else f"{models['cost_usd']:,.4f} USD"
        text.append(f"models {dollars}, {models['tokens']:,} tokens")
    elif agent["cost_usd"] is None:
        return None
    return f"Estimate for {plural(estimate['runs'], 'run')}, by earlier ones: {', '.join(text)}."
