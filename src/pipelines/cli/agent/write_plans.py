"""`pipelines odyssey plan --write`: plans that the server's model proposes, as a plans file. A table at its
end says what each is worth. With `--accept` the agent gets a new version with some of them; otherwise nothing
is stored.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import read_lines, read_object, stop
from pipelines.cli.output.blocks import one_line
from pipelines.cli.output.phrases import percent, plural
from pipelines.core.simulation.sentences import call_in_words
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject, dumps

ALL = "all"
LONGEST_CALL = 200  # characters of an example
LONGEST_DIFFERENCE = 300
MOST_NOT_EXPLAINED = 5  # calls of one tool; --json has more
_BASIS = {
    "held_out": ("held-out call", "held-out calls"),
    "shown": ("call that the model saw", "calls that the model saw"),
    "examples": ("example of the model", "examples of the model"),
}
_HEADS = ("tool", "measured with", "before", "after", "suggested")


def write_plans(
    server: Server,
    tools: Path,
    seed: Seed | None,
    *,
    behavior: str | None,
    only: list[str],
    recording: Path | None,
    accept: str | None,
    as_json: bool,
) -> None:
    agent = _find_agent(server, tools)
    body = _request_body(seed, behavior, recording) | ({"tools": [*only]} if only else {})
    path = f"/api/agents/{agent['id']}/plans"
    answer = server.wait_for(server.post(f"{path}/propose", body))
    found, left_out = answer["items"], answer["left_out"]
    accepted = _chosen_plans(found, accept) if accept is not None else {}
    version = server.post(f"{path}/accept", {"plans": accepted})["version"] if accepted else None
    if as_json:
        typer.echo(dumps({"items": found, "left_out": left_out, "accepted_as_version": version}).decode())
        return
    for item in found:
        typer.echo(_format_proposal(item))
    for line in (*_table(found), *_ending(found, left_out, accept, accepted, version)):
        typer.echo(f"# {line}".rstrip())
    if not all(item["is_usable"] for item in found):
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


def _chosen_plans(found: Sequence[Any], accept: str) -> dict[str, Json]:
    """Of `all`, those that the server suggests; of names, what the caller says."""
    usable = {item["tool"]: item["plan"] for item in found if item["is_usable"]}
    if accept.strip() == ALL:
        suggested = {item["tool"] for item in found if item["choice"] == "proposed"}
        return {name: plan for name, plan in usable.items() if name in suggested}
    named = [one.strip() for one in accept.split(",")]
    unknown = sorted({one or "an empty name" for one in named} - usable.keys())
    if unknown:
        stop(
            f"--accept: there is no usable plan for {', '.join(unknown)}; there is one for"
            f" {', '.join(usable) or 'no tool'}, and `{ALL}` accepts every proposed plan that is suggested"
        )
    return {name: usable[name] for name in named}


def _format_proposal(item: Any) -> str:
    rounds = plural(item["rounds"], "round")
    remarks = [f"# {item['tool']}: proposed by {item['model']} in {rounds}: {one_line(item['why'], 1_000)}"]
    for call in item["examples"]:
        outcome = "differs" if call["problem"] else "as expected"
        remarks.append(f"# {outcome}: {call_in_words(call, LONGEST_CALL)}")
    remarks += [f"# problem: {one_line(problem['message'], 1_000)}" for problem in item["problems"]]
    remarks += [f"# {line}" for line in item["difference"][2:]]
    if not item["is_usable"]:
        return "\n".join([*remarks, f"# {item['tool']}: no usable plan", ""])
    steps = "\n".join(f"  {line}" if line else line for line in item["text"].rstrip().splitlines())
    return "\n".join([*remarks, f"{item['tool']}:", steps, ""])


def _table(found: Sequence[Any]) -> list[str]:
    """A row for each tool, then the calls that its proposed plan does not explain."""
    if not found:
        return []
    rows = [_HEADS, *map(_row, found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    for item in found:
        listed = item["not_explained"]
        if listed:
            lines.append(f"{item['tool']} does not explain:")
            lines += [f"  {one_line(line, LONGEST_DIFFERENCE)}" for line in listed[:MOST_NOT_EXPLAINED]]
        if len(listed) > MOST_NOT_EXPLAINED:
            lines.append(f"  … and {len(listed) - MOST_NOT_EXPLAINED} more: --json has them")
    return lines


def _row(item: Any) -> tuple[str, ...]:
    measured = item["measured"]
    calls, after = measured["calls"], measured["after"]
    right = [_share(measured["before"], calls), "not usable" if after is None else _share(after, calls)]
    return item["tool"], plural(calls, *_BASIS[measured["basis"]]), *right, item["choice"]


def _share(right: int, calls: int) -> str:
    return percent(right / calls if calls else None)


def _ending(
    found: Sequence[Any], left_out: Sequence[str], accept: str | None, accepted: Any, version: int | None
) -> list[str]:
    lines = [f"left out: {', '.join(left_out)}; name them with --tool"] if left_out else []
    if not found:
        return [
            *lines,
            "Every tool has a plan that is no guess, or explains its calls: name one with --tool.",
        ]
    if version is not None:
        return [*lines, f"accepted: {', '.join(accepted)}; the agent is at version {version} now"]
    if accept is not None:
        return [*lines, "nothing is saved: no proposed plan is suggested"]
    lines.append("nothing is saved: --accept all saves every proposed plan that is suggested,")
    return [*lines, "--accept NAME,NAME the plans of these tools, as a new version of the agent"]
