"""Datasets and tasks, as they are answered."""

from pipelines.core.tasks_csv import COLUMNS
from pipelines.server.document.parts import (
    ID,
    MOMENT,
    OBJECT,
    TEXT,
    WHOLE,
    Operation,
    Schemas,
    listed,
    or_null,
    page_of,
    record,
    ref,
    told,
)

_DATASET = {
    "id": ID,
    "name": TEXT,
    "agent_id": told(or_null(ID), "whose tools the rows were checked against"),
    "task_count": WHOLE,
    "created_at": MOMENT,
}
_TASK = {"id": ID, "dataset_id": ID, "row_number": told(WHOLE, "1 is the first"), "created_at": MOMENT}
SCHEMAS: Schemas = {
    "Dataset": record("A dataset.", _DATASET),
    "DatasetPage": page_of("Dataset", "datasets"),
    "Upload": record(
        "A dataset after an upload: the tasks that were added, and what its author should look at.",
        {**_DATASET, "task_ids": listed(ID), "warnings": listed(ref("Problem"))},
    ),
    "Task": record(
        "A task with its whole seed.", {**_TASK, "odyssey_seed": told(OBJECT, "by its axis names")}
    ),
    "TaskSummary": record(
        "A task in a list.", {**_TASK, "user_instruction": told(TEXT, "its first 500 characters")}
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
OPERATIONS = (
    Operation("create_dataset", "POST", "/api/datasets", {201: "Upload"}),
    Operation("list_datasets", "GET", "/api/datasets", {200: "DatasetPage"}),
    Operation("get_dataset", "GET", "/api/datasets/{dataset_id}", {200: "Dataset"}),
    Operation("list_tasks", "GET", "/api/datasets/{dataset_id}/tasks", {200: "TaskPage"}),
    Operation("append_tasks", "POST", "/api/datasets/{dataset_id}/tasks", {201: "Upload"}),
    Operation("export_dataset", "GET", "/api/datasets/{dataset_id}/export", {200: _EXPORT}),
    Operation("get_task", "GET", "/api/tasks/{task_id}", {200: "Task"}),
)
