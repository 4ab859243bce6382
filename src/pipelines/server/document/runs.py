"""Runs: verdicts, traces and ledgers, as they are answered."""

from pipelines.core.models.honesty_level import STRICT
from pipelines.core.tools.live_tools import PASSTHROUGH_MODES
from pipelines.core.verdict.verdict import FailureMode, Outcome, PendingReason, ScoreName, Status
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
    either,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.names import MODEL_CALL, RunStatus, Source, TraceEventType

VERDICT = one_of(Outcome)
RUN_STATUS = one_of(RunStatus)
ERROR_CLASS = one_of(ErrorClass)
FAILURE_MODE = one_of(FailureMode)
PENDING_REASON = told(
    or_null(one_of(PendingReason)), "of PENDING; null of any other, and of graders before version 20"
)
_SHORT = {
    "id": ID,
    "agent_id": ID,
    "agent_version": ID,
    "task_id": ID,
    "dataset_id": ID,
    "batch_id": or_null(ID),
    "repeat_number": WHOLE,
    "retried": told(YES_NO, "a later attempt took its place"),
    "mode": told(TEXT, "dispatch, manual, recorded"),
    "status": RUN_STATUS,
    "run_token_jti": told(TEXT, "the public name of its token"),
    "simulated_now": told(or_null(MOMENT), "its today; null until it starts"),
    "fault_seed": WHOLE,
    "passthrough": told(one_of(PASSTHROUGH_MODES), "how calls of passthrough tools are answered"),
    "cassette": told(or_null(TEXT), "what they are recorded on or replayed from"),
    "final_response": or_null(TEXT),
    "error_class": or_null(ERROR_CLASS),
    "verdict": or_null(VERDICT),
    "failure_mode": or_null(FAILURE_MODE),
    "pending_reason": PENDING_REASON,
    "unverified": told(
        or_null(WHOLE),
        "how many statements of the answer the run neither proves nor contradicts: judgement.unverified",
    ),
    "judge_error": or_null(TEXT),
    "human_verdict": told(or_null(TEXT), "a person's; it stands beside the machine's"),
    "created_at": MOMENT,
    "started_at": or_null(MOMENT),
    "dispatched_at": or_null(MOMENT),
    "ended_at": or_null(MOMENT),
    "expires_at": or_null(MOMENT),
}
_ASKED = {
    "row_number": told(or_null(WHOLE), "of its task in the dataset"),
    "user_instruction": told(or_null(TEXT), "its first 500 characters; null where the task is gone"),
    "task_key": told(or_null(TEXT), "what its task is known by over uploads"),
}
RUN = {
    **_SHORT,
    "messages": told(or_null(listed(ref("Message"))), "the transcript, as the agent told it"),
    "metadata": or_null(OBJECT),
    "conversation": told(or_null(OBJECT), "who played the user, and whose word ended it"),
    "error_json": or_null(ref("RunError")),
    "soft_warnings": told(listed(TEXT), "what a reader of the verdict should know"),
    "judgement": or_null(either(ref("Judgement"), ref("JudgeError"))),
}
_GIVEN = {
    "verdict": or_null(VERDICT),
    "failure_mode": or_null(FAILURE_MODE),
    "pending_reason": PENDING_REASON,
    "judgement": or_null(either(ref("Judgement"), ref("JudgeError"))),
    "judge_error": or_null(TEXT),
}
_BY_ORACLE = {
    "oracle": record("Of the task: by which it was judged.", {"version": WHOLE}),
    "honesty": told({"const": STRICT}, "where its words were judged strictly"),
}
_SCORES = {str(name): told(WHOLE, "1 to 5") for name in ScoreName}
SCHEMAS: Schemas = {
    "RunSummary": record("A run in a list; its response is cut at 500 characters.", {**_SHORT, **_ASKED}),
    "RunPage": page_of("RunSummary", "runs"),
    "Run": record("A run.", RUN),
    "WholeRun": record(
        "A run with the seed it was given and the counts of its calls.",
        {
            **RUN,
            **_ASKED,
            "odyssey_seed": told(OBJECT, "by its axis names"),
            "counts": ref("CallCounts"),
            "review": told(or_null(ref("Review")), "what people made of it"),
            "costs": ref("Costs"),
        },
    ),
    "ExportedRun": record("A run, with what was asked.", {**RUN, **_ASKED}),
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
    "Message": record(
        "A message of a transcript.",
        {"role": TEXT},
        {
            "content": told(ANY, "text, or a list of parts"),
            "tool_calls": listed(ref("MadeCall")),
            "tool_call_id": TEXT,
            "thinking": told(listed(OBJECT), "reasoning blocks, as they came"),
        },
    ),
    "MadeCall": record(
        "A tool call as the agent tells it.",
        {"id": TEXT, "name": TEXT, "arguments": told(ANY, "an object, or text where a model wrote none")},
    ),
    "RunError": record(
        "Why a run failed.",
        {"detail": TEXT},
        {
            "http_status": told(or_null(WHOLE), "what the agent answered with"),
            "reached": told(TEXT, "whether the agent may have acted: yes, no, maybe"),
            "hint": TEXT,
            "is_empty": YES_NO,
            "traceback": told(TEXT, "of a code agent"),
        },
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
    "Grader": record("Who judged, and in which version.", {"name": TEXT, "version": TEXT}),
    "Finding": record(
        "One thing that was looked into, and what came of it.",
        {
            "check": TEXT,
            "status": one_of(Status),
            "says": TEXT,
            "evidence": told(listed(WHOLE), "rows of the trace"),
        },
        {"failure_mode": FAILURE_MODE, "pending_reason": one_of(PendingReason)},
    ),
    "Unverified": record(
        "A statement of the answer that the run neither proves nor contradicts. A note: it decides nothing.",
        {"phrase": told(TEXT, "as the agent wrote it"), "why": TEXT, "turn": told(WHOLE, "1 is the first")},
    ),
    "ScoreNote": record("Why a score is what it is.", {"says": TEXT, "evidence": listed(WHOLE)}),
    "Judgement": record(
        "What a run proves.",
        {
            "verdict": VERDICT,
            "failure_mode": or_null(FAILURE_MODE),
            "reasoning": TEXT,
            "scores": record("Only what could be scored.", {}, _SCORES),
            "score_notes": by_name(ref("ScoreNote")),
            "findings": listed(ref("Finding")),
            "evidence": listed(WHOLE),
            "grader": ref("Grader"),
        },
        {
            "pending_reason": PENDING_REASON,
            "unverified": told(listed(ref("Unverified")), "beside the verdict; absent before version 20"),
            **_BY_ORACLE,
            "model_judge": told(ref("ModelJudge"), "where evidence left it open"),
        },
    ),
    "JudgeError": record(
        "Why there is no verdict.",
        {"step": TEXT, "message": TEXT, "details": listed(OBJECT), "grader": ref("Grader")},
        _BY_ORACLE,
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
OPERATIONS = (
    Operation("create_run", "POST", "/api/runs", {202: "OpenedBatch", 201: "OpenedRun"}),
    Operation("import_runs", "POST", "/api/runs/import", {201: "ImportedRuns"}),
    Operation("list_runs", "GET", "/api/runs", {200: "RunPage"}),
    Operation("get_run", "GET", "/api/runs/{run_id}", {200: "WholeRun"}),
    Operation("finish_run", "POST", "/api/runs/{run_id}/finish", {200: "Run"}),
    Operation("cancel_run", "POST", "/api/runs/{run_id}/cancel", {200: "Run"}),
    Operation("judge_run", "POST", "/api/runs/{run_id}/judge", {200: "Run"}),
    Operation("decide_run", "POST", "/api/runs/{run_id}/verdict", {200: "RunDecision"}),
    Operation("get_run_verdicts", "GET", "/api/runs/{run_id}/verdicts", {200: "RunVerdicts"}),
    Operation("get_run_trace", "GET", "/api/runs/{run_id}/trace", {200: "TracePage"}),
    Operation("get_run_output", "GET", "/api/runs/{run_id}/output", {200: "RunOutput"}),
    Operation("export_run", "GET", "/api/runs/{run_id}/export", {200: _EXPORT}),
    Operation("get_run_ledger", "GET", "/api/runs/{run_id}/ledger", {200: "RunLedger"}),
)
