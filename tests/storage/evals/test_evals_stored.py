"""Scenarios, matrices and outcomes in storage, on SQLite and on Postgres alike."""

from functools import partial

import pytest

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.tasks.seed import Seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals import eval_outcomes, eval_scenarios, evals
from pipelines.storage.evals.eval_outcomes import EvalOutcome, ScoredRun
from pipelines.storage.evals.eval_scenarios import ScenarioHead
from pipelines.storage.evals.evals import NewEvalTask, NewMatrix
from pipelines.storage.runs import batches, runs
from pipelines.storage.runs.runs import NEVER, PendingRun
from pipelines.storage.tasks import datasets, texts
from pipelines.storage.tasks.texts import named

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
LATER = "2026-05-01T12:01:00.000000Z"
HEAD = ScenarioHead(name="Escalate", risk_level="critical", agent_id=None)


def org_with_agent(connection: Connection) -> tuple[int, int]:
    org_id = add_org(connection, "org", NOW)
    agent_id = agents.add_agent(connection, org_id=org_id, name="a", status="published", now=NOW)
    definition = AgentDefinition(name="a")
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=definition,
        sealed_auth_header=None,
        status="published",
        now=NOW,
    )
    return org_id, agent_id


def new_task(connection: Connection, variation: str | None) -> NewEvalTask:
    written = datasets.as_texts(Seed(user_instruction=f"Decide. {variation}"))
    injected = named(f"pressure {variation}".encode())
    for slice in texts.slices_of([*written.texts, injected]):
        texts.add_parts(connection, slice, now=NOW)
    return NewEvalTask(
        task=written.task,
        scenario_id="scn_1",
        scenario_version=1,
        risk_level="critical",
        variation=variation,
        variation_version=1 if variation else None,
        wording=0 if variation else None,
        text_hash=injected.hash if variation else None,
    )


def half_matrix(connection: Connection, org_id: int, agent_id: int, matrix_id: str) -> list:
    dataset_id = datasets.add_dataset(
        connection, org_id=org_id, name=matrix_id, agent_id=agent_id, now=NOW, kind="eval"
    )
    new = NewMatrix(
        matrix_id=matrix_id,
        org_id=org_id,
        kind="matrix",
        agent_id=agent_id,
        agent_version=1,
        settings={"repeats": 1},
        created_at=NOW,
    )
    evals.add_matrix(connection, new, dataset_id=dataset_id)
    asked = [new_task(connection, None), new_task(connection, "time_pressure")]
    tasks = evals.add_eval_tasks(connection, matrix_id=matrix_id, dataset_id=dataset_id, tasks=asked, now=NOW)
    assert tasks is not None
    return tasks


def whole_matrix(connection: Connection) -> tuple[int, int, list[int]]:
    """The org, the batch and its two runs: a baseline and one under pressure."""
    org_id, agent_id = org_with_agent(connection)
    tasks = half_matrix(connection, org_id, agent_id, "mtx_1")
    batch_id = batches.add_batch(
        connection,
        org_id=org_id,
        agent_id=agent_id,
        agent_version=1,
        dataset_id=tasks[0].dataset_id,
        repeats=1,
        concurrency=1,
        now=NOW,
    )
    assert evals.attach_batch(connection, matrix_id="mtx_1", batch_id=batch_id, now=NOW)
    pending = [
        PendingRun(
            task=task,
            agent_id=agent_id,
            agent_version=1,
            repeat_number=1,
            jti=f"jti-{task.id}",
            token_hash=f"hash-{task.id}",
            fault_seed=0,
            created_at=NOW,
        )
        for task in tasks
    ]
    runs.add_pending_runs(connection, batch_id, pending)
    ids = batches.pending_runs(connection, batch_id=batch_id, first=0, last=2**62)
    return org_id, batch_id, ids


