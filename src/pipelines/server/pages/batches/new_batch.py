"""/batches/new: the form that starts a batch, with an estimate before it starts."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from pipelines.core.results.run_estimate import RunEstimate
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.live_tools import PASSTHROUGH_MODES
from pipelines.engine.batches.open_batch import MAX_REPEATS, open_batch
from pipelines.engine.reports.summarize_batch import (
    BatchEstimateRequest,
    estimate_batch,
    tags_of_dataset,
    tasks_with_tag,
)
from pipelines.server.api.common import platform_of, runner_of
from pipelines.server.pages.form_fields import budget_in, number_or_text, problems_in, refusal_status
from pipelines.server.pages.page import go, page, part
from pipelines.server.pages.runs.run_query import read_id
from pipelines.server.pages.runs.runs import MOST_OFFERED, Offered
from pipelines.server.pages.visitor import Reader, Visitor, Writer, form_texts
from pipelines.storage.agents.agents import published_agents
from pipelines.storage.agents.cassettes import cassette_names
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks.datasets import datasets_of_org
from pipelines.wire.errors import NotFound, OdysseyError

router = APIRouter()
FIELDS = (
    *("agent_id", "dataset_id", "tag", "repeats", "concurrency", "fault_seed"),
    *("passthrough", "cassette", "overwrite_cassette", "max_cost_usd", "max_model_tokens"),
)
NUMBERS = ("agent_id", "dataset_id", "repeats", "concurrency")
LONGEST_FIELD = 300
#: The choices of the form. Each begins with the API's own name of the mode.
MODES = {
    "live": "live: the endpoint answers each call",
    "record": "record: the endpoint answers, and a cassette records the reply",
    "replay": "replay: a cassette answers, and the endpoint is not called",
    "replay_or_live": "replay or live: a cassette answers the calls that it"
    " has; the endpoint answers the rest",
}


@router.get("/batches/new")
async def new_batch_page(request: Request, visitor: Reader) -> Response:
    return await _form_page(request, visitor, _filled(request.query_params))


@router.get("/batches/new/estimate")
async def estimate_part(request: Request, visitor: Reader) -> Response:
    """The estimate, and the tags of the chosen dataset; htmx asks for it whenever a field changes."""
    form = _filled(request.query_params)
    estimate, tags = await _foreseen(request, visitor, form)
    return await part(
        visitor, "new_batch_estimate.html", form=form, estimate=estimate, tags=_tags(tags, form)
    )


@router.post("/batches/new")
async def start_batch(request: Request, visitor: Writer) -> Response:
    form = _filled(await form_texts(request))
    try:
        body = await _body(request, visitor, form)
        batch = await open_batch(platform_of(request), runner_of(request), visitor.org_id, body)
    except (Refused, OdysseyError) as error:
        status = refusal_status(error)
        return await _form_page(request, visitor, form, problems=problems_in(error), status=status)
    return go(f"/batches/{batch.id}")


def _filled(given: Mapping[str, str]) -> dict[str, str]:
    form = {name: given.get(name, "").strip()[:LONGEST_FIELD] for name in FIELDS}
    return form | {"repeats": form["repeats"] or "1", "passthrough": form["passthrough"] or "live"}


async def _body(request: Request, visitor: Visitor, form: dict[str, str]) -> JsonObject:
    """The body for the API. A field that is not a number stays text, so that the API reports it with the
    other problems."""
    body: JsonObject = {}
    for name in ("agent_id", "dataset_id", "repeats", "concurrency", "fault_seed"):
        if form[name]:
            body[name] = number_or_text(form[name])
    body |= budget_in(form)
    if form["passthrough"] != "live" or form["cassette"]:
        body |= {"passthrough": form["passthrough"]} | (
            {"cassette": form["cassette"]} if form["cassette"] else {}
        )
    if form["overwrite_cassette"]:
        body["overwrite_cassette"] = True
    if form["tag"] and isinstance(body.get("dataset_id"), int):
        task_ids = await tasks_with_tag(
            platform_of(request), visitor.org_id, int(form["dataset_id"]), form["tag"]
        )
        if not task_ids:
            message = f"no task of this dataset has the tag `{form['tag'][:80]}`"
            raise Refused([Problem(path="/tag", message=message)], "the batch")
        del body["dataset_id"]
        body["task_ids"] = [*task_ids]
    return body


async def _form_page(
    request: Request,
    visitor: Visitor,
    form: dict[str, str],
    *,
    problems: list[Problem] | None = None,
    status: int = 200,
) -> Response:
    estimate, tags = await _foreseen(request, visitor, form)

    def read(connection: Connection) -> tuple[Offered, Offered, list[str]]:
        agents = published_agents(connection, org_id=visitor.org_id, most=MOST_OFFERED)
        datasets = datasets_of_org(
            connection, visitor.org_id, agent_id=None, limit=MOST_OFFERED, before_id=None
        ).items
        return (
            [(str(number), f"{name} ({number})") for number, name in reversed(agents)],
            [(str(each.id), f"{each.name} ({each.id}), {_tasks(each.task_count)}") for each in datasets],
            cassette_names(connection, org_id=visitor.org_id, most=MOST_OFFERED),
        )

    agents, datasets, cassettes = await platform_of(request).database.read(read)
    return await page(
        request,
        visitor,
        "new_batch.html",
        title="Start a run",
        here="runs",
        trail=[("Batches", "/batches")],
        status=status,
        form=form,
        agents=_with_chosen(agents, form["agent_id"]),
        datasets=_with_chosen(datasets, form["dataset_id"]),
        cassettes=cassettes,
        modes=[(mode, MODES[mode]) for mode in PASSTHROUGH_MODES],
        most_repeats=MAX_REPEATS,
        estimate=estimate,
        tags=_tags(tags, form),
        **_by_field(problems or [], form),
    )


async def _foreseen(
    request: Request, visitor: Visitor, form: dict[str, str]
) -> tuple[RunEstimate | None, dict[str, int]]:
    """None while the form does not say yet which runs to start."""
    problems: list[Problem] = []
    numbers = {name: read_id(form, name, problems) for name in NUMBERS if form[name]}
    agent_id, dataset_id = numbers.get("agent_id"), numbers.get("dataset_id")
    platform, repeats = platform_of(request), numbers.get("repeats")
    if dataset_id is None:
        return None, {}
    try:
        tags = await tags_of_dataset(platform, visitor.org_id, dataset_id)
        if problems or agent_id is None or repeats is None or repeats > MAX_REPEATS:
            return None, tags
        estimate_request = BatchEstimateRequest(
            agent_id=agent_id,
            dataset_id=dataset_id,
            tag=form["tag"] if form["tag"] in tags else "",
            repeats=repeats,
            concurrency=numbers.get("concurrency"),
        )
        return await estimate_batch(platform, visitor.org_id, estimate_request), tags
    except NotFound:
        return None, {}


def _by_field(problems: list[Problem], form: dict[str, str]) -> dict[str, Any]:
    """The problems by field; those that belong to no field stand above the form."""
    at: dict[str, list[Problem]] = {name: [] for name in FIELDS}
    others: list[Problem] = []
    for problem in problems:
        name = problem.path.removeprefix("/").partition("/")[0]
        if "either `dataset_id` or `task_ids`" in problem.message:
            at["dataset_id"].append(Problem(path="/dataset_id", message="choose a dataset"))
        elif name == "agent_id" and not form["agent_id"]:
            at[name].append(Problem(path=problem.path, message="choose an agent"))
        elif name in at:
            at[name].append(problem)
        else:
            others.append(problem)
    return {"at": at, "others": others, "is_refused": bool(problems)}


def _with_chosen(options: Offered, chosen: str) -> Offered:
    """Keeps the choice of a link, even if it is not among the newest items or does not exist."""
    if chosen and all(number != chosen for number, _ in options):
        return [*options, (chosen, chosen)]
    return options


def _tags(tags: dict[str, int], form: dict[str, str]) -> Offered:
    options = [(tag, f"{tag[:80]}: {_tasks(number)}") for tag, number in list(tags.items())[:MOST_OFFERED]]
    return _with_chosen(options, form["tag"])


def _tasks(number: int) -> str:
    return f"{number:,} task{'s' if number != 1 else ''}"
