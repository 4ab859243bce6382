"""Datasets, as they are answered."""

from pipelines.core.simulation.rules.findings import FindingKind
from pipelines.core.task_files.read_tasks import COLUMNS
from pipelines.server.document.derived import properties_of
from pipelines.server.document.parts import (
    ID,
    MOMENT,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    either,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
    told,
)
from pipelines.storage.agents.author_jobs import AuthorJob
from pipelines.storage.agents.authored_rules import AuthoredRule
from pipelines.storage.tasks.datasets import Dataset

_DATASET = properties_of(Dataset)
TASK = {
    "id": ID,
    "dataset_id": ID,
    "row_number": told(WHOLE, "1 is the first"),
    "task_key": told(or_null(TEXT), "what it is known by over uploads; null while it is worked out"),
    "created_at": MOMENT,
}
_RULES = told(listed(OBJECT), "typed, in the forms of reference/behavior.md")
_CALLS = told(listed(OBJECT), "calls: `tool`, `arguments`, `now`, `record`, `before`, `status`, `body`")
_SENTENCE = {
    "sentence": TEXT,
    "origin": told(
        one_of(("sentence", "translated", "dismissed")),
        "translated: as somebody accepted it, not as it reads; dismissed: not enforced, by intent",
    ),
    "read_as": told(listed(TEXT), "its rules as canonical sentences"),
    "rules": _RULES,
    "numbers": told(listed(WHOLE), "of its rules among all that are in force, the typed ones first"),
    "not_read": or_null(
        record(
            "Where reading stopped; with rules, the sentence is enforced in part.",
            {
                "words": TEXT,
                "start": told(WHOLE, "character of the sentence"),
                "end": WHOLE,
                "message": TEXT,
                "suggestions": told(
                    listed(either(TEXT, OBJECT)),
                    "up to three nearest sentences of the first that are not read, with what each `drops`",
                ),
            },
        )
    ),
    "readings": told(
        listed(record("One way to read it.", {"read_as": listed(TEXT), "rules": _RULES})),
        "two or more where it can be read so; then it is not enforced",
    ),
    "not_enforced": told(or_null(TEXT), "why no call is held to its rules"),
    "uniform": told(or_null(TEXT), "that it comes out the same for every record of the seeded world"),
}
_EXAMPLES = listed(
    record(
        "What one rule does, in calls with it and without it.",
        {
            "rule": OBJECT,
            "passes": _CALLS,
            "refused": told(_CALLS, "calls that it refuses, or answers otherwise"),
            "calls": WHOLE,
            "differ": WHOLE,
            "refused_count": WHOLE,
        },
    )
)
_FINDING = {
    "kind": one_of(FindingKind),
    "rules": told(listed(WHOLE), "their numbers; first the one that it is about"),
    "says": TEXT,
    "sentence": told(TEXT, "of the rule that it is about"),
}
SCHEMAS: Schemas = {
    "DatasetPage": page_of("Dataset", "datasets"),
    "Upload": record(
        "A dataset after an upload: the tasks that were added, and what its author should look at.",
        {
            **_DATASET,
            "task_ids": listed(ID),
            "warnings": listed(ref("Problem")),
            "notes": told(listed(TEXT), "what was taken otherwise than it stands in the file"),
            "sentences": told(
                listed(
                    record(
                        "A sentence and its first row.",
                        {**_SENTENCE, "row": WHOLE},
                        {"examples": _EXAMPLES},
                    )
                ),
                "of behaviour texts, as they were read for the agent; at most 200, without suggestions",
            ),
            "reused": told(YES_NO, "it was there already, and nothing was stored"),
        },
    ),
    "ReadSentence": record("How a sentence of a behaviour text is read.", _SENTENCE, {"examples": _EXAMPLES}),
    "RuleFinding": record("What is wrong with rules themselves.", _FINDING),
    "SentenceList": record(
        "How the sentences of behaviour texts are read, each once, and what is wrong with their rules.",
        {
            "items": listed(
                record(
                    "A sentence and the task that it was read for.",
                    {**_SENTENCE, "task_id": ID},
                    {"examples": _EXAMPLES},
                )
            ),
            "findings": listed(record("A finding and its task.", {**_FINDING, "task_id": ID})),
            "texts_not_read": told(WHOLE, "how many of the texts there was no time for"),
        },
    ),
    "AuthoredRulePage": page_of("AuthoredRule", "proposed and decided rules"),
    "TaskSummary": record(
        "A task in a list.",
        {**TASK, "user_instruction": told(TEXT, "its first 500 characters"), "tags": listed(TEXT)},
    ),
    "TaskPage": page_of("TaskSummary", "tasks"),
    "DatasetExport": record(
        "The body of `POST /api/datasets` that makes the same tasks.",
        {
            "name": TEXT,
            "rows": listed(
                record(
                    "A row.", {"user": TEXT}, {column.name: {} for column in COLUMNS if column.name != "user"}
                )
            ),
        },
    ),
}
_EXPORT = {"text/csv": TEXT, "application/json": ref("DatasetExport")}
RECORDS = (Dataset, AuthoredRule, AuthorJob)
OPERATIONS = (
    Operation("create_dataset", "POST", "/api/datasets", {201: "Upload", 200: "Upload"}),
    Operation("list_datasets", "GET", "/api/datasets", {200: "DatasetPage"}),
    Operation("get_dataset", "GET", "/api/datasets/{dataset_id}", {200: Dataset}),
    Operation("delete_dataset", "DELETE", "/api/datasets/{dataset_id}", {204: None}),
    Operation("rename_dataset", "PUT", "/api/datasets/{dataset_id}/name", {200: Dataset}),
    Operation("list_tasks", "GET", "/api/datasets/{dataset_id}/tasks", {200: "TaskPage"}),
    Operation("append_tasks", "POST", "/api/datasets/{dataset_id}/tasks", {201: "Upload"}),
    Operation("export_dataset", "GET", "/api/datasets/{dataset_id}/export", {200: _EXPORT}),
    Operation("list_dataset_sentences", "GET", "/api/datasets/{dataset_id}/sentences", {200: "SentenceList"}),
    Operation("list_task_sentences", "GET", "/api/tasks/{task_id}/sentences", {200: "SentenceList"}),
    Operation("accept_rules", "POST", "/api/datasets/{dataset_id}/rules/accept", {200: "AuthoredRulePage"}),
    Operation(
        "dismiss_sentences", "POST", "/api/datasets/{dataset_id}/rules/dismiss", {200: "AuthoredRulePage"}
    ),
    Operation("list_rules", "GET", "/api/datasets/{dataset_id}/rules", {200: "AuthoredRulePage"}),
    Operation("propose_rules", "POST", "/api/datasets/{dataset_id}/rules/propose", {202: AuthorJob}),
    Operation("get_author_job", "GET", "/api/author-jobs/{job_id}", {200: AuthorJob}),
    Operation(
        "accept_rule", "POST", "/api/datasets/{dataset_id}/rules/{rule_id}/accept", {200: AuthoredRule}
    ),
    Operation(
        "reject_rule", "POST", "/api/datasets/{dataset_id}/rules/{rule_id}/reject", {200: AuthoredRule}
    ),
    Operation("set_dataset_honesty", "PUT", "/api/datasets/{dataset_id}/honesty", {200: Dataset}),
)
