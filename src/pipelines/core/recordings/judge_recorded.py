"""The verdict on a recorded run without a server: its evidence from the recording and, if any, its task."""

from collections.abc import Sequence

from pipelines.core.ledger.ledger import World
from pipelines.core.recordings.recorded_run import RecordedRun
from pipelines.core.tasks.seed import Seed
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import JudgeError, Verdict


def judge_recorded(run: RecordedRun, seed: Seed, tools: Sequence[Tool]) -> Verdict | JudgeError:
    """Of a run that `with_changes` has put its states on."""
    return judge(
        RunEvidence.from_seed(
            seed,
            tools=tuple(tools),
            world=World.from_initial_state(run.state_before or {}),
            trace=tuple(EvidenceRow.from_json(row.as_json()) for row in run.rows),
            responses=run.responses,
            status=run.status,
            error_class=run.error_class,
            now=seed.now or run.now,
            later_user_turns=run.user_turns[1:],
            has_state=run.has_state,
        )
    )
