"""A run's verdict: the evidence gathered from what is stored, judged, and written beside the run.

A judge that breaks gives an error on the run, never a pass and never a fail.
"""

import logging
from dataclasses import replace

from pipelines.core.seed import Seed
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import JudgeError
from pipelines.engine.live_runs import TOOL_CALL
from pipelines.engine.platform import Platform
from pipelines.storage.connection import Connection
from pipelines.storage.runs import Ending, Run
from pipelines.storage.trace_rows import log_of_run
from pipelines.wire.names import RunStatus

log = logging.getLogger(__name__)
NO_CALLS = "the agent has tools, but no call reached the proxy: are its tools wired to odyssey_proxy_url?"


async def judged(platform: Platform, run: Run, ending: Ending, responses: tuple[str, ...]) -> Ending:
    """The ending with its verdict. A cancelled run has none: nothing was asked to the end."""
    if ending.status is RunStatus.CANCELLED:
        return ending
    return await platform.database.read(
        lambda connection: _judged(connection, platform, run, ending, responses)
    )


def _judged(
    connection: Connection, platform: Platform, run: Run, ending: Ending, responses: tuple[str, ...]
) -> Ending:
    toolbox, world = platform.live_runs.surroundings(connection, run)
    rows = log_of_run(connection, run.id)
    if not any(row.kind == TOOL_CALL for row in rows) and toolbox.tools and responses:
        ending = replace(ending, soft_warnings=[*(ending.soft_warnings or []), NO_CALLS])
    try:
        verdict = judge(
            RunEvidence.from_seed(
                Seed.from_json(run.seed),
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
        return replace(ending, judge_error=verdict.message)
    return replace(
        ending, verdict=verdict.verdict, failure_mode=verdict.failure_mode, judgement=verdict.as_json()
    )
