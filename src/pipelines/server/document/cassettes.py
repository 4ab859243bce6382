"""Cassettes, as they are answered."""

from pipelines.server.document.parts import (
    ANY,
    MOMENT,
    OBJECT,
    TEXT,
    WHOLE,
    Operation,
    Schemas,
    listed,
    one_of,
    page_of,
    record,
    ref,
    told,
)

_CALL = {
    "tool": TEXT,
    "arguments": OBJECT,
    "occurrence": told(WHOLE, "1: the first time that a run asked it"),
}
SCHEMAS: Schemas = {
    "Cassette": record(
        "Recorded calls of passthrough tools.",
        {
            "name": TEXT,
            "calls": WHOLE,
            "bytes": told(WHOLE, "of its lines"),
            "dropped": told(WHOLE, "calls that were not recorded, as it was full"),
            "created_at": MOMENT,
            "updated_at": MOMENT,
        },
    ),
    "CassettePage": page_of("Cassette", "cassettes"),
    "CassetteVerification": record(
        "What live endpoints answer today, held against a cassette.",
        {
            "cassette": TEXT,
            "calls": told(WHOLE, "on the cassette"),
            "asked": WHOLE,
            "same": WHOLE,
            "differ": WHOLE,
            "failed": told(WHOLE, "no answer came"),
            "differences": told(listed(ref("ChangedCall")), "of at most 100 calls"),
            "failures": told(
                listed(record("A call without an answer.", {**_CALL, "message": TEXT})), "at most 100"
            ),
            "skipped": listed(
                record("Calls that were not asked again.", {"tool": TEXT, "reason": TEXT, "calls": WHOLE})
            ),
        },
    ),
    "ChangedCall": record(
        "A call that is answered otherwise today.",
        {
            **_CALL,
            "differences": told(
                listed(
                    record(
                        "One place.",
                        {
                            "path": told(TEXT, "JSONPath into the response, or `status`"),
                            "how": one_of(("changed", "added", "removed")),
                            "recorded": ANY,
                            "now": ANY,
                        },
                    )
                ),
                "at most 20",
            ),
        },
    ),
}
OPERATIONS = (
    Operation("list_cassettes", "GET", "/api/cassettes", {200: "CassettePage"}),
    Operation("export_cassette", "GET", "/api/cassettes/{name}", {200: {"application/x-ndjson": TEXT}}),
    Operation("import_cassette", "PUT", "/api/cassettes/{name}", {200: "Cassette"}),
    Operation("delete_cassette", "DELETE", "/api/cassettes/{name}", {204: None}),
    Operation("verify_cassette", "POST", "/api/cassettes/{name}/verify", {200: "CassetteVerification"}),
)
