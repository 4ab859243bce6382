"""What models were asked for a run, and one exchange with all its words."""

from functools import partial

from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.engine.find import existing, find_run
from pipelines.engine.platform import Platform
from pipelines.storage.database.paging import Page
from pipelines.storage.runs import model_exchanges
from pipelines.storage.runs.model_exchanges import Exchange


async def exchanges_of_run(
    platform: Platform, org_id: int, run_id: int, *, limit: int, before_id: int | None = None
) -> Page[Exchange]:
    """The newest first, without their texts."""
    await find_run(platform, org_id, run_id)
    return await platform.database.read(
        lambda connection: model_exchanges.exchanges_of_run(
            connection, org_id=org_id, run_id=run_id, limit=limit, before_id=before_id
        )
    )


async def read_exchange(platform: Platform, org_id: int, exchange_id: int) -> JsonObject:
    """With the question and the answer; those of one that was replayed are of the exchange it repeats."""
    exchange = await _find(platform, org_id, exchange_id)
    texts = exchange
    if exchange.replay_of is not None:
        texts = await _find(platform, org_id, exchange.replay_of)
    request = loads_own(texts.request) if texts.request is not None else None
    return exchange.as_json() | {"request": request, "answer": texts.answer}


async def _find(platform: Platform, org_id: int, exchange_id: int) -> Exchange:
    read = partial(model_exchanges.exchange_by_id, org_id=org_id, exchange_id=exchange_id)
    return existing(await platform.database.read(read), f"exchange {exchange_id}")
