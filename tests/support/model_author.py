"""A model that writes worlds, and sessions that ask it."""

from collections.abc import Sequence
from typing import Any

from pipelines.core.models.model_question import ModelQuestion, Purpose
from pipelines.models.scripted import Scripted, ScriptedModel
from support.desk import House, Org, answered, every_item
from support.library_agent import (
    NOON,
    RENEW,
    RULE,
    SCHEMA,
    TOOLS,
    WORLD,
    Row,
    row,
)
from support.scripted_models import let_answer

SESSIONS = "/api/seed-sessions"


def is_world(question: ModelQuestion) -> bool:
    return question.prompt_version.startswith("world/")


def answers(*rows: Sequence[Row], world: Any = None, change: Any = None) -> Scripted:
    """A world, changes, and then rows: each part once, and then no more."""
    left = [list(part) for part in rows]

    def answer(question: ModelQuestion) -> Any:
        if is_world(question):
            return world or {"world": WORLD, "notes": ["Due dates are left out."]}
        if question.prompt_version.startswith("world-change/"):
            return change
        return {"rows": left.pop(0) if left else []}

    return Scripted(answer=answer, purpose="author")


async def opened(org: Org, **changes: Any) -> Row:
    agent = await org.agent(name="Library", tools_schema=TOOLS, ledger_schema=SCHEMA)
    body = {
        "agent_id": agent["id"],
        "name": "library",
        "size": "compact",
        "rng_seed": 7,
        "now": NOON,
        "behavior": RULE,
        "author": "model",
        "buckets": [{"name": "loans", "rows": 5}],
    }
    made: Row = answered(await org.client.post(SESSIONS, json=body | changes), 201)
    return made


async def with_rows(org: Org, **changes: Any) -> Row:
    session = await opened(org, **changes)
    answered(await org.client.post(f"{SESSIONS}/{session['id']}/continue"), 202)
    return await until_made(org, session)


async def until_made(org: Org, session: Row) -> Row:
    async with org.client.stream("GET", f"{SESSIONS}/{session['id']}/events") as events:
        async for _ in events.aiter_lines():
            pass
    told: Row = answered(await org.client.get(f"{SESSIONS}/{session['id']}"))
    return told


async def rows_of(org: Org, session: Row, **query: Any) -> list[Row]:
    return await every_item(org.client, f"{SESSIONS}/{session['id']}/rows", **query)


def author(house: House, *script: Scripted) -> ScriptedModel:
    return let_answer(house, *script, purpose=Purpose.AUTHOR)


BAD = {
    "not_refused": row("Take L-1 back?", ("return_loan", {"loan_id": "L-1"}), expected_outcome="refusal"),
    "call_failed": row("Renew L-4, please.", ("renew_loan", {"loan_id": "L-4"})),
    "oracle_not_met": RENEW | {"expected_state": {"loan.L-1.status": "lost"}},
    "id_from_nowhere": row("Please extend my loan.", ("renew_loan", {"loan_id": "L-2"})),
    "answer_given_away": row("Use return_loan on L-1.", ("return_loan", {"loan_id": "L-1"})),
    "invalid_arguments": row("Renew loan 1 and L-1.", ("renew_loan", {"id": "L-1"})),
    "invalid_oracle": RENEW | {"failure_rules": [{"trigger": "sometimes", "tool": "renew_loan"}]},
}
