"""Tasks of other ranges, as they are answered."""

from pipelines.server.document.parts import OBJECT, TEXT, Operation, Schemas, listed, or_null, record, told

_GRADING = told(or_null(OBJECT), "what each scorer said; null where it did not come to that")
SCHEMAS: Schemas = {
    "ImportedScenario": record(
        "What became of a task that was to be taken.",
        {
            "id": told(or_null(TEXT), "of the scenario; null where it was refused"),
            "name": TEXT,
            "refused": told(listed(TEXT), "why it proves nothing; empty where it was stored"),
            "proof": record(
                "How it was graded with its reference, and without a change.",
                {"reference": _GRADING, "unchanged": _GRADING},
            ),
        },
    ),
}
OPERATIONS = (
    Operation("import_coding_scenario", "POST", "/api/coding-scenarios/import", {200: "ImportedScenario"}),
)
