"""How far a judge can be believed: held against people's verdicts on the same runs, or against another.

A judge that says nothing of a run (`PENDING`) is right and wrong in nothing: it is counted apart.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipelines.core.evals.reviews.agreement import cohens_kappa
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.statistics import wilson
from pipelines.core.verdict.verdict import Outcome

#: Fewer runs that people decided say little of a judge, whatever they say.
LEAST_LABELS = 30
MOST_LISTED = 200  # disagreements
_DECIDED = (Outcome.PASS.value, Outcome.FAIL.value)


class Label(NamedTuple):
    """One run: what the judge said, and what people did."""

    judge: str
    people: str


def calibration(labels: Sequence[Label]) -> JsonObject:
    """Rates and kappa with their intervals; under LEAST_LABELS none: they would only mislead."""
    decided = [label for label in labels if label.judge in _DECIDED]
    is_calibrated = len(decided) >= LEAST_LABELS
    figures: JsonObject = {
        "status": "calibrated" if is_calibrated else "uncalibrated",
        "labels": len(decided),
        "labels_needed": LEAST_LABELS,
        "undecided": len(labels) - len(decided),
        "passed_by_people": sum(label.people == Outcome.PASS for label in decided),
        "true_positive_rate": None,
        "true_negative_rate": None,
        "agreement": None,
    }
    if not is_calibrated:
        return figures
    return figures | {
        "true_positive_rate": _rate(decided, Outcome.PASS.value),
        "true_negative_rate": _rate(decided, Outcome.FAIL.value),
        "agreement": cohens_kappa([(label.judge, label.people) for label in decided]).as_json(),
    }


def _rate(labels: Sequence[Label], verdict: str) -> Json:
    """Of the runs that people gave this verdict, the share that the judge gave it, too."""
    given = [label.judge == verdict for label in labels if label.people == verdict]
    if not given:
        return None
    interval = [round(bound, 4) for bound in wilson(sum(given), len(given))]
    return {"rate": round(sum(given) / len(given), 4), "interval": [*interval], "runs": len(given)}


class JudgeOpinion(NamedTuple):
    """What a judge said of a run."""

    run_id: int
    task_id: int
    verdict: str
    failure_mode: str | None


def comparison(first: Mapping[int, JudgeOpinion], second: Mapping[int, JudgeOpinion]) -> JsonObject:
    """Two judges over the runs that both read: agreement, kappa, and where they differ."""
    both = sorted(first.keys() & second.keys())
    pairs = [(first[run_id].verdict, second[run_id].verdict) for run_id in both]
    decided = [pair for pair in pairs if all(verdict in _DECIDED for verdict in pair)]
    apart = [run_id for run_id in both if first[run_id].verdict != second[run_id].verdict]
    return {
        "runs": len(both),
        "only_first": len(first) - len(both),
        "only_second": len(second) - len(both),
        "agreed": len(both) - len(apart),
        "agreement": cohens_kappa(decided).as_json() if decided else None,
        "disagreements": [_disagreement(first[run_id], second[run_id]) for run_id in apart[:MOST_LISTED]],
        "disagreements_left_off": max(0, len(apart) - MOST_LISTED),
    }


def _disagreement(first: JudgeOpinion, second: JudgeOpinion) -> JsonObject:
    return {
        "run_id": first.run_id,
        "task_id": first.task_id,
        "first": {"verdict": first.verdict, "failure_mode": first.failure_mode},
        "second": {"verdict": second.verdict, "failure_mode": second.failure_mode},
    }
