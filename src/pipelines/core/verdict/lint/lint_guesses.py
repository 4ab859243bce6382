"""Oracles that only our reading can trip: `expected_state` on a field that no tool is sure to write.

Whether such a field changes depends on how we guessed that a tool works. The verdict is then about the guess.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.matchers.matching import Path
from pipelines.core.oracles.expected_state import assertion_paths, parse_expected_state
from pipelines.core.oracles.paths import FLAGS
from pipelines.core.simulation.build import PlannedSimulator, ToolPlan, build_simulator
from pipelines.core.simulation.domain.tool_names import read_tool_name
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.tools_schema import Tool

MOST_WORLDS = 50  # that differ in their types, read for one answer
ANY_FIELD = "*"
_TARGET = re.compile(r"\s*(\w+)\.(\w+)")
_SETTLED_BY = (
    "write what it does beside the tool as `simulation`; `pipelines odyssey plan` shows how it was read"
)


def guessed_oracles(
    seeds: Sequence[Seed],
    *,
    tools: Sequence[Tool] | None,
    ledger_schema: LedgerSchema | None,
    may_read: Callable[[], bool] = lambda: True,
) -> Iterator[Problem]:
    """By row; 1 is the first. Worlds are told apart by their types, and read once."""
    if not tools or any(tool.is_passthrough for tool in tools):
        return  # a real backend writes what it writes
    read: dict[tuple[str, ...], PlannedSimulator] = {}
    for row, seed in enumerate(seeds, 1):
        if seed.expected_state is None:
            continue
        kinds = tuple(sorted(seed.initial_state))
        if kinds not in read and (len(read) >= MOST_WORLDS or not may_read()):
            continue
        if kinds not in read:
            world = World.from_initial_state(seed.initial_state)
            read[kinds] = build_simulator(tools, ledger_schema=ledger_schema, world=world)
        for message in dict.fromkeys(_guessed_fields(seed, read[kinds])):
            path = f"row {row}, column expected_state"
            yield Problem(path=path, message=message, hint=_SETTLED_BY, row=row, column="expected_state")


def _guessed_fields(seed: Seed, simulator: PlannedSimulator) -> Iterator[str]:
    try:
        expected = parse_expected_state(seed.expected_state)
    except Refused:
        return  # told of where it is read
    text = (seed.behavior_instructions or "").lower()
    for path, _ in assertion_paths(expected):
        if len(path) < 2 or path[0] == FLAGS or path[0].lower() in text:
            continue  # behaviour text that speaks of the type may say what changes it
        writers = [name for name, plan in simulator.plans.items() if _writes(plan, path)]
        if any(not simulator.plans[name].is_guess for name in writers):
            continue
        unclear = writers or [name for name in simulator.plans if _may_write(simulator, name)]
        if unclear:
            listed = ", ".join(unclear[:3])
            field = ".".join((path[0], *path[2:3]))
            yield f"only a guess of ours writes `{field}` ({listed}), so the verdict would be about that"


def _may_write(simulator: PlannedSimulator, name: str) -> bool:
    tool = simulator.tools[name]
    return simulator.plans[name].is_guess and not read_tool_name(tool.name, tool.description).reads()


def _writes(plan: ToolPlan, path: Path) -> bool:
    """Whether a plan's steps may change the entity type and field of a path."""
    body = plan.plan.body if plan.plan is not None else None
    wanted_field = path[2] if len(path) > 2 else ANY_FIELD
    return any(
        kind in (path[0], ANY_FIELD) and (field == wanted_field or ANY_FIELD in (wanted_field, field))
        for kind, field in written_fields(body, {})
    )


def written_fields(body: Json, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(type, field) of all that the steps write; `*` for any."""
    known = dict(names)
    for step in body if isinstance(body, list) else [body]:
        if not isinstance(step, dict):
            continue
        found = step.get("find")
        if isinstance(found, dict) and isinstance(found.get("in"), str):
            known[str(found.get("as", found["in"]))] = str(found["in"])
        added = step.get("add")
        if isinstance(added, dict):
            attrs = added.get("attrs")
            fields = attrs if isinstance(attrs, dict) else {ANY_FIELD: None}
            yield from ((str(added.get("in")), str(name)) for name in (*fields, ANY_FIELD))
        for verb in ("set", "append", "unset", "remove"):
            targets = step.get(verb)
            for target in targets if isinstance(targets, list | dict) else [targets]:
                if isinstance(target, str):
                    match = _TARGET.match(target)
                    kind = known.get(match[1], ANY_FIELD) if match else known.get(target.strip(), ANY_FIELD)
                    yield kind, match[2] if match else ANY_FIELD
        for key in ("do", "then", "else", "steps", "for_each"):
            inner = step.get(key)
            if isinstance(inner, list | dict):
                yield from written_fields(inner, known)
