"""What a session will ask of a model and cost, said before it starts; nothing is asked for it."""

from collections.abc import Sequence
from functools import partial

from pipelines.core.models.model_question import Purpose, cost_usd
from pipelines.core.tasks.seed_session import EMBEDDED, MODEL, read_session_request
from pipelines.core.text.json_text import JsonObject
from pipelines.core.worlds.by_model.estimate import NOTHING, AuthorEstimate, rows_estimate, world_estimate
from pipelines.core.worlds.by_model.world_question import WorldBrief
from pipelines.engine.find import find_agent
from pipelines.engine.platform import Platform
from pipelines.engine.worlds.model_author import ModelAuthor
from pipelines.engine.worlds.open_session import brief_of, check_request, find_session, new_brief
from pipelines.processes.aside import aside
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import seed_rows, texts, world_revisions
from pipelines.storage.tasks.seed_sessions import SeedSession

_FREE: JsonObject = {"questions": 0, "tokens": 0, "cost_usd": 0.0}


async def estimate_new_session(platform: Platform, org_id: int, body: JsonObject) -> JsonObject:
    """Of a session that is asked for like this; refused as that would be."""
    request = read_session_request(body)
    agent = await check_request(platform, org_id, request)
    if request.author == EMBEDDED:
        return _free_estimate()
    brief = new_brief(platform, org_id, agent, request)
    author = ModelAuthor(platform.models, platform.upload_helpers)
    world_brief = await author.world_brief(brief, request.rng_seed or 0)
    row_counts = [bucket.rows for bucket in request.buckets]
    world, rows = await aside(org_id, _estimate, world_brief, row_counts)
    return await _with_prices(platform, agent, world, rows)


async def estimate_session(platform: Platform, org_id: int, session_id: int) -> JsonObject:
    """Of what is still to be made of a session: the rows that its buckets want."""
    session = await find_session(platform, org_id, session_id)
    if session.author == EMBEDDED:
        return _free_estimate()
    length, row_counts = await platform.database.read(partial(_remaining, session=session))
    author = ModelAuthor(platform.models, platform.upload_helpers)
    world_brief = await author.world_brief(await brief_of(platform, session), session.rng_seed)
    agent = await find_agent(platform, org_id, session.agent_id, session.agent_version)
    return await _with_prices(platform, agent, NOTHING, rows_estimate(world_brief, row_counts, world=length))


def _estimate(told: WorldBrief, wanted: Sequence[int]) -> tuple[AuthorEstimate, AuthorEstimate]:
    return world_estimate(told), rows_estimate(told, wanted)


def _remaining(connection: Connection, session: SeedSession) -> tuple[int, list[int]]:
    """The length of the present world, and the rows that each bucket lacks."""
    present = world_revisions.revision_by_number(connection, session_id=session.id, number=session.revision)
    assert present is not None
    buckets = seed_rows.buckets_of_session(connection, session.id)
    lacking = [max(0, bucket.wanted - bucket.kept) for bucket in buckets]
    return texts.text_size(connection, present.world_hash), lacking


async def _with_prices(
    platform: Platform, agent: Agent, world: AuthorEstimate, rows: AuthorEstimate
) -> JsonObject:
    model = platform.models.needed(Purpose.AUTHOR, agent.definition.config.models)
    estimate: JsonObject = {"author": MODEL, "model": model}
    for name, part in (("world", world), ("rows", rows), ("total", world + rows)):
        cost = await platform.models.cost_nanousd(
            agent.org_id, model, tokens_in=part.tokens_in, tokens_out=part.tokens_out
        )
        estimate[name] = part.as_json() | {"cost_usd": cost_usd(cost)}
    return estimate


def _free_estimate() -> JsonObject:
    return {"author": EMBEDDED, "model": None, "world": _FREE, "rows": _FREE, "total": _FREE}
