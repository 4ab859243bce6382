"""Batches, as they are answered."""

from pipelines.server.document.parts import (
    ID,
    MOMENT,
    NUMBER,
    TEXT,
    WHOLE,
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
from pipelines.server.document.runs import FAILURE_MODE, VERDICT

_BATCH = {
    "id": ID,
    "agent_id": ID,
    "agent_version": ID,
    "dataset_id": or_null(ID),
    "repeats": WHOLE,
    "concurrency": WHOLE,
    "fault_seed": told(either(WHOLE, {"const": "repeat"}), "what random failure rules draw"),
    "status": one_of(("running", "completed", "cancelled")),
    "created_at": MOMENT,
    "ended_at": or_null(MOMENT),
}
_SIDE = record(
    "One of the two runs.",
    {"run_id": ID, "verdict": or_null(VERDICT), "failure_mode": or_null(FAILURE_MODE)},
)
SCHEMAS: Schemas = {
    "Batch": record("Many runs asked for at once.", _BATCH),
    "OpenedBatch": record("A batch that was asked for.", {**_BATCH, "batch_id": ID}),
    "BatchPage": page_of("Batch", "batches"),
    "BatchReport": record(
        "A batch with its counts and its pass rate.",
        {**_BATCH, "counts": ref("BatchCounts"), "summary": ref("BatchSummary")},
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
        },
    ),
    "BatchRejudged": record(
        "What judging anew changed.", {"batch_id": ID, "judged": WHOLE, "changed": WHOLE}
    ),
    "ComparedRun": _SIDE,
    "BatchFlip": record(
        "A run whose verdict differs: same task, same repeat.",
        {
            "task_id": ID,
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
            "compared": WHOLE,
            "only_from": WHOLE,
            "only_to": WHOLE,
            "flips": listed(ref("BatchFlip")),
        },
    ),
    "BatchExport": record("Every run of a batch.", {"items": listed(ref("Run"))}),
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
)
