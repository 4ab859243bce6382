"""Adds the text of an eval variation to the successful replies of a simulator.

In every reply, so that it does not matter which call comes first, which ones fail, or where a run is taken up
again. What a live endpoint answers is left alone, and so is a reply whose schema has no room for the text.
"""

from collections.abc import Mapping, Sequence

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.simulation.by_model.model_call import ModelCall
from pipelines.core.simulation.simulator import Moment, Question, SimulatedReply, Simulator
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool

ADDED_AS = ("notice", "system_notice", "added_notice")  # the first that the reply does not have itself
NO_ROOM = (
    "the text of the eval variation is not in this reply, because its schema does not allow an extra field"
)


class TextAddingSimulator:
    """Answers as the simulator it is given, with the text added."""

    __slots__ = ("_inner", "_text", "_tools")

    def __init__(self, inner: Simulator, tools: Mapping[str, Tool], text: str) -> None:
        self._inner = inner
        self._tools = tools
        self._text = text

    @property
    def latencies_ms(self) -> Mapping[str, int]:
        return self._inner.latencies_ms

    @property
    def remembered_tools(self) -> frozenset[str]:
        return self._inner.remembered_tools

    def reads_world(self, tool: str) -> bool:
        return self._inner.reads_world(tool)

    def answer(
        self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        return self._added(tool, self._inner.answer(tool, arguments, ledger, moment))

    def settle(
        self, question: Question, reply: object, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        settled = self._inner.settle(question, reply, ledger, moment)
        return self._added(question.tool, settled) if isinstance(question, ModelCall) else settled

    def again(
        self, tool: str, ledger: Ledger, refused: SimulatedReply, problems: Sequence[Problem]
    ) -> SimulatedReply | Question:
        return self._added(tool, self._inner.again(tool, ledger, refused, problems))

    def _added(self, tool: str, reply: SimulatedReply | Question) -> SimulatedReply | Question:
        if not isinstance(reply, SimulatedReply) or reply.status >= 400:
            return reply
        response, computed = self._with_text(reply.response)
        if response is None or (
            self._tools[tool].response_problems(response)
            and not self._tools[tool].response_problems(reply.response)
        ):
            return reply._replace(notes=(*reply.notes, NO_ROOM))
        return reply._replace(response=response, computed=reply.computed | computed)

    def _with_text(self, response: Json) -> tuple[Json, frozenset[str]]:
        """The response with the text in it, and the field that it stands in; None where it cannot stand."""
        if isinstance(response, str):
            return f"{response}\n\n{self._text}", frozenset()
        free = [name for name in ADDED_AS if isinstance(response, dict) and name not in response]
        if not isinstance(response, dict) or not free:
            return None, frozenset()
        return response | {free[0]: self._text}, frozenset(free[:1])


def without_text(response: Json, text: str) -> Json:
    """What was answered before the text was added."""
    if isinstance(response, str):
        return response.removesuffix(f"\n\n{text}")
    if not isinstance(response, dict):
        return response
    return {key: value for key, value in response.items() if not (key in ADDED_AS and value == text)}


def with_added_text(simulator: Simulator, tools: Mapping[str, Tool], text: str | None) -> Simulator:
    """The simulator itself where there is nothing to add."""
    return simulator if text is None else TextAddingSimulator(simulator, tools, text)
