"""What pages ask of many runs, on SQLite and on Postgres alike, held against the same worked out by hand."""

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.tasks.seed import Seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.trace_rows import TraceRow, insert_rows
from pipelines.storage.lists import batch_outcomes, run_lists
from pipelines.storage.lists.run_lists import RunFilter, count_runs, run_page
from pipelines.storage.runs import batches, runs
from pipelines.storage.runs.runs import PendingRun
from pipelines.storage.tasks import datasets, texts

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
LATER = "2026-05-01T12:00:02.500000Z"
ASKED = ["Refund order 4521.", "Cancel my ORDER, please.", "Where is it? “Straße”"]
REPEATS = 8


class Stored(NamedTuple):
    org_id: int
    agent_id: int
    batch_id: int
    task_ids: list[int]
    runs: list[dict[str, Any]]  # what was made of each, newest first


@pytest.fixture
async def stored(database: Database) -> Stored:
    return await database.write(_store)


def _store(connection: Connection) -> Stored:
    org_id = add_org(connection, "org", NOW)
    agent_id = agents.add_agent(connection, org_id=org_id, name="desk", status="published", now=NOW)
    definition = AgentDefinition(name="desk")
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=definition,
        sealed_auth_header=None,
        status="published",
        now=NOW,
    )
    dataset_id = datasets.add_dataset(connection, org_id=org_id, name="d", agent_id=agent_id, now=NOW)
    written = [datasets.as_texts(Seed(user_instruction=asked)) for asked in ASKED]
    for part in texts.slices_of(text for seed in written for text in seed.texts):
        texts.add_parts(connection, set(part), now=NOW)
    tasks = [seed.task for seed in written]
    task_ids = datasets.add_tasks(connection, org_id=org_id, dataset_id=dataset_id, tasks=tasks, now=NOW)
    batch_id = batches.add_batch(
        connection,
        org_id=org_id,
        agent_id=agent_id,
        agent_version=1,
        dataset_id=dataset_id,
        repeats=REPEATS,
        concurrency=4,
        now=NOW,
    )
    to_run = datasets.tasks_to_run(connection, dataset_id, limit=10, after_id=None).items
    pending = [
        PendingRun(
            task=task,
            agent_id=agent_id,
            agent_version=1,
            repeat_number=repeat,
            jti=f"{task.id}-{repeat}",
            token_hash=f"{task.id}-{repeat}",
            fault_seed=0,
            created_at=NOW,
        )
        for repeat in range(1, REPEATS + 1)
        for task in to_run
    ]
    runs.add_pending_runs(connection, batch_id, pending)
    return Stored(org_id, agent_id, batch_id, task_ids, _end(connection, batch_id))


def _end(connection: Connection, batch_id: int) -> list[dict[str, Any]]:
    chance = random.Random(7)
    made = []
    for run_id, task_id in connection.execute(
        "SELECT id, task_id FROM runs WHERE batch_id = ? ORDER BY id DESC", (batch_id,)
    ).fetchall():
        verdict = chance.choice(["PASS", "PASS", "FAIL", "PENDING", None])
        made.append(
            {
                "id": run_id,
                "task_id": task_id,
                "status": "completed" if verdict else "failed",
                "verdict": verdict,
                "failure_mode": "wrong_action" if verdict == "FAIL" else None,
                "pending_reason": chance.choice(["no_oracle", "not_checked", None])
                if verdict == "PENDING"
                else None,
                "unverified": chance.choice([0, 2]) if verdict in ("PASS", "PENDING") else None,
                "error_class": None if verdict else "agent_5xx",
                "retried": int(chance.random() < 0.1),
                "metadata": chance.choice([None, '{"total_cost_usd":0.5}', '{"total_cost_usd":true}']),
            }
        )
        columns = (
            *("status", "verdict", "failure_mode", "pending_reason", "unverified"),
            *("error_class", "retried", "metadata"),
        )
        connection.execute(
            f"UPDATE runs SET {', '.join(f'{name} = ?' for name in columns)}, dispatched_at = ?,"
            " ended_at = ? WHERE id = ?",
            (*(made[-1][name] for name in columns), NOW, LATER, run_id),
        )
    return made


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"verdict": "FAIL"},
        {"status": "failed", "error_class": "agent_5xx"},
        {"failure_mode": "wrong_action"},
        {"pending_reason": "not_checked"},
        {"verdict": "PASS", "status": "failed"},
    ],
)
async def test_pages_of_runs_are_those_that_fit_and_are_counted(
    database: Database, stored: Stored, asked: dict[str, str]
) -> None:
    wanted = RunFilter(org_id=stored.org_id, **asked)
    fitting = [run["id"] for run in stored.runs if asked.items() <= run.items()]
    found: list[int] = []
    place: int | None = None
    while True:
        page = await database.read(
            lambda connection, at=place: run_page(connection, wanted, limit=5, before_id=at)
        )
        found += [int(str(run["id"])) for run in page.items]
        place = page.last_id
        if place is None:
            break
    assert found == fitting
    counted = await database.read(lambda connection: count_runs(connection, wanted))
    assert counted == (len(fitting), len(stored.runs), True)


