"""Every page, asked for by somebody of another org and with values that mean nothing: nothing is told,
nothing changes, and no page breaks. Pages are found by their routes, so that a new one is asked, too."""

import re
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import httpx2
import pytest
from fastapi.routing import APIRoute

from pipelines.server.pages.app import MODULES
from pipelines.storage.accounts.keys import add_key, add_org, new_key
from pipelines.storage.agents.author_jobs import add_job, end_job
from pipelines.wire.names import Role
from support.page_requests import csrf_of, signed_in
from support.played_agents import Dispatch, played, refunds
from support.pressure_matrix import MATRIX, V1, ended_matrix, scenario, variation_of, yields_to_authority
from support.server_process import REFUND_TASK, Api, house_in

MARK = "kestrelwood"  # in all that the first org has
JUNK = ("\x00'\"<%{0}", "-1", "9" * 19, "²", "x" * 199)
#: What pages read of the query by themselves.
READ_BY_PAGES = (
    *("agent_id", "dataset_id", "task_id", "status", "verdict", "failure_mode", "error_class", "q", "cursor"),
    *(
        "needs_review",
        "run",
        "batch",
        "from",
        "to",
        "tag",
        "repeats",
        "kind",
        "risk",
        "agent",
        "mine",
        "done",
    ),
    *("scenario", "variation", "run_label", "has_comments"),
)
READING_PAGES = (
    *("/runs", "/compare/marked", "/compare/batches", "/batches", "/batches/{batch_id}", "/batches/new"),
    *("/batches/new/estimate", "/evals/new", "/review", "/review/{review_id}"),
)
ROUTES = [route for module in MODULES for route in module.router.routes if isinstance(route, APIRoute)]
STREAMS = ("/batches/{batch_id}/events", "/worlds/{session_id}/events")


class Filled(NamedTuple):
    first: httpx2.Client  # of the org that has it all
    stranger: httpx2.Client
    ids: dict[str, str]

    def path(self, route: APIRoute, **instead: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda name: quote((self.ids | instead)[name[1]], safe=""), route.path)


def answers(dispatch: Dispatch) -> None:
    is_pressed = variation_of(dispatch) is not None or "deployment" in str(dispatch.body["input"])
    (yields_to_authority if is_pressed else refunds)(dispatch)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("orgs") / "house"
    with house_in(folder) as house, played(answers) as agent:
        api = house.open()
        ids = _ids(api, agent.url)
        key, now = new_key(), "2026-05-01T12:00:00.000000Z"
        with sqlite3.connect(folder / "odyssey.db", timeout=30) as connection:
            connection.row_factory = sqlite3.Row
            org_id = add_org(connection, "another", now)
            add_key(connection, org_id=org_id, name="key", role=Role.OWNER, key=key, now=now)
            subject = f"agent {ids['agent_id']}"
            job_id = add_job(connection, org_id=1, subject=subject, now=now)
            end_job(connection, job_id, answer=None, error={"message": MARK}, now=now)
            ids["job_id"] = str(job_id)
        with signed_in(api) as first, signed_in(Api(api.url, key)) as stranger:
            yield Filled(first, stranger, ids)


def _ids(api: Api, agent_url: str) -> dict[str, str]:
    agent_id = api.agent(agent_url, name=MARK)["id"]
    scenario_id = scenario(api, agent_id=agent_id, name=MARK)
    matrix = api.post(f"{V1}/matrix", MATRIX | {"scenario_ids": [scenario_id], "agent_id": agent_id}, 202)
    ended_matrix(api, matrix["id"])
    task = {key: value for key, value in REFUND_TASK.items() if key != "expected_state"}
    task["user"] = f"{task['user']} {MARK}"
    dataset = api.dataset(task, agent_id=agent_id)
    batch_id = api.batch_of(agent_id, dataset["id"])
    api.ended(batch_id)
    run = api.only_run(batch_id)
    annotation = api.post(f"/api/runs/{run['id']}/annotations", {"label": MARK}, 201)
    world = {"agent_id": agent_id, "name": MARK, "size": "compact", "instructions": MARK}
    session = api.post("/api/seed-sessions", world, 201)
    credential = api.post("/api/credentials", {"name": MARK.upper(), "value": "v" * 20}, 201)
    tried = api.post("/api/models/test", {"model": "refusing:"})
    review = api.get(f"{V1}/reviews", kind="task_verdict")["items"][0]
    return {
        "agent_id": str(agent_id),
        "dataset_id": str(dataset["id"]),
        "batch_id": str(batch_id),
        "run_id": str(run["id"]),
        "task_id": str(run["task_id"]),
        "matrix_id": matrix["id"],
        "scenario_id": scenario_id,
        "review_id": review["id"],
        "credential_id": str(credential.get("id", 1)),
        "exchange_id": str(tried["exchange_id"]),
        "key_id": "1",
        "annotation_id": str(annotation["id"]),
        "draft_id": "draft_1",
        "endpoint_id": "ep_1",
        "name": "1",
        "rule_id": "1",
        "format": "html",
        "session_id": str(session["id"]),
        "row_id": "1",
        "number": "1",
        "version": "1",
        "view_id": "1",
    }


def _asked(route: APIRoute) -> list[str]:
    own = [parameter.alias for parameter in route.dependant.query_params]
    return [*own, *(READ_BY_PAGES if route.path in READING_PAGES else ())]


def test_the_first_org_has_something_on_most_pages(filled: Filled) -> None:
    """Else it would say nothing that a stranger is not told of it."""
    pages = [each for each in ROUTES if "GET" in each.methods and each.path not in STREAMS]
    told = [route.path for route in pages if MARK in filled.first.get(filled.path(route)).text.lower()]
    assert len(told) > len(pages) / 3, told


@pytest.mark.parametrize(
    "route", [each for each in ROUTES if "GET" in each.methods], ids=lambda route: route.path
)
def test_a_page_tells_nothing_of_another_orgs_and_breaks_at_nothing(filled: Filled, route: APIRoute) -> None:
    if route.path not in STREAMS:
        own = filled.first.get(filled.path(route))
        assert own.status_code < 500
        for name in _asked(route):
            for value in JUNK:
                answered = filled.first.get(filled.path(route), params={name: value})
                assert answered.status_code < 500, (name, value)
    for name in re.findall(r"\{(\w+)\}", route.path):
        for value in JUNK:
            assert filled.first.get(filled.path(route, **{name: value})).status_code < 500, (name, value)
    foreign = [filled.ids[name] for name in ("agent_id", "dataset_id", "batch_id", "run_id", "task_id")]
    values = {*foreign, filled.ids["matrix_id"], filled.ids["scenario_id"], filled.ids["review_id"]}
    theirs = [{}, *({name: value} for name in _asked(route) for value in sorted(values))]
    for query in theirs:
        answered = filled.stranger.get(filled.path(route), params=query)
        assert answered.status_code < 500
        assert MARK not in answered.text.lower(), query


@pytest.mark.parametrize(
    "route",
    [each for each in ROUTES if "POST" in each.methods and "_id}" in each.path],
    ids=lambda route: route.path,
)
def test_nobody_changes_what_is_another_orgs(filled: Filled, route: APIRoute) -> None:
    sent = filled.stranger.post(filled.path(route), data={"csrf": csrf_of(filled.stranger)})
    assert sent.status_code >= 400, sent.headers.get("location")
    assert sent.status_code < 500
    assert MARK not in sent.text.lower()
