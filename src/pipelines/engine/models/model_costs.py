"""What runs cost: the agent's part as its `metadata` tells it, and what models were asked by the platform."""

from collections.abc import Sequence

from pipelines.core.models.model_question import NANO, Purpose, cost_usd
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.engine.platform import Platform
from pipelines.storage.lists import batch_outcomes
from pipelines.storage.runs import model_exchanges
from pipelines.storage.runs.model_exchanges import PurposeCost
from pipelines.storage.runs.runs import Run

TOKENS, COST = ("total_input_tokens", "total_output_tokens"), "total_cost_usd"


async def costs_of_run(platform: Platform, run: Run) -> JsonObject:
    exchanges = await platform.database.read(
        lambda connection: model_exchanges.costs_of_run(connection, run.id)
    )
    metadata = run.metadata if isinstance(run.metadata, dict) else {}
    cost = _number(metadata.get(COST))
    tokens = [count for name in TOKENS if (count := _number(metadata.get(name))) is not None]
    agent: JsonObject = {"cost_usd": cost, "tokens": sum(tokens) if tokens else None}
    return _costs_json(agent, cost, exchanges)


async def costs_of_batch(platform: Platform, batch_id: int) -> JsonObject:
    """Of a very large batch the agent's part is that of its first runs: `runs` says of how many."""
    agent_costs, exchanges = await platform.database.read(
        lambda connection: (
            batch_outcomes.cost_of_batch(connection, batch_id),
            model_exchanges.costs_of_batch(connection, batch_id),
        )
    )
    cost = agent_costs.dollars if agent_costs.reported else None
    return _costs_json({"cost_usd": cost, "runs": agent_costs.reported}, cost, exchanges)


def _costs_json(agent: JsonObject, agent_usd: float | None, asked: Sequence[PurposeCost]) -> JsonObject:
    known = [agent_usd] if agent_usd is not None else []
    known += [each.nanousd / NANO for each in asked if each.questions > each.unpriced or each.replayed]
    by_purpose: JsonObject = {each.purpose: _purpose_json(each) for each in asked}
    rest: JsonObject = {purpose.value: by_purpose.get(purpose.value) for purpose in Purpose}
    return {"agent": agent, **rest, "total_usd": sum(known) if known else None}


def _purpose_json(cost: PurposeCost) -> JsonObject:
    """A cost is null where nobody knows any part of it."""
    is_known = cost.questions > cost.unpriced or not cost.questions
    return {
        "questions": cost.questions,
        "replayed": cost.replayed,
        "requests": cost.requests,
        "tokens": cost.tokens,
        "cost_usd": cost_usd(cost.nanousd) if is_known else None,
        "unpriced": cost.unpriced,
    }


def _number(value: Json) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return float(value) if is_number else None  # type: ignore[arg-type]
