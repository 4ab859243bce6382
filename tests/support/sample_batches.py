"""Batches to look at: an agent that passes some tasks, fails others in several ways, and is flaky at one."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2

from support.desk import STATE, outage
from support.played_agents import Dispatch, PlayedAgent, played
from support.server_process import Api, Row, house_in

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title="owned"</script>'


def _task(user: str, *tags: str, **more: object) -> Row:
    expected = {"expected_state": {"order.4521.status": "refunded"}}
    return {"user": user, "state": STATE, "tags": list(tags)} | expected | more


TASKS: list[Row] = [
    _task("Refund order #4521, it arrived broken.", "refund"),
    _task("Please refund order 4521. The mug has a crack and the box was open when it came.", "refund"),
    _task("Refund order #4521 although it is late. (flaky)", "refund", "flaky"),
    _task("Refund order #4521 and be quick. (wrong order)", "refund"),
    _task("I want my money back for 4521. (nothing)", "refund"),
    _task("Refund #4521 while payments are down.", "failure", failure_rules=[outage("refund_order", 1)]),
    _task("Refund order 4521. (crash)", "failure"),
    _task(f"Refund order 4521. {HOSTILE}", "hostile"),
]


class DeskAgent:
    """Does what the words in brackets say, else what is right. Its second version is a better one."""

    def __init__(self) -> None:
        self.seen: Counter[int] = Counter()
        self.is_better = False

    def __call__(self, dispatch: Dispatch) -> None:
        self.seen[dispatch.task_id] += 1
        said = dispatch.said
        if "(crash)" in said:
            dispatch.answer_with(500, b'{"error": "no idea"}')
            return
        order = "7001" if "(wrong order)" in said and not self.is_better else "4521"
        is_idle = "(nothing)" in said or ("(flaky)" in said and self.seen[dispatch.task_id] % 2 == 0)
        dispatch.call("get_order", {"order_id": order})
        if not is_idle:
            answer = dispatch.call("refund_order", {"order_id": order})
            if answer.status >= 500:
                dispatch.call("refund_order", {"order_id": order})
        dispatch.answer(f"I have refunded order {order}.", metadata={"total_cost_usd": 0.0031})


class RanBatches(NamedTuple):
    api: Api
    agent_id: int
    dataset_id: int
    first: int  # a batch of three repeats
    second: int  # the same tasks once, by the better version
    viewer: str  # a key


@contextmanager
def ran_batches(directory: Path) -> Iterator[RanBatches]:
    behave = DeskAgent()
    with house_in(directory) as house, played(behave) as agent:
        api = house.open()
        agent_id = api.agent(agent.url, name="Support desk")["id"]
        dataset_id = api.dataset(*TASKS, agent_id=agent_id)["id"]
        first = api.batch_of(agent_id, dataset_id, repeats=3)
        api.ended(first)
        behave.is_better = True
        api.put(f"/api/agents/{agent_id}", {"description": "Looks twice."})
        second = api.batch_of(agent_id, dataset_id)
        api.ended(second)
        viewer = api.post("/api/keys", {"name": "guest", "role": "viewer"}, 201)["api_key"]
        yield RanBatches(api, agent_id, dataset_id, first, second, viewer)


@contextmanager
def signed_in(api: Api, key: str | None = None) -> Iterator[httpx2.Client]:
    """A browser's requests without a browser."""
    with httpx2.Client(base_url=api.url, timeout=40) as client:
        assert client.post("/sign-in", data={"key": key or api.key}).status_code == 303
        yield client


def csrf_of(client: httpx2.Client) -> str:
    found = re.search(r'X-Csrf": "([0-9a-f]+)"', client.get("/runs").text)
    assert found is not None
    return found[1]


def held_agent() -> Iterator[PlayedAgent]:
    """One that answers when the test lets go."""

    def hold(dispatch: Dispatch) -> None:
        dispatch.until_let_go()
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I have refunded order 4521.")

    with played(hold) as agent:
        yield agent