def outcome(org_id: int, run_id: int, variation: str | None) -> EvalOutcome:
    return EvalOutcome(
        run_id=run_id,
        org_id=org_id,
        task_id=1,
        matrix_id="mtx_1",
        scenario_id="scn_1",
        scenario_version=1,
        risk_level="critical",
        variation=variation,
        agent_id=1,
        agent_version=1,
        fingerprint="f00",
        fingerprint_parts=[1, 1, None, None, "x"],
        output_class="object",
        observed={"output_class": "object", "value": {"action": "proceed"}, "notes": []},
        notes={},
        matched=variation is None,
        match_score=0.5,
        ended_at=NOW,
    )


async def test_a_scenario_that_is_changed_keeps_the_versions_it_had(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, _ = org_with_agent(connection)
        eval_scenarios.add_scenario(
            connection, org_id=org_id, scenario_id="scn_1", head=HEAD, body={"name": "Escalate"}, now=NOW
        )
        change = {"org_id": org_id, "scenario_id": "scn_1", "head": HEAD, "body": {"name": "New"}}
        assert eval_scenarios.change_scenario(connection, **change, now=LATER) == 2
        assert eval_scenarios.change_scenario(connection, **change, now=LATER, if_version=1) is None
        assert eval_scenarios.change_scenario(connection, **change | {"org_id": 99}, now=LATER) is None
        first = eval_scenarios.scenario_by_id(connection, org_id=org_id, scenario_id="scn_1", version=1)
        assert first is not None
        assert first.body() == {"name": "Escalate"}
        assert eval_scenarios.delete_scenario(connection, org_id=org_id, scenario_id="scn_1", now=LATER)
        assert eval_scenarios.scenario_by_id(connection, org_id=org_id, scenario_id="scn_1") is None
        listed = eval_scenarios.scenarios_of_org(
            connection, filters=[Filter("org_id", org_id)], limit=5, before_id=None
        )
        assert listed.items == []
        again = eval_scenarios.scenario_by_id(connection, org_id=org_id, scenario_id="scn_1", version=2)
        assert again is not None
        assert again.body() == {"name": "New"}

    await database.write(story)


async def test_a_variation_that_is_written_again_is_a_new_version(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, _ = org_with_agent(connection)
        for number in (1, 2):
            added = eval_scenarios.add_variation(
                connection, org_id=org_id, variation="greed", body={"n": number}, now=NOW
            )
            assert added == number
        (newest,) = eval_scenarios.variations_of_org(connection, org_id)
        assert (newest.version, newest.body()) == (2, {"n": 2})

    await database.write(story)


async def test_runs_of_a_matrix_are_listed_with_their_outcomes(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, _, (first, second) = whole_matrix(connection)
        eval_outcomes.add_outcome(connection, outcome(org_id, first, None))
        eval_outcomes.add_outcome(connection, outcome(org_id, second, "time_pressure"))
        eval_outcomes.set_scores(connection, matrix_id="mtx_1", scored=[ScoredRun(second, 0.6, True)])
        eval_outcomes.set_scores(connection, matrix_id="mtx_2", scored=[ScoredRun(first, 0.9, True)])
        of_org = [Filter("org_id", org_id)]

        def listed(*filters: Filter, **more: bool) -> list[object]:
            page = eval_outcomes.eval_runs(
                connection, filters=[*of_org, *filters], limit=5, before_id=None, **more
            )
            return [run["id"] for run in page.items]

        assert listed() == [second, first]
        assert listed(Filter("variation", "time_pressure")) == [second]
        assert listed(is_baseline=True) == [first]
        assert listed(Filter("matched", 1)) == [first]
        assert listed(Filter("is_flagged", 1)) == [second]
        assert listed(Filter("created_at", LATER, ">=")) == []
        assert listed(Filter("created_at", NOW, ">=")) == [second, first]
        shown = eval_outcomes.eval_run(connection, org_id=org_id, run_id=second)
        assert shown is not None
        assert (shown["shift"], shown["matched"]) == (0.6, False)
        assert eval_outcomes.eval_run(connection, org_id=org_id + 1, run_id=second) is None
        kept = eval_outcomes.outcome_of_run(connection, org_id=org_id, run_id=second)
        assert kept is not None
        assert kept.observed == outcome(org_id, second, None).observed
        assert eval_outcomes.baseline_runs(
            connection,
            org_id=org_id,
            scenario_id="scn_1",
            scenario_version=1,
            agent_id=1,
            agent_version=1,
            most=3,
        ) == [first]
        matrix = evals.matrix_by_id(connection, org_id=org_id, matrix_id="mtx_1")
        assert matrix is not None
        assert evals.progress_of_matrix(connection, matrix)["total"] == 2

    await database.write(story)


async def test_a_matrix_is_in_sight_with_its_batch_and_its_dataset_never_is(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, batch_id, _ = whole_matrix(connection)
        matrix = evals.matrix_by_id(connection, org_id=org_id, matrix_id="mtx_1")
        assert matrix is not None
        assert (matrix.batch_id, matrix.status) == (batch_id, "running")
        assert evals.matrix_by_id(connection, org_id=org_id + 1, matrix_id="mtx_1") is None
        connection.execute("UPDATE batches SET status = 'opening'")
        assert evals.matrix_by_id(connection, org_id=org_id, matrix_id="mtx_1") is None
        hidden = datasets.datasets_of_org(connection, org_id, agent_id=None, limit=5, before_id=None)
        assert hidden.items == []
        assert datasets.dataset_by_id(connection, org_id=org_id, dataset_id=matrix.dataset_id) is None

    await database.write(story)


async def test_a_matrix_that_was_cut_off_is_found_and_removed_whole(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, agent_id = org_with_agent(connection)
        half_matrix(connection, org_id, agent_id, "mtx_2")
        assert evals.half_stored_matrices(connection, before=NOW) == []
        assert evals.half_stored_matrices(connection, before=NEVER) == ["mtx_2"]
        rounds = 0
        while not evals.remove_some_of_matrix(connection, matrix_id="mtx_2", most=1):
            rounds += 1
        assert rounds == 2
        for table in ("eval_matrices", "eval_tasks", "tasks", "datasets"):
            assert connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] == 0
        assert evals.half_stored_matrices(connection, before=NEVER) == []

    await database.write(story)


async def test_injected_texts_are_in_use_as_seeds_are(database: Database) -> None:
    def story(connection: Connection) -> None:
        whole_matrix(connection)
        loose = texts.loose_texts(connection, before=LATER)
        assert len(loose) == 4  # two seeds, two injected texts of which the baseline's is nobody's
        assert len(texts.texts_in_use(connection, loose)) == 3

    await database.write(story)


async def test_a_report_lies_in_parts_and_the_one_before_it_is_gone(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, _, _ = whole_matrix(connection)
        for key in ("one", "two"):
            for number in (0, 1):
                evals.add_report_part(
                    connection, matrix_id="mtx_1", report_key=key, number=number, body=f"{key}{number}"
                )
            assert evals.keep_report(connection, matrix_id="mtx_1", report_key=key, parts=2)
        assert not evals.keep_report(connection, matrix_id="mtx_1", report_key="two", parts=2)
        matrix = evals.matrix_by_id(connection, org_id=org_id, matrix_id="mtx_1")
        assert matrix is not None
        assert matrix.report_key == "two"
        parts = partial(evals.report_part, connection, matrix_id="mtx_1")
        assert [parts(report_key="two", number=number) for number in range(3)] == ["two0", "two1", None]
        assert parts(report_key="one", number=0) is None
        connection.execute("UPDATE batches SET status = 'completed'")
        assert evals.unreported_matrices(connection) == []
        evals.forget_report_of_batch(connection, batch_id=matrix.batch_id)
        assert [each.matrix_id for each in evals.unreported_matrices(connection)] == ["mtx_1"]

    await database.write(story)
