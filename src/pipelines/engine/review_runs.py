"""Looking at verdicts again: judging stored runs anew, the list for people."""

from pipelines.core.json_text import JsonObject
from pipelines.core.transcript import messages_from_stored
from pipelines.engine.judge_run import judged
from pipelines.engine.open_batch import find_batch
from pipelines.engine.open_run import find_run
from pipelines.engine.platform import Platform
from pipelines.storage import batches, runs
from pipelines.storage.runs import Ending, Run
from pipelines.wire.errors import Conflict
from pipelines.wire.names import RunStatus


async def rejudge_run(platform: Platform, org_id: int, run_id: int) -> Run:
    """The verdict of an ended run by the judge of today. Nothing is sent to the agent."""
    run = await find_run(platform, org_id, run_id)
    if run.status not in (RunStatus.COMPLETED, RunStatus.FAILED):
        raise Conflict(f"Run {run_id} has nothing to judge ({run.status.value}).")
    ending = await judged(platform, run, _ending(run), _responses(run))
    await platform.database.write(
        lambda connection: runs.set_verdict(connection, run_id=run_id, ending=ending)
    )
    return await find_run(platform, org_id, run_id)


async def rejudge_batch(platform: Platform, org_id: int, batch_id: int) -> JsonObject:
    """Every ended run of a batch, judged anew; how many verdicts changed."""
    batch = await find_batch(platform, org_id, batch_id)
    ids = await platform.database.read(lambda connection: batches.ended_runs(connection, batch_id=batch.id))
    changed = 0
    for run_id in ids:
        before = await find_run(platform, org_id, run_id)
        after = await rejudge_run(platform, org_id, run_id)
        changed += (before.verdict, before.failure_mode) != (after.verdict, after.failure_mode)
    return {"batch_id": batch.id, "judged": len(ids), "changed": changed}


def _ending(run: Run) -> Ending:
    return Ending(
        status=run.status,
        final_response=run.final_response,
        error_class=run.error_class,
        error_json=run.error_json,
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
    return (*spoken, run.final_response)
