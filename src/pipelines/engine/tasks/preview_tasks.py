"""Looking at an upload before it is made: the same check, by the same threads and processes."""

from functools import partial

from pipelines.core.coding.coding_tasks import CodingContext
from pipelines.core.task_files.column_naming import ColumnNaming
from pipelines.core.task_files.upload_preview import preview_upload
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.engine.coding.edit_coding_scenarios import coding_context
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.upload_tasks import (
    CHECKING_BYTES,
    CHECKING_S,
    MEBIBYTE,
    AgentContext,
    LargeRows,
    SmallFile,
    agent_context,
)
from pipelines.processes.jobs import MOST_WARNING_S
from pipelines.processes.pool import Job
from pipelines.wire.errors import NotFound

MOST_RESULT_BYTES = 8 * MEBIBYTE  # fifty rows, a thousand problems and warnings


async def preview_tasks(
    platform: Platform,
    org_id: int,
    *,
    agent_id: int | None,
    rows: SmallFile | LargeRows,
    naming: ColumnNaming,
) -> JsonObject:
    """What `core.upload_preview` tells of a file, checked against an agent where one is named."""
    context = AgentContext()
    if agent_id is not None:
        found = await agent_context(platform, org_id, agent_id)
        if found is None:
            raise NotFound(f"There is no agent {agent_id}.")
        context = found
    coding = await coding_context(platform, org_id, is_http_agent=context.is_http_agent)
    if isinstance(rows, SmallFile):
        return await platform.plan_readers.run(
            partial(_preview_here, rows, context, naming, coding), owner=org_id
        )
    request: JsonObject = {
        "format": rows.format,
        "definition": context.definition_text,
        "naming": naming.as_json(),
        "coding": coding.as_json(),
    }
    job = Job("preview_rows", request, CHECKING_S, MOST_RESULT_BYTES, CHECKING_BYTES)
    (text,) = await platform.upload_helpers.run(job, rows.data, owner=org_id)
    preview = loads_own(text)
    assert isinstance(preview, dict)
    return preview


def _preview_here(
    rows: SmallFile, around: AgentContext, naming: ColumnNaming, coding: CodingContext
) -> JsonObject:
    return preview_upload(
        rows.data,
        format=rows.format,
        naming=naming,
        tools=around.tools,
        ledger_schema=around.ledger_schema,
        may_read=has_time(MOST_WARNING_S),
        coding=coding,
    )
