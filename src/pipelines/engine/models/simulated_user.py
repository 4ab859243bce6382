"""The other side of a conversation that a model plays: its next words, checked, or why it cannot go on."""

from dataclasses import dataclass

from pipelines.core.agents.transcript import Message
from pipelines.core.persona.faults import Fault, faults_in, is_stop_ignored
from pipelines.core.persona.question import VERSION, user_question
from pipelines.core.persona.talk import SERVICE, USER, Line, Talk, UserWords
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.engine.model_calls.ask_models import Asker, Models
from pipelines.storage.runs.runs import Run
from pipelines.wire.errors import ModelFailed, ModelNotConfigured


@dataclass(frozen=True, kw_only=True, slots=True)
class UserTurn:
    """What the user says next. `is_last`: they have nothing to add, and nobody answers it."""

    words: UserWords
    is_last: bool
    is_stop_ignored: bool
    exchange_id: int
    attempts: int

    def as_json(self, turn: int) -> JsonObject:
        return {
            "turn": turn,
            "facts_used": list(self.words.facts_used),
            "reason": self.words.reason,
            "stop_ignored": self.is_stop_ignored,
            "attempts": self.attempts,
            "exchange_id": self.exchange_id,
        }


class SimulatorFault(Exception):
    """The simulated user, or its model, gave nothing that an agent could be held to."""

    def __init__(self, message: str, kinds: tuple[str, ...], details: Json = None) -> None:
        super().__init__(message)
        self.kinds = kinds
        self.details = details

    def as_json(self) -> JsonObject:
        return {"detail": str(self), "faults": list(self.kinds), "exchange": self.details}


async def next_turn(models: Models, asker: Asker, run: Run, history: list[Message], left: int) -> UserTurn:
    """`left`: messages that the user may still write, this one among them. Raises SimulatorFault, or
    BudgetExceeded."""
    talk = Talk.of(run.seed, _lines(history), today=run.simulated_now, turns_left=left)
    found: list[Fault] = []

    def check(data: JsonObject) -> list[Problem]:
        found[:] = faults_in(UserWords.from_answer(data), talk)
        return [fault.as_problem() for fault in found]

    try:
        exchange = await models.ask(asker, user_question(talk, unseen=run.seed_hash), check=check)
    except ModelNotConfigured as missing:  # it was named when the run was asked for, and is no longer
        raise SimulatorFault(f"the simulated user has no model: {missing.message}", (missing.code,)) from None
    except ModelFailed as failed:
        kinds = tuple(dict.fromkeys(fault.kind.value for fault in found)) or (failed.reason,)
        message_text = found[0].message if found else failed.message
        raise SimulatorFault(
            f"the simulated user went wrong: {message_text}", kinds, failed.details
        ) from None
    words = UserWords.from_answer(exchange.data)
    is_ignored = is_stop_ignored(words, talk)
    return UserTurn(
        words=words,
        is_last=words.stop and not is_ignored,
        is_stop_ignored=is_ignored,
        exchange_id=exchange.exchange_id,
        attempts=exchange.attempts,
    )


def conversation_json(
    run: Run, turns: list[JsonObject], *, ended_by: str, reason: str | None, model: str | None
) -> JsonObject:
    """How a conversation went, for the run."""
    who: JsonObject = {"played_by": "script"}
    if run.seed.needs_model:
        who = {"played_by": "persona", "model": model, "prompt_version": VERSION}
    return {**who, "ended_by": ended_by, "reason": reason, "turns": list(turns)}


def _lines(history: list[Message]) -> tuple[Line, ...]:
    """What either side said in words; calls and thinking of the agent are nothing a user sees."""
    sides = {"user": USER, "assistant": SERVICE}
    lines = ((sides[message.role], message.text()) for message in history if message.role in sides)
    return tuple(Line(by, text) for by, text in lines if text.strip())
