"""Carrying out a ModelCall: the model is asked for a tool's reply. Whatever goes wrong is said as a value,
so that the call is answered exactly: no run is lost by it, and none passes by it."""

import asyncio

from pipelines.core.models.model_question import Purpose
from pipelines.core.models.simulator_choice import MODEL
from pipelines.core.simulation.by_model.model_call import ModelCall, ModelFailure, ModelReply
from pipelines.core.text.problems import Problem
from pipelines.engine.model_calls.ask_models import Asker, Models
from pipelines.engine.models.choose_model import models_named_for
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import Agent
from pipelines.wire.errors import BudgetExceeded, ModelFailed, ModelNotConfigured

MARGIN_S = 5.0  # before the question itself is given up
MOST_PROBLEMS = 20


async def refuse_without_model(platform: Platform, agent: Agent, dataset_id: int | None) -> None:
    """An agent whose tools a model must answer is not run where none is set: raises ModelNotConfigured."""
    if agent.definition.config.simulator == MODEL:
        platform.models.needed(Purpose.SIMULATOR, await models_named_for(platform, agent, dataset_id))


class ModelReplies:
    def __init__(self, models: Models) -> None:
        self._models = models

    async def answer(self, call: ModelCall) -> ModelReply | ModelFailure:
        whose = call.asked_for
        asker = Asker(org_id=whose.org_id, run_id=whose.run_id, batch_id=whose.batch_id, named=whose.named)
        try:
            async with asyncio.timeout(call.longest_s - MARGIN_S):
                exchange = await self._models.ask(asker, call.question, check=call.expected.problems)
        except ModelFailed as failed:
            return ModelFailure(failed.reason, failed.message, _problems(failed))
        except (BudgetExceeded, ModelNotConfigured) as refused:
            return ModelFailure(refused.code, refused.message)
        except TimeoutError:
            return ModelFailure("timeout", f"No answer came within {call.longest_s - MARGIN_S:g} s.")
        return ModelReply(exchange.data, exchange.model, exchange.exchange_id, exchange.attempts)


def _problems(failed: ModelFailed) -> tuple[Problem, ...]:
    problems = failed.details.get("problems", ()) if isinstance(failed.details, dict) else ()
    return tuple(
        Problem(path=each.get("path", ""), message=each.get("message", ""), hint=each.get("hint"))
        for each in problems[:MOST_PROBLEMS]
    )
