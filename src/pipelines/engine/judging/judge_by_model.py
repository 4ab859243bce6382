"""Runs that evidence leaves open, read by a judge model. Evidence decided first, and is not overruled.

When evidence leaves a run open, the write that ends the run also stores a request for a judgement, and a
separate task asks the model (`run_judgement`). Stored runs are read again by whatever model somebody names
(`read_by_model`). An unusable answer is an error and no verdict: the run stays open, for a person.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.models.model_question import Purpose, cost_usd
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.verdict.model_judge.judge_answer import problems_in, read_answers
from pipelines.core.verdict.model_judge.model_verdict import CriterionAnswer, verdict_by_model
from pipelines.core.verdict.model_judge.rubric import PROMPT_VERSION
from pipelines.core.verdict.verdict import Status
from pipelines.engine.judging.judge_run import JudgeOptions, OpenRun, judge_by_evidence
from pipelines.engine.judging.stored_answers import ending_of, responses_of
from pipelines.engine.model_calls.ask_models import Asker, CheckedAnswer
from pipelines.engine.platform import Platform, later
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import batches, model_judgements, runs
from pipelines.storage.runs.model_judgements import Judgement, PendingJudgement
from pipelines.storage.runs.runs import Ending, Run
from pipelines.wire.errors import BudgetExceeded, ModelFailed, ModelNotConfigured, StorageUnavailable

log = logging.getLogger(__name__)
RETRY_S = 1.0  # how long to leave a database alone that could not answer
NOT_ASKED_AFTER_S = 900.0  # a promise this old is nobody's: its worker is gone, whatever it was called
OnBatchEnd = Callable[[int], None]
STOPPED = "the batch was stopped before the judge was asked"


class ModelReading(NamedTuple):
    """A run as it is judged now, and what a model said where one was asked."""

    ending: Ending
    judgement: Judgement | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _ModelFailure:
    code: str
    message: str
    exchange_id: int | None = None

    @property
    def problem_text(self) -> str:
        return f"The judge model gave no verdict: {self.message}"


async def read_by_model(
    platform: Platform, run: Run, options: JudgeOptions, model: str | None
) -> ModelReading:
    """The run by evidence, and where that leaves it open by the model; None asks none."""
    options = replace(options, is_asked=model is not None)
    if model is None:
        return ModelReading(
            (await judge_by_evidence(platform, run, ending_of(run), responses_of(run), options)).ending, None
        )
    async with platform.asking_judges.slot(SlotHolder(run.org_id, run.batch_id)):
        found = await judge_by_evidence(platform, run, ending_of(run), responses_of(run), options)
        if found.open is None or found.open.question is None:
            return ModelReading(found.ending, None)
        return await _ask_model(platform, run, found.ending, found.open, model)


async def _ask_model(
    platform: Platform, run: Run, ending: Ending, open_run: OpenRun, model: str
) -> ModelReading:
    question = open_run.question
    assert question is not None
    asker = Asker(org_id=run.org_id, run_id=run.id, batch_id=run.batch_id, named={Purpose.JUDGE: model})
    check = partial(problems_in, asked=question.asked)
    try:
        exchange = await platform.models.ask(asker, question.question, check=check)
    except (ModelFailed, BudgetExceeded, ModelNotConfigured) as error:
        return _without_verdict(ending, open_run, model, _failure(error))
    answers = read_answers(exchange.data, question.asked.criteria)
    verdict = verdict_by_model(open_run.verdict, answers, expected_outcome=open_run.expected_outcome)
    body = verdict.as_json() | open_run.about | {"model_judge": _model_json(exchange, answers, open_run)}
    judgement = Judgement(
        model=model,
        prompt_version=PROMPT_VERSION,
        verdict=verdict.verdict.value,
        failure_mode=verdict.failure_mode.value if verdict.failure_mode is not None else None,
        body=body,
        exchange_id=exchange.exchange_id,
        tokens=exchange.tokens,
        cost_nanousd=exchange.cost_nanousd,
    )
    given = replace(ending, verdict=verdict.verdict, failure_mode=verdict.failure_mode, judgement=body)
    return ModelReading(given, judgement)


def _model_json(asked: CheckedAnswer, answers: tuple[CriterionAnswer, ...], open_run: OpenRun) -> JsonObject:
    """What stands with the verdict, so that a reader can follow it to the model's own words."""
    assert open_run.question is not None
    return {
        "model": asked.model,
        "prompt_version": PROMPT_VERSION,
        "criteria": [answer.as_json() for answer in answers],
        "left_open": _left_open(open_run),
        "not_shown": list(open_run.question.cuts),
        "exchange_id": asked.exchange_id,
        "is_replayed": asked.is_replayed,
        "attempts": asked.attempts,
        "tokens": asked.tokens,
        "cost_usd": cost_usd(asked.cost_nanousd),
    }


def _left_open(open_run: OpenRun) -> list[Json]:
    return [finding.as_json() for finding in open_run.verdict.findings if finding.status is Status.OPEN]


