"""Single tasks and their oracles, as they are answered."""

from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.server.document.datasets import TASK
from pipelines.server.document.parts import (
    ANY,
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

_WHOLE_TASK = {
    **TASK,
    "odyssey_seed": told(OBJECT, "by its axis names"),
    "oracle_version": told(WHOLE, "1 until its oracle is corrected"),
    "removed_at": told(or_null(MOMENT), "from its dataset; null while it is in it"),
}
_VERDICT = record(
    "A verdict, or why there is none.",
    {
        "verdict": or_null(TEXT),
        "failure_mode": or_null(TEXT),
        "pending_reason": or_null(TEXT),
        "judge_error": or_null(TEXT),
    },
)
SCHEMAS: Schemas = {
    "Task": record("A task with its whole seed.", _WHOLE_TASK),
    "CorrectedTask": record(
        "A task whose oracle was corrected.", {**_WHOLE_TASK, "warnings": listed(ref("Problem"))}
    ),
    "OracleVersion": record(
        "What counted as right, and who changed it why.",
        {
            "version": WHOLE,
            "by": told(or_null(TEXT), "null of the first"),
            "note": TEXT,
            "created_at": MOMENT,
            **{axis: told(ANY, "as in the seed; null where there is none") for axis in ORACLE_AXES},
        },
    ),
    "OraclePage": page_of("OracleVersion", "the versions of an oracle, newest first"),
    "OraclePreview": record(
        "What a corrected oracle would do.",
        {
            "task_id": ID,
            "oracle_version": told(WHOLE, "that the task has now"),
            "in_words": told(
                listed(record("An axis.", {"axis": TEXT, "sentences": listed(TEXT)})),
                "the corrected oracle as sentences",
            ),
            "warnings": told(listed(ref("Problem")), "what is questionable about it"),
            "judged": told(WHOLE, "runs, the newest first"),
            "left": told(WHOLE, "older runs that were not looked at"),
            "open": told(WHOLE, "runs that evidence leaves to a judge model, which was not asked"),
            "changed": WHOLE,
            "changes": listed(
                record(
                    "A run that would be judged otherwise.",
                    {"run_id": ID, "batch_id": or_null(ID), "from": _VERDICT, "to": _VERDICT},
                )
            ),
        },
    ),
    "TaskRejudged": record(
        "What judging the runs of a task anew changed.",
        {
            "task_id": ID,
            "judged": WHOLE,
            "changed": WHOLE,
            "changes": listed(ref("ChangedVerdict")),
            "failed": told(listed(ref("UnreadRun")), "of which a judge model gave nothing: theirs stay"),
            "next_cursor": told(or_null(TEXT), "where `limit` ended; null at the end"),
        },
    ),
}
OPERATIONS = (
    Operation("get_task", "GET", "/api/tasks/{task_id}", {200: "Task"}),
    Operation("replace_task", "PUT", "/api/tasks/{task_id}", {200: "Upload"}),
    Operation("remove_task", "DELETE", "/api/tasks/{task_id}", {204: None}),
    Operation("correct_oracle", "PUT", "/api/tasks/{task_id}/oracle", {200: "CorrectedTask"}),
    Operation("preview_oracle", "POST", "/api/tasks/{task_id}/oracle/preview", {200: "OraclePreview"}),
    Operation("list_oracles", "GET", "/api/tasks/{task_id}/oracles", {200: "OraclePage"}),
    Operation("judge_task", "POST", "/api/tasks/{task_id}/judge", {200: "TaskRejudged"}),
)
