"""A dispatched run whose trace leaves the declared make-up of the agent says where."""

import httpx2

from pipelines.engine.runs.dispatch_run import NO_MESSAGES
from pipelines.wire.names import HEADER_ACTOR_ID
from support.played_agents import Dispatch, played
from support.server_process import Api

TEAM = {"sub_agents": [{"actor_id": "supervisor"}], "topology": {"entry": "supervisor"}}


def refunds_as(dispatch: Dispatch, actor: str) -> None:
    """The supervisor looks, the actor acts."""
    for who, tool in (("supervisor", "get_order"), (actor, "refund_order")):
        answer = httpx2.post(
            f"{dispatch.proxy_url}/tools/{tool}",
            json={"order_id": "4521"},
            headers={"Authorization": f"Bearer {dispatch.token}", HEADER_ACTOR_ID: who},
        )
        assert answer.status_code == 200
    dispatch.answer("I have refunded order 4521.")


def test_an_actor_that_nobody_declared_is_pointed_out(api: Api):
    with played(lambda dispatch: refunds_as(dispatch, "supervisor/billing")) as agent:
        batch_id = api.start_batch(agent.url, agent={"config": TEAM})
        api.ended(batch_id)
    run = api.only_run(batch_id)
    assert (run["status"], run["verdict"]) == ("completed", "PASS")
    assert run["soft_warnings"] == [
        NO_MESSAGES,
        "actor `supervisor/billing` is not declared in config.sub_agents (step 2)",
    ]


def test_a_team_that_keeps_to_its_make_up_is_left_alone(api: Api):
    with played(lambda dispatch: refunds_as(dispatch, "supervisor")) as agent:
        batch_id = api.start_batch(agent.url, agent={"config": TEAM})
        api.ended(batch_id)
    assert api.only_run(batch_id)["soft_warnings"] == [NO_MESSAGES]
