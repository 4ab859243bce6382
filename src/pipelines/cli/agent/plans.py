"""`pipelines odyssey plan`: plans as readable YAML, with who wrote them and how each sentence is read."""

from pathlib import Path

import typer

from pipelines.cli.files import (
    or_stop,
    read_agent_rules,
    read_json,
    read_ledger_schema,
    read_object,
    read_tools,
    stop,
)
from pipelines.cli.output.blocks import one_line
from pipelines.cli.output.sentence_report import whole_lines
from pipelines.cli.task_file import read_task_file
from pipelines.core.ledger.initial_state import parse_initial_state
from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.domain.side import hint_sentences
from pipelines.core.simulation.guesses import guess_of, refusal_notes
from pipelines.core.simulation.plan_listing import shown_plans
from pipelines.core.simulation.plan_text import plan_as_yaml
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.simulation.sentences import MOST_SHOWN_BY_CALLS, shown_findings, shown_sentences
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.tools.tools_schema import Tool

LONGEST_INSTRUCTION = 48  # with the words before it a line of 80 columns
NO_WORLD = (
    "# Planned without a world. The types and fields of a task also decide what a",
    "# tool does: pass a file of tasks (or a state) after the tools to see that.",
)


def print_plans(
    tools: Path, state: Path | None, *, task: str | None, behavior: str | None, only: list[str], as_json: bool
) -> None:
    declared, schema = read_tools(tools), read_ledger_schema(tools)
    unknown = sorted(set(only) - {tool.name for tool in declared})
    if unknown:
        stop(f"{tools}: no tool named {', '.join(unknown)}")
    seed = _read_seed(state, task, declared, schema)
    simulator = build_simulator(
        declared,
        ledger_schema=schema,
        world=World.from_initial_state(seed.initial_state),
        behavior=behavior if behavior is not None else seed.behavior_instructions,
        rules=active_rules(read_agent_rules(tools), seed.rules),
    )
    selected = only or list(simulator.plans)
    if as_json:
        plans = shown_plans(simulator, only=selected, with_examples=True, now=seed.now)
        typer.echo(dumps(plans).decode())
    else:
        for line in NO_WORLD if state is None else _world_remark(seed):
            typer.echo(line)
        _print_sections(simulator, selected, seed.now)
    if any(simulator.plans[name].plan is None for name in selected):
        raise typer.Exit(1)  # an author's plan that cannot be read


def seed_for(tools: Path, state: Path | None, task: str | None) -> Seed:
    """The seed with the world and the behaviour text of the files."""
    return _read_seed(state, task, read_tools(tools), read_ledger_schema(tools))


def _print_sections(simulator: PlannedSimulator, shown: list[str], now: str | None) -> None:
    for name in shown:
        typer.echo(_format_plan(name, simulator))
    sentences = shown_sentences(simulator, most_by_calls=MOST_SHOWN_BY_CALLS, now=now)
    for one in sentences:
        typer.echo("\n".join(f"# {line}" for line in (f"“{one['sentence']}”", *whole_lines(one))))
    seen = {str(one["sentence"]) for one in sentences}
    for sentence, why in simulator.not_applied.items():
        if sentence not in seen:  # it says what a typed rule does
            typer.echo(f"# not enforced: {sentence} ({why})")
    for sentence, how in simulator.uniform.items():
        if sentence not in seen:
            typer.echo(f"# {sentence} ({how})")
    for finding in shown_findings(simulator):
        typer.echo(f"# {finding['says']}")


def _read_seed(
    path: Path | None, task: str | None, tools: tuple[Tool, ...], ledger_schema: LedgerSchema | None
) -> Seed:
    """The seed to plan for: a state, or a task of a file of tasks (by default the first)."""
    if path is None or (path.suffix == ".json" and task is None and isinstance(read_json(path), dict)):
        if task is not None:
            stop("--task needs a file of tasks after the tools")
        return Seed(user_instruction="", initial_state=_read_state(path))
    seeds = read_task_file(path, tools, ledger_schema).seeds
    if task is None:
        return seeds[0]
    named = [seed for place, seed in enumerate(seeds, 1) if task in (seed.id, str(place))]
    if len(named) != 1:
        stop(f"{path}: no task {task}; a task is named by its `id`, or by its place (1 to {len(seeds)})")
    return named[0]


def _world_remark(seed: Seed) -> list[str]:
    if not seed.user_instruction:
        return []
    return [f"# In the world of this task: {one_line(seed.user_instruction, LONGEST_INSTRUCTION)}"]


def _read_state(path: Path | None) -> JsonObject:
    if path is None:
        return {}
    state = read_object(path)
    or_stop(path, parse_initial_state, state)
    return state


def _format_plan(name: str, simulator: PlannedSimulator) -> str:
    """One tool. Remarks are YAML comments, so that the whole output is a valid plans file."""
    found = simulator.plans[name]
    remarks = [f"# {found.origin}, confidence {found.confidence:.2f}"]
    remarks += [f"# {text}" for text in hint_sentences(simulator.tools[name].annotations)]
    remarks += [f"# {ground}" for ground in found.grounds]
    remarks += [f"# note: {note}" for note in (*found.notes, *refusal_notes(found))]
    guess = guess_of(simulator.tools[name], found)
    if guess is not None:
        remarks.append(f"# a guess; to confirm it, give {guess.settled_by}")
    if found.plan is None:
        return "\n".join([*remarks, f"# {name}: no plan", ""])
    steps = plan_as_yaml(found.plan.as_json())
    indented = "\n".join(f"  {line}" if line else line for line in steps.rstrip().splitlines())
    return "\n".join([*remarks, f"{name}:", indented, ""])
