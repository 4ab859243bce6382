"""How a plan answers recorded calls: each meets the real world, and counts if reply and change are right."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.fidelity.fidelity import RUN_DATE
from pipelines.core.simulation.fidelity.fidelity import _aligned as aligned
from pipelines.core.simulation.fidelity.fidelity import _same_change as same_change
from pipelines.core.simulation.fidelity.fidelity import _same_reply as same_reply
from pipelines.core.simulation.fidelity.likeness import leaves
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.learning.examples import Example
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.text.json_text import Json, dumps
from pipelines.core.tools.tools_schema import Tool

Answers = Callable[[Example], bool]


def answers_of_plan(plan: Json) -> Answers:
    """Whether the plan answers an example exactly right."""
    parsed = parse_plan(plan, origin="authored")

    def is_right(example: Example) -> bool:
        try:
            reply = run(parsed, example.call.arguments, example.before, _moment(example))
        except SimulationFailed:
            return False
        return _is_same(example, reply)

    return is_right


class Reading:
    """The plans that reading gives, world by world: what a searched plan has to be better than."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = [replace(tool, simulation=None) for tool in tools]
        self._simulators: dict[int, PlannedSimulator] = {}

    def simulator_for(self, world: World) -> PlannedSimulator:
        known = self._simulators.get(id(world))
        if known is None:
            known = self._simulators[id(world)] = build_simulator(self._tools, world=world)
        return known

    def is_right(self, example: Example) -> bool:
        return is_right(example, self.simulator_for(example.before.world))

    def plan_for(self, name: str, world: World) -> Json:
        plan = self.simulator_for(world).plan_of(name).plan
        return None if plan is None else plan.as_json()


def is_right(example: Example, simulator: PlannedSimulator) -> bool:
    call = example.call
    try:
        reply = simulator.answer(call.tool, call.arguments, example.before, _moment(example))
    except SimulationFailed:
        return False
    return isinstance(reply, SimulatedReply) and _is_same(example, reply)


def _moment(example: Example) -> Moment:
    return Moment(f"fidelity/{example.task}", example.number, RUN_DATE)


def _is_same(example: Example, reply: SimulatedReply) -> bool:
    call = example.call
    fitted = aligned(reply, call, _known(example))
    updates = fitted.updates if fitted is not None else ()
    return same_reply(fitted, call) and same_change(example.before, call.updates, updates)


def _known(example: Example) -> Callable[[Json], bool]:
    values: set[bytes] = set()

    def is_known(value: Json) -> bool:
        if not values:
            values.update(map(dumps, leaves(example.before.as_state())))
            values.update(map(dumps, leaves(example.call.arguments)))
        return dumps(value) in values

    return is_known
