"""Which judge models have read an org's runs, how far people bear them out, and how far they agree."""

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.verdict.model_judge.calibration import JudgeOpinion, Label, calibration, comparison
from pipelines.engine.find import find_batch
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.model_judgements import (
    Judge,
    RunVerdict,
    judges_of_batch,
    judges_of_org,
    labelled_verdicts,
    verdicts_in_batch,
)


async def read_calibration(platform: Platform, org_id: int) -> JsonObject:
    """Every judge of the org against what people decided on the same runs."""

    def read(connection: Connection) -> list[Json]:
        judges = judges_of_org(connection, org_id)
        return [_judge_json(judge) | calibration_of(connection, org_id, judge) for judge in judges]

    return {"items": await platform.database.read(read)}


def calibration_of(connection: Connection, org_id: int, judge: Judge) -> JsonObject:
    verdicts = labelled_verdicts(connection, org_id, judge)
    return calibration([Label(each.verdict, each.human_verdict or "") for each in verdicts])


def calibration_of_run(connection: Connection, org_id: int, judgement: Json) -> JsonObject | None:
    """Of the judge that a run's verdict is by; None where evidence decided it."""
    judge_answer = judgement.get("model_judge") if isinstance(judgement, dict) else None
    if not isinstance(judge_answer, dict) or "criteria" not in judge_answer:
        return None
    judge = Judge(str(judge_answer["model"]), str(judge_answer["prompt_version"]))
    return _judge_json(judge) | calibration_of(connection, org_id, judge)


async def read_batch_judges(platform: Platform, org_id: int, batch_id: int) -> JsonObject:
    batch = await find_batch(platform, org_id, batch_id)
    found = await platform.database.read(lambda connection: judges_of_batch(connection, batch.id))
    return {"batch_id": batch.id, "items": [_judge_json(judge) | counts for judge, counts in found]}


async def compare_judges(
    platform: Platform, org_id: int, batch_id: int, first: str, second: str
) -> JsonObject:
    """Two judges, by their names (`model@prompt version`), over a batch: what each said last of a run."""
    batch = await find_batch(platform, org_id, batch_id)

    def read(connection: Connection) -> tuple[list[Judge], list[list[RunVerdict]]]:
        known = [judge for judge, _ in judges_of_batch(connection, batch.id)]
        chosen = [judge for name in (first, second) for judge in known if judge.name == name]
        if len(chosen) < 2:
            return known, []
        return known, [verdicts_in_batch(connection, batch.id, judge) for judge in chosen]

    known, labelled = await platform.database.read(read)
    if not labelled:
        raise Refused(list(_unknown_judges(known, first=first, second=second)), "the comparison")
    one, other = ({each.run_id: JudgeOpinion(*each[:4]) for each in verdicts} for verdicts in labelled)
    return {"batch_id": batch.id, "first": first, "second": second, **comparison(one, other)}


def _unknown_judges(known: list[Judge], **asked: str) -> list[Problem]:
    names = [judge.name for judge in known]
    listed = ", ".join(names[:10]) or "none: pipelines rejudge BATCH --model NAME"
    return [
        Problem(path=path, message=f"`{name[:100]}` has judged no run of this batch", hint=f"known: {listed}")
        for path, name in asked.items()
        if name not in names
    ]


def _judge_json(judge: Judge) -> JsonObject:
    return {"judge": judge.name, "model": judge.model, "prompt_version": judge.prompt_version}
