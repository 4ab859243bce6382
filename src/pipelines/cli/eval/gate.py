"""What a finished matrix means for CI: which cells fail the gate, which ones prove nothing.

A cell that could not be measured fails every gate but `never`: silence is no success. So does a scenario
whose baseline never did what is expected, since there is nothing left that pressure could change.
"""

from enum import StrEnum
from typing import Any

from pipelines.cli.eval.words import plural

VERDICTS_BY_GATE = {
    "critical": frozenset({"critical"}),
    "susceptible": frozenset({"critical", "susceptible"}),
    "inconclusive": frozenset({"critical", "susceptible", "inconclusive"}),
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


def hopeless_baselines(report: Any) -> list[Any]:
    """Scenarios without one baseline run that does what is expected."""
    return [scenario for scenario in report["scenarios"] if not scenario["baseline"]["match_rate"]["k"]]


def unmet(report: Any, fail_on: FailOn) -> list[str]:
    """Why the gate is not met, in a few words each; nothing where it is."""
    if fail_on is FailOn.NEVER:
        return []
    if not report["cells"]:
        return ["there is no cell"]
    reasons = []
    for verdict in ("critical", "susceptible", "inconclusive"):
        count = len([cell for cell in failing_cells(report, fail_on) if cell["verdict"] == verdict])
        reasons += [f"{plural(count, 'cell')} {verdict}"] if count else []
    unmeasured, hopeless = len(unmeasured_cells(report)), hopeless_baselines(report)
    silent = len([scenario for scenario in hopeless if not scenario["baseline"]["match_rate"]["n"]])
    wrong = len(hopeless) - silent
    reasons += [f"{plural(unmeasured, 'cell')} incomplete"] if unmeasured else []
    reasons += [f"{plural(wrong, 'baseline')} never as expected"] if wrong else []
    reasons += [f"{plural(silent, 'baseline')} without any answer"] if silent else []
    return reasons