async def test_what_needs_review_is_counted(database: Database, stored: Stored) -> None:
    waiting = [run for run in stored.runs if run["verdict"] == "PENDING" and not run["retried"]]
    for needs, number in ((True, len(waiting)), (False, len(stored.runs) - len(waiting))):
        wanted = RunFilter(org_id=stored.org_id, needs_review=needs)
        counted = await database.read(lambda connection, asked=wanted: count_runs(connection, asked))
        assert counted.number == number


@pytest.mark.parametrize("has_notes", [True, False])
async def test_runs_with_statements_that_were_not_verified_are_listed_and_counted(
    database: Database, stored: Stored, has_notes: bool
) -> None:
    wanted = RunFilter(org_id=stored.org_id, has_unverified=has_notes)
    fitting = [run["id"] for run in stored.runs if bool(run["unverified"]) is has_notes]
    page = await database.read(lambda connection: run_page(connection, wanted, limit=100, before_id=None))
    counted = await database.read(lambda connection: count_runs(connection, wanted))
    assert [run["id"] for run in page.items] == fitting
    assert counted.number == len(fitting)


async def test_a_batch_is_counted_by_pending_reason(database: Database, stored: Stored) -> None:
    standing = [run for run in stored.runs if not run["retried"]]
    reasons = Counter(run["pending_reason"] for run in standing if run["pending_reason"])
    found = await database.read(
        lambda connection: batch_outcomes.pending_reasons_of_batch(connection, stored.batch_id)
    )
    assert found == reasons
    assert list(found) == ["no_oracle", "not_checked"]
    noted = await database.read(
        lambda connection: batch_outcomes.unverified_of_batch(connection, stored.batch_id)
    )
    assert noted == len([run for run in standing if run["unverified"]])


@pytest.mark.parametrize(("words", "places"), [("order", (0, 1)), ("STRASSE", (2,)), ("nobody", ())])
async def test_words_are_found_page_by_page_in_any_case(
    database: Database, stored: Stored, words: str, places: tuple[int, ...]
) -> None:
    wanted = RunFilter(org_id=stored.org_id, words=words)
    saying = {stored.task_ids[place] for place in places}
    found: list[int] = []
    place: int | None = None
    while True:
        page = await database.read(
            lambda connection, at=place: run_page(connection, wanted, limit=3, before_id=at)
        )
        found += [int(str(run["id"])) for run in page.items]
        place = page.last_id
        if place is None:
            break
    assert found == [run["id"] for run in stored.runs if run["task_id"] in saying]


async def test_words_are_looked_for_in_so_many_runs_and_the_next_page_goes_on(
    database: Database, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lists, "MOST_SEARCHED", 5)
    monkeypatch.setattr(run_lists, "_SEARCHED_AT_ONCE", 5)
    wanted = RunFilter(org_id=stored.org_id, words="nobody says this")
    page = await database.read(lambda connection: run_page(connection, wanted, limit=3, before_id=None))
    assert page == ([], stored.runs[4]["id"], 5)
    counted_up_to = 7
    monkeypatch.setattr(run_lists, "MOST_COUNTED", counted_up_to)
    every = RunFilter(org_id=stored.org_id, verdict="PASS")
    counted = await database.read(lambda connection: count_runs(connection, every))
    newest = stored.runs[: counted_up_to + 1]
    assert counted.looked_at == counted_up_to
    assert not counted.is_all
    assert counted.number <= sum(run["verdict"] == "PASS" for run in newest)


