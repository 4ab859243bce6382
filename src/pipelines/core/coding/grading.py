"""The grading of a change to a workspace: the change, the results of the scorers, and the combined result."""

from dataclasses import dataclass
from typing import Any

from pipelines.core.coding.diff import WorkspaceDiff
from pipelines.core.coding.scorers import ScorerResult
from pipelines.core.coding.scoring import CombinedResult, combine_results
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.stored import stored_list


@dataclass(frozen=True, kw_only=True, slots=True)
class Grading:
    results: tuple[ScorerResult, ...]
    diff: WorkspaceDiff  # as git says it is once it has been applied to the baseline
    #: Files that were put back to what the scenario or its baseline has, before anything was run.
    restored: tuple[str, ...] = ()
    #: Signs of tampering, as sentences. Any of them sends the run to review.
    signs: tuple[str, ...] = ()

    @property
    def combined(self) -> CombinedResult:
        return combine_results(self.results)

    def as_json(self) -> JsonObject:
        return {
            **self.combined.as_json(),
            "results": [result.as_json() for result in self.results],
            "restored_files": [*self.restored],
            "tamper_signs": [*self.signs],
        }

    @classmethod
    def from_stored(cls, body: Any, diff: WorkspaceDiff) -> "Grading":
        return cls(
            results=tuple(map(ScorerResult.from_stored, stored_list(body.get("results")))),
            diff=diff,
            restored=tuple(map(str, stored_list(body.get("restored_files")))),
            signs=tuple(map(str, stored_list(body.get("tamper_signs")))),
        )
