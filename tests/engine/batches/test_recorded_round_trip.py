"""A conversation that was dispatched, exported and imported: the same words, and the same verdict."""

from support.played_agents import Dispatch, played
from support.server_process import REFUND_TASK, Api

TALK = REFUND_TASK | {
    "turn_mode": "model_as_user",
    "simulator_mode": "scripted",
    "scripted_user_turns": ["Yes, please."],
    "max_turns": 3,
    "tracked_constraints": [
        {"id": "order", "description": "names it", "check": {"responses": {"$contains": "4521"}}}
    ],
}


def asks_first(dispatch: Dispatch) -> None:
    if dispatch.said != "Yes, please.":
        dispatch.answer("Shall I refund order 4521?")
    else:
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I refunded order 4521.")


def test_an_exported_conversation_has_its_turns_and_its_verdict_again(api: Api) -> None:
    with played(asks_first) as agent:
        batch_id = api.start_batch(agent.url, TALK)
        api.ended(batch_id)
    live = api.only_run(batch_id)
    assert live["verdict"] == "PASS", live["judgement"]
    whole = api.get(f"/api/runs/{live['id']}/export")
    told = api.post("/api/runs/import", {"agent_id": live["agent_id"], "runs": [whole]}, 201)
    again = api.get(f"/api/runs/{told['runs'][0]['run_id']}")
    assert again["judgement"]["reasoning"] == live["judgement"]["reasoning"]
    assert again["judgement"]["scores"] == live["judgement"]["scores"]
    assert again["messages"] == live["messages"]
    assert api.post(f"/api/runs/{again['id']}/judge")["verdict"] == "PASS"
