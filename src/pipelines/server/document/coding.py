"""Coding scenarios, and what runs of coding tasks changed, as they are answered."""

from pipelines.core.coding.diff import WorkspaceDiff
from pipelines.core.coding.grading import Grading
from pipelines.core.coding.scorers import TYPES, Status
from pipelines.server.document.parts import (
    ANY,
    ID,
    MOMENT,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.server.document.runs import FAILURE_MODE, PENDING_REASON, VERDICT
from pipelines.storage.tasks.coding import StoredCodingScenario

_HEAD = {
    "id": told(TEXT, "what `scenario_ref` of a task may name, as its name"),
    "name": TEXT,
    "version": told(WHOLE, "up with every change"),
    "user_instruction": TEXT,
    "workspace_seed": told(OBJECT, "in a list without its files"),
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
_SCORERS = listed(OBJECT)
_SIDE = record(
    "A verdict.",
    {
        "verdict": or_null(VERDICT),
        "failure_mode": or_null(FAILURE_MODE),
        "pending_reason": PENDING_REASON,
    },
)
_RESULT = record(
    "What a scorer said.",
    {
        "name": TEXT,
        "type": one_of(TYPES),
        "required": YES_NO,
        "weight": NUMBER,
        "status": one_of(Status),
        "score": told(NUMBER, "0 to 1"),
        "output": told(TEXT, "of what was run, cut; no agent sees it"),
        "reason": TEXT,
    },
)
_GRADING = {
    "passed": told(or_null(YES_NO), "null: a required scorer could not be judged, and none failed"),
    "score": or_null(NUMBER),
    "reason": TEXT,
    "results": listed(_RESULT),
    "restored_files": told(listed(TEXT), "put back before anything was run"),
    "tamper_signs": told(listed(TEXT), "what suggests that a grader was to be deceived"),
}
SCHEMAS: Schemas = {
    "CodingScenarioHead": record("A coding scenario in short.", {**_HEAD, "scorers": _SCORERS}),
    "CodingScenarioPage": page_of("CodingScenarioHead", "coding scenarios"),
    "GradedChange": record("What scorers said of a change.", {**_GRADING, "diff": ref("WorkspaceDiff")}),
    "CodingRun": record(
        "What a run of a coding task changed, and how that was graded.",
        {
            "run_id": ID,
            "scenario": told(OBJECT, "as the task copied it"),
            "baseline": told(or_null(OBJECT), "commit, tree, files and bytes that the agent started from"),
            "diff": {"anyOf": [ref("WorkspaceDiff"), {"type": "null"}]},
            "grading": {"anyOf": [ref("Grading"), {"type": "null"}]},
            "scorers": told(or_null(_SCORERS), "that it was graded by"),
            "earlier_gradings": listed(
                record("A grading before.", {"created_at": MOMENT, "grading": ANY, "scorers": _SCORERS})
            ),
        },
    ),
    "RescoredBatch": record(
        "What scoring again changed.",
        {
            "batch_id": ID,
            "rescored": WHOLE,
            "changed": WHOLE,
            "changes": listed(record("A run.", {"run_id": ID, "task_id": ID, "from": _SIDE, "to": _SIDE})),
            "next_cursor": or_null(TEXT),
        },
    ),
}
_ONE = "/api/coding-scenarios/{ref}"
RECORDS = (WorkspaceDiff, StoredCodingScenario, Grading)
OPERATIONS = (
    Operation("create_coding_scenario", "POST", "/api/coding-scenarios", {201: StoredCodingScenario}),
    Operation("list_coding_scenarios", "GET", "/api/coding-scenarios", {200: "CodingScenarioPage"}),
    Operation("get_coding_scenario", "GET", _ONE, {200: StoredCodingScenario}),
    Operation("replace_coding_scenario", "PUT", _ONE, {200: StoredCodingScenario}),
    Operation("delete_coding_scenario", "DELETE", _ONE, {204: None}),
    Operation("grade_coding_scenario", "POST", f"{_ONE}/grade", {200: "GradedChange"}),
    Operation("get_run_coding", "GET", "/api/runs/{run_id}/coding", {200: "CodingRun"}),
    Operation("rescore_run", "POST", "/api/runs/{run_id}/rescore", {200: "CodingRun"}),
    Operation("rescore_batch", "POST", "/api/batches/{batch_id}/rescore", {200: "RescoredBatch"}),
)
