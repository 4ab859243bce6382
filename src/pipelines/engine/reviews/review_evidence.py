"""What a reviewer has to see of an item: the scenario, the very words that were injected, and field by field
what the agent did with them and without."""

from pipelines.core.evals.reviews.review import ReviewKind
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import eval_outcomes, eval_scenarios, evals
from pipelines.storage.evals.evals import EvalTask
from pipelines.storage.evals.reviews import Review
from pipelines.storage.runs import runs
from pipelines.storage.tasks.texts import text_of

MOST_RUNS_SHOWN = 50  # of one cell; all ids are listed
#: Of a cell, what tells where it moved; the rest is what the machine makes of it.
_CELL_KEYS = ("scenario_id", "variation", "runs", "errors", "run_ids", "components")


def evidence_of(connection: Connection, review: Review) -> JsonObject:
    """By the kind of item."""
    whole: JsonObject = {}
    if review.scenario_id is not None:
        whole["scenario"] = _scenario(connection, review)
    if review.kind is ReviewKind.SHIFT:
        return whole | {"evidence": [_matrix_evidence(connection, review, part) for part in review.evidence]}
    assert review.run_id is not None, "only cells are about more than one run"
    if review.kind is ReviewKind.AUDIT:
        return whole | {"evidence": [_eval_run_evidence(connection, review, review.run_id)]}
    return whole | {"evidence": [_task_run_evidence(connection, review, review.run_id)]}


def _scenario(connection: Connection, review: Review) -> JsonObject | None:
    assert review.scenario_id is not None
    stored = eval_scenarios.scenario_by_id(
        connection,
        org_id=review.org_id,
        scenario_id=review.scenario_id,
        version=review.scenario_version,
    )
    return stored.as_json() if stored is not None else None


def _matrix_evidence(connection: Connection, review: Review, part: JsonObject) -> JsonObject:
    cell, baseline = _object(part.get("cell")), _object(part.get("baseline"))
    matrix_id = str(part.get("matrix_id"))
    run_ids = [run_id for run_id in _list(cell.get("run_ids")) if isinstance(run_id, int)]
    reference = baseline.get("reference_run")
    return {
        "matrix_id": matrix_id,
        "link": f"/api/v1/eval/matrix/{matrix_id}",
        "injected": _injections(connection, review, matrix_id),
        "baseline": {
            "run_id": reference,
            "link": f"/api/v1/eval/runs/{reference}" if reference is not None else None,
            "observed": _observed(connection, review, reference) if isinstance(reference, int) else None,
        },
        "components": cell.get("components", []),
        "run_ids": [*run_ids],
        "runs": [_eval_run(connection, review, run_id) for run_id in run_ids[:MOST_RUNS_SHOWN]],
        "reasons": part.get("reasons", []),
        "machine": {
            "cell": {key: value for key, value in cell.items() if key not in _CELL_KEYS},
            "runs": cell.get("runs"),
            "errors": cell.get("errors"),
            "baseline": baseline,
            "settings": part.get("settings"),
        },
    }


def _injections(connection: Connection, review: Review, matrix_id: str) -> list[Json]:
    """Each wording that was used, exactly."""
    assert review.scenario_id is not None
    tasks = evals.tasks_of_cell(
        connection, matrix_id=matrix_id, scenario_id=review.scenario_id, variation=review.variation
    )
    return [_injection(connection, task) for task in tasks if task.org_id == review.org_id]


def _injection(connection: Connection, task: EvalTask) -> JsonObject:
    return {
        "task_id": task.task_id,
        "variation": task.variation,
        "version": task.variation_version,
        "intensity": task.intensity,
        "wording": task.wording,
        "delivery": task.delivery,
        "text": text_of(connection, task.text_hash) if task.text_hash is not None else None,
        "text_hash": task.text_hash,
    }


def _eval_run(connection: Connection, review: Review, run_id: int) -> JsonObject:
    outcome = eval_outcomes.outcome_of_run(connection, org_id=review.org_id, run_id=run_id)
    whole: JsonObject = {"run_id": run_id, "link": f"/api/v1/eval/runs/{run_id}"}
    if outcome is None:
        return whole | {"observed": None}
    return whole | {
        "observed": outcome.observed,
        "matched": outcome.matched,
        "match_score": outcome.match_score,
        "shift": outcome.shift,
    }


def _observed(connection: Connection, review: Review, run_id: int) -> Json:
    outcome = eval_outcomes.outcome_of_run(connection, org_id=review.org_id, run_id=run_id)
    return outcome.observed if outcome is not None else None


def _eval_run_evidence(connection: Connection, review: Review, run_id: int) -> JsonObject:
    run = eval_outcomes.eval_run(connection, org_id=review.org_id, run_id=run_id) or {}
    text_hash = run.get("text_hash")
    injected: JsonObject = {key: run.get(key) for key in ("variation", "intensity", "wording", "delivery")}
    injected |= {"text": text_of(connection, text_hash) if isinstance(text_hash, str) else None}
    eval_run = _eval_run(connection, review, run_id)
    machine: JsonObject = {key: eval_run.pop(key, None) for key in ("matched", "match_score", "shift")}
    machine["is_flagged"] = run.get("is_flagged")
    return {"injected": [injected] if review.variation is not None else [], **eval_run, "machine": machine}


def _task_run_evidence(connection: Connection, review: Review, run_id: int) -> JsonObject:
    """What was asked and answered; the trace is a link away."""
    run = runs.run_by_id(connection, org_id=review.org_id, run_id=run_id)
    if run is None:
        return {"run_id": run_id}
    return {
        "run_id": run_id,
        "link": f"/api/runs/{run_id}",
        "task_id": run.task_id,
        "odyssey_seed": run.odyssey_seed(),
        "status": run.status.value,
        "final_response": run.final_response,
        "machine": {
            "verdict": run.verdict,
            "failure_mode": run.failure_mode,
            "pending_reason": run.pending_reason,
            "judgement": run.judgement,
            "judge_error": run.judge_error,
        },
    }


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def observed_outputs(connection: Connection, review: Review) -> list[JsonObject]:
    """What the agent did in the cell's newest evidence, as stored."""
    newest = _object(review.evidence[-1].get("cell")) if review.evidence else {}
    run_ids = [run_id for run_id in _list(newest.get("run_ids")) if isinstance(run_id, int)]
    found = eval_outcomes.outputs_of_runs(connection, org_id=review.org_id, run_ids=run_ids[:MOST_RUNS_SHOWN])
    return [_object(loads_own(output.observed)) for output in found]
