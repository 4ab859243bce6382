"""Whatever an agent does, its run ends with the status and error class of the contract; nothing is lost."""

import json
from typing import Any, NamedTuple

import pytest

from support.played_agents import Behaviour, Dispatch, PlayedAgent, call_tool, played, refunds
from support.server_process import REFUND_TASK, Api, eventually, house_in

LONG = "x" * 2_000
METADATA = "http://169.254.169.254/latest/meta-data/"


def answers(status: int, body: bytes, content_type: str = "application/json", **headers: str) -> Behaviour:
    return lambda dispatch: dispatch.answer_with(status, body, content_type, **headers)


def answers_too_late(dispatch: Dispatch) -> None:
    dispatch.until_it_hangs_up()
    dispatch.answer("I have refunded order 4521.")


def resets(dispatch: Dispatch) -> None:
    dispatch.reset()


def resets_in_the_middle(dispatch: Dispatch) -> None:
    dispatch.handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"final_')
    dispatch.handler.wfile.flush()
    dispatch.reset()


class Fault(NamedTuple):
    behave: Behaviour
    error_class: str
    detail: str  # part of what the run says


HTML = b"<!doctype html><html><head><title>Sign in</title></head></html>"
FAULTS = {
    "hangs past its time": Fault(
        lambda dispatch: dispatch.until_it_hangs_up(), "agent_timeout", "no answer within 1 s"
    ),
    "answers after its time": Fault(answers_too_late, "agent_timeout", "no answer within 1 s"),
    "resets the connection": Fault(resets, "transport_error", "closed before there was an answer"),
    "resets in the middle": Fault(resets_in_the_middle, "transport_error", "broke while the answer"),
    "10 MB": Fault(
        answers(200, json.dumps({"final_response": "x" * 10_000_000}).encode()),
        "agent_bad_response",
        "over 8 MiB",
    ),
    "invalid UTF-8": Fault(
        answers(200, b'{"final_response": "caf\xe9 \xff"}'), "agent_bad_response", "is not JSON"
    ),
    "HTML with 200": Fault(answers(200, HTML, "text/html"), "agent_bad_response", "Sign in"),
    "no envelope": Fault(answers(200, b'{"answer": 1}'), "agent_bad_response", "no `final_response`"),
    "empty final response": Fault(answers(200, b'{"final_response": " "}'), "agent_bad_response", "empty"),
    "redirect to a metadata address": Fault(
        answers(302, b"", Location=METADATA), "agent_bad_response", "redirect"
    ),
    "401": Fault(answers(401, b'{"error": "who are you?"}'), "auth_failed", "who are you?"),
    "403": Fault(answers(403, b"no"), "auth_failed", "no"),
    "404": Fault(answers(404, b"not here"), "agent_4xx", "not here"),
    "408": Fault(answers(408, b""), "agent_timeout", ""),
    "500 with a long body": Fault(answers(500, LONG.encode(), "text/plain"), "agent_5xx", "x" * 500),
    "504": Fault(answers(504, b""), "agent_timeout", ""),
}


def one_run(api: Api, agent: PlayedAgent, row: Any = REFUND_TASK, **agent_fields: Any) -> dict[str, Any]:
    batch_id = api.start_batch(agent.url, row, agent={"run_timeout_s": 1} | agent_fields)
    assert api.ended(batch_id)["status"] == "completed"
    return api.only_run(batch_id)


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_agent_fails_its_run_and_says_how(api: Api, name: str):
    fault = FAULTS[name]
    with played(fault.behave) as agent:
        run = one_run(api, agent)
        assert len(agent.dispatches) == 1  # never sent again
    assert (run["status"], run["error_class"]) == ("failed", fault.error_class)
    assert fault.detail in run["error_json"]["detail"]
    assert len(run["error_json"]["detail"]) <= 500
    assert (run["verdict"], run["judge_error"]) == ("NOT_APPLICABLE", None)
    assert run["final_response"] is None
    assert run["ended_at"] is not None


