"""Runs: verdicts, traces and ledgers, as they are answered."""

from pipelines.core.agents.transcript import Message, TranscriptCall
from pipelines.core.verdict.verdict import (
    FailureMode,
    Finding,
    Grader,
    JudgeError,
    Outcome,
    PendingReason,
    ScoreNote,
    UnverifiedClaim,
    Verdict,
)
from pipelines.outbound.dispatch_outcome import DispatchFailed
from pipelines.server.document.derived import properties_of
from pipelines.server.document.parts import (
    ANY,
    ID,
    MOMENT,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    by_name,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.storage.runs.runs import ListedRun
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.names import MODEL_CALL, RunStatus, Source, TraceEventType

VERDICT = one_of(Outcome)
RUN_STATUS = one_of(RunStatus)
ERROR_CLASS = one_of(ErrorClass)
FAILURE_MODE = one_of(FailureMode)
PENDING_REASON = told(
    or_null(one_of(PendingReason)), "of PENDING; null of any other, and of graders before version 20"
)
_NOT_LISTED = ("messages", "metadata", "conversation", "error_json", "soft_warnings", "judgement")
_ASKED = {
    "row_number": told(or_null(WHOLE), "of its task in the dataset"),
    "user_instruction": told(or_null(TEXT), "its first 500 characters; null where the task is gone"),
    "task_key": told(or_null(TEXT), "what its task is known by over uploads"),
}
_WRITTEN = {
    "labels": told(listed(TEXT), "of the run and of its steps"),
    "comments": told(WHOLE, "how many people wrote on it"),
}
RUN = properties_of(ListedRun)
_SHORT = {name: RUN[name] for name in RUN if name not in _NOT_LISTED}
_GIVEN = {
    name: RUN[name] for name in ("verdict", "failure_mode", "pending_reason", "judgement", "judge_error")
}
SCHEMAS: Schemas = {
    "RunSummary": record(
        "A run in a list; its response is cut at 500 characters.",
        {
            **_SHORT,
            **_ASKED,
            **_WRITTEN,
        },
    ),
    "RunPage": page_of("RunSummary", "runs"),
    "WholeRun": record(
        "A run with the seed it was given and the counts of its calls.",
        {
            **RUN,
            **_ASKED,
            **_WRITTEN,
            "odyssey_seed": told(OBJECT, "by its axis names"),
            "counts": ref("CallCounts"),
            "review": told(or_null(ref("Review")), "what people made of it"),
            "annotations": told(listed(ref("Annotation")), "comments and labels"),
            "costs": ref("Costs"),
        },
    ),
    "ExportedRun": record(
        "A run, with what was asked.",
        {**RUN, **_ASKED, "annotations": told(listed(ref("Annotation")), "comments and labels")},
    ),
    "RunDecision": record(
        "The machine's verdict and a person's.",
        {
            "run_id": ID,
            "verdict": or_null(VERDICT),
            "failure_mode": or_null(FAILURE_MODE),
            "pending_reason": PENDING_REASON,
            "human_verdict": or_null(TEXT),
            "review": ref("Review"),
        },
    ),
    "GivenVerdict": record("A verdict of the machine.", _GIVEN, {"replaced_at": MOMENT}),
    "RunVerdicts": record(
        "The present verdict, those before it, what models and what people said.",
        {
            "run_id": ID,
            "present": ref("GivenVerdict"),
            "human_verdict": or_null(TEXT),
            "earlier": told(listed(ref("GivenVerdict")), "newest first"),
            "model_judgements": told(listed(ref("ModelJudgement")), "newest first, 100 at most"),
            "review": or_null(ref("Review")),
        },
    ),
    "ImportedRuns": record(
        "A batch of recorded runs, stored and judged.",
        {
            "batch_id": ID,
            "dataset_id": ID,
            "recognised": told(TEXT, "how many runs of which format"),
            "runs": told(listed(ref("ImportedRun")), "in the order of the request"),
        },
    ),
    "ImportedRun": record(
        "A recorded run and its verdict.",
        {
            "run_id": ID,
            "task_id": ID,
            "repeat_number": WHOLE,
            "verdict": or_null(VERDICT),
            "failure_mode": or_null(FAILURE_MODE),
            "judge_error": or_null(TEXT),
            "notes": told(listed(TEXT), "what a reader of the verdict should know"),
        },
    ),
    "OpenedRun": record(
        "A run to be driven by hand; the token is shown here and nowhere else.",
        {**RUN, "odyssey_proxy_url": TEXT, "run_token": TEXT},
    ),
    "CallCounts": record(
        "The tool calls of a run, counted.",
        {
            "tool_calls": WHOLE,
            "by_source": by_name(WHOLE),
            "validation_failures": WHOLE,
            "regenerated": WHOLE,
        },
    ),
    "Validation": record(
        "How a simulated reply was checked.",
        {"ok": YES_NO, "attempts": WHOLE, "errors": listed(ref("Problem"))},
        {"engine": TEXT, "notes": listed(TEXT)},
    ),
    "LedgerUpdate": record(
        "One change of the world.",
        {"op": one_of(("add", "update", "remove", "set_flag"))},
        {
            "entity_type": TEXT,
            "id": TEXT,
            "attrs": OBJECT,
            "set": OBJECT,
            "unset": listed(TEXT),
            "flag": TEXT,
            "value": YES_NO,
        },
    ),
    "TraceRow": record(
        "One thing that happened in a run.",
        {
            "sequence": WHOLE,
            "kind": one_of(("tool_call", *TraceEventType, MODEL_CALL)),
            "tool_name": or_null(TEXT),
            "arguments": told(ANY, "of a tool call"),
            "response": told(ANY, "of a tool call"),
            "source": or_null(one_of(Source)),
            "http_status": or_null(WHOLE),
            "error_code": or_null(TEXT),
            "matched_rule_index": told(or_null(WHOLE), "of the failure rule that fired"),
            "matched_rule": told(
                or_null(TEXT), "the rule of the tool's plan that answered; not told to the agent"
            ),
            "latency_ms": or_null(WHOLE),
            "updates": listed(ref("LedgerUpdate")),
            "validation": or_null(ref("Validation")),
            "payload": told(ANY, "of an event: what the agent sent"),
            "actor_id": or_null(TEXT),
            "idempotency_key": or_null(TEXT),
            "occurred_at": MOMENT,
            "client": told(or_null(TEXT), "the MCP client that called, as it calls itself"),
            "replayed": told(YES_NO, "whether a cassette answered in place of the live endpoint"),
        },
    ),
    "TracePage": page_of("TraceRow", "the trace, in the order in which it happened"),
    "RunOutput": record("What a code agent printed.", {"run_id": ID, "stdout": TEXT, "stderr": TEXT}),
    "RunLedger": record(
        "A run's world after a step.",
        {
            "run_id": ID,
            "step": WHOLE,
            "state": told(by_name(by_name(ANY)), "entities by type and id"),
            "flags": listed(TEXT),
        },
    ),
}
_EXPORT = {"application/json": told(OBJECT, "a WholeRun with its trace and output, or a trajectory in ATIF")}
RECORDS = (
    DispatchFailed,
    Grader,
    Finding,
    UnverifiedClaim,
    ScoreNote,
    ListedRun,
    Message,
    TranscriptCall,
    Verdict,
    JudgeError,
)
OPERATIONS = (
    Operation("create_run", "POST", "/api/runs", {202: "OpenedBatch", 201: "OpenedRun"}),
    Operation("import_runs", "POST", "/api/runs/import", {201: "ImportedRuns"}),
    Operation("list_runs", "GET", "/api/runs", {200: "RunPage"}),
    Operation("get_run", "GET", "/api/runs/{run_id}", {200: "WholeRun"}),
    Operation("finish_run", "POST", "/api/runs/{run_id}/finish", {200: ListedRun}),
    Operation("cancel_run", "POST", "/api/runs/{run_id}/cancel", {200: ListedRun}),
    Operation("judge_run", "POST", "/api/runs/{run_id}/judge", {200: ListedRun}),
    Operation("decide_run", "POST", "/api/runs/{run_id}/verdict", {200: "RunDecision"}),
    Operation("get_run_verdicts", "GET", "/api/runs/{run_id}/verdicts", {200: "RunVerdicts"}),
    Operation("get_run_trace", "GET", "/api/runs/{run_id}/trace", {200: "TracePage"}),
    Operation("get_run_output", "GET", "/api/runs/{run_id}/output", {200: "RunOutput"}),
    Operation("export_run", "GET", "/api/runs/{run_id}/export", {200: _EXPORT}),
    Operation("get_run_ledger", "GET", "/api/runs/{run_id}/ledger", {200: "RunLedger"}),
)
