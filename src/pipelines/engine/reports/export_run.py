"""A run as one file: as our own JSON, or as a trajectory in ATIF. Written a few rows at a time."""

from collections.abc import AsyncIterator, Sequence

from pipelines.core.agents import atif
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.engine.judging import rejudge_runs
from pipelines.engine.platform import Platform
from pipelines.engine.reviews.read_reviews import Caller
from pipelines.engine.runs import read_run
from pipelines.engine.runs.read_steps import Timeline, TimelineItem, read_timeline
from pipelines.storage.agents.agents import Agent, agent_by_id
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import row_at
from pipelines.storage.runs.runs import Run

JSON_ROWS = 200
ATIF_STEPS = 16  # in memory at once: each may have megabytes


async def export_json(platform: Platform, caller: Caller, run_id: int) -> AsyncIterator[bytes]:
    """The whole run, as `pipelines show --json` prints it. Whether there is one is known before the first
    part of it is asked for."""
    run = await read_run.read_run(platform, caller, run_id)
    verdicts = await rejudge_runs.read_verdicts(platform, caller, run_id)
    output = await read_run.read_output(platform, caller.org_id, run_id)
    head = run | {"output": output, "earlier_verdicts": verdicts["earlier"]}
    return _with_trace(platform, caller.org_id, run_id, dumps(head))


async def export_atif(platform: Platform, org_id: int, run_id: int) -> AsyncIterator[bytes]:
    """The run as a trajectory. Whether there is one is known before the first part of it is asked for."""
    timeline = await read_timeline(platform, org_id, run_id)
    run = timeline.run
    agent = await platform.database.read(
        lambda connection: agent_by_id(
            connection, org_id=org_id, agent_id=run.agent_id, version=run.agent_version
        )
    )
    return _trajectory(platform, timeline, agent)


async def _trajectory(platform: Platform, timeline: Timeline, agent: Agent | None) -> AsyncIterator[bytes]:
    run, items = timeline.run, timeline.items
    yield dumps(_head(run, agent))[:-1] + b',"steps":['
    number, comma = 1, b""
    for start in range(0, len(items), ATIF_STEPS):
        some = items[start : start + ATIF_STEPS]

        def read(connection: Connection, some: Sequence[TimelineItem] = some) -> list[JsonObject]:
            return [step for item in some for step in _steps_of(connection, timeline, item)]

        steps = atif.number_steps(await platform.database.read(read), number)
        if steps:
            yield comma + b",".join(map(dumps, steps))
            number, comma = number + len(steps), b","
    yield b'],"final_metrics":' + dumps(atif.final_metrics(run.metadata, number - 1)) + b"}"


def _head(run: Run, agent: Agent | None) -> JsonObject:
    metadata = run.metadata if isinstance(run.metadata, dict) else {}
    model = metadata.get("model")
    extra: JsonObject = {
        "run_id": run.id,
        "task_id": run.task_id,
        "batch_id": run.batch_id,
        "repeat_number": run.repeat_number,
        "status": run.status.value,
        "error_class": run.error_class,
        "verdict": run.verdict,
        "failure_mode": run.failure_mode,
        "pending_reason": run.pending_reason,
        "unverified": run.unverified,
        "human_verdict": run.human_verdict,
    }
    return atif.head(
        run_id=run.id,
        agent=agent.definition.name if agent is not None else f"agent {run.agent_id}",
        agent_version=run.agent_version,
        model=model if isinstance(model, str) else None,
        tools=agent.definition.tools if agent is not None else (),
        extra=extra,
    )


def _steps_of(connection: Connection, timeline: Timeline, item: TimelineItem) -> list[JsonObject]:
    run = timeline.run
    if item.kind == "start":
        return [atif.user_step(run.seed.user_instruction, run.started_at)]
    if item.kind == "message" and item.message is not None:
        return [atif.message_step(timeline.messages[item.message])]
    if item.step is not None:
        row = row_at(connection, run.id, item.step.sequence)
        return [atif.row_step(row)] if row is not None else []
    answer = run.final_response
    return [atif.answer_step(answer, run.ended_at)] if answer is not None else []


async def _with_trace(platform: Platform, org_id: int, run_id: int, head: bytes) -> AsyncIterator[bytes]:
    """The run's own JSON with its trace put in as the last field, a page at a time."""
    yield head[:-1] + b',"trace":['
    after: tuple[str, int] | None = None
    more, comma = True, b""
    while more:
        rows, more = await read_run.read_trace(
            platform, org_id, run_id, kind=None, after=after, limit=JSON_ROWS
        )
        if rows:
            yield comma + b",".join(dumps(row.as_written()) for row in rows)
            comma, after = b",", (rows[-1].occurred_at, rows[-1].sequence)
    yield b"]}"
