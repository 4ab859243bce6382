"""Seed sessions: opening one with its first world, finding one, and what is told of it."""

import secrets
from dataclasses import replace
from functools import partial

from pipelines.core.models.model_question import Purpose
from pipelines.core.tasks.seed_session import MODEL, STATUSES, SessionRequest, read_session_request
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import existing, find_agent
from pipelines.engine.model_calls.ask_models import Asker
from pipelines.engine.models.check_prices import refuse_unpriced
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.store_texts import store_texts
from pipelines.engine.worlds.authors import AuthoredWorld, SessionBrief
from pipelines.engine.worlds.choose_author import author_of
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import model_budgets
from pipelines.storage.tasks import seed_rows, seed_sessions, texts, world_revisions
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.storage.tasks.world_revisions import WorldRevision
from pipelines.wire.errors import SessionState

#: In words: what a state allows.
NEXT_STEPS = {
    "world_review": "its world is reviewed: refine, regenerate, paste, undo, continue",
    "rows_generating": "its rows are being made: wait for them, or abandon it",
    "rows_review": "its rows are reviewed: drop, regenerate, finalize",
    "finalized": "it is a dataset and can no longer change",
    "abandoned": "it was abandoned and can no longer change",
}
assert set(NEXT_STEPS) == set(STATUSES)


async def open_session(platform: Platform, org_id: int, who: str, body: JsonObject) -> SeedSession:
    """Nothing is stored before there is a world to look at."""
    request = read_session_request(body)
    agent = await check_request(platform, org_id, request)
    rng_seed = request.rng_seed if request.rng_seed is not None else secrets.randbelow(2**31)
    brief = new_brief(platform, org_id, agent, request)
    budget_id = None
    if request.author == MODEL:
        add = partial(model_budgets.add_budget, org_id=org_id, budget=request.budget, now=platform.now())
        budget_id = await platform.database.write(add)
        brief = replace(brief, asker=_asker(org_id, agent, budget_id, subject=f"agent {agent.id}"))
    world = await author_of(platform, request.author).make_world(brief, before="", rng_seed=rng_seed)
    return await _store(platform, who, request, agent, brief, world, rng_seed, budget_id)


async def check_request(platform: Platform, org_id: int, request: SessionRequest) -> Agent:
    """The agent that a session is asked for; Refused, or ModelNotConfigured, where it cannot be."""
    agent = await find_agent(platform, org_id, request.agent_id)
    if not agent.definition.tools:
        message, hint = "declares no tools: there is nothing to make a world for", "give it a tools_schema"
        raise Refused([Problem(path="/agent_id", message=message, hint=hint)], "the session")
    if request.author == MODEL:
        model = platform.models.needed(Purpose.AUTHOR, agent.definition.config.models)
        await refuse_unpriced(platform, org_id, request.budget, [model], what="the session")
    return agent


async def find_session(platform: Platform, org_id: int, session_id: int) -> SeedSession:
    read = partial(seed_sessions.session_by_id, org_id=org_id, session_id=session_id)
    return existing(await platform.database.read(read), f"seed session {session_id}")


async def read_session(platform: Platform, org_id: int, session_id: int) -> JsonObject:
    """The session, its buckets and how far each is."""
    session = await find_session(platform, org_id, session_id)
    return await platform.database.read(partial(session_json, session=session))


def session_json(connection: Connection, session: SeedSession) -> JsonObject:
    buckets = seed_rows.buckets_of_session(connection, session.id)
    reasons: JsonObject = dict(seed_rows.reasons_of_session(connection, session.id))
    listed: list[Json] = [bucket.as_json() for bucket in buckets]
    counts: JsonObject = {
        name: sum(getattr(bucket, name) for bucket in buckets)
        for name in ("wanted", "kept", "rejected", "dropped")
    }
    models = (
        model_budgets.spending_of(connection, session.budget_id).as_json()
        if session.budget_id is not None
        else None
    )
    body: JsonObject = {"buckets": listed, "counts": counts, "rejected_by_reason": reasons, "models": models}
    return session.as_json() | body


async def brief_of(platform: Platform, session: SeedSession) -> SessionBrief:
    """By the agent as it was when the session began: its world was made for those tools."""
    agent = await find_agent(platform, session.org_id, session.agent_id, session.agent_version)
    return SessionBrief(
        org_id=session.org_id,
        definition_text=agent.definition_text,
        behavior=session.behavior,
        instructions=session.instructions,
        size=session.size,
        axes=session.axes,
        now=session.world_now,
        asker=_asker(session.org_id, agent, session.budget_id, subject=f"seed session {session.id}"),
    )


def _asker(org_id: int, agent: Agent, budget_id: int | None, *, subject: str) -> Asker | None:
    if budget_id is None:
        return None
    named = agent.definition.config.models
    return Asker(org_id=org_id, subject=subject, budget_id=budget_id, named=named)


def refuse_state(session: SeedSession, wanted: str, doing: str) -> None:
    if session.status != wanted:
        raise wrong_state(session, doing)


def wrong_state(session: SeedSession, doing: str) -> SessionState:
    message = f"Seed session {session.id} cannot {doing}: {NEXT_STEPS[session.status]}."
    return SessionState(message, details={"status": session.status, "dataset_id": session.dataset_id})


def _noon_of(now: str) -> str:
    """Of the day: the same `rng_seed` gives the same world all day."""
    return f"{now[:10]}T12:00:00.000000Z"


def new_brief(platform: Platform, org_id: int, agent: Agent, request: SessionRequest) -> SessionBrief:
    return SessionBrief(
        org_id=org_id,
        definition_text=agent.definition_text,
        behavior=request.behavior,
        instructions=request.instructions,
        size=request.size,
        axes=request.axes,
        now=request.now or _noon_of(platform.now()),
    )


async def _store(
    platform: Platform,
    who: str,
    request: SessionRequest,
    agent: Agent,
    brief: SessionBrief,
    made: AuthoredWorld,
    rng_seed: int,
    budget_id: int | None,
) -> SeedSession:
    """The world's text first; then, at once, the session with its first revision."""
    new_texts = await store_texts(platform, [made.world])
    now = platform.now()

    def store(connection: Connection) -> SeedSession:
        session_id = seed_sessions.add_session(
            connection,
            org_id=brief.org_id,
            request=request,
            agent_version=agent.version,
            rng_seed=rng_seed,
            world_now=brief.now,
            now=now,
            budget_id=budget_id,
        )
        first = WorldRevision(
            session_id=session_id,
            number=1,
            kind="made",
            prompt=None,
            undo_to=None,
            world_hash=made.world.hash,
            rng_seed=rng_seed,
            told_text=made.told_text,
            changes_text=made.changes_text,
            created_by=who,
            created_at=now,
        )
        world_revisions.add_revision(connection, first)
        texts.keep_texts(connection, new_texts)
        session = seed_sessions.session_by_id(connection, org_id=brief.org_id, session_id=session_id)
        assert session is not None
        return session

    return await platform.database.write(store)
