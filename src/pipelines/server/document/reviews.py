"""Reviews: questions to people, their answers and what these did, as they are answered."""

from pipelines.core.evals.reviews.review import Claim, ReviewKind, ReviewStatus, Verdict
from pipelines.core.evals.reviews.review_requests import ReviewSettings
from pipelines.server.document.evals import RISK
from pipelines.server.document.matrices import INTERVAL
from pipelines.server.document.parts import (
    ID,
    MOMENT,
    NUMBER,
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
from pipelines.storage.evals.review_marks import Mark
from pipelines.storage.evals.reviews import StoredVerdict

_VERDICT = one_of(Verdict)
_REVIEW = {
    "id": TEXT,
    "kind": one_of(ReviewKind),
    "status": one_of(ReviewStatus),
    "risk_level": or_null(RISK),
    "scenario_id": or_null(TEXT),
    "scenario_version": or_null(ID),
    "scenario_name": or_null(TEXT),
    "variation": or_null(TEXT),
    "agent_id": or_null(ID),
    "agent_version": or_null(ID),
    "fingerprint": or_null(TEXT),
    "matrix_id": told(or_null(TEXT), "of the newest evidence"),
    "run_id": told(or_null(ID), "where it is about one run"),
    "reviewers_wanted": WHOLE,
    "blind": YES_NO,
    "verdict": or_null(_VERDICT),
    "outcome": told(or_null(OBJECT), "what the verdict did"),
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "decided_at": or_null(MOMENT),
    "claims": listed(ref("ReviewClaim")),
    "verdicts": listed(ref("ReviewVerdict")),
    "reviewers_missing": WHOLE,
    "links": by_name(TEXT),
}
_SOMETIMES = {
    "reasons": told(listed(TEXT), "why it was opened; hidden from who decides blind"),
    "hidden": told(TEXT, "what is kept from who decides blind"),
}
_EVIDENCE = {
    "scenario": or_null(ref("Scenario")),
    "evidence": listed(ref("ReviewEvidence")),
    "marks": listed(ref("Mark")),
    "history": listed(ref("ReviewEvent")),
}
_KAPPA = {
    "method": one_of(("cohen", "fleiss")),
    "items": WHOLE,
    "observed_agreement": NUMBER,
    "expected_agreement": NUMBER,
    "kappa": or_null(NUMBER),
    "interval": INTERVAL,
    "note": or_null(TEXT),
}
_SEEN = record(
    "A run of the cell.",
    {"run_id": or_null(ID), "link": or_null(TEXT), "observed": or_null(ref("Observed"))},
    {"matched": or_null(YES_NO), "match_score": or_null(NUMBER), "shift": or_null(NUMBER)},
)
SCHEMAS: Schemas = {
    "Review": record("A question to people.", _REVIEW, {**_SOMETIMES, **_EVIDENCE}),
    "ReviewPage": page_of("Review", "reviews"),
    "WholeReview": record(
        "A question with its evidence and its history.",
        {**_REVIEW, **{name: _EVIDENCE[name] for name in ("evidence", "marks", "history")}},
        {**_SOMETIMES, "scenario": _EVIDENCE["scenario"]},
    ),
    "ReviewEvent": record(
        "Something that happened to it.",
        {"at": MOMENT, "reviewer": or_null(TEXT), "event": TEXT},
        {"detail": OBJECT},
    ),
    "ReviewedRun": _SEEN,
    "ReviewEvidence": record(
        "What a person decides on: of a cell one part per matrix, else the run.",
        {},
        {
            "matrix_id": TEXT,
            "link": TEXT,
            "injected": listed(ref("Injection")),
            "baseline": ref("ReviewedRun"),
            "components": listed(ref("ShiftComponent")),
            "run_ids": listed(ID),
            "runs": listed(ref("ReviewedRun")),
            "reasons": listed(TEXT),
            "machine": told(OBJECT, "what the machine makes of it; hidden from who decides blind"),
            "run_id": ID,
            "task_id": ID,
            "odyssey_seed": OBJECT,
            "status": TEXT,
            "final_response": or_null(TEXT),
            "observed": or_null(ref("Observed")),
        },
    ),
    "MarkPage": page_of("Mark", "marks"),
    "BulkResults": record(
        "What became of each.",
        {
            "results": listed(
                record(
                    "One of them.",
                    {"id": TEXT, "ok": YES_NO},
                    {"review": ref("Review"), "error": ref("ErrorBody")},
                )
            ),
            "done": WHOLE,
            "failed": WHOLE,
        },
    ),
    "ReviewProgress": record(
        "What each person did, what waits, and what was decided.",
        {
            "reviewers": listed(
                record(
                    "A person.",
                    {
                        "reviewer": TEXT,
                        "verdicts": WHOLE,
                        "by_verdict": by_name(WHOLE),
                        "claimed": WHOLE,
                        "last_verdict_at": or_null(MOMENT),
                    },
                )
            ),
            "waiting": record("What waits.", {"total": WHOLE, "disputed": WHOLE, "by_kind": by_name(WHOLE)}),
            "decided": record("What was decided.", {"total": WHOLE, "by_verdict": by_name(WHOLE)}),
        },
    ),
    "ReviewAgreement": record(
        "How far people agree.",
        {
            "kind": TEXT,
            "items": WHOLE,
            "reviewers": listed(TEXT),
            "enough": YES_NO,
            "agreement": or_null(record("Of all.", _KAPPA)),
            "pairs": listed(record("Of two.", {"reviewers": listed(TEXT), **_KAPPA})),
            "note": or_null(TEXT),
        },
    ),
}
_REVIEWS = "/api/v1/eval/reviews"
_ONE = _REVIEWS + "/{review_id}"
RECORDS = (Claim, StoredVerdict, Mark, ReviewSettings)
OPERATIONS = (
    Operation("list_reviews", "GET", _REVIEWS, {200: "ReviewPage"}),
    Operation("open_review", "POST", _REVIEWS, {201: "Review", 200: "Review"}),
    Operation("act_on_reviews", "POST", f"{_REVIEWS}/bulk", {200: "BulkResults"}),
    Operation("get_review_progress", "GET", f"{_REVIEWS}/progress", {200: "ReviewProgress"}),
    Operation("get_review_agreement", "GET", f"{_REVIEWS}/agreement", {200: "ReviewAgreement"}),
    Operation("get_review_settings", "GET", f"{_REVIEWS}/settings", {200: ReviewSettings}),
    Operation("change_review_settings", "PUT", f"{_REVIEWS}/settings", {200: ReviewSettings}),
    Operation("list_marks", "GET", f"{_REVIEWS}/marks", {200: "MarkPage"}),
    Operation("get_review", "GET", _ONE, {200: "WholeReview"}),
    Operation("claim_review", "POST", f"{_ONE}/claim", {200: "Review"}),
    Operation("release_review", "POST", f"{_ONE}/release", {200: "Review"}),
    Operation("give_review_verdict", "POST", f"{_ONE}/verdict", {200: "Review"}),
    Operation("reopen_review", "POST", f"{_ONE}/reopen", {200: "Review"}),
)
