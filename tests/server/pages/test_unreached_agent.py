"""An agent that could not be reached: its run and its batch say so, and say nothing about tools."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from signed_in import Signed, signed_in, words

from support.played_agents import Dispatch, played
from support.ports import free_port
from support.server_process import REFUND_TASK, Api, Row, house_in

SECOND: Row = REFUND_TASK | {"user": "Refund it again.", "id": "second"}


class Desk(NamedTuple):
    api: Api
    port: int
    nowhere: int  # a batch that reached nobody
    sometimes: int  # one whose second run failed in another way


def _silent(dispatch: Dispatch) -> None:
    dispatch.answer_with(500, b"out of order")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with house_in(tmp_path_factory.mktemp("unreached") / "house") as house, played(_silent) as agent:
        api, port = house.open(), free_port()
        nowhere = api.start_batch(f"http://127.0.0.1:{port}/dispatch", REFUND_TASK, SECOND)
        sometimes = api.start_batch(agent.url, REFUND_TASK)
        for batch in (nowhere, sometimes):
            api.ended(batch)
        yield Desk(api, port, nowhere, sometimes)


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[Signed]:
    with signed_in(desk.api) as browsing:
        yield browsing


def test_a_run_says_that_its_agent_could_not_be_reached(client: Signed, desk: Desk) -> None:
    run = desk.api.runs(desk.nowhere)[0]
    shown = words(client.text(f"/runs/{run['id']}"))
    reason = f"the agent could not be reached: connection refused (127.0.0.1:{desk.port})"
    assert shown.count(reason) >= 2  # beside the verdict, and where the verdict's reasons are
    assert "called no tools" not in shown
    assert "odyssey_proxy_url" not in shown


def test_a_batch_that_reached_nobody_begins_with_that(client: Signed, desk: Desk) -> None:
    shown = words(client.text(f"/batches/{desk.nowhere}"))
    banner = f"No run reached the agent: connection refused (127.0.0.1:{desk.port})."
    assert banner in shown
    assert shown.index(banner) < shown.index("Compare selected")
    assert "No run reached the agent" not in words(client.text(f"/batches/{desk.sometimes}"))


def test_an_agent_that_answered_with_an_error_was_reached(client: Signed, desk: Desk) -> None:
    run = desk.api.runs(desk.sometimes)[0]
    shown = words(client.text(f"/runs/{run['id']}"))
    assert "the agent answered with a server error: out of order" in shown
    assert "The agent called no tools." in shown
