"""What people write on runs: comments and labels."""

from fastapi import APIRouter, Request, Response

from pipelines.engine.find import find_run
from pipelines.engine.runs.annotate_run import annotate_run
from pipelines.engine.runs.remove_annotation import remove_annotation
from pipelines.server.api.common import Contributor, Id, Ours, Viewer, answer, json_body, read_json_object
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.api.schemas import task_bodies
from pipelines.storage.runs import annotations

router = APIRouter(prefix="/api/runs/{run_id}/annotations", tags=["runs"])


@router.get("")
async def list_annotations(run_id: Id, platform: Ours, key: Viewer) -> Response:
    """The comments and labels of a run and of its steps, in the order in which they were written."""
    run = await find_run(platform, key.org_id, run_id)
    found = await platform.database.read(
        lambda connection: annotations.annotations_of_run(connection, run.id)
    )
    return answer({"items": [each.as_json() for each in found], "next_cursor": None})


@router.post("", status_code=201, openapi_extra=json_body(task_bodies.ANNOTATION))
async def add_annotation(run_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Write a `comment` or a `label` on the run, or on the `step` of its trace. Verdicts do not change.

    A label that the place has already is not added again.
    """
    body = await read_json_object(request)
    named = body.get("by")
    who = reviewer_of(key, named if isinstance(named, str) else None)
    return answer((await annotate_run(platform, key.org_id, run_id, who, body)).as_json(), 201)


@router.delete("/{annotation_id}", status_code=204)
async def delete_annotation(run_id: Id, annotation_id: Id, platform: Ours, key: Contributor) -> Response:
    """Take a comment or a label off the run."""
    await remove_annotation(platform, key.org_id, run_id, annotation_id)
    return Response(status_code=204)