def test_a_long_error_is_cut_at_500_characters(api: Api):
    with played(FAULTS["500 with a long body"].behave) as agent:
        assert one_run(api, agent)["error_json"]["detail"] == "x" * 500


def test_an_agent_that_is_not_there_is_unreachable(api: Api):
    with played(refunds) as gone:
        pass
    run = one_run(api, gone)
    assert (run["status"], run["error_class"]) == ("failed", "agent_unreachable")
    assert "refused" in run["error_json"]["detail"].lower()


def test_one_bad_agent_reply_does_not_touch_the_other_runs(api: Api):
    rows = [REFUND_TASK | {"user": f"Refund order #4521 ({n})."} for n in range(6)]

    def sometimes(dispatch: Dispatch) -> None:
        (resets if "(3)" in dispatch.said else refunds)(dispatch)

    with played(sometimes) as agent:
        batch_id = api.start_batch(agent.url, *rows)
        batch = api.ended(batch_id)
    assert batch["counts"]["by_status"] == {"completed": 5, "failed": 1}
    assert batch["counts"]["by_verdict"] == {"NOT_APPLICABLE": 1, "PASS": 5}
    assert batch["summary"]["judged"] == 5


def test_calls_after_the_end_are_refused_and_leave_a_row(api: Api):
    with played(refunds) as agent:
        run = one_run(api, agent)
        (dispatch,) = agent.dispatches
        late = call_tool(dispatch.proxy_url, dispatch.token, "cancel_order", {"order_id": "4521"})
        assert (late.status, late.body["error"]["code"]) == (409, "run_not_active")
    rows = api.trace(run["id"])
    assert [row["error_code"] for row in rows] == [None, None, None, "run_not_active"]
    assert api.get(f"/api/runs/{run['id']}/ledger")["state"]["order"]["4521"]["status"] == "refunded"
    assert api.post(f"/api/runs/{run['id']}/judge")["verdict"] == "PASS"


def test_calls_after_the_time_is_up_are_refused(api: Api):
    def hangs_then_calls(dispatch: Dispatch) -> None:
        dispatch.until_it_hangs_up()
        run = eventually(
            lambda: (found := api.get(f"/api/runs/{dispatch.run_id}"))["status"] != "running" and found,
            "the run is over",
        )
        late.append((run["error_class"], dispatch.call("refund_order", {"order_id": "4521"}).status))

    late: list[tuple[str, int]] = []
    with played(hangs_then_calls) as agent:
        run = one_run(api, agent)
        eventually(lambda: late, "the late call is answered")
    assert late == [("agent_timeout", 409)]
    assert [row["error_code"] for row in api.trace(run["id"])] == ["run_not_active"]


@pytest.mark.slow
def test_an_agent_that_floods_the_proxy_is_slowed_and_its_run_ends(tmp_path):
    def floods(dispatch: Dispatch) -> None:
        statuses.extend(dispatch.call("get_order", {"order_id": "4521"}).status for _ in range(30))
        dispatch.answer("I have looked thirty times.")

    statuses: list[int] = []
    with (
        house_in(tmp_path / "limited", {"PIPELINES_PROXY_RATE_LIMIT": "20"}) as house,
        played(floods) as agent,
    ):
        api = house.open()
        run = one_run(api, agent, run_timeout_s=30)
        assert run["status"] == "completed"
        assert statuses == [200] * 20 + [429] * 10
        assert len(api.trace(run["id"])) == 20


def test_an_agent_with_tools_that_calls_none_gets_a_warning(api: Api):
    with played(lambda dispatch: dispatch.answer("I have looked into it.")) as agent:
        run = one_run(api, agent)
    assert run["status"] == "completed"
    without_messages, warning = run["soft_warnings"]
    assert "has no `messages`" in without_messages
    assert "no call reached the proxy" in warning
    assert run["verdict"] == "FAIL"


