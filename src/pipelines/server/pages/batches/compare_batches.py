"""/compare/batches: which tasks flipped from one batch to another, and whether that is more than chance."""

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from pipelines.core.results.compare_batches import CHANGES
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem
from pipelines.engine.reports.compare_batches import compare_batches
from pipelines.server.api.common import platform_of
from pipelines.server.pages.page import page
from pipelines.server.pages.runs.run_query import read_id
from pipelines.server.pages.visitor import Reader
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists.overview import matrices_of_batches
from pipelines.storage.lists.run_lists import agent_names, dataset_names
from pipelines.storage.runs.batches import Batch, batches_of_org
from pipelines.wire.errors import NotFound

router = APIRouter()
MOST_OFFERED = 100
MOST_ROWS = 300  # tasks on the page; the API returns more
UNLIKELY = 0.05
FEWEST_TELLING = 6  # changed tasks: if five of five got worse, p is still 1/16
#: (sign, colour, word, what it means), in the order of CHANGES.
WORDS = {
    "regressed": ("▼", "red", "regressed", "fewer of its runs pass than before"),
    "unjudged": ("?", "amber", "not judged", "no run of the task was judged in one of the two batches"),
    "still_failing": ("✕", "red", "still failing", "fails as often as before"),
    "improved": ("▲", "green", "improved", "more of its runs pass, but not all"),
    "fixed": ("✓", "green", "fixed", "all its runs pass now, but did not before"),
    "only_from": ("−", "", "gone", "only in the first batch"),
    "only_to": ("+", "blue", "new", "only in the second batch"),
    "passing": ("✓", "", "passing", "passes in both batches"),
}
#: The flip of a run that matches the change of its task.
DIRECTIONS = {"regressed": "regressed", "fixed": "improved", "improved": "improved"}
TESTS = {"mcnemar": "exact McNemar test", "sign_flip": "sign-flip test"}


@router.get("/compare/batches")
async def compare_batches_page(request: Request, visitor: Reader) -> Response:
    platform = platform_of(request)
    given = {name: request.query_params.get(name, "").strip() for name in ("from", "to")}
    problems: list[Problem] = []
    ids = {name: read_id(given, name, problems) for name in given if given[name]}
    first, second = ids.get("from"), ids.get("to")

    def read(connection: Connection) -> tuple[list[tuple[str, str]], dict[int, str]]:
        offered = _offered(connection, visitor.org_id, second or first)
        matrices = matrices_of_batches(connection, [each for each in (first, second) if each is not None])
        return offered, matrices

    offered, matrices = await platform.database.read(read)
    if first in matrices and second in matrices:
        asked = urlencode({"from": matrices[first], "to": matrices[second]})
        return RedirectResponse(f"/compare/matrices?{asked}", 303)
    compared = None
    if first is not None and second is not None:
        try:
            compared = await compare_batches(platform, visitor.org_id, first, second)
        except NotFound as missing:
            problems.append(Problem(path="", message=missing.message))
    return await page(
        request,
        visitor,
        "compare_batches.html",
        title=f"Batch {first} → {second}" if compared is not None else "Compare batches",
        here="runs",
        trail=[("Batches", "/batches")],
        status=422 if problems else 200,
        given=given,
        offered=_with_chosen(offered, given),
        problems=problems,
        shown=_comparison_view(compared.as_json()) if compared is not None else None,
    )


def _offered(connection: Connection, org_id: int, chosen: int | None) -> list[tuple[str, str]]:
    """The newest batches as choices; those over the dataset of the chosen one come first."""
    newest = batches_of_org(connection, org_id, agent_id=None, limit=MOST_OFFERED, before_id=None).items
    agents = agent_names(connection, (batch.agent_id for batch in newest), org_id=org_id)
    datasets = dataset_names(
        connection, (batch.dataset_id for batch in newest if batch.dataset_id is not None), org_id=org_id
    )
    matrices = matrices_of_batches(connection, [batch.id for batch in newest])
    wanted = next((batch.dataset_id for batch in newest if batch.id == chosen), None)

    def describe(batch: Batch) -> str:
        over = "matrix" if batch.id in matrices else datasets.get(batch.dataset_id or 0, "chosen tasks")
        agent = f"{agents.get(batch.agent_id) or f'agent {batch.agent_id}'} v{batch.agent_version}"
        build = batch.label or batch.reported_build
        agent += f" ({build})" if build else ""
        return f"{batch.id}: {over} · {agent} · {batch.created_at[:16].replace('T', ' ')}"

    is_other = {batch.id: wanted is None or batch.dataset_id != wanted for batch in newest}
    return [(str(batch.id), describe(batch)) for batch in sorted(newest, key=lambda each: is_other[each.id])]


def _with_chosen(offered: list[tuple[str, str]], given: dict[str, str]) -> list[tuple[str, str]]:
    known = {number for number, _ in offered}
    return offered + [
        (number, number) for number in dict.fromkeys(given.values()) if number and number not in known
    ]


def _comparison_view(compared: JsonObject) -> dict[str, Any]:
    whole: Any = compared
    flips = {(flip["task_key"], flip["direction"]): flip for flip in reversed(whole["flips"])}
    tasks = [task | {"pair": _pair(task, flips)} for task in whole["tasks"][:MOST_ROWS]]
    return {
        **whole,
        "tasks": tasks,
        "left_off": whole["tasks_left_off"] + max(0, len(whole["tasks"]) - MOST_ROWS),
        "changes": [(name, WORDS[name], whole["counts"][name]) for name in CHANGES],
        "words": WORDS,
        "test_name": TESTS[whole["test"]["name"]],
        "meaning": meaning_of(whole["test"]),
    }


def _pair(task: Any, flips: dict[tuple[str, str], Any]) -> tuple[int, int] | None:
    """The two runs to link: the first pair that flipped like the task, else the first run of each batch."""
    if task["from"] is None or task["to"] is None:
        return None
    flip = flips.get((task["task_key"], DIRECTIONS.get(task["change"], "")))
    if flip is not None:
        return flip["from"]["run_id"], flip["to"]["run_id"]
    return task["from"]["run_ids"][0], task["to"]["run_ids"][0]


def meaning_of(test: Any) -> str:
    """Explains the result of the paired test to a reader who does not know the test."""
    if not test["tasks"]:
        return "The batches cannot be compared: no task was judged in both."
    if not test["worse"] and not test["better"]:
        return f"{_tasks(test['tasks'])} can be compared. None of them changed."
    moved = test["worse"] + test["better"]
    side = "worse" if test["worse"] > test["better"] else "better"
    chance = (
        f"Of {_tasks(test['tasks'])} that can be compared, {test['worse']:,} got worse and"
        f" {test['better']:,} got better. If the agent had not changed, a difference this large would"
        f" occur by chance {_often(test['p'])}."
    )
    if test["p"] < UNLIKELY and test["worse"] != test["better"]:
        return f"{chance} This is evidence that the agent got {side}."
    few = (
        f" At least {FEWEST_TELLING} changed tasks are needed to show a change."
        if moved < FEWEST_TELLING
        else ""
    )
    return f"{chance} This is not enough evidence of a change.{few}"


def _tasks(number: int) -> str:
    return f"{number:,} task{'s' if number != 1 else ''}"


def _often(p: float) -> str:
    if p < 0.001:
        return "less than 0.1 % of the time"
    return f"{p * 100:.1f} % of the time" if p < 0.1 else f"{p * 100:.0f} % of the time"
