"""A simulator that asks a model for what its plans do not cover.

This is decided per tool before the first call: a tool whose plan is not a guess and enforces every sentence
of the behaviour text that may be about it is answered by its plan, at once and at no cost.
"""

from collections.abc import Mapping, Sequence

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.models.simulator_choice import EMBEDDED, MODEL
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.by_model.answer_check import ExpectedAnswer, read_updates
from pipelines.core.simulation.by_model.calls_so_far import CallsSoFar
from pipelines.core.simulation.by_model.model_call import (
    ENGINE,
    ModelCall,
    ModelFailure,
    ModelReply,
    RunContext,
)
from pipelines.core.simulation.by_model.next_ids import next_ids
from pipelines.core.simulation.by_model.prompt import instructions_with, model_question, word_for
from pipelines.core.simulation.by_model.relevant import EntityKey, shown_world, spoken_words
from pipelines.core.simulation.simulator import Moment, Question, SimulatedReply, SimulationFailed
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.text.problems import Problem

LARGEST_ARGUMENTS = 64 * 1024  # as JSON; more would cost what nobody means to spend on a call
WANTED = "the agent's config has `simulator: model`"


def left_to_model(plans: PlannedSimulator, choice: str) -> Mapping[str, str]:
    """The tools that a model answers, and why each."""
    if choice == EMBEDDED:
        return {}
    if choice == MODEL:
        return dict.fromkeys(plans.tools, WANTED)
    found = {
        name: plans.why_not_covered(name) for name, tool in plans.tools.items() if not tool.is_passthrough
    }
    return {name: why for name, why in found.items() if why is not None}


def _asked_before(call: ModelCall) -> tuple[str, ...]:
    if call.before is None:
        return ()
    return (f"asked again with the records that the answer of exchange {call.before.exchange_id} is about",)


class ModelSimulator:
    """Implements `Simulator`, for one run."""

    __slots__ = ("_asked_for", "_calls", "_ledger_schema", "_plans", "_references", "_said", "_why")

    def __init__(
        self,
        plans: PlannedSimulator,
        why: Mapping[str, str],
        *,
        ledger_schema: LedgerSchema | None,
        asked_for: RunContext,
        calls: CallsSoFar,
    ) -> None:
        self._plans = plans
        self._why = why
        self._ledger_schema = ledger_schema
        self._asked_for = asked_for
        self._calls = calls
        # Worked out now, by whoever loads the run, rather than on the loop at the first call.
        self._references = plans.survey.references
        self._said = {name: plans.vocabulary.tools[name] for name in why}

    @property
    def latencies_ms(self) -> Mapping[str, int]:
        return self._plans.latencies_ms

    @property
    def remembered_tools(self) -> frozenset[str]:
        return self._plans.remembered_tools

    def reads_world(self, tool: str) -> bool:
        return True

    def answer(
        self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        why = self._why.get(tool)
        if why is None:
            return self._plans.answer(tool, arguments, ledger, moment)
        if len(dumps(arguments)) > LARGEST_ARGUMENTS:
            message = (
                f"The arguments of {tool} are over {LARGEST_ARGUMENTS // 1024} KiB, too large for a model."
            )
            raise SimulationFailed("too_large", message, engine=ENGINE, notes=(why,))
        return self._question(tool, arguments, ledger, moment)

    def _question(
        self,
        tool: str,
        arguments: JsonObject,
        ledger: Ledger,
        moment: Moment,
        *,
        first: Sequence[EntityKey] = (),
        before: ModelReply | None = None,
    ) -> ModelCall:
        plans, declared = self._plans, self._plans.tools[tool]
        sentences = self._said[tool]
        records_shown = shown_world(
            arguments,
            ledger,
            kind=sentences.about,
            references=self._references,
            spoken=spoken_words(tool, declared.description, plans.behavior_text),
            first=first,
        )
        word = word_for(moment.seed, self._calls.digest)
        expected = ExpectedAnswer(
            tool=declared,
            arguments=arguments,
            ledger=ledger,
            ledger_schema=self._ledger_schema,
            shown=records_shown,
            behavior=plans.behavior_text,
            not_understood=plans.not_understood,
            shaped=plans.shaped_fields(tool),
            only_reads=sentences.reads,
            fence=word,
            instructions=instructions_with(word),
            may_show_more=before is None and not records_shown.is_whole,
        )
        question = model_question(
            declared,
            arguments,
            behavior=plans.behavior_text or None,
            now=moment.now,
            world=records_shown.world | {"next_ids": next_ids(arguments, ledger, moment)},
            is_whole=records_shown.is_whole,
            calls_so_far=self._calls.reported_calls(),
            word=word,
        )
        return ModelCall(
            asked_for=self._asked_for,
            tool=tool,
            arguments=arguments,
            why=self._why[tool],
            question=question,
            expected=expected,
            before=before,
        )

    def settle(
        self, question: Question, reply: object, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        if not isinstance(question, ModelCall):
            return self._plans.settle(question, reply, ledger, moment)
        why = f"answered by a model: {question.why}"
        if isinstance(reply, ModelReply) and (wrong := question.expected.problems(reply.data)):
            # An answer that was kept is held to the same, also by a release that looks closer.
            reply = ModelFailure("wrong_schema", "A cached answer is no longer valid.", tuple(wrong))
        if isinstance(reply, ModelFailure):
            raise SimulationFailed(
                reply.reason,
                f"The model that simulates {question.tool} gave no usable answer ({reply.reason}).",
                engine=ENGINE,
                problems=reply.problems,
                notes=(why, reply.message),
            )
        assert isinstance(reply, ModelReply), "a model answers, or gives up"
        data = reply.data
        unshown = question.expected.unshown(data)
        if unshown:
            return self._question(
                question.tool, question.arguments, ledger, moment, first=unshown, before=reply
            )
        status, reason = data["status"], data["reason"]
        assert isinstance(status, int)
        return SimulatedReply(
            status,
            data["response"],
            read_updates(data)[0] if status < 400 else (),
            engine=ENGINE,
            computed=question.expected.computed,
            notes=(why, *_asked_before(question), f"{reply.model}, exchange {reply.exchange_id}: {reason}"),
            attempts=reply.attempts + (question.before.attempts if question.before is not None else 0),
        )

    def again(
        self, tool: str, ledger: Ledger, refused: SimulatedReply, problems: Sequence[Problem]
    ) -> SimulatedReply | Question:
        if refused.engine == ENGINE:
            raise SimulationFailed("contradiction", "a model gets only one attempt to correct its answer")
        return self._plans.again(tool, ledger, refused, problems)
