"""Grading a change to a workspace: for runs, for proving a scenario, and for scoring stored changes again."""

from pipelines.core.coding.diff import WorkspaceDiff
from pipelines.core.coding.grading import Grading
from pipelines.core.coding.scenario import CodingScenario
from pipelines.engine.platform import Platform


async def grade(platform: Platform, *, org_id: int, scenario: CodingScenario, diff: WorkspaceDiff) -> Grading:
    """The scenario's scorers over its baseline with `diff` applied, in fresh sandboxes. `diff` needs a patch
    and nothing else (`core.coding.diff.patch_of`); an empty one is no change."""
    raise NotImplementedError
