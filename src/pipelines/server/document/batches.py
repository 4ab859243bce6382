"""Batches, as they are answered."""

from pipelines.core.results.compare_batches import Flip, JudgedRun, PairedTest, Side, TaskPair
from pipelines.engine.reports.compare_batches import BatchComparison, ComparedBatch
from pipelines.server.document.derived import properties_of
from pipelines.server.document.parts import (
    ID,
    NUMBER,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    by_name,
    listed,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.server.document.runs import FAILURE_MODE, PENDING_REASON, VERDICT
from pipelines.storage.runs.batches import Batch, BatchBudget

_BATCH = properties_of(Batch)
SCHEMAS: Schemas = {
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
RECORDS = (Batch, JudgedRun, Flip, BatchComparison, ComparedBatch, Side, TaskPair, PairedTest, BatchBudget)
OPERATIONS = (
    Operation("list_batches", "GET", "/api/batches", {200: "BatchPage"}),
    Operation("get_batch", "GET", "/api/batches/{batch_id}", {200: "BatchReport"}),
    Operation("label_batch", "PUT", "/api/batches/{batch_id}/label", {200: Batch}),
    Operation("watch_batch", "GET", "/api/batches/{batch_id}/events", {200: EVENTS}),
    Operation("cancel_batch", "POST", "/api/batches/{batch_id}/cancel", {200: Batch}),
    Operation("resume_batch", "POST", "/api/batches/{batch_id}/resume", {202: Batch}),
    Operation("judge_batch", "POST", "/api/batches/{batch_id}/judge", {200: "BatchRejudged"}),
    Operation("compare_batches", "GET", "/api/batches/{batch_id}/compare", {200: BatchComparison}),
    Operation("export_batch", "GET", "/api/batches/{batch_id}/export", {200: _EXPORT}),
    Operation("get_batch_report", "GET", "/api/batches/{batch_id}/report", {200: {"text/html": TEXT}}),
    Operation(
        "get_batch_report_contents",
        "GET",
        "/api/batches/{batch_id}/report/contents",
        {200: "ReportContents"},
    ),
)
