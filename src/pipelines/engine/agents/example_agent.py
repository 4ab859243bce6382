"""The example of an empty installation: a small agent and its tasks, as `pipelines odyssey init` writes them.

Its files are the command line's scaffolds. Where this server can run code the agent is uploaded, so that
nothing has to be started; elsewhere it is registered where its author would start it.
"""

import asyncio
import csv
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import pipelines
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.agents.register_agent import create_agent
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.upload_tasks import create_dataset
from pipelines.storage.agents.agents import Agent
from pipelines.storage.tasks.datasets import Dataset
from pipelines.wire.errors import CodeModeUnavailable

SCAFFOLDS = Path(pipelines.__file__).parent / "cli" / "scaffolds"
NAME = "Example agent"
DATASET = "Example tasks"
TOKEN = "example"  # what the guide starts the agent with, where it is no uploaded code
#: The agent looks for one order number and takes the first: its own tests do not ask for two, and an example
#: in which everything passes would not show what a failure looks like.
FAILING_TASK: JsonObject = {
    "user": "Please refund orders 4700 and 4701, both arrived broken.",
    "state": {
        "order": {"4700": {"status": "shipped", "amount": 18}, "4701": {"status": "shipped", "amount": 42}}
    },
    "expected_outcome": "completion",
    "expected_state": {"order.4700.status": "refunded", "order.4701.status": "refunded"},
    "tags": "completion, agent fails",
}


class Example(NamedTuple):
    agent: Agent
    dataset: Dataset


async def make_example(platform: Platform, org_id: int) -> Example:
    """Both anew, whatever there is: an org may make it twice, and run either."""
    body, rows = await asyncio.to_thread(_read_files, await _runs_code(platform))
    agent = await create_agent(platform, org_id, body)
    uploaded = await create_dataset(
        platform, org_id, name=DATASET, agent_id=agent.id, rows=[*rows, FAILING_TASK]
    )
    return Example(agent, uploaded.dataset)


async def _runs_code(platform: Platform) -> bool:
    try:
        await platform.code_mode.opened()
    except CodeModeUnavailable:
        return False
    return True


def _read_files(is_code: bool) -> tuple[JsonObject, list[Any]]:
    folder = SCAFFOLDS / ("plain-code" if is_code else "http")
    body: JsonObject = json.loads((folder / "agent.json").read_text(encoding="utf-8")) | {"name": NAME}
    if is_code:
        body["code"] = {"source": "paste", "text": (folder / "agent.py").read_text(encoding="utf-8")}
    else:
        body["auth_header_value"] = f"Bearer {TOKEN}"
    table = io.StringIO((SCAFFOLDS / "common" / "tasks.csv").read_text(encoding="utf-8"))
    rows = [{column: cell for column, cell in row.items() if cell} for row in csv.DictReader(table)]
    return body, rows
