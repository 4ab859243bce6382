"""Judgements of models on both databases: promised, taken up, ended once, and what is counted over them."""

from typing import NamedTuple

import pytest

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.tasks.seed import Seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.runs import batches, model_judgements, runs
from pipelines.storage.runs.model_judgements import Judge, Judgement
from pipelines.storage.runs.runs import Ending, PendingRun
from pipelines.storage.tasks import datasets, texts
from pipelines.wire.names import RunStatus

pytestmark = pytest.mark.anyio
NOW, LATER = "2026-05-01T12:00:00.000000Z", "2026-05-01T12:30:00.000000Z"
A, B = Judge("openai:a", "judge/1"), Judge("openai:b", "judge/1")


class Stored(NamedTuple):
    org_id: int
    batch_id: int
    run_ids: list[int]


@pytest.fixture
async def stored(database: Database) -> Stored:
    return await database.write(_store)


def _store(connection: Connection) -> Stored:
    """A batch of three runs that have ended open."""
    org_id = add_org(connection, "org", NOW)
    agent_id = agents.add_agent(connection, org_id=org_id, name="desk", status="published", now=NOW)
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=AgentDefinition(name="desk"),
        sealed_auth_header=None,
        status="published",
        now=NOW,
    )
    dataset_id = datasets.add_dataset(connection, org_id=org_id, name="d", agent_id=agent_id, now=NOW)
    written = [datasets.as_texts(Seed(user_instruction=f"Ask {number}")) for number in range(3)]
    for part in texts.slices_of(text for seed in written for text in seed.texts):
        texts.add_parts(connection, set(part), now=NOW)
    new = [seed.task for seed in written]
    datasets.add_tasks(connection, org_id=org_id, dataset_id=dataset_id, tasks=new, now=NOW)
    batch_id = batches.add_batch(
        connection,
        org_id=org_id,
        agent_id=agent_id,
        agent_version=1,
        dataset_id=dataset_id,
        repeats=1,
        concurrency=4,
        now=NOW,
    )
    pending = [
        PendingRun(
            task=task,
            agent_id=agent_id,
            agent_version=1,
            repeat_number=1,
            jti=str(task.id),
            token_hash=str(task.id),
            fault_seed=0,
            created_at=NOW,
        )
        for task in datasets.tasks_to_run(connection, dataset_id, limit=10, after_id=None).items
    ]
    runs.add_pending_runs(connection, batch_id, pending)
    connection.execute("UPDATE runs SET status = 'completed', verdict = 'PENDING'")
    connection.execute("UPDATE batches SET status = 'running', unqueued_since = NULL")
    rows = connection.execute("SELECT id FROM runs ORDER BY id").fetchall()
    return Stored(org_id, batch_id, [row[0] for row in rows])


def promise(connection: Connection, stored: Stored, place: int, worker: str = "one", now: str = NOW) -> int:
    return model_judgements.add_wanted(
        connection,
        org_id=stored.org_id,
        run_id=stored.run_ids[place],
        batch_id=stored.batch_id,
        judge=A,
        worker=worker,
        now=now,
    )


def said(judge: Judge, verdict: str | None, **more: str) -> Judgement:
    return Judgement(model=judge.model, prompt_version=judge.prompt_version, verdict=verdict, **more)  # type: ignore[arg-type]


async def test_a_batch_ends_only_when_nothing_is_promised_any_more(
    database: Database, stored: Stored
) -> None:
    def story(connection: Connection) -> None:
        first, second = promise(connection, stored, 0), promise(connection, stored, 1)
        ends = lambda: batches.finish_batch(connection, batch_id=stored.batch_id, now=LATER)  # noqa: E731
        assert not ends()
        assert model_judgements.end_wanted(connection, first, said(A, "PASS"), now=LATER)
        assert not model_judgements.end_wanted(connection, first, said(A, "FAIL"), now=LATER), "once"
        assert (ends(), batches.judged_out(connection)) == (False, [])
        model_judgements.end_wanted(connection, second, said(A, None, failure="timeout"), now=LATER)
        assert batches.judged_out(connection) == [stored.batch_id]
        assert ends()

    await database.write(story)


async def test_a_batch_that_is_about_to_go_on_is_not_ended_by_its_last_judge(
    database: Database, stored: Stored
) -> None:
    def story(connection: Connection) -> None:
        batches.start_resuming(connection, batch_id=stored.batch_id, now=NOW)
        assert not batches.finish_batch(connection, batch_id=stored.batch_id, now=LATER, if_queued=True)

    await database.write(story)


async def test_promises_of_one_that_is_gone_or_long_ago_are_taken_up(
    database: Database, stored: Stored
) -> None:
    def story(connection: Connection) -> None:
        mine = promise(connection, stored, 0, "one")
        gone = promise(connection, stored, 1, "gone")
        other = promise(connection, stored, 2, "other", LATER)

        def taken(**by: str) -> list[int]:
            return [id for id, _ in model_judgements.take_wanted(connection, worker="one", **by)]

        assert taken() == [mine]
        assert taken(gone="gone") == [mine, gone]
        assert taken(before=LATER) == [mine, gone], "the other's is not old"
        assert other not in taken()

    await database.write(story)


async def test_a_verdict_is_settled_only_where_it_is_still_open(database: Database, stored: Stored) -> None:
    def story(connection: Connection) -> None:
        run_id = stored.run_ids[0]
        passed = Ending(status=RunStatus.COMPLETED, verdict="PASS")
        assert runs.settle_verdict(connection, run_id=run_id, ending=passed)
        failed = Ending(status=RunStatus.COMPLETED, verdict="FAIL", failure_mode="incomplete")
        assert not runs.settle_verdict(connection, run_id=run_id, ending=failed)

    await database.write(story)


async def test_of_each_run_the_latest_that_a_judge_said_counts(database: Database, stored: Stored) -> None:
    def story(connection: Connection) -> None:
        def add(place: int, judge: Judge, verdict: str | None) -> None:
            model_judgements.add_judgement(
                connection,
                said(judge, verdict, failure_mode="incomplete")
                if verdict == "FAIL"
                else said(judge, verdict),
                org_id=stored.org_id,
                run_id=stored.run_ids[place],
                batch_id=stored.batch_id,
                now=NOW,
            )

        for place, judge, verdict in (
            (0, A, "FAIL"),
            (0, A, "PASS"),
            (1, A, "PASS"),
            (1, A, None),
            (2, B, "FAIL"),
        ):
            add(place, judge, verdict)
        runs.set_human_verdict(connection, org_id=stored.org_id, run_id=stored.run_ids[1], verdict="FAIL")
        assert model_judgements.judges_of_org(connection, stored.org_id) == [A, B]
        assert model_judgements.judges_of_org(connection, stored.org_id + 1) == []
        found = model_judgements.verdicts_in_batch(connection, stored.batch_id, A)
        assert [(each.run_id, each.verdict) for each in found] == [
            (stored.run_ids[0], "PASS"),
            (stored.run_ids[1], "PASS"),
        ]
        (label,) = model_judgements.labelled_verdicts(connection, stored.org_id, A)
        assert (label.verdict, label.human_verdict) == ("PASS", "FAIL")
        counts = dict(model_judgements.judges_of_batch(connection, stored.batch_id))
        assert (counts[A]["runs"], counts[A]["judgements"], counts[A]["failed"]) == (2, 4, 1)

    await database.write(story)
