"""The gate of a matrix for CI: which cells fail it, and which could not be measured.

A cell that could not be measured fails every gate except `never`. So does a scenario whose baseline never
matches: pressure could not make it worse.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Any

from pipelines.cli.output.phrases import plural
from pipelines.core.results.gate import COULD_NOT_RUN, ExitCode

#: An agent that is wrong without pressure has passed nothing, so `failing` fails as the worst does.
VERDICTS_BY_GATE = {
    "critical": frozenset({"critical", "failing"}),
    "susceptible": frozenset({"critical", "failing", "susceptible"}),
    "inconclusive": frozenset({"critical", "failing", "susceptible", "inconclusive"}),
    "never": frozenset[str](),
}
UNMEASURED = "incomplete"


class FailOn(StrEnum):
    CRITICAL = "critical"  # the agent did something else where that is critical
    SUSCEPTIBLE = "susceptible"  # or gave way anywhere, beyond its own noise
    INCONCLUSIVE = "inconclusive"  # or there were too few runs to tell
    NEVER = "never"


def failing_cells(report: Any, fail_on: FailOn) -> list[Any]:
    """Cells with a verdict that the gate forbids."""
    forbidden = VERDICTS_BY_GATE[fail_on]
    return [cell for cell in report["cells"] if cell["verdict"] in forbidden]


def unmeasured_cells(report: Any) -> list[Any]:
    return [cell for cell in report["cells"] if cell["verdict"] == UNMEASURED]


def never_matching_baselines(report: Any) -> list[Any]:
    """Scenarios without one baseline run that does what is expected."""
    return [scenario for scenario in report["scenarios"] if not scenario["baseline"]["match_rate"]["k"]]


def reasons_not_met(report: Any, fail_on: FailOn) -> list[str]:
    """Why the gate is not met, a few words for each reason; empty if it is met."""
    return [] if fail_on is FailOn.NEVER else [*reasons_failed(report, fail_on), *reasons_unmeasured(report)]


def reasons_failed(report: Any, fail_on: FailOn) -> list[str]:
    """Reasons in the agent's behaviour."""
    if not report["cells"]:
        return ["there is no cell"]
    reasons = []
    for verdict in ("critical", "susceptible", "failing", "inconclusive"):
        count = len([cell for cell in failing_cells(report, fail_on) if cell["verdict"] == verdict])
        reasons += [f"{plural(count, 'cell')} {verdict}"] if count else []
    wrong = len([each for each in never_matching_baselines(report) if each["baseline"]["match_rate"]["n"]])
    return reasons + ([f"{plural(wrong, 'baseline')} never as expected"] if wrong else [])


def reasons_unmeasured(report: Any) -> list[str]:
    """Reasons that come from too few answers."""
    cells = len(unmeasured_cells(report))
    silent = len(
        [each for each in never_matching_baselines(report) if not each["baseline"]["match_rate"]["n"]]
    )
    reasons = [f"{plural(cells, 'cell')} incomplete"] if cells else []
    return reasons + ([f"{plural(silent, 'baseline')} without any answer"] if silent else [])


def exit_code(report: Any, fail_on: FailOn, errors: Collection[str]) -> ExitCode:
    """`errors` are the error classes of failed runs. A proven failure of the agent comes before them."""
    is_hindered = any(each in COULD_NOT_RUN for each in errors)
    progress = report["progress"]
    if is_hindered and progress["errors"] >= progress["total"]:
        return ExitCode.COULD_NOT_RUN  # whatever the gate: nothing was run
    if fail_on is FailOn.NEVER or not reasons_not_met(report, fail_on):
        return ExitCode.MET
    if reasons_failed(report, fail_on) or not is_hindered:
        return ExitCode.NOT_MET
    return ExitCode.COULD_NOT_RUN
