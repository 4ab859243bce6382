"""Statistics of repeated tasks: repeats of one task are not new tasks.

The task is the unit. How much a further run of the same task adds is read off the runs themselves, and
where they cannot tell, it adds nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.statistics import Interval, mean_pass_hat_k, wilson, wilson_of_rate

Outcomes: TypeAlias = Sequence[tuple[int, int]]  # (passes, judged runs) of each task that has a judged run


class Stability(NamedTuple):
    """How many tasks do what, of those with two judged runs or more: one run cannot tell."""

    stable_pass: int
    flaky: int  # some of its runs pass, some fail
    stable_fail: int


def clustered_wilson(tasks: Outcomes, *, confidence: float = 0.95) -> Interval:
    """Wilson's interval of the pass rate over all runs, as wide as so few tasks make it.

    With one run a task it is Wilson's own; however many repeats there are, it is no wider than over tasks.
    """
    passed, runs = sum(passes for passes, _ in tasks), sum(judged for _, judged in tasks)
    if runs == len(tasks):
        return wilson(passed, runs, confidence=confidence)
    return wilson_of_rate(passed / runs, effective_runs(tasks), confidence=confidence)


def effective_runs(tasks: Outcomes) -> float:
    """How many runs of different tasks would say as much: from the number of tasks to that of all runs."""
    runs = sum(judged for _, judged in tasks)
    if runs == len(tasks):
        return float(runs)
    # Few tasks, or runs that all pass, cannot show how much alike the runs of a task are. Two imagined tasks,
    # one that always passes and one that never does, stand for what was not seen.
    usual = runs / len(tasks)
    effect = design_effect([*tasks, (usual, usual), (0, usual)])
    return min(float(runs), max(float(len(tasks)), runs / effect))


def design_effect(tasks: Sequence[tuple[float, float]]) -> float:
    """How many times wider the variance of the pass rate is with whole tasks drawn than with single runs."""
    count, runs = len(tasks), sum(judged for _, judged in tasks)
    rate = sum(passes for passes, _ in tasks) / runs
    between = sum((passes - rate * judged) ** 2 for passes, judged in tasks)
    clustered = count / (count - 1) * between / runs**2
    return clustered / (rate * (1 - rate) / (runs - 1))


def stability(tasks: Outcomes) -> Stability:
    repeated = [(passes, judged) for passes, judged in tasks if judged > 1]
    passing = sum(passes == judged for passes, judged in repeated)
    failing = sum(passes == 0 for passes, _ in repeated)
    return Stability(passing, len(repeated) - passing - failing, failing)


def summary_of(tasks: Outcomes, repeats: int) -> JsonObject:
    """Pass rate over judged runs with its interval; where tasks were repeated, pass^k and who is flaky."""
    passed, judged = sum(passes for passes, _ in tasks), sum(tries for _, tries in tasks)
    summary: JsonObject = {"passed": passed, "judged": judged, "pass_rate": None, "pass_rate_interval": None}
    if judged:
        low, high = clustered_wilson(tasks)
        summary["pass_rate"] = round(passed / judged, 4)
        summary["pass_rate_interval"] = [round(low, 4), round(high, 4)]
    by_k: JsonObject = {}
    for k in range(2, repeats + 1):
        share = mean_pass_hat_k([one for one in tasks if one[1] >= k], k)
        if share is not None:
            by_k[str(k)] = round(float(share), 4)
    summary["pass_hat_k"] = by_k
    summary["tasks_judged"] = len(tasks)
    summary["effective_runs"] = round(effective_runs(tasks), 1) if tasks else None
    summary["stability"] = {**stability(tasks)._asdict()} if repeats > 1 else None
    return summary
