"""`pipelines coding scenario …`: store scenarios from files, list, show and delete them."""

import json
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.client import Server
from pipelines.cli.coding.scenario_files import read_scenarios
from pipelines.cli.files import stop
from pipelines.cli.options import Answer
from pipelines.cli.output.listing import print_rows
from pipelines.core.coding.scenario import FIELDS
from pipelines.core.coding.scenario_yaml import scenario_as_yaml
from pipelines.core.text.authored import did_you_mean
from pipelines.core.text.json_text import JsonObject

SCENARIOS = "/api/coding-scenarios"


def add_file(server: Server, path: Path, *, as_json: bool) -> None:
    """Prints each scenario once it is stored: a later one may be refused."""
    known = {each["name"]: each["id"] for each in server.every(SCENARIOS)}
    stored = []
    for body in read_scenarios(path):
        name = str(body.get("name"))
        answer = store_scenario(server, body, known.get(name))
        stored.append(answer)
        if not as_json:
            typer.echo(
                f"Scenario {answer['name']} (id {answer['id']}) is"
                f" {'changed' if name in known else 'stored'}."
            )
    if as_json:
        typer.echo(json.dumps(stored, ensure_ascii=False))


def store_scenario(server: Server, body: JsonObject, known_id: Any) -> Any:
    """Create the scenario, or replace the stored one completely."""
    if known_id is None:
        return server.post(SCENARIOS, body)
    return server.put(f"{SCENARIOS}/{known_id}", body)


def show_scenarios(server: Server) -> Answer:
    return Answer(server.every(SCENARIOS), _print_scenarios)


def _print_scenarios(items: list[Any]) -> None:
    empty = "There are no scenarios yet: pipelines coding scenario add FILE"
    print_rows(["id", "workspace", "scorers", "name"], [_row(each) for each in items], empty=empty)


def _row(each: Any) -> tuple[str, ...]:
    # A list may tell of scorers how many there are, or the scorers themselves.
    scorers = each.get("scorers")
    count = len(scorers) if isinstance(scorers, list) else scorers
    seed = each.get("workspace_seed")
    kind = seed.get("type") if isinstance(seed, dict) else seed
    return str(each["id"]), str(kind or "–"), str(count if count is not None else "–"), each["name"]


def show_scenario(server: Server, ref: str) -> Answer:
    return Answer(server.get(f"{SCENARIOS}/{find_scenario_id(server, ref)}"), _print_scenario)


def _print_scenario(found: Any) -> None:
    given = {name: found[name] for name in FIELDS if found.get(name) is not None}
    typer.echo(scenario_as_yaml(given), nl=False)


def remove_scenario(server: Server, ref: str) -> None:
    server.delete(f"{SCENARIOS}/{find_scenario_id(server, ref)}")
    typer.echo(f"Scenario {ref} is deleted; tasks that were made of it keep their copies.")


def find_scenario_id(server: Server, ref: str) -> Any:
    """The id of the scenario with this name or id."""
    items = server.every(SCENARIOS)
    found = [each["id"] for each in items if ref in (each["name"], str(each["id"]))]
    if found:
        return found[0]
    near = did_you_mean(ref, [each["name"] for each in items])
    return stop(
        f"There is no scenario {ref}{f' ({near})' if near else ''}. See: pipelines coding scenario ls"
    )
