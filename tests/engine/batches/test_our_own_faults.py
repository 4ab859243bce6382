"""Where the platform itself is at fault, the run says so and ends, and so does its batch."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from pipelines.outbound.agent_client import AgentClient, AgentTarget, Outcome
from pipelines.wire.envelope import Envelope
from support.desk import House, answered, every_item, open_house
from support.played_agents import PlayedAgent, does_nothing, played, refunds
from support.server_process import PATIENCE_S, REFUND_TASK, Row
from support.server_process import House as ServerHouse

SECRET = "topsecret-4711"


@pytest.mark.slow
def test_a_secret_that_another_key_has_sealed_fails_the_run(own_house: ServerHouse):
    with played(refunds) as agent:
        api = own_house.open()
        header = {"auth_header_name": "X-Agent-Key", "auth_header_value": SECRET}
        agent_id = api.agent(agent.url, **header)["id"]
        dataset_id = api.dataset(REFUND_TASK, REFUND_TASK, agent_id=agent_id)["id"]
        own_house.stop()
        own_house.env |= {"PIPELINES_SECRET_KEY": base64.b64encode(b"k" * 32).decode()}
        api = own_house.open()
        batch_id = api.batch_of(agent_id, dataset_id)
        assert api.ended(batch_id)["counts"]["by_status"] == {"failed": 2}
        runs = api.whole_runs(batch_id)
        assert agent.dispatches == []
    assert [run["error_class"] for run in runs] == ["internal_error"] * 2
    assert [run["verdict"] for run in runs] == ["NOT_APPLICABLE"] * 2
    assert all("secret" in run["error_json"]["detail"] for run in runs)


async def runs_of_a_batch(house: House, agent: PlayedAgent, *rows: Row) -> list[Row]:
    """Oldest first, when the batch has ended."""
    client = house.owner.client
    agent_id = (await house.owner.agent(endpoint_url=agent.url))["id"]
    dataset = await house.owner.dataset(*rows, agent_id=agent_id)
    asked = {"agent_id": agent_id, "dataset_id": dataset["id"]}
    path = f"/api/batches/{answered(await client.post('/api/runs', json=asked), 202)['batch_id']}"
    async with asyncio.timeout(PATIENCE_S):
        while (batch := answered(await client.get(path)))["status"] == "running":  # noqa: ASYNC110 (over HTTP)
            await asyncio.sleep(0.02)
    assert batch["status"] == "completed"
    listed = (await every_item(client, "/api/runs", batch_id=batch["id"]))[::-1]
    return [answered(await client.get(f"/api/runs/{run['id']}")) for run in listed]


@pytest.mark.anyio
async def test_a_dispatch_that_raises_fails_its_run_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    dispatch = AgentClient.dispatch

    async def breaks_once(self: AgentClient, target: AgentTarget, envelope: Envelope) -> Outcome:
        if "broken" in envelope.user_instruction:
            raise ZeroDivisionError("a slip of ours")
        return await dispatch(self, target, envelope)

    monkeypatch.setattr(AgentClient, "dispatch", breaks_once)
    rows: list[dict[str, Any]] = [
        REFUND_TASK | {"user": f"Refund a {word} order."} for word in ("broken", "whole")
    ]
    async with open_house(
        tmp_path / "house", public_url="http://testserver", allow_private_endpoints="yes"
    ) as house:
        with played(does_nothing) as agent:
            broken, whole = await runs_of_a_batch(house, agent, *rows)
            assert list(agent.runs_seen) == [whole["id"]]
    assert (broken["status"], broken["error_class"]) == ("failed", "internal_error")
    assert broken["error_json"] == {"detail": "the platform failed; see the server's log"}
    assert (broken["verdict"], broken["judge_error"]) == ("NOT_APPLICABLE", None)
    assert (whole["status"], whole["verdict"]) == ("completed", "FAIL")
    assert f"run {broken['id']} could not be dispatched" in caplog.text
    assert "a slip of ours" in caplog.text


UNCALLABLE = {"a space": "http://bad host", "no host": "http://", "half an address": "http://[::1"}


@pytest.mark.anyio
@pytest.mark.parametrize("own_url", UNCALLABLE.values(), ids=UNCALLABLE)
async def test_a_proxy_that_no_agent_could_call_fails_the_run_before_it_is_sent(tmp_path: Path, own_url: str):
    """A public URL like these is refused at the start; an address the server found itself, by the run."""
    async with open_house(tmp_path / "house", own_url=own_url) as house:
        with played(does_nothing) as agent:
            (run,) = await runs_of_a_batch(house, agent, REFUND_TASK)
            assert agent.dispatches == []
    assert (run["status"], run["error_class"]) == ("failed", "proxy_misconfigured")
    assert "PIPELINES_PUBLIC_URL" in run["error_json"]["hint"]
