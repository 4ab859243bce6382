"""What people do to a dataset as a whole: give it another name, delete it."""

from fastapi import APIRouter, Request, Response

from pipelines.core.text.problems import Refused
from pipelines.engine.tasks.delete_dataset import delete_dataset
from pipelines.engine.tasks.rename_dataset import rename_dataset
from pipelines.server.api.common import Id, Ours
from pipelines.server.pages.page import go
from pipelines.server.pages.visitor import Writer, form_texts

router = APIRouter()


@router.post("/datasets/{dataset_id}/name")
async def rename(dataset_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    name = (await form_texts(request)).get("name", "").strip()
    try:
        await rename_dataset(platform, visitor.org_id, dataset_id, {"name": name})
    except Refused as refused:
        return go(f"/datasets/{dataset_id}", f"The name {refused.problems[0].message}.")
    return go(f"/datasets/{dataset_id}", "The dataset has another name.")


@router.post("/datasets/{dataset_id}/delete")
async def delete(dataset_id: Id, platform: Ours, visitor: Writer) -> Response:
    await delete_dataset(platform, visitor.org_id, dataset_id)
    return go("/datasets", "The dataset is deleted. Its batches and runs are kept.")
