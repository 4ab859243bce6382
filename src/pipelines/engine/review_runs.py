"""Looking at verdicts again: judging stored runs anew, the list for people."""

from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.transcript import messages_from_stored
from pipelines.engine.decide_run import review_of_run
from pipelines.engine.judge_run import judged
from pipelines.engine.open_batch import find_batch
from pipelines.engine.open_run import find_run
from pipelines.engine.platform import Platform
from pipelines.engine.read_reviews import Looker
from pipelines.storage import batches, runs
from pipelines.storage.runs import Ending, Run
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.errors import Conflict
from pipelines.wire.names import RunStatus


async def rejudge_run(
    platform: Platform, org_id: int, run_id: int, *, by_present_oracle: bool = False
) -> Run:
    """The verdict of an ended run by the judge of today, and by its own oracle or its task's present one.
    Nothing is sent to the agent; the verdict before is kept."""
    run = await find_run(platform, org_id, run_id)
    if run.status not in (RunStatus.COMPLETED, RunStatus.FAILED):
        raise Conflict(f"Run {run_id} has nothing to judge ({run.status.value}).")
    ending = await judged(platform, run, _ending(run), _responses(run), by_present_oracle=by_present_oracle)
    now = platform.now()
    await platform.database.write(
        lambda connection: runs.set_verdict(connection, run_id=run_id, ending=ending, now=now)
    )
    return await find_run(platform, org_id, run_id)


class Rejudged(NamedTuple):
    report: JsonObject
    last_id: int | None  # where the next part starts; None when all were judged


async def rejudge_batch(
    platform: Platform,
    org_id: int,
    batch_id: int,
    *,
    by_present_oracle: bool = False,
    after_id: int | None = None,
    limit: int | None = None,
) -> Rejudged:
    """The ended runs of a batch, judged anew; which verdicts changed."""
    batch = await find_batch(platform, org_id, batch_id)
    every = await platform.database.read(lambda connection: batches.ended_runs(connection, batch_id=batch.id))
    left = [run_id for run_id in every if run_id > (after_id or 0)]
    ids = left[:limit]
    changes: list[Json] = []
    for run_id in ids:
        before = await find_run(platform, org_id, run_id)
        after = await rejudge_run(platform, org_id, run_id, by_present_oracle=by_present_oracle)
        if (before.verdict, before.failure_mode) != (after.verdict, after.failure_mode):
            changes.append(
                {
                    "run_id": run_id,
                    "task_id": after.task_id,
                    "from": {"verdict": before.verdict, "failure_mode": before.failure_mode},
                    "to": {"verdict": after.verdict, "failure_mode": after.failure_mode},
                }
            )
    report: JsonObject = {
        "batch_id": batch.id,
        "judged": len(ids),
        "changed": len(changes),
        "changes": changes,
    }
    return Rejudged(report, ids[-1] if len(left) > len(ids) else None)


async def read_verdicts(platform: Platform, looker: Looker, run_id: int) -> JsonObject:
    """The present verdict, those before it, and what people said."""
    run = await find_run(platform, looker.org_id, run_id)
    earlier, review = await platform.database.read(
        lambda connection: (
            runs.past_verdicts(connection, run_id),
            review_of_run(platform, connection, looker, run_id),
        )
    )
    return {
        "run_id": run_id,
        "present": {
            "verdict": run.verdict,
            "failure_mode": run.failure_mode,
            "judgement": run.judgement,
            "judge_error": run.judge_error,
        },
        "human_verdict": run.human_verdict,
        "earlier": [*earlier],
        "review": review,
    }


def _ending(run: Run) -> Ending:
    return Ending(
        status=run.status,
        final_response=run.final_response,
        error_class=run.error_class,
        error_json=run.error_json,
        judge_error=run.judge_error if run.error_class == ErrorClass.SIMULATOR_FAULT else None,
    )


def _responses(run: Run) -> tuple[str, ...]:
    """What the agent said, turn by turn: of a conversation, the words before each next user message."""
    if run.final_response is None:
        return ()
    if run.mode != "dispatch" or not run.seed.is_conversation:
        return (run.final_response,)
    spoken: list[str] = []
    said = ""
    for message in messages_from_stored(run.messages or ()):
        if message.role == "user" and said:
            spoken.append(said)
            said = ""
        elif message.role == "assistant":
            said = message.text() or said
    return (*spoken, run.final_response) if said or not spoken else tuple(spoken)
