"""Reading a run back: what happened, and what its world looked like after any step."""

from pipelines.core.ledger.ledger import World, fold, update_from_json
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.trace_row import TraceRow
from pipelines.engine.find import find_run
from pipelines.engine.models.model_costs import costs_of_run
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.decide_run import review_of_run
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.storage.agents.code import output_of_run
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import counts_of_run, trace_of_run, updates_of_run
from pipelines.storage.lists.summaries import instructions_of_tasks
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks.datasets import whole_odyssey_seed, world_by_hash


async def read_run(platform: Platform, caller: Caller, run_id: int) -> JsonObject:
    """The run, the whole seed it was given, the counts of its calls, and what people made of it."""
    run = await find_run(platform, caller.org_id, run_id)
    seed, counts, instructions, review = await platform.database.read(
        lambda connection: (
            whole_odyssey_seed(connection, run),
            counts_of_run(connection, run.id),
            instructions_of_tasks(connection, [run.task_id])[run.task_id],
            review_of_run(platform, connection, caller, run.id),
        )
    )
    own = run.as_json() | instructions.as_json()
    costs = await costs_of_run(platform, run)
    return own | {"odyssey_seed": seed, "counts": counts, "review": review, "costs": costs}


async def read_output(platform: Platform, org_id: int, run_id: int) -> JsonObject:
    """What a code agent printed; nothing for any other."""
    run = await find_run(platform, org_id, run_id)
    output = await platform.database.read(lambda connection: output_of_run(connection, run.id))
    stdout, stderr = output or ("", "")
    return {"run_id": run.id, "stdout": stdout, "stderr": stderr}


async def read_trace(
    platform: Platform,
    org_id: int,
    run_id: int,
    *,
    kind: str | None,
    after: tuple[str, int] | None,
    limit: int,
) -> tuple[list[TraceRow], bool]:
    """A page of rows, and whether there may be more."""
    run = await find_run(platform, org_id, run_id)
    rows, is_whole = await platform.database.read(
        lambda connection: trace_of_run(connection, run.id, kind=kind, after=after, limit=limit)
    )
    return rows, not is_whole


async def read_ledger(platform: Platform, org_id: int, run_id: int, step: int | None) -> JsonObject:
    """The world after trace row `step`: 0 is the initial state, None the latest."""
    run = await find_run(platform, org_id, run_id)
    return await platform.database.read(lambda connection: _world_at(connection, run, step))


def _world_at(connection: Connection, run: Run, step: int | None) -> JsonObject:
    rows = updates_of_run(connection, run.id)
    last = rows[-1][0] if rows else 0
    if step is not None and not 0 <= step <= last:
        raise Refused([Problem(path="step", message=f"must be between 0 and {last}")], "the query")
    upto = last if step is None else step
    log = [body for sequence, text in rows if sequence <= upto and text for body in _parse_updates(text)]
    world = World.from_initial_state(world_by_hash(connection, run.world_hash))
    ledger = fold(world, map(update_from_json, log))
    flags: list[Json] = list(ledger.flags())
    return {"run_id": run.id, "step": upto, "state": ledger.as_state(), "flags": flags}


def _parse_updates(text: str) -> list[JsonObject]:
    return loads_own(text)  # type: ignore[return-value]  # written by us as a list of objects
