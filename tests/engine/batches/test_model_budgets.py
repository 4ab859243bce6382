"""What a batch may spend on models: counted by whoever asks, on both databases, and what its end leaves."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.models.model_budget import Budget
from pipelines.core.models.model_question import (
    Failure,
    ModelAnswer,
    ModelCallFailed,
    ModelMessage,
    ModelQuestion,
    Purpose,
)
from pipelines.engine.model_calls.ask_models import Asker, Models
from pipelines.models.client import ModelClient
from pipelines.models.retrying import Patience, RetryingModel
from pipelines.models.scripted import Scripted, ScriptedModel
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.runs import batches
from pipelines.storage.runs.model_exchanges import Spent, costs_of_batch, exchange_by_id
from pipelines.wire.errors import BudgetExceeded, ModelFailed
from support.desk import TASK, House, answered, open_house, refused
from support.played_agents import Dispatch, played
from support.server_process import eventually

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
A_TOKEN = 1_000  # nanodollars
SCRIPT = '{"answer": {"n": 3}}\n{"price_per_million_tokens": 1}\n'


def question(number: int) -> ModelQuestion:
    return ModelQuestion(
        purpose=Purpose.JUDGE,
        prompt_version="test/1",
        system="Count.",
        messages=(ModelMessage(role="user", content=f"Question {number}"),),
        schema={"type": "object"},
        max_output_tokens=50,
    )


class Breaking:
    """The connection breaks so often before the answer comes."""

    def __init__(self, model: ModelClient, breaks: int) -> None:
        self._model = model
        self._breaks = breaks

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        if self._breaks:
            self._breaks -= 1
            raise ModelCallFailed(Failure.UNAVAILABLE, "the connection broke", is_worth_retry=True)
        return await self._model.ask(question)

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        return self._model.cost_nanousd(input_tokens, output_tokens)


class OneModel:
    """Waits, where the test wants both to be at the edge at once."""

    def __init__(self, *script: Scripted, breaks: int = 0) -> None:
        self.model = ScriptedModel(script or (Scripted(answer={"n": 3}),), nanousd_a_token=A_TOKEN)
        patience = Patience(timeout_s=5.0, first_pause_s=0.0)
        self._client = RetryingModel(Breaking(self.model, breaks), patience, nullcontext)

    async def client_for(self, org_id: int, model: str) -> ModelClient:
        return self._client

    async def close(self) -> None: ...


@pytest.fixture(params=["sqlite", "postgres"])
def nodes(request: pytest.FixtureRequest) -> tuple[Database, Database]:
    """Two nodes on one Postgres; SQLite has one, with two who ask."""
    if request.param == "postgres":
        both: tuple[Database, Database] = request.getfixturevalue("two_nodes")
        return both
    one: Database = request.getfixturevalue("sqlite_database")
    return one, one


def stored(connection: Connection, budget: Budget) -> int:
    org_id = add_org(connection, "one", NOW)
    agent_id = agents.add_agent(connection, org_id=org_id, name="a", status="published", now=NOW)
    definition = AgentDefinition(name="a")
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=definition,
        sealed_auth_header=None,
        status="published",
        now=NOW,
    )
    return batches.add_batch(
        connection,
        org_id=org_id,
        agent_id=agent_id,
        agent_version=1,
        dataset_id=None,
        repeats=1,
        concurrency=4,
        budget=budget,
        now=NOW,
    )


def spent_of_batch(connection: Connection, batch_id: int) -> Spent:
    """With what is reserved for questions under way, and what the batch may spend."""
    batch = batches.batch_for_work(connection, batch_id)
    budget = batch.budget
    return Spent(batch.model_tokens, batch.model_nanousd, budget.max_tokens, budget.max_nanousd)


def asking(database: Database, *script: Scripted, breaks: int = 0) -> tuple[Models, ScriptedModel, list[int]]:
    clients = OneModel(*script, breaks=breaks)
    heard: list[int] = []
    names = {Purpose.JUDGE: "scripted:x"}
    return (
        Models(database, clients, names, now=lambda: NOW, on_used_up=heard.append),
        clients.model,
        heard,
    )


@pytest.mark.parametrize(
    "budget", [Budget(max_tokens=1_000), Budget(max_nanousd=1_000 * A_TOKEN)], ids=["tokens", "dollars"]
)
async def test_of_two_workers_at_the_edge_one_is_refused(
    nodes: tuple[Database, Database], budget: Budget
) -> None:
    batch_id = await nodes[0].write(lambda connection: stored(connection, budget))
    left = Budget(max_tokens=1) if budget.max_tokens else Budget(max_nanousd=1)
    await nodes[0].write(lambda connection: batches.set_budget(connection, batch_id=batch_id, budget=left))
    asker = Asker(org_id=1, batch_id=batch_id)
    sides = [asking(node, Scripted(answer={"n": 3}, delay_s=0.05)) for node in nodes]
    results = await asyncio.gather(
        *[models.ask(asker, question(number)) for number, (models, _, _) in enumerate(sides)],
        return_exceptions=True,
    )
    assert sorted(type(result).__name__ for result in results) == ["BudgetExceeded", "CheckedAnswer"]
    assert sum(len(model.asked) for _, model, _ in sides) == 1, "at most one request over"
    assert [batch for _, _, heard in sides for batch in heard] == [batch_id]


async def test_what_was_reserved_is_set_right_by_what_it_cost(nodes: tuple[Database, Database]) -> None:
    budget = Budget(max_tokens=10_000)
    batch_id = await nodes[0].write(lambda connection: stored(connection, budget))
    models, _, _ = asking(nodes[0])
    asked = [await models.ask(Asker(org_id=1, batch_id=batch_id), question(n)) for n in (1, 2, 1)]
    spent = await nodes[1].read(lambda connection: spent_of_batch(connection, batch_id))
    assert spent.tokens == sum(each.tokens or 0 for each in asked)
    assert spent.nanousd == spent.tokens * A_TOKEN
    (costs,) = await nodes[1].read(lambda connection: costs_of_batch(connection, batch_id))
    assert costs[:7] == ("judge", 2, 1, 2, spent.tokens, spent.nanousd, 0)


@pytest.mark.parametrize(
    ("failure", "keeps"), [(Failure.TIMEOUT, True), (Failure.REFUSED, True)], ids=["timeout", "refused"]
)
async def test_what_may_have_been_paid_for_stays_reserved(
    nodes: tuple[Database, Database], failure: Failure, keeps: bool
) -> None:
    batch_id = await nodes[0].write(lambda connection: stored(connection, Budget(max_tokens=10_000)))
    models, _, _ = asking(nodes[0], Scripted(answer=failure))
    with pytest.raises(ModelFailed):
        await models.ask(Asker(org_id=1, batch_id=batch_id), question(1))
    spent = await nodes[0].read(lambda connection: spent_of_batch(connection, batch_id))
    assert (spent.tokens > 0) is keeps


async def test_a_request_that_broke_off_before_the_answer_counts_as_reserved(
    nodes: tuple[Database, Database],
) -> None:
    batch_id = await nodes[0].write(lambda connection: stored(connection, Budget(max_tokens=10_000)))
    asked: list[int] = []
    for breaks in (0, 2):
        models, _, _ = asking(nodes[0], breaks=breaks)
        await models.ask(Asker(org_id=1, batch_id=batch_id), question(breaks))
        spent = await nodes[0].read(lambda connection: spent_of_batch(connection, batch_id))
        asked.append(spent.tokens)
    assert asked[1] - asked[0] > 2 * 50, "what two answers may have been, besides the one that came"


async def test_a_question_that_was_cut_off_is_told_as_that_and_stays_reserved(
    nodes: tuple[Database, Database],
) -> None:
    batch_id = await nodes[0].write(lambda connection: stored(connection, Budget(max_tokens=10_000)))
    models, model, _ = asking(nodes[0], Scripted(answer={"n": 3}, delay_s=600))
    waiting = asyncio.ensure_future(models.ask(Asker(org_id=1, batch_id=batch_id), question(1)))
    await asyncio.to_thread(eventually, lambda: model.asked, "it is asked")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    exchange = await nodes[1].read(lambda connection: exchange_by_id(connection, org_id=1, exchange_id=1))
    assert exchange is not None
    assert (exchange.status, exchange.failure) == ("failed", "cut_off")
    spent = await nodes[0].read(lambda connection: spent_of_batch(connection, batch_id))
    assert spent.tokens >= 50, "it may have been paid for"


async def test_a_batch_without_a_budget_is_counted_and_held_by_nothing(
    nodes: tuple[Database, Database],
) -> None:
    batch_id = await nodes[0].write(lambda connection: stored(connection, Budget()))
    models, _, heard = asking(nodes[0])
    for number in range(5):
        await models.ask(Asker(org_id=1, batch_id=batch_id), question(number))
    spent = await nodes[0].read(lambda connection: spent_of_batch(connection, batch_id))
    assert (spent.tokens > 0, spent.is_used_up, heard) == (True, False, [])


# -- a whole server


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    (tmp_path / "script.jsonl").write_text(SCRIPT)
    model = f"scripted:{tmp_path / 'script.jsonl'}"
    async with open_house(tmp_path / "house", own_url="http://127.0.0.1:9", model=model) as opened:
        yield opened


async def ended(house: House, batch_id: int) -> dict[str, Any]:
    while True:
        batch: dict[str, Any] = answered(await house.owner.client.get(f"/api/batches/{batch_id}"))
        if batch["status"] != "running" and not {"pending", "running"} & batch["counts"]["by_status"].keys():
            return batch
        await asyncio.sleep(0.01)


async def one_completed(house: House, batch_id: int) -> None:
    """Its judge may use up the budget from then on, before another run is sent."""
    while True:
        batch = answered(await house.owner.client.get(f"/api/batches/{batch_id}"))
        if batch["counts"]["by_status"].get("completed"):
            return
        await asyncio.sleep(0.01)


async def test_a_batch_ends_with_its_budget_and_goes_on_with_a_higher_one(house: House) -> None:
    client, may_end = house.owner.client, threading.Event()

    def answers_the_first(dispatch: Dispatch) -> None:
        is_first = dispatch is dispatch.agent.dispatches[0]
        if not is_first and not may_end.is_set():
            dispatch.until_it_hangs_up()
        else:
            dispatch.answer(metadata={"total_cost_usd": 0.5})

    with played(answers_the_first) as agent:
        agent_id = (await house.owner.agent(endpoint_url=agent.url, max_concurrency=2))["id"]
        dataset = await house.owner.dataset(*[TASK] * 4, agent_id=agent_id)
        body = {"agent_id": agent_id, "dataset_id": dataset["id"], "max_model_tokens": 30}
        batch_id = answered(await client.post("/api/runs", json=body), 202)["id"]
        await one_completed(house, batch_id)
        asker = Asker(org_id=1, batch_id=batch_id)
        for number in range(3):
            try:
                await house.platform.models.ask(asker, replace(question(number), system="x" * 100))
            except BudgetExceeded:
                break
        batch = await ended(house, batch_id)
        runs = answered(await client.get("/api/runs", params={"batch_id": batch_id}))["items"]
        assert batch["status"] == "budget_exceeded"
        assert batch["budget"]["max_model_tokens"] == 30
        assert batch["budget"]["tokens"] >= 30
        assert sorted((run["status"], run["error_class"]) for run in runs) == [
            *[("cancelled", "budget_exceeded")] * 3,
            ("completed", None),
        ]
        assert batch["costs"]["agent"] == {"cost_usd": 0.5, "runs": 1}
        assert batch["costs"]["judge"]["cost_usd"] == batch["costs"]["judge"]["tokens"] / 1_000_000
        error = refused(await client.post(f"/api/batches/{batch_id}/resume"), 422, "invalid_request")
        assert error["details"][0]["path"] == "/max_model_tokens"
        may_end.set()
        higher = {"max_model_tokens": 100_000}
        resumed = answered(await client.post(f"/api/batches/{batch_id}/resume", json=higher), 202)
        assert (resumed["status"], resumed["budget"]["max_model_tokens"]) == ("running", 100_000)
        batch = await ended(house, batch_id)
    assert (batch["status"], batch["counts"]["by_status"]) == ("completed", {"completed": 4})


async def test_a_user_that_may_not_be_asked_ends_its_run_as_out_of_budget_whoever_is_first(
    house: House,
) -> None:
    """Its own run may end before the batch has cancelled it: it is no fault of the platform either way."""
    house.platform.models.on_used_up = lambda batch_id: None  # the batch's end is never there first
    client = house.owner.client
    row = TASK | {"turn_mode": "model_as_user", "user_simulator_persona": "Ada", "max_turns": 4}
    with played(lambda dispatch: dispatch.answer("What is the number?")) as agent:
        agent_id = (await house.owner.agent(endpoint_url=agent.url))["id"]
        dataset = await house.owner.dataset(row, agent_id=agent_id)
        body = {"agent_id": agent_id, "dataset_id": dataset["id"], "max_model_tokens": 1}
        batch_id = answered(await client.post("/api/runs", json=body), 202)["id"]
        await ended(house, batch_id)
        (run,) = answered(await client.get("/api/runs", params={"batch_id": batch_id}))["items"]
    assert (run["status"], run["error_class"], run["verdict"]) == ("cancelled", "budget_exceeded", None)
    told = answered(await client.get(f"/api/runs/{run['id']}"))
    assert told["messages"][-1]["content"] == "What is the number?", "what was said is kept"
    assert (told["conversation"]["ended_by"], "higher budget" in told["error_json"]["detail"]) == (
        "budget",
        True,
    )


@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        ({"max_cost_usd": 0, "max_model_tokens": -1}, ["/max_cost_usd", "/max_model_tokens"]),
        ({"max_cost_usd": "much", "max_model_tokens": 1.5}, ["/max_cost_usd", "/max_model_tokens"]),
        ({"max_cost_usd": 1e9}, ["/max_cost_usd"]),
    ],
)
async def test_a_budget_that_is_none_is_refused_with_every_problem(
    house: House, asked: dict[str, Any], paths: list[str]
) -> None:
    agent_id = (await house.owner.agent())["id"]
    dataset_id = (await house.owner.dataset(agent_id=agent_id))["id"]
    body = {"agent_id": agent_id, "dataset_id": dataset_id} | asked
    error = refused(await house.owner.client.post("/api/runs", json=body), 422, "invalid_request")
    assert sorted(problem["path"] for problem in error["details"]) == paths


async def test_dollars_alone_do_not_hold_a_model_without_a_price(house: House) -> None:
    client = house.owner.client
    models = {"judge": "http://127.0.0.1:9/v1#local"}
    agent_id = (await house.owner.agent(config={"models": models}))["id"]
    dataset_id = (await house.owner.dataset(agent_id=agent_id))["id"]
    body = {"agent_id": agent_id, "dataset_id": dataset_id, "max_cost_usd": 1.5}
    error = refused(await client.post("/api/runs", json=body), 422, "invalid_request")
    assert "127.0.0.1:9" in error["details"][0]["message"]
    assert "max_model_tokens" in error["details"][0]["hint"]
    both = answered(await client.post("/api/runs", json=body | {"max_model_tokens": 9}), 202)
    assert both["budget"] == {"max_cost_usd": 1.5, "max_model_tokens": 9, "cost_usd": 0, "tokens": 0}
    named = {"judge": "openai:gpt-5-mini"}
    answered(await client.put(f"/api/datasets/{dataset_id}/models", json=named))
    answered(await client.post("/api/runs", json=body), 202)
    for batch in answered(await client.get("/api/batches"))["items"]:
        await client.post(f"/api/batches/{batch['id']}/cancel")


async def test_an_estimate_rests_on_what_runs_asked_before(house: House) -> None:
    client = house.owner.client
    with played(lambda dispatch: dispatch.answer()) as agent:
        agent_id = (await house.owner.agent(endpoint_url=agent.url))["id"]
        decided = TASK | {"expected_state": {"order.4521.status": "refunded"}}  # so that no judge is asked
        dataset_id = (await house.owner.dataset(decided, decided, agent_id=agent_id))["id"]
        query = {"agent_id": agent_id, "dataset_id": dataset_id}
        nothing = answered(await client.get("/api/runs/estimate", params=query))
        assert (nothing["runs"], nothing["models"]["cost_usd"], nothing["time"]["total_ms"]) == (
            2,
            None,
            None,
        )
        batch_id = answered(await client.post("/api/runs", json=query), 202)["id"]
        await ended(house, batch_id)
    runs = answered(await client.get("/api/runs", params={"batch_id": batch_id}))["items"]
    asker = Asker(org_id=1, batch_id=batch_id, run_id=runs[0]["id"])
    asked = await house.platform.models.ask(asker, question(1))
    told = answered(await client.get("/api/runs/estimate", params=query | {"repeats": 3}))
    spent = answered(await client.get(f"/api/batches/{batch_id}"))["costs"]
    by_purpose = [spent[name] for name in ("simulator", "judge", "user", "author") if spent[name]]
    assert sum(each["tokens"] for each in by_purpose) >= (asked.tokens or 0) > 0
    assert told["models"] == {
        "from_runs": 2,
        "cost_usd": pytest.approx(sum(each["cost_usd"] for each in by_purpose) * 3),
        "tokens": sum(each["tokens"] for each in by_purpose) * 3,
    }
