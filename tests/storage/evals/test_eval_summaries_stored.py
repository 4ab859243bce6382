"""What the dashboard and the heatmap read of eval runs, on SQLite and on Postgres alike."""

from dataclasses import replace

import pytest
from test_evals_stored import NOW, outcome, whole_matrix

from pipelines.core.evals.matrix.summary import ErrorCount, OutcomeCount
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals import eval_outcomes, eval_summaries
from pipelines.storage.evals.eval_outcomes import ScoredRun

pytestmark = pytest.mark.anyio
DAY = NOW[:10]


async def test_outcomes_that_are_alike_are_counted_together(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, _, _ = whole_matrix(connection)
        for run_id in (101, 102, 103):
            eval_outcomes.add_outcome(connection, outcome(org_id, run_id, "time_pressure"))
        eval_outcomes.add_outcome(connection, outcome(org_id, 104, None))
        eval_outcomes.add_outcome(connection, replace(outcome(org_id, 105, None), org_id=org_id + 1))
        scored = [ScoredRun(101, 0.6, True), ScoredRun(102, 0.6, True), ScoredRun(103, 0.0, False)]
        eval_outcomes.set_scores(connection, matrix_id="mtx_1", scored=scored)
        of_org = [Filter("org_id", org_id)]
        cell = ("mtx_1", "scn_1", "time_pressure", "critical", 1, 1, DAY)
        baseline = OutcomeCount("mtx_1", "scn_1", None, "critical", 1, 1, DAY, None, 1, 1, 0)
        counted = eval_summaries.outcome_counts(connection, filters=of_org)
        assert set(counted) == {
            OutcomeCount(*cell, 0.6, 2, 0, 2),
            OutcomeCount(*cell, 0.0, 1, 0, 0),
            baseline,
        }
        only = eval_summaries.outcome_counts(connection, filters=of_org, is_baseline=True)
        assert only == [baseline]
        late = [*of_org, Filter("ended_at", NOW, "<")]
        assert eval_summaries.outcome_counts(connection, filters=late) == []

    await database.write(story)


async def test_runs_that_failed_are_counted_until_they_are_tried_again(database: Database) -> None:
    def story(connection: Connection) -> None:
        org_id, _, (first, second) = whole_matrix(connection)
        connection.execute("UPDATE runs SET status = 'failed', ended_at = ?", (NOW,))
        eval_outcomes.add_outcome(connection, outcome(org_id, first, None))  # it answered all the same
        of_org = [Filter("org_id", org_id)]
        failed = eval_summaries.error_counts(connection, filters=of_org)
        assert failed == [ErrorCount("scn_1", "time_pressure", "critical", 1, 1, DAY, 1)]
        assert eval_summaries.error_counts(connection, filters=[Filter("org_id", org_id + 1)]) == []
        assert eval_summaries.error_counts(connection, filters=of_org, is_baseline=True) == []
        connection.execute("UPDATE runs SET retried = 1 WHERE id = ?", (second,))
        assert eval_summaries.error_counts(connection, filters=of_org) == []

    await database.write(story)


async def test_injected_texts_come_with_their_places_and_as_far_as_there_is_room(
    database: Database,
) -> None:
    def story(connection: Connection) -> None:
        whole_matrix(connection)
        found = eval_summaries.injected_texts(connection, matrix_id="mtx_1", most_characters=1_000)
        ((scenario_id, variation, wording, _, _, text_hash),) = found.places
        assert (scenario_id, variation, wording) == ("scn_1", "time_pressure", 0)
        assert found.bodies == {text_hash: "pressure time_pressure"}
        none = eval_summaries.injected_texts(connection, matrix_id="mtx_1", most_characters=5)
        assert (none.places, none.bodies) == (found.places, {})

    await database.write(story)
