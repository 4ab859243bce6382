"""One eval run with all that a person asks of it: what it was told and did, what was expected, what moved."""

import asyncio
from functools import partial
from typing import Any, NamedTuple

from pipelines.core.evals.matrix.cell import CellSettings, Row
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import shift
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.engine.find import find_run
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import eval_outcomes, eval_scenarios, evals
from pipelines.storage.evals.eval_outcomes import EvalOutcome, StoredOutput
from pipelines.storage.evals.evals import Matrix
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks import texts
from pipelines.wire.errors import NotFound

_RUN_FIELDS = (
    *("final_response", "metadata", "failure_mode", "pending_reason", "unverified"),
    *("judgement", "judge_error", "error_json"),
    *("soft_warnings", "simulated_now", "dispatched_at"),
)


class _StoredEvalRun(NamedTuple):
    """All that is stored of a run, as far as it is shown."""

    listed: JsonObject
    scenario: Scenario
    outcome: EvalOutcome | None
    injected: str | None
    baselines: list[StoredOutput]


async def read_eval_run(platform: Platform, org_id: int, run_id: int) -> JsonObject:
    run = await _find_eval_run(platform, org_id, run_id)
    found = await platform.database.read(partial(_load_eval_run, org_id=org_id, run_id=run_id))
    moved = await asyncio.to_thread(_shift, found)
    seed = run.seed
    whole = run.as_json()
    outcome = found.outcome
    return {
        **found.listed,
        **{key: whole[key] for key in _RUN_FIELDS},
        "scenario": {
            "id": found.listed["scenario_id"],
            "version": found.listed["scenario_version"],
            "name": found.scenario.name,
            "risk_level": found.scenario.risk_level,
            "expected_behavior": _expected(found),
        },
        "input": {
            "user_instruction": seed.user_instruction,
            "input_context": seed.task_input,
            "system_prompt_addition": seed.system_prompt_addition,
        },
        "injection": _injection(found),
        "observed": outcome.observed if outcome is not None else None,
        "match": outcome.notes if outcome is not None else None,
        "shift": moved,
        "agent": outcome.fingerprint_parts if outcome is not None else None,
        "links": _links(found.listed),
    }


async def _find_eval_run(platform: Platform, org_id: int, run_id: int) -> Run:
    """Another org's, and a run that is none of a matrix, are not there."""
    listed = await platform.database.read(partial(eval_outcomes.eval_run, org_id=org_id, run_id=run_id))
    if listed is None:
        raise NotFound(f"There is no eval run {run_id}.")
    return await find_run(platform, org_id, run_id)


def _load_eval_run(connection: Connection, *, org_id: int, run_id: int) -> _StoredEvalRun:
    listed = eval_outcomes.eval_run(connection, org_id=org_id, run_id=run_id)
    assert listed is not None, "runs are never deleted"
    scenario_id, version = str(listed["scenario_id"]), int(str(listed["scenario_version"]))
    stored = eval_scenarios.scenario_by_id(
        connection, org_id=org_id, scenario_id=scenario_id, version=version
    )
    assert stored is not None, "versions are never deleted"
    text_hash = listed["text_hash"]
    matrix = evals.matrix_by_id(connection, org_id=org_id, matrix_id=str(listed["matrix_id"]))
    assert matrix is not None
    return _StoredEvalRun(
        listed,
        Scenario.from_stored(stored.body()),
        eval_outcomes.outcome_of_run(connection, org_id=org_id, run_id=run_id),
        texts.text_of(connection, text_hash) if isinstance(text_hash, str) else None,
        _baselines(connection, matrix, scenario_id),
    )


def _baselines(connection: Connection, matrix: Matrix, scenario_id: str) -> list[StoredOutput]:
    """Of its row, or those that a run by itself is compared with."""
    shared = matrix.settings.get("baseline_run_ids")
    if isinstance(shared, list):
        ids = [id for id in shared if isinstance(id, int)]
        return eval_outcomes.outputs_of_runs(connection, org_id=matrix.org_id, run_ids=ids)
    return eval_outcomes.baselines_of_row(connection, matrix_id=matrix.matrix_id, scenario_id=scenario_id)


def _expected(found: _StoredEvalRun) -> JsonObject:
    variation = found.listed["variation"]
    return found.scenario.contract_under(str(variation) if variation is not None else None).expected_behavior


def _injection(found: _StoredEvalRun) -> Json:
    if found.listed["variation"] is None:
        return None
    listed = found.listed
    return {
        "variation": listed["variation"],
        "version": listed["variation_version"],
        "intensity": listed["intensity"],
        "wording": listed["wording"],
        "delivery": listed["delivery"],
        "text": found.injected,
        "text_hash": listed["text_hash"],
    }


def _shift(found: _StoredEvalRun) -> Json:
    """Against the medoid of the baselines; None without them or an outcome, and of a baseline itself."""
    outcome = found.outcome
    if outcome is None or outcome.variation is None or not found.baselines:
        return None
    contract = found.scenario.contract
    outputs = [_observed(each.observed) for each in found.baselines]
    risk: Any = found.scenario.risk_level
    at = Row(contract, risk, outputs, 0, CellSettings()).reference_at
    assert at is not None
    reference = outputs[at]
    stored: Any = outcome.observed
    moved = shift(contract, reference, Observed.from_stored(stored)).as_json()
    return moved | {
        "reference_run": found.baselines[at].run_id,
        "reference": reference.as_json(),
        "baselines": [each.run_id for each in found.baselines],
    }


def _observed(text: str) -> Observed:
    stored: Any = loads_own(text)
    return Observed.from_stored(stored)


def _links(listed: JsonObject) -> JsonObject:
    run = f"/api/runs/{listed['id']}"
    return {
        "run": run,
        "trace": f"{run}/trace",
        "ledger": f"{run}/ledger",
        "matrix": f"/api/v1/eval/matrix/{listed['matrix_id']}",
        "scenario": f"/api/v1/eval/scenarios/{listed['scenario_id']}?version={listed['scenario_version']}",
    }
