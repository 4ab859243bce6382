"""What the tools answer in a conformance run: replies from a file, or a task's simulated backend."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.simulation.simulator import Moment, SimulationFailed
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool, nearest_names
from pipelines.odyssey.conformance import ScriptedWorld, WorldReply

NOW = "2026-06-01T09:00:00+00:00"  # any moment does: the wire contract does not hang on it


class DeclaredWorld(ScriptedWorld):
    """Replies from a table, for declared tools whose arguments are checked."""

    def __init__(self, tools: Sequence[Tool], replies: Mapping[str, Json]) -> None:
        super().__init__(replies)
        self._tools = {tool.name: tool for tool in tools}

    def argument_problem(self, tool: str, arguments: dict[str, Any]) -> str | None:
        declared = self._tools.get(tool)
        if declared is None:
            near = nearest_names(tool, self._tools)
            return "it is not declared" + (f"; did you mean {' or '.join(near)}?" if near else "")
        problems = declared.argument_problems(arguments)
        return "; ".join(f"{each.path or 'the whole'}: {each.message}" for each in problems[:3]) or None

    def tools(self) -> list[dict[str, Any]]:
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in self._tools.values()
        ]


class SimulatedWorld(DeclaredWorld):
    """The simulated backend of a task, without its failure rules: the kit has its own."""

    def __init__(self, tools: Sequence[Tool], simulator: PlannedSimulator, world: World) -> None:
        super().__init__(tools, {})
        self._simulator = simulator
        self._ledger = Ledger(world)
        self._calls = 0
        self._history = CallHistory.of(simulator.remembered_tools)

    def answer(self, tool: str, arguments: dict[str, Any]) -> WorldReply:
        problem = self.argument_problem(tool, arguments)
        if problem is not None:
            return WorldReply(422, {"error": {"code": "invalid_arguments", "message": problem}})
        self._calls += 1
        try:
            moment = Moment("conformance", self._calls, NOW, self._history)
            reply = self._simulator.answer(tool, arguments, self._ledger, moment)
        except SimulationFailed as error:
            return WorldReply(502, {"error": {"code": error.code, "message": str(error)}})
        self._ledger.apply(reply.updates)
        if self._history is not None and reply.status < 400:
            self._history.add(tool, arguments)
        return WorldReply(reply.status, reply.response)


class SimulatedTask:
    """Makes a new world for each run of a task."""

    def __init__(
        self,
        tools: Sequence[Tool],
        schema: LedgerSchema | None,
        seed: Seed,
        rules: Sequence[JsonObject] = (),
    ) -> None:
        self._tools = tools
        self._world = World.from_initial_state(seed.initial_state)
        self._simulator = build_simulator(
            tools,
            ledger_schema=schema,
            world=self._world,
            behavior=seed.behavior_instructions,
            rules=active_rules(rules, seed.rules),
        )
        for tool in tools:  # read now: the worlds of runs at once share the plans
            self._simulator.plan_of(tool.name)

    def __call__(self) -> SimulatedWorld:
        return SimulatedWorld(self._tools, self._simulator, self._world)
