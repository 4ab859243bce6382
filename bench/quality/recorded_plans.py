"""Plans that the model writes with a recording of a backend: half of its tasks are shown to the model, the
calls of the other half are replayed on the plans as they are read and as they are proposed."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.fidelity.fidelity import replay
from pipelines.core.simulation.fidelity.fidelity_report import CallOutcome
from pipelines.core.simulation.fidelity.recording import Recording, read_recording
from pipelines.core.text.json_text import Json
from pipelines.core.tools.tools_schema import parse_tools_schema
from quality import backend
from quality.cases import OPEN, RIGHT, WRONG, Answer, Asked, Question, in_groups

TITLE = "plans, with half of a recording"
TASKS, CALLS = 20, 8
AT_ONCE = len(backend.TOOLS)


def questions(count: int) -> Iterator[Question]:
    """Each tool is one of `count`; its calls are the cases."""
    names = [str(tool["name"]) for tool in backend.TOOLS[:count]]
    for some in in_groups(names, AT_ONCE):
        yield Question(tuple(f"{backend.NAME}/{name}" for name in some), partial(_ask, some))


async def _ask(names: list[str], asked: Asked) -> list[Answer]:
    lines = backend.recorded(TASKS, CALLS, "model quality")
    shown, held_out = lines[::2], read_recording({}, [*lines[1::2]])
    agent = await asked.org.agent(name=f"recorded {names[0]}", tools_schema=backend.TOOLS)
    wanted = {"tools": names, "recording": {"state": {}, "tasks": shown}}
    told = await asked.author_job(f"/api/agents/{agent['id']}/plans/propose", wanted)
    plans: dict[str, Json] = {item["tool"]: item["plan"] for item in told["items"] if item["is_usable"]}
    whys = {item["tool"]: str(item["problems"]) for item in told["items"]}
    before, after = outcomes(held_out, {}), outcomes(held_out, plans)
    return [
        _answer(plans, one, other, str(told.get("error") or whys.get(one.tool, "no plan"))[:300])
        for one, other in zip(before, after, strict=True)
        if one.tool in names
    ]


def outcomes(held_out: Recording, plans: Mapping[str, Json]) -> list[CallOutcome]:
    return [*replay(held_out, partial(_simulator, plans), clock=time.perf_counter).outcomes]


def _simulator(plans: Mapping[str, Json], world: World) -> PlannedSimulator:
    tools = [
        replace(tool, simulation=plans[tool.name]) if tool.name in plans else tool
        for tool in parse_tools_schema(backend.TOOLS)
    ]
    return build_simulator(tools, world=world)


def _answer(plans: Mapping[str, Json], before: CallOutcome, after: CallOutcome, why: str) -> Answer:
    case = f"{backend.NAME}/{before.tool}/{before.task}/{before.number}"
    embedded = RIGHT if before.fm_forced and before.cm_forced else WRONG
    if before.tool not in plans:
        return Answer(case=case, embedded=embedded, model=OPEN, why=why)
    differences = after.mismatch.differences if after.mismatch is not None else ()
    is_right = after.fm_forced and after.cm_forced
    return Answer(
        case=case, embedded=embedded, model=RIGHT if is_right else WRONG, why="; ".join(differences)[:300]
    )