async def test_calls_are_counted_by_source_up_to_a_bound(
    database: Database, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lists, "MOST_STEPS", 3)
    first, second, third = (run["id"] for run in stored.runs[:3])
    blank: dict[str, Any] = dict.fromkeys(TraceRow._fields)
    sources = {first: ["odyssey", "injected", None], second: ["odyssey"] * 6, third: []}
    rows = [
        TraceRow(
            **blank
            | {
                "run_id": run_id,
                "sequence": at,
                "kind": "tool_call" if source else "thinking",
                "source": source,
                "occurred_at": NOW,
            }
        )
        for run_id, listed in sources.items()
        for at, source in enumerate(listed, 1)
    ]

    def add(connection: Connection) -> None:
        connection.execute("UPDATE runs SET status = 'running'")  # an ended run takes no more rows
        insert_rows(connection, rows)

    await database.write(add)
    calls = await database.read(
        lambda connection: run_lists.calls_of_runs(connection, [first, second, third])
    )
    assert calls[first] == ({"odyssey": 1, "injected": 1}, True)
    assert not calls[second].is_all
    assert calls[third] == ({}, True)


async def test_a_batch_is_summed_up_without_what_was_tried_again(database: Database, stored: Stored) -> None:
    standing = [run for run in stored.runs if not run["retried"]]
    outcome = (
        await database.read(
            lambda connection: batch_outcomes.outcomes_of_batches(connection, [stored.batch_id])
        )
    )[stored.batch_id]
    assert outcome.by_status == Counter(run["status"] for run in standing)
    assert outcome.by_verdict == Counter(run["verdict"] for run in standing if run["verdict"])
    assert sum(passed for passed, _ in outcome.by_task) == outcome.by_verdict["PASS"]
    modes, errors = await database.read(
        lambda connection: batch_outcomes.reasons_of_batch(connection, stored.batch_id)
    )
    assert modes == {"wrong_action": outcome.by_verdict["FAIL"]}
    assert errors == {"agent_5xx": outcome.by_status["failed"]}
    cost = await database.read(lambda connection: batch_outcomes.cost_of_batch(connection, stored.batch_id))
    told = [run for run in stored.runs if run["metadata"] and "0.5" in run["metadata"]]
    assert cost == (0.5 * len(told), len(told), len(stored.runs))


async def test_tasks_of_a_batch_by_how_steady_they_are(database: Database, stored: Stored) -> None:
    kinds: dict[int, str] = {}
    for task_id in stored.task_ids:
        verdicts = [run["verdict"] for run in stored.runs if run["task_id"] == task_id and not run["retried"]]
        passed, judged = verdicts.count("PASS"), verdicts.count("PASS") + verdicts.count("FAIL")
        kinds[task_id] = _kind(passed, judged)
    for kind in batch_outcomes.STEADINESS:
        page = await database.read(
            lambda connection, asked=kind: batch_outcomes.task_outcomes(
                connection, batch_id=stored.batch_id, steadiness=asked, limit=10, after_id=None
            )
        )
        assert [task.task_id for task in page.items] == [task for task in kinds if kinds[task] == kind]
    repeats = await database.read(
        lambda connection: batch_outcomes.repeats_of_tasks(
            connection, batch_id=stored.batch_id, task_ids=stored.task_ids
        )
    )
    assert sum(map(len, repeats.values())) == sum(not run["retried"] for run in stored.runs)


def _kind(passed: int, judged: int) -> str:
    if 0 < passed < judged:
        return "flaky"
    if judged < 2:
        return "undecided"
    return "stable_pass" if passed else "stable_fail"


async def test_what_runs_took_before_is_read_for_an_estimate(database: Database, stored: Stored) -> None:
    before = await database.read(
        lambda connection: batch_outcomes.ran_before(
            connection, org_id=stored.org_id, agent_id=stored.agent_id, most=5
        )
    )
    assert [run[:2] for run in before] == [(NOW, LATER)] * 5
    others = await database.read(
        lambda connection: batch_outcomes.ran_before(
            connection, org_id=stored.org_id + 1, agent_id=stored.agent_id, most=5
        )
    )
    assert others == []
