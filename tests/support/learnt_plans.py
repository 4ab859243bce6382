"""Small recordings to learn from, and what a learnt plan answers."""

from collections.abc import Iterable
from typing import Any

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.fidelity.recording import Recording, read_recording
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.learning import LearnedPlans, Options, learn
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import Json
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema

Row = dict[str, Any]
MOMENT = Moment(seed="learnt", call_number=1, now="2026-05-01T12:00:00Z")


def tool(name: str, *arguments: str) -> Row:
    properties: Row = {key: {} for key in arguments}
    return {"name": name, "description": "", "input_schema": {"type": "object", "properties": properties}}


def called(name: str, args: Row, response: Any, *updates: Row, error: bool = False) -> Row:
    return {
        "tool": name,
        "args": args,
        "status": "error" if error else "ok",
        "response": response,
        "updates": list(updates),
    }


def changed(kind: str, id: str, **values: Any) -> Row:
    return {"op": "update", "entity_type": kind, "id": id, "set": values, "unset": []}


def task(state: Row, *calls: Row) -> Row:
    return {"state": state, "calls": list(calls)}


def recorded(tasks: Iterable[Row]) -> Recording:
    return read_recording({}, [{"task": f"task {number}", **one} for number, one in enumerate(tasks)])


def tools_of(*tools: Row) -> tuple[Tool, ...]:
    return parse_tools_schema(list(tools))


def learnt(tasks: Iterable[Row], *tools: Row, options: Options | None = None) -> LearnedPlans:
    return learn(recorded(tasks), tools_of(*tools), clock=lambda: 0.0, options=options)


def searched_plan(plans: LearnedPlans, name: str) -> Json:
    """The plan that the search found, whether it is kept or not."""
    found = plans.by_tool()[name].candidates
    return next(one.plan for one in found if one.origin == "searched")


def answer(plan: Json, args: Row, state: Row) -> SimulatedReply:
    parsed = parse_plan(plan, origin="authored")
    return run(parsed, args, Ledger(World.from_initial_state(state)), MOMENT)
