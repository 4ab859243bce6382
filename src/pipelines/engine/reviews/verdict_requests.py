"""What a verdict asks for beside its word, worked out when it is given: later the cell may look different."""

from pipelines.core.evals.reviews.review import Verdict
from pipelines.core.evals.reviews.review_requests import MOST_RUNS, VerdictRequest
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scoring.accepted import accepted_behavior, behavior_hash, typical_output
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.matchers.matching import check_expectation
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.reviews.review_evidence import observed_outputs
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import eval_scenarios
from pipelines.storage.evals.reviews import Review

DEFAULT_RUNS = 5  # from so many on a cell has an interval


def asks_of(connection: Connection, review: Review, given: VerdictRequest) -> JsonObject:
    """Refused where it cannot be carried out."""
    if given.verdict is Verdict.NEEDS_MORE_RUNS:
        return {"runs": given.runs or _runs_to_decide(review)}
    if given.verdict is Verdict.ACCEPTABLE_SHIFT:
        return _accepted_shift(connection, review, given)
    return {}


def _runs_to_decide(review: Review) -> int:
    """As many as the report says would decide the cell; where it does not say, a few."""
    cell = review.evidence[-1].get("cell") if review.evidence else None
    more = cell.get("more_runs") if isinstance(cell, dict) else None
    return min(MOST_RUNS, more) if isinstance(more, int) and more > 0 else DEFAULT_RUNS


def _accepted_shift(connection: Connection, review: Review, given: VerdictRequest) -> JsonObject:
    scenario = _scenario(connection, review)
    behavior = given.expected_behavior
    if behavior is not None:
        problems = check_expectation(behavior, path="/expected_behavior")
        if not behavior:
            problems.append(Problem(path="/expected_behavior", message="is empty: every answer would match"))
        if problems:
            raise Refused(problems, "the verdict")
    else:
        behavior = _observed_behavior(connection, review, scenario)
    return {
        "expectation": "directional",
        "expected_behavior": behavior,
        "instead_of": behavior_hash(scenario.expected_behavior),
    }


def _observed_behavior(connection: Connection, review: Review, scenario: Scenario) -> JsonObject:
    outputs = [Observed.from_stored(output) for output in observed_outputs(connection, review)]
    behavior = accepted_behavior(scenario.contract, outputs)
    if behavior is None:
        typical = typical_output(scenario.contract, outputs)
        what = f"is {typical.output_class}" if typical is not None else "is not known"
        problem = Problem(
            path="/expected_behavior",
            message=f"is missing: what the agent did here {what}, which has no fields to expect",
            hint="say what is expected under this variation, or choose another verdict",
        )
        raise Refused([problem], "the verdict")
    return behavior


def _scenario(connection: Connection, review: Review) -> Scenario:
    assert review.scenario_id is not None
    stored = eval_scenarios.scenario_by_id(
        connection,
        org_id=review.org_id,
        scenario_id=review.scenario_id,
        version=review.scenario_version,
    )
    assert stored is not None, "versions of scenarios are never deleted"
    return Scenario.from_stored(stored.body())
