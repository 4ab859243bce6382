"""What people do on the page of a run to its comments and labels."""

from fastapi import APIRouter, Request, Response

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.runs.annotate_run import annotate_run
from pipelines.engine.runs.remove_annotation import remove_annotation
from pipelines.server.api.common import Id, Ours
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.pages.form_fields import number_or_text
from pipelines.server.pages.page import go
from pipelines.server.pages.visitor import Writer, form_texts
from pipelines.wire.errors import Conflict

router = APIRouter()


@router.post("/runs/{run_id}/annotations")
async def annotate(run_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    form = await form_texts(request)
    body: JsonObject = {name: form[name].strip() for name in ("comment", "label") if name in form}
    step = form.get("step", "")
    body |= {"step": number_or_text(step)} if step else {}
    try:
        written = await annotate_run(
            platform, visitor.org_id, run_id, reviewer_of(visitor.identity, None), body
        )
    except Refused as refused:
        return go(_place(run_id, step), refused.problems[0].said())
    except Conflict as error:
        return go(_place(run_id, step), error.message)
    return go(_place(run_id, step), f"The {written.kind} is stored.")


@router.post("/runs/{run_id}/annotations/{annotation_id}/remove")
async def remove(
    run_id: Id, annotation_id: Id, request: Request, platform: Ours, visitor: Writer
) -> Response:
    await remove_annotation(platform, visitor.org_id, run_id, annotation_id)
    return go(_place(run_id, (await form_texts(request)).get("step", "")), "It is removed.")


def _place(run_id: int, step: str) -> str:
    return f"/runs/{run_id}?s={step}" if step.isascii() and step.isdigit() else f"/runs/{run_id}"
