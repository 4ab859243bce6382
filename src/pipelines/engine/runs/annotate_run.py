"""Writing a comment or a label on a run, or on one of its steps. Verdicts do not change by it."""

from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_run
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import row_at
from pipelines.storage.runs import annotations
from pipelines.storage.runs.annotations import COMMENT, LABEL, WHOLE_RUN, Annotation, Kind
from pipelines.wire.errors import Conflict

LONGEST_COMMENT = 5_000  # characters
LONGEST_LABEL = 60  # characters: it stands in lists
MOST_ANNOTATIONS = 500  # of a run: all of them are on its page


async def annotate_run(
    platform: Platform, org_id: int, run_id: int, who: str, body: JsonObject
) -> Annotation:
    """`{"comment": …}` or `{"label": …}`, with the `step` that it is about. A label that the place has
    already is not added again."""
    await find_run(platform, org_id, run_id)
    kind, text, step = _read(body)
    now = platform.now()

    def store(connection: Connection) -> Annotation:
        if step is not None and row_at(connection, run_id, step) is None:
            problem = Problem(path="/step", message=f"run {run_id} has no step {step}")
            raise Refused([problem], "the annotation")
        if annotations.count_annotations(connection, run_id) >= MOST_ANNOTATIONS:
            raise Conflict(f"Run {run_id} has {MOST_ANNOTATIONS} comments and labels; remove some first.")
        return annotations.add_annotation(
            connection,
            org_id=org_id,
            run_id=run_id,
            step=step or WHOLE_RUN,
            kind=kind,
            text=text,
            written_by=who,
            now=now,
        )

    return await platform.database.write(store)


def _read(body: JsonObject) -> tuple[Kind, str, int | None]:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("comment", "label", "step", "by"))
    comment = fields.text("comment", longest=LONGEST_COMMENT)
    label = fields.text("label", longest=LONGEST_LABEL)
    step = fields.id("step", "a step of the trace") if fields.has("step") else None
    if fields.has("comment") == fields.has("label"):
        problems.append(Problem(path="", message="give either `comment` or `label`"))
    if label is not None and "\n" in label.strip():
        fields.refuse("label", "`label` must be one line")
    if problems:
        raise Refused(problems, "the annotation")
    kind: Kind = COMMENT if comment is not None else LABEL
    return kind, (comment if comment is not None else label or "").strip(), step
