"""Limits that the operator may change by settings; the others are constants where they are kept."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    batch_runs: int = 100_000  # of one batch
    #: Of processor time for one judgement, so that a busy machine changes no verdict. An ordinary run takes
    #: milliseconds; long answers take seconds only where they are written for it.
    judging_s: float = 3.0
    coding_scenarios: int = 20_000  # of an org
