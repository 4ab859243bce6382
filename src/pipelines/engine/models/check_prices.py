"""A limit in dollars holds nothing whose price nobody knows: then tokens must be limited too."""

from collections.abc import Iterable

from pipelines.core.models.model_budget import Budget
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.wire.errors import ModelFailed


async def refuse_unpriced(
    platform: Platform, org_id: int, budget: Budget, models: Iterable[str], *, what: str
) -> None:
    if budget.max_nanousd is None or budget.max_tokens is not None:
        return
    unpriced = [model for model in models if not await _is_priced(platform, org_id, model)]
    if unpriced:
        raise Refused(
            [
                Problem(
                    path="/max_cost_usd",
                    message=f"cannot hold `{model}`: its price is not known",
                    hint="limit its tokens too: `max_model_tokens`",
                )
                for model in unpriced
            ],
            what,
        )


async def _is_priced(platform: Platform, org_id: int, model: str) -> bool:
    try:
        return await platform.models.is_priced(org_id, model)
    except ModelFailed:  # one that cannot be asked costs nothing
        return True
