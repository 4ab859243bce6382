"""A run that a person accepts as right: the oracle that it proves, shown first, then kept as a new version of
its task's oracle."""

from typing import NamedTuple

from pipelines.core.ledger.ledger import InvalidUpdate
from pipelines.core.proposed_oracles.propose_oracle import (
    PROPOSED_AXES,
    ProposedOracle,
    judge_by_axes,
    oracle_from_run,
)
from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.evidence import RunEvidence, TookTooLong
from pipelines.core.verdict.verdict import JudgeError, Verdict
from pipelines.engine.find import find_run
from pipelines.engine.judging.judge_run import read_evidence
from pipelines.engine.judging.rejudge_runs import NO_MODEL, RejudgeOptions, rejudge_run
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.correct_oracle import correct_oracle
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks import datasets, oracles
from pipelines.wire.errors import Conflict
from pipelines.wire.names import RunStatus


class Proposal(NamedTuple):
    run: Run
    present_version: int  # of the task's oracle: what an accepted one follows
    oracle: ProposedOracle
    judged: Verdict | JudgeError  # the same run by the proposed oracle

    def as_json(self) -> JsonObject:
        verdict = self.judged.as_json()
        is_verdict = isinstance(self.judged, Verdict)
        return {
            "run_id": self.run.id,
            "task_id": self.run.task_id,
            "oracle_version": self.present_version,
            **self.oracle.as_json(),
            "judgement": verdict if is_verdict else None,
            "judge_error": None if is_verdict else verdict,
        }


class AcceptedRun(NamedTuple):
    run: Run  # judged by it
    version: int
    warnings: list[JsonObject]

    def as_json(self) -> JsonObject:
        body: JsonObject = {"oracle_version": self.version, "warnings": [*self.warnings]}
        return {"run_id": self.run.id, "task_id": self.run.task_id, **body, "run": self.run.as_json()}


async def propose_oracle(platform: Platform, org_id: int, run_id: int) -> Proposal:
    """The oracle that a run proves, and what it would be judged by that. Nothing is stored."""
    run = await find_run(platform, org_id, run_id)
    version = await platform.database.read(lambda connection: _present_version(connection, run))

    def read(evidence: RunEvidence) -> tuple[ProposedOracle, Verdict | JudgeError]:
        found = oracle_from_run(evidence)
        return found, judge_by_axes(evidence, found.axes)

    try:
        found, judged = await read_evidence(platform, run, read)
    except (InvalidUpdate, TookTooLong, Refused) as error:
        raise Conflict(f"No oracle can be made of run {run_id}: {error}.") from None
    return Proposal(run, version, found, judged)


async def accept_run(platform: Platform, org_id: int, run_id: int, who: str, body: JsonObject) -> AcceptedRun:
    """Keep the oracle: the proposed one, with those axes that `body` gives in place of its own. The run is
    judged by it, without a model."""
    proposal = await propose_oracle(platform, org_id, run_id)
    axes = {axis: proposal.oracle.axes[axis] for axis in PROPOSED_AXES if axis in ORACLE_AXES}
    note = {"note": f"accepted from run {run_id}"}
    corrected = await correct_oracle(platform, org_id, proposal.run.task_id, who, {**axes, **note, **body})
    by = RejudgeOptions(by_present_oracle=True, model=NO_MODEL)
    return AcceptedRun(await rejudge_run(platform, org_id, run_id, by), corrected.version, corrected.warnings)


def _present_version(connection: Connection, run: Run) -> int:
    """Refused with the reason where no oracle can be made of a run."""
    if run.status is not RunStatus.COMPLETED:
        going = run.status in (RunStatus.PENDING, RunStatus.RUNNING)
        why = "has not ended yet" if going else f"gave no answer ({run.status.value})"
        raise Conflict(f"Run {run.id} {why}, so it cannot be accepted as right.")
    if run.seed.coding_scenario is not None:
        raise Conflict(f"Run {run.id} is graded by the scorers of its coding scenario: change those instead.")
    if datasets.dataset_by_id(connection, org_id=run.org_id, dataset_id=run.dataset_id) is None:
        raise Conflict(f"Task {run.task_id} belongs to a matrix: change its scenario instead.")
    return oracles.present_version(connection, run.task_id)
