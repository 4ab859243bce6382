"""A corrected oracle before it is saved: what its lint says, and which stored runs would be judged otherwise.
Nothing is stored, no model is asked, and nothing is sent to an agent."""

from dataclasses import dataclass
from functools import partial

from pipelines.core.tasks.oracle_axes import read_correction
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.verdict.oracle_words import OracleInWords, oracle_in_words
from pipelines.engine.find import find_run
from pipelines.engine.judging.judge_run import JudgeOptions, judge_by_evidence
from pipelines.engine.judging.stored_answers import ending_of, responses_of
from pipelines.engine.models.choose_judge import judge_model_of
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.check_oracle import check_oracle
from pipelines.storage.runs import runs
from pipelines.storage.runs.runs import Ending, Run

MOST_PREVIEWED = 200  # runs, the newest


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviewedRun:
    """A stored run by the corrected oracle."""

    run: Run
    ending: Ending  # as it would be judged

    @property
    def flips(self) -> bool:
        """Its verdict changes, or the reason of it."""
        return self._before() != self._after()

    def as_json(self) -> JsonObject:
        return {
            "run_id": self.run.id,
            "batch_id": self.run.batch_id,
            "from": self.run.plain_verdict() | {"judge_error": self.run.judge_error},
            "to": {
                "verdict": self.ending.verdict,
                "failure_mode": self.ending.failure_mode,
                "pending_reason": self.ending.pending_reason,
                "judge_error": self.ending.judge_error,
            },
        }

    def _before(self) -> tuple[str | None, str | None, bool]:
        return self.run.verdict, self.run.failure_mode, self.run.judge_error is not None

    def _after(self) -> tuple[str | None, str | None, bool]:
        verdict, mode = self.ending.verdict, self.ending.failure_mode
        return verdict, mode, self.ending.judge_error is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class OraclePreview:
    task_id: int
    version: int  # that the task's oracle has now
    in_words: tuple[OracleInWords, ...]
    warnings: list[JsonObject]
    judged: int
    left: int  # older runs that were not looked at
    open: int  # that evidence does not decide, and that a judge model will be asked about
    flips: tuple[PreviewedRun, ...]  # newest first

    def as_json(self) -> JsonObject:
        words: list[Json] = [{"axis": each.axis, "sentences": [*each.sentences]} for each in self.in_words]
        return {
            "task_id": self.task_id,
            "oracle_version": self.version,
            "in_words": words,
            "warnings": [*self.warnings],
            "judged": self.judged,
            "left": self.left,
            "open": self.open,
            "changed": len(self.flips),
            "changes": [flip.as_json() for flip in self.flips],
        }


async def preview_oracle(
    platform: Platform, org_id: int, task_id: int, body: JsonObject, *, most_runs: int = MOST_PREVIEWED
) -> OraclePreview:
    """By evidence alone. Refused with every problem of the oracle."""
    checked = await check_oracle(platform, org_id, task_id, read_correction(body))
    corrected = Seed.from_stored(checked.body)
    ids = await platform.database.read(partial(runs.ended_runs_of_task, task_id=task_id))
    newest = ids[:most_runs]
    options = JudgeOptions(by_oracle=corrected)
    flips: list[PreviewedRun] = []
    left_open = 0
    for run_id in newest:
        run = await find_run(platform, org_id, run_id)
        judged = await judge_by_evidence(platform, run, ending_of(run), responses_of(run), options)
        if judged.open is not None and await judge_model_of(platform, run) is not None:
            left_open += 1
            continue
        previewed = PreviewedRun(run=run, ending=judged.ending)
        flips += [previewed] if previewed.flips else []
    return OraclePreview(
        task_id=task_id,
        version=checked.stored.version,
        in_words=oracle_in_words(corrected),
        warnings=checked.warnings,
        judged=len(newest),
        left=len(ids) - len(newest),
        open=left_open,
        flips=tuple(flips),
    )
