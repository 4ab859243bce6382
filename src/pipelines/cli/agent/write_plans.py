"""`pipelines odyssey plan --write`: plans that the server's model proposes, as a plans file with its figures.

With `--accept` the agent gets a new version with these plans; otherwise nothing is stored.
"""

from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import read_lines, read_object, stop
from pipelines.cli.output.phrases import plural
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, dumps


def write_plans(
    server: Server,
    tools: Path,
    seed: Seed | None,
    *,
    behavior: str | None,
    only: list[str],
    recording: Path | None,
    accept: bool,
    as_json: bool,
) -> None:
    agent = _find_agent(server, tools)
    body = _request_body(seed, behavior, recording)
    path = f"/api/agents/{agent['id']}/plans"
    names = only or _guessed_tools(server, path)
    found = [
        item
        for name in names
        for item in server.wait_for(server.post(f"{path}/propose", body | {"tools": [name]}))["items"]
    ]
    usable = {item["tool"]: item["plan"] for item in found if item["is_usable"]}
    version = server.post(f"{path}/accept", {"plans": usable})["version"] if accept and usable else None
    if as_json:
        typer.echo(dumps({"items": found, "accepted_as_version": version}).decode())
        return
    for item in found:
        typer.echo(_format_proposal(item))
    if not found:
        typer.echo("# No tool's plan is a guess: name one with --tool.")
    elif version is not None:
        typer.echo(f"# accepted: {', '.join(usable)}; the agent is at version {version} now")
    else:
        typer.echo("# nothing is saved: --accept saves these plans as a new version of the agent")
    if len(usable) < len(found):
        raise typer.Exit(1)


def _find_agent(server: Server, tools: Path) -> JsonObject:
    name = read_object(tools).get("name")
    named = [agent for agent in server.every("/api/agents") if agent["name"] == name]
    if not isinstance(name, str) or len(named) != 1:
        stop(f"{tools}: the server has {len(named)} agents of this name; register it first, under one name")
    found: JsonObject = named[0]
    return found


def _request_body(seed: Seed | None, behavior: str | None, recording: Path | None) -> JsonObject:
    """The request with the world of the files, which the server may not have."""
    state: JsonObject = seed.initial_state if seed is not None else {}
    tasks: list[Any] = []
    if recording is not None:
        tasks = list(read_lines(recording / "calls.jsonl"))
        file = recording / "state.json"
        state = read_object(file) if file.exists() else state
    text = behavior if behavior is not None else seed.behavior_instructions if seed is not None else None
    body: JsonObject = {"recording": {"state": state, "tasks": tasks}}
    return body | ({"behavior": text} if text is not None else {})


def _guessed_tools(server: Server, path: str) -> list[str]:
    return [item["tool"] for item in server.get(path)["items"] if item["is_guess"] or item["plan"] is None]


def _format_proposal(item: Any) -> str:
    tried = item["tried"]
    rounds = plural(item["rounds"], "round")
    remarks = [f"# {item['tool']}: proposed by {item['model']} in {rounds}: {item['why']}"]
    remarks.append(f"# tried: {tried['calls']} calls on records of the world, {tried['refused']} refused")
    if tried["fidelity"] is not None:
        before, after = _format_fidelity(item["fidelity_now"]), _format_fidelity(tried["fidelity"])
        remarks.append(f"# against the recording: {after}; now {before}")
    remarks += [f"# problem: {problem['message']}" for problem in item["problems"]]
    remarks += [f"# {line}" for line in item["difference"][2:]]
    if not item["is_usable"]:
        return "\n".join([*remarks, f"# {item['tool']}: no usable plan", ""])
    steps = "\n".join(f"  {line}" if line else line for line in item["text"].rstrip().splitlines())
    return "\n".join([*remarks, f"{item['tool']}:", steps, ""])


def _format_fidelity(tally: Any) -> str:
    if tally is None:
        return "not measured"
    return f"replies {tally['fm_forced']:.0%}, changes {tally['cm_forced']:.0%} of {tally['calls']} calls"
