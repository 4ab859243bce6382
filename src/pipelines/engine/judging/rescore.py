"""Stored changes graded again, with other scorers or those that a scenario has by now. No agent is asked."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pipelines.core.coding.scenario import CodingScenario, read_eval
from pipelines.core.coding.scorers import Scorer
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.coding.edit_coding_scenarios import scenario_of
from pipelines.engine.coding.run_workspace import store_grading
from pipelines.engine.coding.score_workspace import grade
from pipelines.engine.find import find_batch, find_run
from pipelines.engine.judging.judge_run import tamper_warnings
from pipelines.engine.judging.rejudge_runs import NO_MODEL, RejudgeOptions, rejudge_run
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.flag_reviews import flag_tampering
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks import coding
from pipelines.wire.errors import Conflict
from pipelines.wire.names import RunStatus

MOST_GRADINGS = 20  # of a run, shown
ENDED = (RunStatus.COMPLETED, RunStatus.FAILED)


def read_rescore(body: JsonObject) -> tuple[Scorer, ...] | None:
    """The scorers that the request brings; None leaves them to the scenario."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("scorers",))
    scorers = read_eval(body["scorers"], "/scorers", problems) if fields.has("scorers") else None
    if isinstance(scorers, str):
        fields.refuse("scorers", "`scorers` must be an array of scorers")
    if problems or isinstance(scorers, str):
        raise Refused(problems, "the scorers")
    return scorers


async def rescore_run(
    platform: Platform, org_id: int, run_id: int, scorers: tuple[Scorer, ...] | None
) -> Run:
    """The run with the verdict that its change has now; gradings and verdicts before are kept."""
    run = await find_run(platform, org_id, run_id)
    scenario = scenario_of(run.seed)
    workspace = await platform.database.read(partial(coding.workspace_of_run, run_id=run_id))
    if scenario is None or workspace is None:
        raise Conflict(f"Run {run_id} left no change in a workspace: there is nothing to score.")
    if run.status not in ENDED:
        raise Conflict(f"Run {run_id} has not ended yet ({run.status.value}).")
    to_score = await _scenario_to_score(platform, org_id, run, scenario, scorers)
    grading = await grade(
        platform, org_id=org_id, scenario=to_score, diff=workspace.diff, batch_id=run.batch_id
    )
    grading = replace(grading, signs=(*workspace.signs, *grading.signs))
    await store_grading(platform, run_id, to_score, grading)
    # Scorers decide here; what they leave open is for people, not for a model.
    judged = await rejudge_run(platform, org_id, run_id, RejudgeOptions(model=NO_MODEL))
    await flag_signs(platform, judged)
    return judged


async def _scenario_to_score(
    platform: Platform, org_id: int, run: Run, copied: CodingScenario, scorers: tuple[Scorer, ...] | None
) -> CodingScenario:
    """The run's own, graded by other scorers. Those of the scenario as it is now come with its test files; a
    row's own `eval` stays."""
    if scorers is not None:
        return replace(copied, scorers=scorers)
    ref = run.seed.scenario_ref
    find = partial(coding.scenario_by_ref, org_id=org_id, ref=(ref or "").strip())
    stored = await platform.database.read(find)
    if stored is None or run.seed.eval is not None:
        return copied
    now = CodingScenario.from_stored(stored.body())
    return replace(copied, scorers=now.scorers, test_files=now.test_files)


class RescoredBatch(NamedTuple):
    report: JsonObject
    last_id: int | None  # where the next part starts; None when all were scored


async def rescore_batch(
    platform: Platform,
    org_id: int,
    batch_id: int,
    scorers: tuple[Scorer, ...] | None,
    *,
    after_id: int | None = None,
    limit: int | None = None,
) -> RescoredBatch:
    """The runs of the batch that left a change; which verdicts changed."""
    batch = await find_batch(platform, org_id, batch_id)
    every = await platform.database.read(partial(coding.workspace_runs_of_batch, batch_id=batch.id))
    if not every:
        raise Conflict(f"No run of batch {batch_id} has left a change in a workspace.")
    remaining = [run_id for run_id in every if run_id > (after_id or 0)]
    ids = remaining[:limit]
    changes: list[Json] = []
    for run_id in ids:
        before = await find_run(platform, org_id, run_id)
        after = await rescore_run(platform, org_id, run_id, scorers)
        if before.verdict != after.verdict:
            changes.append(
                {
                    "run_id": run_id,
                    "task_id": after.task_id,
                    "from": before.plain_verdict(),
                    "to": after.plain_verdict(),
                }
            )
    report: JsonObject = {
        "batch_id": batch.id,
        "rescored": len(ids),
        "changed": len(changes),
        "changes": changes,
    }
    return RescoredBatch(report, ids[-1] if len(remaining) > len(ids) else None)


async def read_coding(platform: Platform, org_id: int, run_id: int) -> JsonObject:
    """What a coding run started from, changed and was graded by; parts that it does not have yet are null."""
    run = await find_run(platform, org_id, run_id)
    if run.seed.coding_scenario is None:
        raise Conflict(f"Run {run_id} is no run of a coding task.")

    def read(connection: Connection) -> tuple[coding.RunWorkspace | None, list[JsonObject]]:
        workspace = coding.workspace_of_run(connection, run_id)
        return workspace, coding.gradings_of_run(connection, run_id, most=MOST_GRADINGS)

    workspace, gradings = await platform.database.read(read)
    return {
        "run_id": run_id,
        "scenario": run.seed.coding_scenario,
        "baseline": workspace.baseline if workspace is not None else None,
        "diff": workspace.diff.as_json() if workspace is not None else None,
        "grading": gradings[0]["grading"] if gradings else None,
        "scorers": gradings[0]["scorers"] if gradings else None,
        "earlier_gradings": [*gradings[1:]],
    }


async def flag_signs(platform: Platform, run: Run) -> None:
    """To people, where something suggests that a grader was to be deceived."""
    grading = await platform.database.read(partial(coding.grading_of_run, run_id=run.id))
    signs = tamper_warnings(grading)
    if signs:
        await flag_tampering(platform, run.org_id, run.id, signs)