TRANSCRIPT = [{"role": "assistant", "content": "I have looked into it."}]
SENT: dict[str, tuple[Any, str | None]] = {
    "none": (None, "has no `messages`"),
    "malformed": ("no list", "messages was dropped"),
    "well formed": (TRANSCRIPT, None),
}


@pytest.mark.parametrize(("messages", "told"), SENT.values(), ids=SENT)
def test_a_transcript_that_is_missing_or_malformed_is_pointed_out_once(
    api: Api, messages: Any, told: str | None
):
    more = {} if messages is None else {"messages": messages}
    with played(lambda dispatch: dispatch.answer("I have looked into it.", **more)) as agent:
        run = one_run(api, agent)
    assert run["status"] == "completed"
    found = [warning for warning in run["soft_warnings"] if "messages" in warning]
    assert len(found) == (0 if told is None else 1)
    assert told is None or told in found[0]


def test_a_reply_against_the_contract_is_not_judged(api: Api):
    contract = {"response_contract": {"response_mode": "rich", "strictness": "strict"}}
    with played(refunds) as agent:
        run = one_run(api, agent, **contract)
    assert (run["status"], run["error_class"]) == ("failed", "response_contract_violation")
    assert run["verdict"] == "NOT_APPLICABLE"
    assert run["judge_error"] is None


def test_a_reply_within_the_contract_is(api: Api):
    contract = {"response_contract": {"response_mode": "rich", "strictness": "strict"}}

    def richly(dispatch: Dispatch) -> None:
        dispatch.call("refund_order", {"order_id": "4521"})
        said = "I have refunded order 4521."
        dispatch.answer(said, messages=[{"role": "assistant", "content": said}])

    with played(richly) as agent:
        run = one_run(api, agent, **contract)
    assert (run["status"], run["verdict"]) == ("completed", "PASS")
    assert run["messages"] == [{"role": "assistant", "content": "I have refunded order 4521."}]


def test_a_final_response_that_is_too_long_is_cut_with_a_warning(api: Api):
    def says_too_much(dispatch: Dispatch) -> None:
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("Order 4521 is refunded.  " * 2_500)  # cut between two sentences

    with played(says_too_much) as agent:
        run = one_run(api, agent)
    assert run["status"] == "completed"
    assert len(run["final_response"]) == 50_000
    assert any("50000" in warning for warning in run["soft_warnings"])
    assert run["verdict"] == "PASS"


def test_malformed_extras_are_dropped_with_a_warning_each(api: Api):
    def messily(dispatch: Dispatch) -> None:
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I have refunded order 4521.", messages="none", metadata=[1])

    with played(messily) as agent:
        run = one_run(api, agent)
    assert run["status"] == "completed"
    assert (run["messages"], run["metadata"]) == (None, None)
    assert [warning.split()[0] for warning in run["soft_warnings"]] == ["messages", "metadata"]


def test_a_secret_in_an_agents_error_is_not_stored(api: Api):
    def echoes(dispatch: Dispatch) -> None:
        told = f"bad key {dispatch.headers['x-agent-key']} or token {dispatch.token}"
        dispatch.answer_with(500, told.encode())

    with played(echoes) as agent:
        run = one_run(api, agent, auth_header_name="X-Agent-Key", auth_header_value="topsecret-4711")
        token = agent.dispatches[0].token
    assert "topsecret" not in json.dumps(run)
    assert token not in json.dumps(run)


def test_each_run_has_a_world_of_its_own(api: Api):
    def refunds_and_looks(dispatch: Dispatch) -> None:
        found.append(dispatch.call("get_order", {"order_id": "4521"}).body["response"]["status"])
        refunds(dispatch)

    found: list[str] = []
    with played(refunds_and_looks) as agent:
        batch_id = api.start_batch(agent.url, repeats=4)
        assert api.ended(batch_id)["counts"]["by_verdict"] == {"PASS": 4}
    assert found == ["shipped"] * 4
