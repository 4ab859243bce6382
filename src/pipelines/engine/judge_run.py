"""A run's verdict: the evidence gathered from what is stored, judged, and written beside the run.

A judge that breaks gives an error on the run, never a pass and never a fail.
"""

import logging
from dataclasses import replace

from pipelines.core.json_text import loads_own
from pipelines.core.topology import ActorStep, handoff_target, topology_warnings
from pipelines.core.trace_row import TOOL_CALL, TraceRow
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import JudgeError
from pipelines.engine.platform import Platform
from pipelines.storage import runs
from pipelines.storage.connection import Connection
from pipelines.storage.runs import Ending, Run
from pipelines.storage.trace_rows import has_calls_after, log_of_run
from pipelines.wire.errors import StorageUnavailable
from pipelines.wire.names import RunStatus, TraceEventType

log = logging.getLogger(__name__)
MAX_REDOS = 20  # only when calls of a run still come in by another node when its agent has answered
NO_CALLS = "the agent has tools, but no call reached the proxy: are its tools wired to odyssey_proxy_url?"


class _LogWentOn(Exception):
    """Another node answered a call of the run while it was judged."""


async def judged(platform: Platform, run: Run, ending: Ending, responses: tuple[str, ...]) -> Ending:
    """The ending with its verdict. A cancelled run has none: nothing was asked to the end."""
    return (await _judged_log(platform, run, ending, responses))[0]


async def judge_and_end(platform: Platform, run: Run, ending: Ending, responses: tuple[str, ...]) -> bool:
    """End the run with a verdict about all that ever happens in it; False when it had already ended."""
    for _ in range(MAX_REDOS):
        whole, last = await _judged_log(platform, run, ending, responses)
        now = platform.now()

        def store(connection: Connection, whole: Ending = whole, last: int = last, now: str = now) -> bool:
            ended = runs.end_run(connection, run_id=run.id, ending=whole, now=now)
            if ended and has_calls_after(connection, run.id, last):
                raise _LogWentOn
            return ended

        try:
            return await platform.database.write(store)
        except _LogWentOn:
            continue
    raise StorageUnavailable(f"Run {run.id} does not come to rest; try again.")


async def _judged_log(
    platform: Platform, run: Run, ending: Ending, responses: tuple[str, ...]
) -> tuple[Ending, int]:
    """And the sequence of the last row it was judged on."""

    def read(connection: Connection) -> tuple[Ending, int]:
        rows = log_of_run(connection, run.id)
        last = rows[-1].sequence if rows else 0
        if ending.status is RunStatus.CANCELLED:
            return ending, last
        return _judged(connection, platform, run, ending, responses, rows), last

    return await platform.database.read(read)


def _judged(
    connection: Connection,
    platform: Platform,
    run: Run,
    ending: Ending,
    responses: tuple[str, ...],
    rows: list[TraceRow],
) -> Ending:
    toolbox, world = platform.live_runs.surroundings(connection, run)
    warnings = topology_warnings(toolbox.config, map(_actor_step, rows))
    if not any(row.kind == TOOL_CALL for row in rows) and toolbox.tools and responses:
        warnings.append(NO_CALLS)
    try:
        if run.mode != "manual":  # there it was said when the run was opened
            warnings += platform.live_runs.unenforced(connection, run)
        ending = _warned(ending, warnings)
        verdict = judge(
            RunEvidence.from_seed(
                run.seed,
                tools=tuple(toolbox.tools.values()),
                world=world,
                trace=tuple(EvidenceRow.from_json(row.as_json()) for row in rows),
                responses=responses,
                status=ending.status.value,
                error_class=ending.error_class,
            )
        )
    except Exception as error:  # a broken judge must never look like a bad agent
        log.exception("run %s could not be judged", run.id)
        return replace(ending, judge_error=f"the judge broke: {error}")
    if isinstance(verdict, JudgeError):
        return replace(ending, judge_error=verdict.message, judgement=verdict.as_json())
    return replace(
        ending, verdict=verdict.verdict, failure_mode=verdict.failure_mode, judgement=verdict.as_json()
    )


def _warned(ending: Ending, warnings: list[str]) -> Ending:
    if not warnings:
        return ending
    return replace(ending, soft_warnings=[*(ending.soft_warnings or []), *warnings])


def _actor_step(row: TraceRow) -> ActorStep:
    is_handoff = row.kind == TraceEventType.HANDOFF and row.payload is not None
    return ActorStep(
        row.sequence,
        row.actor_id,
        row.tool_name if row.kind == TOOL_CALL else None,
        handoff_target(loads_own(row.payload or "null")) if is_handoff else None,
    )
