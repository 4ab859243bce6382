"""Looking at verdicts again: judging stored runs anew, comparing two batches, the list for people."""

from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject
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


class _Outcome(NamedTuple):
    task_id: int
    repeat_number: int
    run_id: int
    verdict: str | None
    failure_mode: str | None


async def compare_batches(platform: Platform, org_id: int, batch_id: int, other_id: int) -> JsonObject:
    """What flipped between two batches, run by run: same task, same repeat."""
    await find_batch(platform, org_id, batch_id)
    await find_batch(platform, org_id, other_id)
    mine, theirs = await platform.database.read(
        lambda connection: (
            _by_place(batches.verdicts(connection, batch_id=batch_id)),
            _by_place(batches.verdicts(connection, batch_id=other_id)),
        )
    )
    flips: list[Json] = []
    for place in sorted(mine.keys() & theirs.keys()):
        before, after = mine[place], theirs[place]
        if (before.verdict, before.failure_mode) != (after.verdict, after.failure_mode):
            flips.append(
                {
                    "task_id": place[0],
                    "repeat_number": place[1],
                    "from": _shown(before),
                    "to": _shown(after),
                    "direction": _direction(before.verdict, after.verdict),
                }
            )
    return {
        "from_batch": batch_id,
        "to_batch": other_id,
        "compared": len(mine.keys() & theirs.keys()),
        "only_from": len(mine.keys() - theirs.keys()),
        "only_to": len(theirs.keys() - mine.keys()),
        "flips": flips,
    }


def _by_place(rows: list[tuple[int, int, int, str | None, str | None]]) -> dict[tuple[int, int], _Outcome]:
    return {(row[0], row[1]): _Outcome(*row) for row in rows}


def _shown(outcome: _Outcome) -> JsonObject:
    return {"run_id": outcome.run_id, "verdict": outcome.verdict, "failure_mode": outcome.failure_mode}


def _direction(before: str | None, after: str | None) -> str:
    if before == after:
        return "lateral"
    return {"PASS": "improved", "FAIL": "regressed"}.get(after or "", "undecided")


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