def _failure(error: ModelFailed | BudgetExceeded | ModelNotConfigured) -> _ModelFailure:
    if not isinstance(error, ModelFailed):
        return _ModelFailure(code=error.code, message=error.message)
    details = error.details if isinstance(error.details, dict) else {}
    exchange_id = details.get("exchange_id")
    return _ModelFailure(
        code=error.reason,
        message=error.message,
        exchange_id=exchange_id if isinstance(exchange_id, int) else None,
    )


def _without_verdict(ending: Ending, open_run: OpenRun, model: str, failed: _ModelFailure) -> ModelReading:
    """PENDING as evidence left it, with the reason why no model decided it either."""
    about: JsonObject = {
        "model": model,
        "prompt_version": PROMPT_VERSION,
        "failure": failed.code,
        "problem": failed.problem_text,
        "exchange_id": failed.exchange_id,
    }
    body = open_run.verdict.as_json() | open_run.about | {"model_judge": about}
    judgement = Judgement(
        model=model,
        prompt_version=PROMPT_VERSION,
        failure=failed.code,
        problem=failed.problem_text,
        body=body,
        exchange_id=failed.exchange_id,
    )
    return ModelReading(replace(ending, judgement=body, judge_error=failed.problem_text), judgement)


# -- what was promised when a run ended


async def run_judgement(platform: Platform, on_batch_end: OnBatchEnd, judgement_id: int) -> None:
    """Ask, and settle the run's verdict. Whatever happens, the promise ends: no batch waits for ever."""
    while True:
        try:
            judgement = await platform.database.read(
                lambda connection: model_judgements.wanted_by_id(connection, judgement_id)
            )
            if judgement is not None:
                await _settle(platform, judgement)
                await _finish(platform, on_batch_end, judgement.batch_id)
            return
        except StorageUnavailable as error:
            log.warning("judgement %s waits for the database: %s", judgement_id, error)
            await asyncio.sleep(RETRY_S)


async def claim_judgements(
    platform: Platform, on_batch_end: OnBatchEnd, gone: str | None
) -> list[tuple[int, int]]:
    """What this worker, or one that is gone, had promised; and what nobody can be asking any more."""
    worker, before = platform.judge_tasks.worker, later(platform.now(), -NOT_ASKED_AFTER_S)
    found = await platform.database.write(
        lambda connection: model_judgements.take_wanted(connection, worker=worker, gone=gone, before=before)
    )
    for batch_id in await platform.database.read(batches.judged_out):
        await _finish(platform, on_batch_end, batch_id)
    return found


async def _settle(platform: Platform, wanted: PendingJudgement) -> None:
    model = wanted.model

    def read(connection: Connection) -> tuple[Run | None, bool]:
        run = runs.run_by_id(connection, org_id=wanted.org_id, run_id=wanted.run_id)
        is_stopped = wanted.batch_id is not None and batches.is_cancelled(connection, wanted.batch_id)
        return run, is_stopped

    run, is_stopped = await platform.database.read(read)
    if run is None or is_stopped:
        dropped = Judgement(
            model=model, prompt_version=PROMPT_VERSION, failure="cancelled", problem=STOPPED, is_taken=False
        )
        await _store(platform, wanted, None, dropped)
        return
    try:
        read_now = await read_by_model(platform, run, JudgeOptions(), model)
    except StorageUnavailable:
        raise
    except Exception as error:  # a bug of ours: an error on the run, and its batch goes on
        log.exception("run %s could not be judged by a model", run.id)
        problem_text = f"The judge model could not be asked: {type(error).__name__}."
        broken = Judgement(
            model=model, prompt_version=PROMPT_VERSION, failure="internal_error", problem=problem_text
        )
        kept = Ending(
            status=run.status, verdict=run.verdict, judgement=run.judgement, judge_error=problem_text
        )
        await _store(platform, wanted, kept, broken)
        return
    unneeded = Judgement(
        model=model,
        prompt_version=PROMPT_VERSION,
        failure="not_needed",
        problem="evidence decided it",
        is_taken=False,
    )
    await _store(platform, wanted, read_now.ending, read_now.judgement or unneeded)


async def _store(
    platform: Platform, wanted: PendingJudgement, ending: Ending | None, judgement: Judgement
) -> None:
    now = platform.now()

    def store(connection: Connection) -> None:
        is_taken = ending is not None and runs.settle_verdict(connection, run_id=wanted.run_id, ending=ending)
        problem_text = replace(judgement, is_taken=is_taken and judgement.is_taken)
        model_judgements.end_wanted(connection, wanted.id, problem_text, now=now)

    await platform.database.write(store)


async def _finish(platform: Platform, on_batch_end: OnBatchEnd, batch_id: int | None) -> None:
    """The last of a batch to be judged ends it."""
    if batch_id is None:
        return
    now = platform.now()
    if await platform.database.write(
        lambda connection: batches.finish_batch(connection, batch_id=batch_id, now=now, if_queued=True)
    ):
        on_batch_end(batch_id)
