"""Seed sessions, as they are answered."""

from pipelines.core.tasks.seed_session import AUTHORS, STATUSES
from pipelines.core.text.json_text import JsonObject
from pipelines.server.document.batches import EVENTS
from pipelines.server.document.derived import properties_of
from pipelines.server.document.parts import (
    ID,
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
from pipelines.storage.tasks.seed_rows import SeedBucket, SeedRow
from pipelines.storage.tasks.seed_sessions import SeedSession
from pipelines.storage.tasks.world_revisions import WorldRevision

_SESSION = properties_of(SeedSession)
_COUNTS = record("Rows of all buckets.", dict.fromkeys(("wanted", "kept", "rejected", "dropped"), WHOLE))
_ADVISORY = record(
    "Something to look at before rows are made.",
    {
        "name": told(TEXT, "of the kind, such as unused_enum_value"),
        "message": TEXT,
        "places": told(listed(TEXT), "JSON Pointers into the state, the first few"),
        "fix": told(or_null(TEXT), "a prompt for `refine`"),
    },
)
_TOLD = {
    "said": told(or_null(TEXT), "what a refinement did, in a sentence"),
    "notes": told(listed(TEXT), "what was guessed or left out"),
    "advisories": listed(_ADVISORY),
    "advisories_left_out": told(WHOLE, "past the first 200"),
    "types": listed(record("A type.", {"type": TEXT, "count": WHOLE})),
    "entities": told(WHOLE, "of all types"),
    "flags": told(WHOLE, "that are set"),
}
_REVISION = properties_of(WorldRevision)
_NUMBERS: JsonObject = {"type": "object", "additionalProperties": WHOLE}
_COUNTED = ("by_tool", "by_outcome", "by_expected_outcome", "by_trigger", "by_calls", "by_sentence")
_ABOUT = record(
    "Questions, the tokens of both sides, and their cost.",
    {"questions": WHOLE, "tokens": WHOLE, "cost_usd": told(or_null(NUMBER), "null: nobody knows a price")},
)
SCHEMAS: Schemas = {
    "SeedSessionPage": page_of("SeedSession", "seed sessions"),
    "SeedSessionReport": record(
        "A seed session and how far its rows are.",
        {
            **_SESSION,
            "buckets": listed(ref("SeedBucket")),
            "counts": _COUNTS,
            "rejected_by_reason": told(_NUMBERS, "how many drafts, by reason_code"),
            "models": told(or_null(ref("SessionSpending")), "null where no model wrote this session"),
        },
    ),
    "SessionSpending": record(
        "What a model was asked for a session.",
        {
            "model": told(or_null(TEXT), "that was asked last"),
            "questions": told(WHOLE, "that were sent, regenerations among them"),
            "replayed": told(WHOLE, "answered before, and not sent again"),
            "unpriced": told(WHOLE, "of which nobody knows what they cost"),
            "tokens": WHOLE,
            "cost_usd": told(or_null(NUMBER), "null where nobody knows any of it"),
            "budget": record(
                "What it may spend.",
                {
                    "max_cost_usd": told(or_null(NUMBER), "null: no limit"),
                    "max_model_tokens": told(or_null(WHOLE), "null: no limit"),
                    "used_up": YES_NO,
                },
            ),
        },
    ),
    "SessionEstimate": record(
        "What a session will ask of a model, about. Retries and regenerations come on top.",
        {
            "author": one_of(AUTHORS),
            "model": told(or_null(TEXT), "null where none is asked"),
            **dict.fromkeys(("world", "rows", "total"), _ABOUT),
        },
    ),
    "SessionWorld": record(
        "The world of a session.",
        {
            "session_id": ID,
            "status": one_of(STATUSES),
            "revision": WHOLE,
            "undo_to": or_null(WHOLE),
            "world_hash": TEXT,
            **_TOLD,
            "state": told(OBJECT, "{entity_type: {id: attributes}}"),
        },
    ),
    "WorldRevisionPage": page_of("WorldRevision", "revisions"),
    "RevisedWorld": record("A world that was just changed.", {"session_id": ID, **_REVISION, **_TOLD}),
    "SeedRowPage": page_of("SeedRow", "rows"),
    "RowCoverage": record(
        "What rows are about.",
        {
            "rows": WHOLE,
            **dict.fromkeys(_COUNTED, _NUMBERS),
            "missing_tools": listed(TEXT),
            "notes": listed(TEXT),
        },
    ),
}
_ALL = "/api/seed-sessions"
_ONE = f"{_ALL}/{{session_id}}"
RECORDS = (SeedSession, SeedBucket, WorldRevision, SeedRow)
OPERATIONS = (
    Operation("create_seed_session", "POST", _ALL, {201: "SeedSessionReport"}),
    Operation("estimate_new_seed_session", "POST", f"{_ALL}/estimate", {200: "SessionEstimate"}),
    Operation("estimate_seed_session", "GET", f"{_ONE}/estimate", {200: "SessionEstimate"}),
    Operation("resume_seed_session", "POST", f"{_ONE}/resume", {202: "SeedSessionReport"}),
    Operation("list_seed_sessions", "GET", _ALL, {200: "SeedSessionPage"}),
    Operation("get_seed_session", "GET", _ONE, {200: "SeedSessionReport"}),
    Operation("watch_seed_session", "GET", f"{_ONE}/events", {200: EVENTS}),
    Operation("get_session_world", "GET", f"{_ONE}/world", {200: "SessionWorld"}),
    Operation("paste_session_world", "PUT", f"{_ONE}/world", {200: "RevisedWorld"}),
    Operation("refine_session_world", "POST", f"{_ONE}/world/refine", {200: "RevisedWorld"}),
    Operation("regenerate_session_world", "POST", f"{_ONE}/world/regenerate", {200: "RevisedWorld"}),
    Operation("undo_session_world", "POST", f"{_ONE}/world/undo", {200: "RevisedWorld"}),
    Operation("list_world_revisions", "GET", f"{_ONE}/revisions", {200: "WorldRevisionPage"}),
    Operation("continue_seed_session", "POST", f"{_ONE}/continue", {202: "SeedSessionReport"}),
    Operation("list_seed_rows", "GET", f"{_ONE}/rows", {200: "SeedRowPage"}),
    Operation("get_row_coverage", "GET", f"{_ONE}/coverage", {200: "RowCoverage"}),
    Operation("rewrite_seed_row", "PUT", f"{_ONE}/rows/{{row_id}}", {200: SeedRow}),
    Operation("drop_seed_row", "DELETE", f"{_ONE}/rows/{{row_id}}", {200: SeedRow}),
    Operation(
        "regenerate_seed_row", "POST", f"{_ONE}/rows/{{row_id}}/regenerate", {202: "SeedSessionReport"}
    ),
    Operation("drop_seed_bucket", "DELETE", f"{_ONE}/buckets/{{number}}", {200: SeedBucket}),
    Operation(
        "regenerate_seed_bucket", "POST", f"{_ONE}/buckets/{{number}}/regenerate", {202: "SeedSessionReport"}
    ),
    Operation("finalize_seed_session", "POST", f"{_ONE}/finalize", {201: "SeedSessionReport"}),
    Operation("abandon_seed_session", "POST", f"{_ONE}/abandon", {200: "SeedSessionReport"}),
)
