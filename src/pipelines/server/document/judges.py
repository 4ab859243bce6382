"""Judge models: what they said of runs, and how far they can be believed, as it is answered."""

from pipelines.core.text.json_text import JsonObject
from pipelines.core.verdict.model_judge.model_verdict import CriterionAnswer
from pipelines.server.document.parts import (
    ID,
    NUMBER,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    listed,
    one_of,
    or_null,
    record,
    ref,
    told,
)
from pipelines.server.document.runs import FAILURE_MODE, VERDICT
from pipelines.storage.runs.model_judgements import StoredJudgement

_JUDGE = {
    "judge": told(TEXT, "`model@prompt version`"),
    "model": TEXT,
    "prompt_version": TEXT,
}
_KAPPA: dict[str, JsonObject] = {
    "method": {"const": "cohen"},
    "items": WHOLE,
    "observed_agreement": NUMBER,
    "expected_agreement": NUMBER,
    "kappa": or_null(NUMBER),
    "interval": or_null(listed(NUMBER)),
    "note": or_null(TEXT),
}
_CALIBRATION = {
    **_JUDGE,
    "status": one_of(("calibrated", "uncalibrated")),
    "labels": told(WHOLE, "runs that both the judge and people decided"),
    "labels_needed": WHOLE,
    "undecided": told(WHOLE, "runs that people decided and the judge did not"),
    "passed_by_people": WHOLE,
    "true_positive_rate": told(or_null(ref("JudgeRate")), "of those that people pass"),
    "true_negative_rate": told(or_null(ref("JudgeRate")), "of those that people fail"),
    "agreement": or_null(ref("JudgeKappa")),
}
_SAID = {"verdict": VERDICT, "failure_mode": or_null(FAILURE_MODE)}
SCHEMAS: Schemas = {
    "ModelJudge": record(
        "The model behind a verdict; or, without criteria, why it gave none.",
        {"model": TEXT, "prompt_version": TEXT, "exchange_id": or_null(ID)},
        {
            "criteria": listed(ref("CriterionAnswer")),
            "left_open": told(listed(ref("Finding")), "what evidence did not decide"),
            "not_shown": told(listed(TEXT), "what the model was not shown, for its length"),
            "is_replayed": told(YES_NO, "answered before, and not asked again"),
            "attempts": WHOLE,
            "tokens": or_null(WHOLE),
            "cost_usd": or_null(NUMBER),
            "failure": TEXT,
            "problem": TEXT,
        },
    ),
    "JudgeRate": record(
        "A share with its interval.", {"rate": NUMBER, "interval": listed(NUMBER), "runs": WHOLE}
    ),
    "JudgeKappa": record("Agreement beyond chance.", _KAPPA),
    "JudgeCalibration": record("A judge against people's verdicts on the same runs.", _CALIBRATION),
    "JudgeCalibrations": record("Every judge of the org.", {"items": listed(ref("JudgeCalibration"))}),
    "BatchJudges": record(
        "Who has read runs of a batch.",
        {
            "batch_id": ID,
            "items": listed(
                record(
                    "A judge.",
                    {
                        **_JUDGE,
                        "runs": WHOLE,
                        "judgements": WHOLE,
                        "failed": told(WHOLE, "gave nothing usable"),
                        "wanted": told(WHOLE, "still to be asked"),
                        "cost_usd": or_null(NUMBER),
                    },
                )
            ),
        },
    ),
    "JudgeComparison": record(
        "Two judges over a batch.",
        {
            "batch_id": ID,
            "first": TEXT,
            "second": TEXT,
            "runs": told(WHOLE, "that both read"),
            "only_first": WHOLE,
            "only_second": WHOLE,
            "agreed": WHOLE,
            "agreement": told(or_null(ref("JudgeKappa")), "over the runs that both decided"),
            "disagreements": listed(
                record(
                    "A run of which they say different things.",
                    {"run_id": ID, "task_id": ID, "first": record("", _SAID), "second": record("", _SAID)},
                )
            ),
            "disagreements_left_off": WHOLE,
        },
    ),
}
RECORDS = (CriterionAnswer, StoredJudgement)
OPERATIONS = (
    Operation("get_judge_calibration", "GET", "/api/judges/calibration", {200: "JudgeCalibrations"}),
    Operation("list_batch_judges", "GET", "/api/batches/{batch_id}/judges", {200: "BatchJudges"}),
    Operation("compare_judges", "GET", "/api/batches/{batch_id}/judges/compare", {200: "JudgeComparison"}),
)
