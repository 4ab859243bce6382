"""A simulator that sends passthrough tools to live endpoints, and all others to an inner simulator.

A live reply is the truth: it is checked and noted, but never refused or repeated. It changes the world only
through its tool's adapter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.core.ledger.adapt_reply import adapt_reply
from pipelines.core.ledger.ledger import Ledger, LedgerUpdate
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.simulator import Moment, Question, SimulatedReply, SimulationFailed, Simulator
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.live_tools import LIVE, LiveCall, LiveReply
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.tools.trace_row import CASSETTE, LIVE_ENGINE
from pipelines.wire.names import Source


@dataclass(frozen=True, kw_only=True, slots=True)
class PassthroughRun:
    """How one run passes calls on."""

    org_id: int
    run_id: int
    endpoint_ids: Mapping[str, str]  # by the agent's name of the tool, of those that are passed through
    mode: str = LIVE
    cassette: str | None = None


class LiveSimulator:
    """Implements `Simulator`."""

    __slots__ = ("_inner", "_ledger_schema", "_passing", "_tools")

    def __init__(
        self,
        inner: Simulator,
        tools: Mapping[str, Tool],
        ledger_schema: LedgerSchema | None,
        passing: PassthroughRun,
    ) -> None:
        self._inner = inner
        self._tools = tools
        self._ledger_schema = ledger_schema
        self._passing = passing

    @property
    def latencies_ms(self) -> Mapping[str, int]:
        return self._inner.latencies_ms

    @property
    def remembered_tools(self) -> frozenset[str]:
        return self._inner.remembered_tools

    def reads_world(self, tool: str) -> bool:
        return tool not in self._passing.endpoint_ids and self._inner.reads_world(tool)

    def answer(
        self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        endpoint_id = self._passing.endpoint_ids.get(tool)
        if endpoint_id is None:
            return self._inner.answer(tool, arguments, ledger, moment)
        binding = self._tools[tool].passthrough_binding
        assert binding is not None, "only a tool with a binding has an endpoint"
        return LiveCall(
            org_id=self._passing.org_id,
            run_id=self._passing.run_id,
            endpoint_id=endpoint_id,
            tool_name=binding.tool_name,
            declared_name=tool,
            arguments=arguments,
            mode=self._passing.mode,
            cassette=self._passing.cassette,
        )

    def settle(
        self, question: Question, reply: object, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        if not isinstance(question, LiveCall):
            return self._inner.settle(question, reply, ledger, moment)
        assert isinstance(reply, LiveReply), "a live call is replied to by an endpoint, or has failed"
        updates, notes = self._mirrored(question, reply, ledger)
        return SimulatedReply(
            reply.status,
            reply.response,
            updates,
            engine=CASSETTE if reply.is_replayed else LIVE_ENGINE,
            notes=(*reply.notes, *notes),
            source=Source.PASSTHROUGH,
        )

    def again(
        self, tool: str, ledger: Ledger, refused: SimulatedReply, problems: Sequence[Problem]
    ) -> SimulatedReply | Question:
        if tool in self._passing.endpoint_ids:
            raise SimulationFailed("contradiction", "a live reply is not repeated")
        return self._inner.again(tool, ledger, refused, problems)

    def _mirrored(
        self, call: LiveCall, reply: LiveReply, ledger: Ledger
    ) -> tuple[tuple[LedgerUpdate, ...], tuple[str, ...]]:
        """What of the reply enters the world."""
        tool = self._tools[call.declared_name]
        policy = (f"ledger_write_policy: {tool.ledger_write_policy}",)
        if tool.ledger_adapter is None or reply.is_error:
            return (), policy
        updates, notes = adapt_reply(
            tool.ledger_adapter, call.arguments, reply.response, ledger, self._ledger_schema
        )
        return updates, (*policy, *notes)


def with_live_tools(
    simulator: Simulator,
    tools: Mapping[str, Tool],
    ledger_schema: LedgerSchema | None,
    passing: PassthroughRun,
) -> Simulator:
    """The simulator itself where nothing is passed through."""
    return LiveSimulator(simulator, tools, ledger_schema, passing) if passing.endpoint_ids else simulator
