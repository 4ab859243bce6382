"""The grading of a change to a workspace: the change, the results of the scorers, and the combined result."""

from dataclasses import dataclass
from typing import Annotated, Any

from pipelines.core.coding.diff import WorkspaceDiff
from pipelines.core.coding.scorers import ScorerResult
from pipelines.core.coding.scoring import CombinedResult, combine_results
from pipelines.core.text.stored import stored_list
from pipelines.wire.records import Flat, Hidden, Named, Record, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Grading(Record):
    """What scorers said of a change."""

    results: tuple[ScorerResult, ...]
    diff: Hidden[WorkspaceDiff]  # as git says it is once it has been applied to the baseline
    #: Files that were put back to what the scenario or its baseline has, before anything was run.
    restored: Annotated[tuple[str, ...], "put back before anything was run", Named("restored_files")] = ()
    #: Signs of tampering, as sentences. Any of them sends the run to review.
    signs: Annotated[
        tuple[str, ...], "what suggests that a grader was to be deceived", Named("tamper_signs")
    ] = ()

    @property
    @shown(after="")
    def combined(self) -> Flat[CombinedResult]:
        return combine_results(self.results)

    @classmethod
    def from_stored(cls, body: Any, diff: WorkspaceDiff) -> "Grading":
        return cls(
            results=tuple(map(ScorerResult.from_stored, stored_list(body.get("results")))),
            diff=diff,
            restored=tuple(map(str, stored_list(body.get("restored_files")))),
            signs=tuple(map(str, stored_list(body.get("tamper_signs")))),
        )
