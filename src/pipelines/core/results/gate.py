"""Whether the runs of a batch meet a gate, or whether runs that could not be run leave that open.

A run that could not be run says nothing about the agent. The gate is met or not met only if no result of such
runs could change that; otherwise it is not known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pipelines.wire.envelope import ErrorClass

#: Why a run failed without the agent having had its chance. The other classes are what the agent did.
COULD_NOT_RUN = frozenset(
    {
        ErrorClass.AGENT_UNREACHABLE,  # nothing listens, or its code could not be started
        ErrorClass.AUTH_FAILED,  # it was registered with another token than it takes
        ErrorClass.PROXY_MISCONFIGURED,
        ErrorClass.TRANSPORT_ERROR,
        ErrorClass.SIMULATOR_FAULT,
        ErrorClass.INTERRUPTED,
        ErrorClass.INTERNAL_ERROR,
    }
)


class ExitCode(IntEnum):
    """What a command that gates tells the shell."""

    MET = 0
    NOT_MET = 1
    USAGE = 2
    COULD_NOT_RUN = 3
    UNDECIDED = 4  # runs that wait for a person would decide it


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How many runs of a batch or task ended in which way."""

    passed: int = 0
    failed: int = 0  # by verdict, or by what the agent did
    undecided: int = 0  # PENDING: for a person, and counts for neither side
    not_run: int = 0  # or could not be judged

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.undecided + self.not_run

    def gate_code(self, fail_under: float) -> ExitCode:
        """As `exit_code`, for a gate that somebody asked for: it is not met while the undecided runs could
        still keep it from being met."""
        code = self.exit_code(fail_under)
        is_open = self.undecided and (self.passed + self.not_run) / self.total < fail_under
        return ExitCode.UNDECIDED if code is ExitCode.MET and is_open else code

    def exit_code(self, fail_under: float) -> ExitCode:
        """Of the decided runs at least this share must pass."""
        decided = self.passed + self.failed
        whole = decided + self.not_run
        if not decided:
            if self.not_run:
                return ExitCode.COULD_NOT_RUN
            return ExitCode.MET if fail_under == 0 else ExitCode.NOT_MET  # nothing is proved
        # Divided, not multiplied: 7 of 100 is as near to 0.07 as a float comes, 0.07 * 100 is more than 7.
        if self.passed / whole >= fail_under:
            return ExitCode.MET
        is_lost = (self.passed + self.not_run) / whole < fail_under
        return ExitCode.NOT_MET if is_lost else ExitCode.COULD_NOT_RUN


def tally(runs: Iterable[Mapping[str, Any]]) -> Tally:
    """Of runs as the API shows them."""
    counts = {"passed": 0, "failed": 0, "undecided": 0, "not_run": 0}
    for run in runs:
        counts[_outcome(run)] += 1
    return Tally(**counts)


def is_not_run(run: Mapping[str, Any]) -> bool:
    return _outcome(run) == "not_run"


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Of several suites: what is proven to be broken outranks what is not known."""
    order = (ExitCode.NOT_MET, ExitCode.COULD_NOT_RUN, ExitCode.UNDECIDED, ExitCode.USAGE)
    found = set(codes)
    return next((code for code in order if code in found), ExitCode.MET)


def _outcome(run: Mapping[str, Any]) -> str:
    if run.get("judge_error") or run.get("error_class") in COULD_NOT_RUN:
        return "not_run"
    match run.get("verdict"):
        case "PASS":
            return "passed"
        case "PENDING":
            return "undecided"
        case None:  # cancelled, or never sent
            return "not_run"
    return "failed"
