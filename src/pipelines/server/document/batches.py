"""Batches, as they are answered."""

from pipelines.core.models.honesty_level import LEVELS
from pipelines.core.results.compare_batches import CHANGES
from pipelines.core.tools.live_tools import PASSTHROUGH_MODES
from pipelines.core.verdict.verdict import PendingReason
from pipelines.server.document.parts import (
    ID,
    MOMENT,
    NUMBER,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    by_name,
    either,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.server.document.runs import FAILURE_MODE, PENDING_REASON, VERDICT

_BATCH = {
    "id": ID,
    "agent_id": ID,
    "agent_version": ID,
    "dataset_id": or_null(ID),
    "repeats": WHOLE,
    "concurrency": WHOLE,
    "fault_seed": told(either(WHOLE, {"const": "repeat"}), "what random failure rules draw"),
    "passthrough": told(one_of(PASSTHROUGH_MODES), "how calls of passthrough tools are answered"),
    "cassette": told(or_null(TEXT), "what they are recorded on or replayed from"),
    "honesty": told(one_of(LEVELS), "how strictly words are judged"),
    "status": one_of(("running", "completed", "cancelled", "budget_exceeded")),
    "budget": ref("BatchBudget"),
    "created_at": MOMENT,
    "ended_at": or_null(MOMENT),
}
_NOT_COMPARED = ("budget", "concurrency", "fault_seed", "passthrough", "cassette", "honesty", "ended_at")
_SIDE = record(
    "One of the two runs.",
    {
        "run_id": ID,
        "verdict": or_null(VERDICT),
        "failure_mode": or_null(FAILURE_MODE),
        "pending_reason": PENDING_REASON,
    },
)
SCHEMAS: Schemas = {
    "Batch": record("Many runs asked for at once.", _BATCH),
    "OpenedBatch": record("A batch that was asked for.", {**_BATCH, "batch_id": ID}),
    "BatchPage": page_of("Batch", "batches"),
    "BatchReport": record(
        "A batch with its counts and its pass rate.",
        {
            **_BATCH,
            "counts": ref("BatchCounts"),
            "summary": ref("BatchSummary"),
            "costs": told(or_null(ref("Costs")), "null where they were not asked for"),
        },
    ),
    "BatchBudget": record(
        "What a batch may spend on models that the platform asks, and has.",
        {
            "max_cost_usd": told(or_null(NUMBER), "null: no limit"),
            "max_model_tokens": told(or_null(WHOLE), "null: no limit"),
            "cost_usd": told(NUMBER, "spent, with what is reserved for questions under way"),
            "tokens": WHOLE,
        },
    ),
    "BatchCounts": record(
        "Runs by status and by verdict.",
        {"total": WHOLE, "by_status": by_name(WHOLE), "by_verdict": by_name(WHOLE)},
    ),
    "BatchSummary": record(
        "How many of the judged runs passed.",
        {
            "passed": WHOLE,
            "judged": WHOLE,
            "pass_rate": or_null(NUMBER),
            "pass_rate_interval": told(or_null(listed(NUMBER)), "95 %, from and to"),
            "pass_hat_k": told(by_name(NUMBER), "the chance that k attempts all pass, by k"),
            "tasks_judged": WHOLE,
            "effective_runs": told(or_null(NUMBER), "what the runs are worth as evidence: repeats are less"),
            "stability": told(or_null(ref("BatchStability")), "null where no task was repeated"),
            "pending_reasons": told(by_name(WHOLE), "PENDING runs by reason"),
            "unverified": told(WHOLE, "runs whose answer states something that was not verified"),
        },
    ),
    "BatchStability": record(
        "Tasks with several judged runs.", {"stable_pass": WHOLE, "flaky": WHOLE, "stable_fail": WHOLE}
    ),
    "BatchRejudged": record(
        "What judging anew changed.",
        {
            "batch_id": ID,
            "judged": WHOLE,
            "changed": WHOLE,
            "changes": listed(ref("ChangedVerdict")),
            "failed": told(listed(ref("UnreadRun")), "of which a judge model gave nothing: theirs stay"),
            "next_cursor": told(or_null(TEXT), "where `limit` ended; null at the end"),
        },
    ),
    "ChangedVerdict": record(
        "A run whose verdict is another now.",
        {"run_id": ID, "task_id": ID, "from": ref("PlainVerdict"), "to": ref("PlainVerdict")},
    ),
    "UnreadRun": record(
        "A run that a judge model gave nothing for.",
        {"run_id": ID, "task_id": ID, "reason": TEXT, "message": TEXT},
    ),
    "PlainVerdict": record(
        "A verdict without its reasons.",
        {
            "verdict": or_null(VERDICT),
            "failure_mode": or_null(FAILURE_MODE),
            "pending_reason": PENDING_REASON,
        },
    ),
    "ComparedRun": _SIDE,
    "BatchFlip": record(
        "A run whose verdict differs: same task, same repeat.",
        {
            "task_id": ID,
            "task_key": TEXT,
            "repeat_number": WHOLE,
            "from": ref("ComparedRun"),
            "to": ref("ComparedRun"),
            "direction": one_of(("improved", "regressed", "undecided", "lateral")),
        },
    ),
    "BatchComparison": record(
        "What flipped between two batches.",
        {
            "from_batch": ID,
            "to_batch": ID,
            "from": ref("ComparedBatch"),
            "to": ref("ComparedBatch"),
            "warnings": listed(TEXT),
            "counts": told(by_name(WHOLE), "tasks by how they changed"),
            "test": ref("PairedTest"),
            "tasks": told(listed(ref("ComparedTask")), "failures first; those that pass in both are counted"),
            "tasks_left_off": WHOLE,
            "compared": WHOLE,
            "only_from": WHOLE,
            "only_to": WHOLE,
            "flips": listed(ref("BatchFlip")),
        },
    ),
    "ComparedBatch": record(
        "One of the two batches.",
        {name: schema for name, schema in _BATCH.items() if name not in _NOT_COMPARED},
    ),
    "ComparedSide": record(
        "A task in one of the two.",
        {
            "task_id": ID,
            "passed": WHOLE,
            "judged": WHOLE,
            "failure_modes": listed(FAILURE_MODE),
            "pending_reasons": listed(one_of(PendingReason)),
            "run_ids": listed(ID),
        },
    ),
    "ComparedTask": record(
        "How a task changed.",
        {
            "task_key": TEXT,
            "row_number": WHOLE,
            "user_instruction": or_null(TEXT),
            "change": one_of(CHANGES),
            "is_lost": told(YES_NO, "it passed before, and could not be judged now"),
            "from": or_null(ref("ComparedSide")),
            "to": or_null(ref("ComparedSide")),
            "notes": told(listed(TEXT), "why the two are not held against each other in the test"),
        },
    ),
    "PairedTest": record(
        "Whether more tasks got worse than chance would have it.",
        {
            "name": one_of(("mcnemar", "sign_flip")),
            "unit": {"const": "task"},
            "tasks": WHOLE,
            "worse": WHOLE,
            "better": WHOLE,
            "mean_difference": or_null(NUMBER),
            "p": or_null(NUMBER),
        },
    ),
    "ReportContents": record(
        "What a report of a batch would hold.",
        {
            "batch_id": ID,
            "status": TEXT,
            "runs": WHOLE,
            "steps": told(WHOLE, "of all traces"),
            "matrix_id": or_null(TEXT),
            "contains": told(listed(TEXT), "for people, before they hand it on"),
            "estimated_bytes": WHOLE,
            "max_mb": WHOLE,
            "is_cut": told(YES_NO, "not all of it would fit"),
        },
    ),
    "BatchExport": record("Every run of a batch.", {"items": listed(ref("ExportedRun"))}),
}
EVENTS = {"text/event-stream": told(TEXT, "`event: progress` at each change, `event: end` with the last")}
_EXPORT = {"application/json": ref("BatchExport"), "text/csv": TEXT}
OPERATIONS = (
    Operation("list_batches", "GET", "/api/batches", {200: "BatchPage"}),
    Operation("get_batch", "GET", "/api/batches/{batch_id}", {200: "BatchReport"}),
    Operation("watch_batch", "GET", "/api/batches/{batch_id}/events", {200: EVENTS}),
    Operation("cancel_batch", "POST", "/api/batches/{batch_id}/cancel", {200: "Batch"}),
    Operation("resume_batch", "POST", "/api/batches/{batch_id}/resume", {202: "Batch"}),
    Operation("judge_batch", "POST", "/api/batches/{batch_id}/judge", {200: "BatchRejudged"}),
    Operation("compare_batches", "GET", "/api/batches/{batch_id}/compare", {200: "BatchComparison"}),
    Operation("export_batch", "GET", "/api/batches/{batch_id}/export", {200: _EXPORT}),
    Operation("get_batch_report", "GET", "/api/batches/{batch_id}/report", {200: {"text/html": TEXT}}),
    Operation(
        "get_batch_report_contents",
        "GET",
        "/api/batches/{batch_id}/report/contents",
        {200: "ReportContents"},
    ),
)
