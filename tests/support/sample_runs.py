"""One server with runs worth reading: a wrong action, a retry, a team, no call at all, hostile text."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest

from support.desk import STATE, outage
from support.played_agents import Dispatch, played
from support.server_process import Api, house_in

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"
EVIL_LINK = '<a href="javascript:alert(3)">click</a> javascript:alert(4) https://evil.example/x'
TURNED = "safe\u202elive\u2066 \u0007"
LONG = "x" * 900_000
MANY = 250  # calls: more than a window of the timeline


class Traced(NamedTuple):
    api: Api
    runs: dict[str, int]  # by the first word of what was asked

    @contextmanager
    def signed_in(self, key: str | None = None) -> Iterator[httpx2.Client]:
        with httpx2.Client(base_url=self.api.url, timeout=40) as client:
            assert client.post("/sign-in", data={"key": key or self.api.key}).status_code == 303
            yield client


def report(dispatch: Dispatch, kind: str, payload: Any, actor: str | None = None) -> None:
    parts = urlsplit(dispatch.proxy_url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=40)
    headers = {"Authorization": f"Bearer {dispatch.token}", "Content-Type": "application/json"}
    headers |= {"X-Pipelines-Actor-Id": actor} if actor else {}
    connection.request("POST", f"{parts.path}/traces/{kind}", json.dumps(payload), headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.status < 300, response.status


def look_often(dispatch: Dispatch, times: int) -> None:
    """Over one connection: it is the length of the log that counts."""
    parts = urlsplit(dispatch.proxy_url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=40)
    headers = {"Authorization": f"Bearer {dispatch.token}", "Content-Type": "application/json"}
    for number in range(times):
        body = json.dumps({"order_id": "4521" if number % 2 else "7001"})
        connection.request("POST", f"{parts.path}/tools/get_order", body, headers)
        connection.getresponse().read()
    connection.close()


def behave(dispatch: Dispatch) -> None:
    match dispatch.said.split()[0]:
        case "Nothing":
            dispatch.answer("I did not need any tool.")
        case "Broken":
            dispatch.call("get_order", {"order_id": "4521"})
            dispatch.answer_with(500, b"out of order")
        case "Hostile":
            _hostile(dispatch)
        case "Many":
            look_often(dispatch, MANY)
            dispatch.answer("Looked often.")
        case "Slow":
            dispatch.call("get_order", {"order_id": "4521"})
            dispatch.until_let_go()
            dispatch.answer("At last.")
        case "Talk":
            _talk(dispatch)
        case "Polls":
            _poll(dispatch)
        case word:
            _refund(dispatch, wrong=word == "Wrong", team=word == "Team")


def _refund(dispatch: Dispatch, *, wrong: bool, team: bool) -> None:
    report(dispatch, "thinking", {"text": "First the order, then the refund."})
    dispatch.call("get_order", {"order_id": "4521"})
    if team:
        report(dispatch, "handoff", {"to_actor": "boss/refunds", "reason": "it is a refund"}, "boss")
        report(dispatch, "subagent_message", {"text": "I take it."}, "boss/refunds")
    if wrong:
        dispatch.call("cancel_order", {"order_id": "7001"})
    dispatch.call("refund_order", {"order_id": "4521", "reason": "late"})
    dispatch.call("refund_order", {"order_id": "4521", "reason": "late"})
    dispatch.call("raise_flag", {"flag": "refund_told"})
    dispatch.answer("I have refunded order 4521.", metadata={"total_cost_usd": 0.0042})


def _hostile(dispatch: Dispatch) -> None:
    dispatch.call("add_note", {"order_id": "4521", "text": EVIL})
    dispatch.call("add_note", {"order_id": "4521", "text": TURNED})
    dispatch.call("%3Cb%3Etool%3C%2Fb%3E", {EVIL: EVIL})
    report(dispatch, "thinking", {"text": EVIL + TURNED}, "evil/one")
    report(dispatch, "custom", {EVIL: [EVIL_LINK]})
    dispatch.call("search_inventory", {"query": LONG})
    dispatch.answer(EVIL + EVIL_LINK + TURNED + LONG)


def _talk(dispatch: Dispatch) -> None:
    """A transcript that tells the same calls as the log."""
    dispatch.call("get_order", {"order_id": "4521"})
    call = {"id": "c1", "name": "get_order", "arguments": {"order_id": "4521"}}
    told = [
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [call],
            "thinking": _thought("First look."),
        },
        {"role": "tool", "tool_call_id": "c1", "content": "{}"},
        {"role": "assistant", "content": "It has shipped.", "thinking": _thought("Shipped means sent.")},
    ]
    metadata = {
        "ward": {"floor": 3},
        "model": "test-model-1",
        "system_prompt_id": "desk-v7",
        "agent_runtime_ms": 1500,
        "total_input_tokens": 1200,
    }
    dispatch.answer("It has shipped.", messages=told, metadata=metadata)


def _thought(text: str) -> list[dict[str, str]]:
    return [{"type": "thinking", "thinking": text}]


def _poll(dispatch: Dispatch) -> None:
    """Equal calls, one after the other, before and after a change; then two that are not a run of them."""
    for _ in range(4):
        dispatch.call("get_order", {"order_id": "4521"})
    dispatch.call("refund_order", {"order_id": "4521", "reason": "late"})
    for _ in range(3):
        dispatch.call("get_order", {"order_id": "4521"})
    dispatch.call("get_order", {"order_id": "7001"})
    dispatch.call("get_order", {"order_id": "none"})
    dispatch.answer("Polled.", metadata={"total_cost_usd": 0.02, "total_input_tokens": 900})


EXPECTED = {"order.4521.status": "refunded"}
TASKS = [
    {"user": "Refund order 4521.", "expected_state": EXPECTED, "failure_rules": [outage("refund_order", 1)]},
    {
        "user": "Wrong things are done.",
        "expected_state": EXPECTED,
        "failure_rules": [outage("refund_order", 1)],
    },
    {
        "user": "Team work on order 4521.",
        "expected_state": EXPECTED,
        "failure_rules": [outage("refund_order", 1)],
    },
    {"user": "Nothing is called.", "expected_state": EXPECTED},
    {"user": f"Hostile {EVIL}"},
    {"user": "Broken is the agent."},
    {"user": "Many calls."},
    {"user": "Talk about order 4521."},
    {"user": "Polls order 4521."},
]


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    with house_in(tmp_path_factory.mktemp("traced") / "house") as house, played(behave) as agent:
        api = house.open()
        batch = api.start_batch(agent.url, *({"state": STATE} | task for task in TASKS))
        assert api.ended(batch, 120)["status"] == "completed"
        runs = {run["user_instruction"].split()[0]: run["id"] for run in api.runs(batch)}
        yield Traced(api, runs)
