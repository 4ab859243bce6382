"""A database of the release before pending reasons: its verdicts are shown as they were, on both stores."""

from collections.abc import Callable

import pytest

from pipelines.core.text.json_text import dumps
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database, Store
from pipelines.storage.lists import batch_outcomes
from pipelines.storage.lists.run_lists import RunFilter, run_page
from pipelines.storage.runs import runs

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
SEED = '{"user_instruction":"Refund #4521."}'
JUDGEMENT = {
    "verdict": "PENDING",
    "failure_mode": None,
    "reasoning": "Not decided: a person has to look.",
    "scores": {},
    "score_notes": {},
    "findings": [{"check": "completion", "status": "open", "says": "No oracle.", "evidence": []}],
    "evidence": [],
    "grader": {"name": "embedded", "version": "19"},
}


@pytest.fixture
def store(store_before: Callable[[str, Callable[[Connection], None]], Store]) -> Store:
    return store_before("0023", fill)


def fill(connection: Connection) -> None:
    """One run of a batch, left to a person by the grader of that release."""
    connection.execute("INSERT INTO orgs (id, name, created_at) VALUES (1, 'org', ?)", (NOW,))
    connection.execute(
        "INSERT INTO agents (id, org_id, name, version, status, created_at, updated_at)"
        " VALUES (1, 1, 'a', 1, 'published', ?, ?)",
        (NOW, NOW),
    )
    connection.execute(
        "INSERT INTO datasets (id, org_id, name, agent_id, created_at) VALUES (1, 1, 'd', 1, ?)", (NOW,)
    )
    connection.execute("INSERT INTO texts (hash, number, body) VALUES ('s', 0, ?)", (SEED,))
    connection.execute(
        "INSERT INTO tasks (id, org_id, dataset_id, row_number, seed_hash, created_at)"
        " VALUES (1, 1, 1, 1, 's', ?)",
        (NOW,),
    )
    connection.execute(
        "INSERT INTO batches (id, org_id, agent_id, agent_version, dataset_id, repeats, concurrency, status,"
        " created_at) VALUES (1, 1, 1, 1, 1, 1, 1, 'completed', ?)",
        (NOW,),
    )
    connection.execute(
        "INSERT INTO runs (id, org_id, batch_id, agent_id, agent_version, task_id, dataset_id, mode, status,"
        " jti, token_hash, seed_hash, simulated_now, created_at, expires_at, verdict, judgement)"
        " VALUES (1, 1, 1, 1, 1, 1, 1, 'dispatch', 'completed', 'j', 'h', 's', ?, ?, ?, 'PENDING', ?)",
        (NOW, NOW, NOW, dumps(JUDGEMENT).decode()),
    )


async def test_a_run_of_the_release_before_keeps_its_verdict_and_has_no_reason(database: Database) -> None:
    run = await database.read(lambda connection: runs.run_by_id(connection, org_id=1, run_id=1))
    assert run is not None
    assert (run.verdict, run.pending_reason, run.unverified) == ("PENDING", None, None)
    assert run.judgement == JUDGEMENT


async def test_it_is_listed_and_counted_without_a_reason(database: Database) -> None:
    wanted = RunFilter(org_id=1, needs_review=True, has_unverified=False)
    page = await database.read(lambda connection: run_page(connection, wanted, limit=10, before_id=None))
    assert [(run["id"], run["pending_reason"], run["unverified"]) for run in page.items] == [(1, None, None)]
    reasons = await database.read(lambda connection: batch_outcomes.pending_reasons_of_batch(connection, 1))
    assert reasons == {}
    assert await database.read(lambda connection: batch_outcomes.unverified_of_batch(connection, 1)) == 0
