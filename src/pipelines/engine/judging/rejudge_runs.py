"""Looking at verdicts again: judging stored runs anew, by evidence and by models; the list for people."""

import asyncio
from dataclasses import dataclass, replace
from typing import NamedTuple

from pipelines.core.models.honesty_level import read_honesty
from pipelines.core.models.model_names import LONGEST, read_model_name
from pipelines.core.models.model_question import Purpose
from pipelines.core.tasks.rubric_lines import RubricLine, read_rubric
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_batch, find_run
from pipelines.engine.judging.judge_by_model import ModelReading, read_by_model
from pipelines.engine.judging.judge_run import JudgeOptions
from pipelines.engine.models.choose_judge import judge_model_of
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.decide_run import review_of_run
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import batches, model_judgements, runs
from pipelines.storage.runs.model_judgements import Judgement
from pipelines.storage.runs.runs import Run
from pipelines.wire.errors import BudgetExceeded, Conflict, ModelFailed
from pipelines.wire.names import RunStatus

NO_MODEL = "none"  # in place of a model's name: by evidence alone
AT_ONCE = 16  # runs of a batch, where a model reads them


@dataclass(frozen=True, kw_only=True, slots=True)
class RejudgeOptions:
    """By what stored runs are judged again."""

    by_present_oracle: bool = False
    model: str | None = None  # None: the server's, where it has one; NO_MODEL: none
    rubric: tuple[RubricLine, ...] | None = None  # in place of the tasks'
    is_beside: bool = False  # what the model says is stored, and the run's verdict stays
    honesty: str | None = None  # in place of their batch's

    @property
    def judge_options(self) -> JudgeOptions:
        return JudgeOptions(
            by_present_oracle=self.by_present_oracle, rubric=self.rubric, honesty=self.honesty
        )


