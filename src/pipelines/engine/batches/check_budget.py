"""What a batch may spend on models: checked before it starts, raised when it goes on, and its end."""

import asyncio
import logging
from functools import partial

from pipelines.core.models.model_budget import FIELDS, Budget, read_budget
from pipelines.core.models.model_question import Purpose
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.batches.change_batch import cancel_runs
from pipelines.engine.batches.run_batch import BatchRunner
from pipelines.engine.models.check_prices import refuse_unpriced
from pipelines.engine.models.choose_model import models_named_for
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import Agent
from pipelines.storage.runs import batches
from pipelines.storage.runs.batches import Batch
from pipelines.storage.runs.model_exchanges import Spent

log = logging.getLogger(__name__)
PURPOSES_IN_RUNS = (Purpose.SIMULATOR, Purpose.JUDGE, Purpose.USER)


async def check_budget(
    platform: Platform, org_id: int, budget: Budget, agent: Agent, dataset_id: int | None, *, what: str
) -> None:
    named = await models_named_for(platform, agent, dataset_id)
    named_models = {platform.models.model_for(purpose, named) for purpose in PURPOSES_IN_RUNS} - {None}
    await refuse_unpriced(platform, org_id, budget, sorted(map(str, named_models)), what=what)


async def raise_budget(platform: Platform, batch: Batch, body: JsonObject) -> None:
    """A new budget for a batch that goes on. Refused where what it has spent uses that up."""
    budget = read_raised_budget(body, batch.budget, batch.model_tokens, batch.model_nanousd, what="batch")
    if budget != batch.budget:
        await platform.database.write(partial(batches.set_budget, batch_id=batch.id, budget=budget))


def read_raised_budget(body: JsonObject, before: Budget, tokens: int, nanousd: int, *, what: str) -> Budget:
    """The budget that is asked for, in place of the one before where it says nothing of that."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(FIELDS)
    raised = read_budget(fields)
    budget = Budget(
        max_nanousd=raised.max_nanousd if "max_cost_usd" in body else before.max_nanousd,
        max_tokens=raised.max_tokens if "max_model_tokens" in body else before.max_tokens,
    )
    spent = Spent(tokens, nanousd, budget.max_tokens, budget.max_nanousd)
    if spent.is_used_up and not problems:
        message = f"the {what} has spent its budget for models"
        hint = f"send more than it has spent (`budget` of the {what}), or null for no limit"
        path = "/max_cost_usd" if spent.is_over_cost else "/max_model_tokens"
        problems.append(Problem(path=path, message=message, hint=hint))
    if problems:
        raise Refused(problems, "the budget")
    return budget


class BudgetEnforcer:
    """Ends batches whose budget is used up. What has ended by then stays."""

    def __init__(self, platform: Platform, runner: BatchRunner) -> None:
        self._platform = platform
        self._runner = runner
        self._ending: dict[int, asyncio.Task[None]] = {}

    def used_up(self, batch_id: int) -> None:
        """Beside whoever asked: that may be one of the runs that this cancels."""
        if batch_id not in self._ending:
            task = asyncio.ensure_future(self._end(batch_id))
            self._ending[batch_id] = task
            task.add_done_callback(lambda _: self._ending.pop(batch_id, None))

    async def close(self) -> None:
        """What is cut off is gone on with at the next start."""
        for task in [*self._ending.values()]:
            task.cancel()
        await asyncio.gather(*self._ending.values(), return_exceptions=True)

    async def _end(self, batch_id: int) -> None:
        stop = partial(
            batches.stop_batch, batch_id=batch_id, now=self._platform.now(), status=batches.BUDGET_EXCEEDED
        )
        try:
            if not await self._platform.database.write(stop):
                return
            async for run_id in cancel_runs(self._platform, batch_id):
                self._runner.cancel(run_id)
            self._runner.on_end(batch_id)
        except Exception:  # the next question of the batch is refused as well, and ends it
            log.exception("batch %s could not be ended by its budget", batch_id)
