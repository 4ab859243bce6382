"""A call that a model answers, played without a server: what it is asked, and what becomes of its answer."""

import re
from collections.abc import Callable
from datetime import datetime
from time import perf_counter
from typing import Any, NamedTuple

from pipelines.core.calls.called_run import CalledRun
from pipelines.core.calls.run_moment import start_of
from pipelines.core.calls.tool_call import (
    Ask,
    Decision,
    ReceivedCall,
    ToolCall,
    decide,
    receive,
    row_of,
    settle,
)
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import LedgerSchema, parse_ledger_schema
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.models.model_question import ModelQuestion
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.by_model.calls_so_far import CallsSoFar
from pipelines.core.simulation.by_model.model_call import ModelCall, ModelFailure, ModelReply, RunContext
from pipelines.core.simulation.by_model.simulator import ModelSimulator, left_to_model
from pipelines.core.text.json_text import dumps, loads_own
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import RuleProgress, chance_of
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema

Model = Callable[[ModelQuestion], Any]


class Toolbox(NamedTuple):
    tools: dict[str, Tool]
    ledger_schema: LedgerSchema | None


class Played(NamedTuple):
    run: CalledRun
    decision: Decision
    questions: list[ModelQuestion]
    problems: list[Problem]  # of the last answer

    @property
    def response(self) -> Any:
        return loads_own(self.decision.response)


class Desk:
    """One run whose tools a model answers, as far as their plans do not."""

    def __init__(
        self,
        tools: Any,
        state: Any,
        behavior: str | None = None,
        *,
        ledger_schema: Any = None,
        wants: str = "model",
    ) -> None:
        world = World.from_initial_state(state)
        schema = parse_ledger_schema(ledger_schema)
        plans = build_simulator(
            parse_tools_schema(tools), world=world, behavior=behavior, ledger_schema=schema
        )
        calls = CallsSoFar()
        ledger = Ledger(world)
        simulator = ModelSimulator(
            plans,
            left_to_model(plans, wants),
            ledger_schema=schema,
            asked_for=RunContext(org_id=1),
            calls=calls,
        )
        self.run = CalledRun(
            toolbox=Toolbox(dict(plans.tools), schema),
            simulator=simulator,
            ledger=ledger,
            progress=RuleProgress((), ledger.is_flagged, chance=chance_of("a task", 0)),
            seed="a task",
            began=start_of(datetime(2026, 5, 1, 12)),
            calls_so_far=calls,
        )

    def question(self, tool: str, arguments: Any) -> ModelCall:
        """What is asked for a call; the call is not carried on."""
        asked = self._asked(tool, arguments)[1]
        assert isinstance(asked, Ask)
        assert isinstance(asked.question, ModelCall)
        return asked.question

    def play(self, tool: str, arguments: Any, model: Model) -> Played:
        """As the engine does it: checked, asked once more with what is wrong, settled and folded in."""
        call, asked, text = self._asked(tool, arguments)
        assert isinstance(asked, Ask)
        assert isinstance(asked.question, ModelCall)
        outcome: Decision | Ask = asked
        questions: list[ModelQuestion] = []
        problems: list[Problem] = []
        while isinstance(outcome, Ask):
            reply, put, problems = self._replied(outcome, model)
            questions += put
            outcome = settle(self.run, outcome, reply)
        decision = outcome
        row = row_of(
            1, self.run.sequence + 1, call, text, decision, asked.received.arrival, 1.0, "2026-05-01"
        )
        self.run.fold(row, asked.received.arrival, decision.updates)
        return Played(self.run, decision, questions, problems)

    def _replied(self, asked: Ask, model: Model) -> tuple[object, list[ModelQuestion], list[Problem]]:
        assert isinstance(asked.question, ModelCall)
        put = asked.question
        questions = [put.question]
        data = model(put.question)
        problems = checked(put, data)
        if problems:
            questions.append(put.question.again(dumps(data).decode(), problems))
            data = model(questions[-1])
            problems = checked(put, data)
        if problems:
            return ModelFailure("wrong_schema", "not usable", tuple(problems)), questions, problems
        return ModelReply(data, "scripted:test", 1, len(questions)), questions, problems

    def _asked(self, tool: str, arguments: Any) -> tuple[ToolCall, Decision | Ask, str | None]:
        call = ToolCall(tool, dumps(arguments), None, None, perf_counter())
        text, received = receive(self.run, call)
        assert isinstance(received, ReceivedCall), received
        return call, decide(self.run, received), text


def checked(call: ModelCall, data: Any) -> list[Problem]:
    return CompiledSchema(call.question.schema).problems(data) or call.expected.problems(data)


def instructions_seen(question: ModelQuestion) -> str:
    """What a reader takes for instructions: everything outside the fence, which he takes to end wherever a
    line, by anybody's idea of lines, is its end. The word
    itself is left out: it differs from question to question."""
    found = re.search(r"<(data-[0-9a-f]+)>", question.system)
    assert found is not None
    word = found[1]
    lines: list[str] = []
    is_inside = False
    for line in [*question.system.splitlines(), *question.messages[0].content.splitlines()]:
        if line.strip() == f"</{word}>":
            is_inside = False
        elif line.strip() == f"<{word}>":
            is_inside = True
        elif not is_inside:
            lines.append(line.replace(word, "WORD"))
    return "\n".join(lines)
