"""`pipelines odyssey plan`: plans as readable YAML, with who wrote them and what was not understood."""

from pathlib import Path

import typer

from pipelines.cli.files import read_object, read_tools, stop, stop_with
from pipelines.core.initial_state import parse_initial_state
from pipelines.core.json_text import JsonObject, dumps
from pipelines.core.ledger import World
from pipelines.core.problems import Refused
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.guesses import guess_of
from pipelines.core.simulation.plan_text import plan_as_yaml
from pipelines.core.simulation.shown import shown_plans


def print_plans(
    tools: Path, state: Path | None, *, behavior: str | None, only: list[str], as_json: bool
) -> None:
    declared = read_tools(tools)
    unknown = sorted(set(only) - {tool.name for tool in declared})
    if unknown:
        stop(f"{tools}: no tool named {', '.join(unknown)}")
    simulator = build_simulator(declared, world=World.from_initial_state(_state(state)), behavior=behavior)
    if as_json:
        typer.echo(dumps(shown_plans(simulator)).decode())
        return
    for name in only or simulator.plans:
        typer.echo(_section(name, simulator))
    for sentence in simulator.not_understood:
        typer.echo(f"# not understood, so not enforced: {sentence}")
    for sentence in simulator.without_effect:
        typer.echo(f"# without effect in this world: {sentence}")


def _state(path: Path | None) -> JsonObject:
    if path is None:
        return {}
    state = read_object(path)
    try:
        parse_initial_state(state)
    except Refused as refused:
        stop_with(refused.problems, str(path))
    return state


def _section(name: str, simulator: PlannedSimulator) -> str:
    """One tool: remarks as YAML comments, so that the whole output is a plans file."""
    found = simulator.plans[name]
    remarks = [f"# {found.origin}, confidence {found.confidence:.2f}"]
    remarks += [f"# note: {note}" for note in found.notes]
    guess = guess_of(simulator.tools[name], found)
    if guess is not None:
        remarks.append(f"# a guess; settled by {guess.settled_by}")
    if found.plan is None:
        return "\n".join([*remarks, f"# {name}: no plan", ""])
    steps = plan_as_yaml(found.plan.as_json())
    indented = "\n".join(f"  {line}" if line else line for line in steps.rstrip().splitlines())
    return "\n".join([*remarks, f"{name}:", indented, ""])