def read_rejudge(body: JsonObject, *, by_present_oracle: bool) -> RejudgeOptions:
    """What a request says of it: `model`, `rubric`, `beside`, `honesty`."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("model", "rubric", "beside", "honesty"))
    model = fields.text("model", longest=LONGEST)
    if model is not None and model != NO_MODEL:
        read_model_name(model, "/model", problems)
    rubric = read_rubric(fields) if fields.has("rubric") else None
    is_beside = fields.get("beside")
    if is_beside is not None and not isinstance(is_beside, bool):
        fields.refuse("beside", "`beside` must be true or false")
    honesty = read_honesty(fields)
    if problems:
        raise Refused(problems, "the request")
    return RejudgeOptions(
        by_present_oracle=by_present_oracle,
        model=model,
        rubric=rubric,
        is_beside=is_beside is True,
        honesty=honesty,
    )


async def rejudge_run(platform: Platform, org_id: int, run_id: int, by: RejudgeOptions) -> Run:
    """The verdict of an ended run by the judges of today, and by its own oracle or its task's present one.
    Nothing is sent to the agent; the verdict before is kept. A model that gives nothing changes nothing:
    ModelFailed."""
    run = await find_run(platform, org_id, run_id)
    if run.status not in (RunStatus.COMPLETED, RunStatus.FAILED):
        raise Conflict(f"Run {run_id} cannot be judged ({run.status.value}).")
    read = await read_by_model(platform, run, by.judge_options, await _choose_model(platform, by, run))
    now = platform.now()
    await platform.database.write(lambda connection: _store(connection, run, read, by, now))
    if read.judgement is not None and read.judgement.verdict is None:
        raise _model_error(read.judgement)
    return await find_run(platform, org_id, run_id)


def _model_error(said: Judgement) -> ModelFailed | BudgetExceeded:
    if said.failure == BudgetExceeded.code:
        return BudgetExceeded(said.problem)
    exchange: JsonObject = {"exchange_id": said.exchange_id}
    return ModelFailed(said.problem, reason=said.failure or "", details=exchange)


async def _choose_model(platform: Platform, by: RejudgeOptions, run: Run) -> str | None:
    """ModelNotConfigured where one is named and this server asks none at all."""
    if by.model == NO_MODEL:
        return None
    if by.model is not None:
        return platform.models.needed(Purpose.JUDGE, {Purpose.JUDGE: by.model})
    return await judge_model_of(platform, run)


def _store(connection: Connection, run: Run, read: ModelReading, by: RejudgeOptions, now: str) -> None:
    judgement = read.judgement
    is_taken = not by.is_beside and (judgement is None or judgement.verdict is not None)
    if is_taken:
        runs.set_verdict(connection, run_id=run.id, ending=read.ending, now=now)
    if judgement is not None:
        model_judgements.add_judgement(
            connection,
            replace(judgement, is_taken=is_taken),
            org_id=run.org_id,
            run_id=run.id,
            batch_id=run.batch_id,
            now=now,
        )


class RejudgedBatch(NamedTuple):
    report: JsonObject
    failed: list[str]  # why a model gave nothing, run by run
    last_id: int | None  # where the next part starts; None when all were judged


async def rejudge_batch(
    platform: Platform,
    org_id: int,
    batch_id: int,
    by: RejudgeOptions,
    *,
    after_id: int | None = None,
    limit: int | None = None,
) -> RejudgedBatch:
    """The ended runs of a batch, judged anew; which verdicts changed, and of which a model gave none."""
    batch = await find_batch(platform, org_id, batch_id)
    every = await platform.database.read(lambda connection: batches.ended_runs(connection, batch_id=batch.id))
    remaining = [run_id for run_id in every if run_id > (after_id or 0)]
    ids = remaining[:limit]
    waiting = asyncio.Semaphore(1 if by.model == NO_MODEL else AT_ONCE)

    async def one(run_id: int) -> JsonObject | None:
        async with waiting:
            return await _rejudge_one(platform, org_id, run_id, by)

    tasks = [asyncio.create_task(one(run_id)) for run_id in ids]
    try:
        results = [result for result in await asyncio.gather(*tasks) if result is not None]
    finally:
        for task in tasks:  # after the first that breaks, none of the others goes on unseen
            task.cancel()
    changes: list[Json] = [result for result in results if "to" in result]
    failed: list[Json] = [result for result in results if "to" not in result]
    report: JsonObject = {
        "batch_id": batch.id,
        "judged": len(ids),
        "changed": len(changes),
        "changes": changes,
        "failed": failed,
    }
    messages = [str(result["message"]) for result in results if "to" not in result]
    return RejudgedBatch(report, messages, ids[-1] if len(remaining) > len(ids) else None)


async def _rejudge_one(platform: Platform, org_id: int, run_id: int, by: RejudgeOptions) -> JsonObject | None:
    before = await find_run(platform, org_id, run_id)
    try:
        after = await rejudge_run(platform, org_id, run_id, by)
    except (ModelFailed, BudgetExceeded) as error:
        reason = error.reason if isinstance(error, ModelFailed) else error.code
        return {"run_id": run_id, "task_id": before.task_id, "reason": reason, "message": error.message}
    if (before.verdict, before.failure_mode) == (after.verdict, after.failure_mode):
        return None
    return {
        "run_id": run_id,
        "task_id": after.task_id,
        "from": before.plain_verdict(),
        "to": after.plain_verdict(),
    }


async def read_verdicts(platform: Platform, caller: Caller, run_id: int) -> JsonObject:
    """The present verdict, those before it, every judgement of a model, and what people said."""
    run = await find_run(platform, caller.org_id, run_id)
    earlier, review, judgement_read = await platform.database.read(
        lambda connection: (
            runs.past_verdicts(connection, run_id),
            review_of_run(platform, connection, caller, run_id),
            model_judgements.judgements_of_run(connection, run_id),
        )
    )
    return {
        "run_id": run_id,
        "present": {
            "verdict": run.verdict,
            "failure_mode": run.failure_mode,
            "pending_reason": run.pending_reason,
            "judgement": run.judgement,
            "judge_error": run.judge_error,
        },
        "human_verdict": run.human_verdict,
        "earlier": [*earlier],
        "model_judgements": [judgement.as_json() for judgement in judgement_read],
        "review": review,
    }
