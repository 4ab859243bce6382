"""Home: recent batches, waiting reviews and notable runs; on a new server, the first steps."""

import shlex
from typing import NamedTuple

from fastapi import APIRouter, Request, Response

from pipelines.core.results.task_statistics import summary_of
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.agents.example_agent import TOKEN, make_example
from pipelines.server.api.common import platform_of
from pipelines.server.pages.page import go, page
from pipelines.server.pages.visitor import Reader, Writer
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals.review_queue import waiting_counts
from pipelines.storage.lists import overview
from pipelines.storage.lists.run_lists import dataset_names
from pipelines.storage.lists.summaries import agent_summaries
from pipelines.storage.lists.version_rates import series_of_org
from pipelines.storage.runs.batches import Batch, batches_of_org, counts_of_batch, outcomes_by_task
from pipelines.storage.tasks.datasets import Dataset, datasets_of_org
from pipelines.web.rate_charts import RateChart, rate_charts

router = APIRouter()
SHOWN = 8  # batches in the table
CHARTED = 6  # agents on a dataset, each with a chart
DEFAULT_URL = "http://127.0.0.1:8420"


class Start(NamedTuple):
    """The first agent and dataset of an org, if there are any: how far a new user has come."""

    agent: JsonObject | None
    dataset: Dataset | None


class Home(NamedTuple):
    batches: list[JsonObject]
    charts: list[RateChart]
    waiting: JsonObject
    latest: overview.Latest
    start: Start


@router.get("/")
async def home_page(request: Request, visitor: Reader) -> Response:
    org_id = visitor.org_id
    home = await platform_of(request).database.read(lambda connection: _read(connection, org_id))
    return await page(
        request,
        visitor,
        "home.html",
        title="Home",
        here="home",
        home=home,
        commands=_commands(str(request.base_url).rstrip("/")),
    )


@router.post("/agents/example")
async def post_example(request: Request, visitor: Writer) -> Response:
    """Creates the example agent and its tasks. Runs nothing."""
    agent, dataset = await make_example(platform_of(request), visitor.org_id)
    message = f"Created agent {agent.id}, {agent.definition.name}, and dataset {dataset.id}"
    return go("/", f"{message} with {dataset.task_count} tasks. Nothing has run yet.")


def _read(connection: Connection, org_id: int) -> Home:
    lately = batches_of_org(connection, org_id, agent_id=None, limit=SHOWN, before_id=None).items
    names = overview.agent_names(connection, org_id, (batch.agent_id for batch in lately))
    matrices = overview.matrices_of_batches(connection, [batch.id for batch in lately])
    matched = overview.matched_counts(connection, list(matrices.values()))
    return Home(
        batches=[_batch_row(connection, batch, names, matrices, matched) for batch in lately],
        charts=_charts(connection, org_id),
        waiting=waiting_counts(connection, org_id=org_id),
        latest=overview.latest(connection, org_id),
        start=_start(connection, org_id),
    )


def _batch_row(
    connection: Connection,
    batch: Batch,
    names: dict[int, str],
    matrices: dict[int, str],
    matched: dict[str, overview.PassCount],
) -> JsonObject:
    """Runs of a matrix are judged by their scenario: it has matches, and no pass rate."""
    counts, matrix_id = counts_of_batch(connection, batch.id), matrices.get(batch.id)
    found = matched.get(matrix_id or "")
    return batch.as_json() | {
        "agent": names.get(batch.agent_id, f"agent {batch.agent_id}"),
        "matrix_id": matrix_id,
        "matched": {"k": found.passed, "n": found.judged} if found is not None else None,
        "counts": counts,
        "summary": summary_of(outcomes_by_task(connection, batch.id), batch.repeats)
        if matrix_id is None
        else None,
    }


def _charts(connection: Connection, org_id: int) -> list[RateChart]:
    """Pass rates of each agent on each dataset; what ran last comes first."""
    series = series_of_org(connection, org_id)[:CHARTED]
    agents = overview.agent_names(connection, org_id, (each.agent_id for each in series))
    datasets = dataset_names(connection, (each.dataset_id for each in series), org_id=org_id)
    return rate_charts(series, agents, datasets)


def _start(connection: Connection, org_id: int) -> Start:
    agents = agent_summaries(connection, org_id, status=None, limit=1, before_id=None).items
    datasets = datasets_of_org(connection, org_id, agent_id=None, limit=1, before_id=None).items
    return Start(agents[0] if agents else None, datasets[0] if datasets else None)


def _commands(own_url: str) -> dict[str, str]:
    """Commands for a terminal in the folder where `pipelines up` was started, which holds the key."""
    url = "" if own_url == DEFAULT_URL else f" --url {shlex.quote(own_url)}"
    return {
        "make": "pipelines odyssey init --dir my-agent",
        "start": f"(cd my-agent && AGENT_TOKEN={TOKEN} uvicorn app:app --port 9100) &",
        "register": f"AGENT_TOKEN={TOKEN} pipelines odyssey register --dir my-agent{url}",
        "run": f"pipelines run --agent my-agent --dataset my-agent/tasks.csv{url}",
    }
