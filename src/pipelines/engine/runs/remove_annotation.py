"""Taking a comment or a label off a run."""

from pipelines.engine.find import find_run
from pipelines.engine.platform import Platform
from pipelines.storage.runs import annotations
from pipelines.wire.errors import NotFound


async def remove_annotation(platform: Platform, org_id: int, run_id: int, annotation_id: int) -> None:
    await find_run(platform, org_id, run_id)
    is_removed = await platform.database.write(
        lambda connection: annotations.remove_annotation(
            connection, org_id=org_id, run_id=run_id, annotation_id=annotation_id
        )
    )
    if not is_removed:
        raise NotFound(f"Run {run_id} has no annotation {annotation_id}.")
