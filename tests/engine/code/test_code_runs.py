"""Runs of code agents in a real sandbox: what they are handed, what comes of them, what they cannot reach."""

import json
import sqlite3

import pytest
from code_desk import code_agent, run_code, run_of

from support.desk import refused
from support.server_process import REFUND_TASK, eventually

REFUND = """
call(proxy_url, run_token, "refund_order", order_id="4521")
return "I have refunded order 4521."
"""


def test_a_string_is_the_final_response(api):
    run = run_code(api, REFUND)
    assert (run["status"], run["verdict"]) == ("completed", "PASS")
    assert run["final_response"] == "I have refunded order 4521."
    assert [row["tool_name"] for row in api.trace(run["id"])] == ["refund_order"]


def test_a_dict_is_read_as_an_http_reply_is(api):
    run = run_code(
        api,
        """
        more = {"messages": [{"role": "nobody"}], "metadata": {"model": "rules"}}
        return {"final_response": "x" * 50_001, **more}
        """,
    )
    assert run["status"] == "completed"
    assert len(run["final_response"]) == 50_000
    assert run["messages"] is None
    assert run["metadata"] == {"model": "rules"}
    warnings = " ".join(run["soft_warnings"])
    assert "cut at 50000" in warnings
    assert "messages was dropped" in warnings


def test_a_coroutine_is_awaited(api):
    assert (
        run_code(api, "async def later():\n    return 'Later.'\nreturn later()")["final_response"] == "Later."
    )


def test_what_it_is_handed(api):
    run = run_code(
        api,
        """
        names = ["PIPELINES_ODYSSEY_PROXY_URL", "PIPELINES_RUN_TOKEN", "PIPELINES_RUN_TOKEN_JTI"]
        names += ["PIPELINES_RUN_ID", "PIPELINES_TASK_ID", "_PIPELINES_TASK_INPUT_JSON"]
        told = {name: os.environ[name] for name in names}
        assert told.pop("PIPELINES_RUN_TOKEN") == run_token
        told["argument"] = proxy_url
        return {"final_response": "ok", "metadata": {"task_input": task_input, **told}}
        """,
        REFUND_TASK | {"task_input": {"customer": "c-9"}},
    )
    told = run["metadata"]
    assert told["task_input"] == {
        "task_id": run["task_id"],
        "user_instruction": "Refund order #4521.",
        "input": {"customer": "c-9"},
    }
    assert json.loads(told["_PIPELINES_TASK_INPUT_JSON"]) == told["task_input"]
    assert told["PIPELINES_RUN_ID"] == str(run["id"])
    assert told["PIPELINES_TASK_ID"] == str(run["task_id"])
    assert told["PIPELINES_RUN_TOKEN_JTI"] == run["run_token_jti"]
    url = f"http://127.0.0.1:8377/api/odyssey-proxy/runs/{run['run_token_jti']}"
    assert told["argument"] == told["PIPELINES_ODYSSEY_PROXY_URL"] == url


def test_a_conversation_is_told_what_was_said(api):
    """Also a stateful one: a sandbox is used once, so there is nothing it could remember in."""
    body = """
        said = [message["content"] for message in task_input["messages"]]
        print(task_input["user_instruction"])
        return f"{len(said)} {task_input.get('session_id') is not None}"
    """
    talk = REFUND_TASK | {
        "turn_mode": "model_as_user",
        "simulator_mode": "scripted",
        "scripted_user_turns": ["And now?"],
    }
    for memory_mode, is_stateful in (("replay", False), ("stateful", True)):
        run = run_code(api, body, talk | {"memory_mode": memory_mode})
        assert run["final_response"] == f"3 {is_stateful}"
        assert api.get(f"/api/runs/{run['id']}/output")["stdout"] == "Refund order #4521.\nAnd now?\n"


def test_an_exception_is_kept_and_graded(api):
    run = run_code(
        api,
        """
        call(proxy_url, run_token, "refund_order", order_id="4521")
        raise KeyError("amount")
        """,
    )
    assert (run["status"], run["error_class"]) == ("failed", "agent_exception")
    assert run["error_json"]["detail"] == "KeyError: 'amount'"
    assert 'raise KeyError("amount")' in run["error_json"]["traceback"]
    assert "/driver.py" not in run["error_json"]["traceback"]
    # Judged on what it did, but never a pass: it gave no answer.
    assert (run["verdict"], run["failure_mode"]) == ("FAIL", "no_response")
    found = {finding["check"]: finding["status"] for finding in run["judgement"]["findings"]}
    assert found["answer"] == "broken"
    assert "held" in found.values()


def test_an_exception_in_a_later_turn_is_no_pass_either(api):
    talk = {"turn_mode": "model_as_user", "simulator_mode": "scripted", "scripted_user_turns": ["And now?"]}
    run = run_code(
        api,
        """
        assert len(task_input["messages"]) == 1, "no second turn"
        call(proxy_url, run_token, "refund_order", order_id="4521")
        return "I have refunded order 4521."
        """,
        REFUND_TASK | talk,
    )
    assert (run["error_class"], run["verdict"]) == ("agent_exception", "FAIL")


ENDS = {
    "sys.exit(3)": ("agent_exception", "3"),
    "os._exit(1)": ("agent_exception", ""),
    "os.kill(os.getpid(), 9)": ("agent_exception", ""),
    "x = bytearray(2_000_000_000)": ("agent_exception", "emory"),
    "return None": ("agent_bad_response", "nothing"),
    "return {1: object()}": ("agent_bad_response", ""),
    "return {'answer': 'x'}": ("agent_bad_response", "final_response"),
    "return '   '": ("agent_bad_response", "final_response"),
    "return 'x' * 9_000_000": ("agent_bad_response", ""),
    "return {'final_response': '\\ud800'}": ("agent_bad_response", ""),
    "a = []\nfor _ in range(500): a = [a]\nreturn {'final_response': 'x', 'metadata': {'a': a}}": (
        "agent_bad_response",
        "nested deeper",
    ),
}


@pytest.mark.parametrize("body", ENDS)
def test_other_ends_have_their_error_class(api, body):
    error_class, detail = ENDS[body]
    run = run_code(api, body)
    assert (run["status"], run["error_class"]) == ("failed", error_class), run["error_json"]
    assert detail in run["error_json"]["detail"]
    assert run["verdict"] == ("FAIL" if error_class == "agent_exception" else "NOT_APPLICABLE")


def test_a_run_that_never_ends_is_ended(api):
    run = run_code(api, "print('begun', flush=True)\nwhile True: pass", run_timeout_s=4)
    assert (run["error_class"], run["verdict"]) == ("agent_timeout", "NOT_APPLICABLE")
    assert api.get(f"/api/runs/{run['id']}/output")["stdout"] == "begun\n"


def test_what_is_printed_is_kept_and_capped(api):
    run = run_code(
        api,
        """
        print("first")
        sys.stderr.write("careful\\n")
        print("x" * 1_000_000)
        print("last\\0")
        return "Done."
        """,
    )
    output = api.get(f"/api/runs/{run['id']}/output")
    assert output["stderr"] == "careful\n"
    assert output["stdout"].startswith("first\n")
    assert "last" in output["stdout"][-20:]
    assert len(output["stdout"]) < 100_000


def test_a_response_contract_holds_for_code_too(api):
    contract = {"response_mode": "rich", "strictness": "strict"}
    run = run_code(api, "return 'Done.'", response_contract=contract)
    assert run["error_class"] == "response_contract_violation"
    assert run["final_response"] == "Done."


# -- secrets


def stored_text(house, run_id) -> str:
    """Everything the database holds about a run."""
    with sqlite3.connect(f"file:{house.directory}/odyssey.db?mode=ro", uri=True) as database:
        rows = [
            *database.execute("SELECT * FROM runs WHERE id = ?", (run_id,)),
            *database.execute("SELECT * FROM run_output WHERE run_id = ?", (run_id,)),
            *database.execute("SELECT * FROM trace_rows WHERE run_id = ?", (run_id,)),
        ]
    database.close()
    return json.dumps([list(map(str, row)) for row in rows], ensure_ascii=False)


def test_a_secret_reaches_the_code_and_is_nowhere_in_the_run(api, house_of_code):
    value = 'pa"ss-wörd-4711'
    api.post("/api/credentials", {"name": "SHOP_KEY", "value": value}, 201)
    run = run_code(
        api,
        """
        key = os.environ["SHOP_KEY"]
        assert len(key) == 15, "not whole"
        print("key:", key)
        sys.stderr.write(f"key again: {key}\\n")
        noted = call(proxy_url, run_token, "add_note", order_id="4521", text=f"the key is {key}")
        import urllib.parse
        call(proxy_url, run_token, urllib.parse.quote(key))
        thought = json.dumps({"text": key}, ensure_ascii=False).encode()
        post(f"{proxy_url}/traces/thinking", run_token, thought)
        return {"final_response": f"It is {key}.", "metadata": {key: [key]}}
        """,
        secrets=["SHOP_KEY"],
    )
    assert run["status"] == "completed", run["error_json"]
    assert run["final_response"] == "It is [secret SHOP_KEY]."
    output = api.get(f"/api/runs/{run['id']}/output")
    assert output["stdout"] == "key: [secret SHOP_KEY]\n"
    assert output["stderr"] == "key again: [secret SHOP_KEY]\n"
    arguments = [row["arguments"] for row in api.trace(run["id"]) if row["tool_name"] == "add_note"]
    assert arguments == [{"order_id": "4521", "text": "the key is [secret SHOP_KEY]"}]
    everything = stored_text(house_of_code, run["id"])
    assert "wörd-4711" not in everything
    assert "w\\u00f6rd-4711" not in everything
    assert "[secret SHOP_KEY]" in everything


def test_a_secret_in_a_traceback_is_taken_out(api, house_of_code):
    api.post("/api/credentials", {"name": "TRACED_KEY", "value": "tr4ced-value"}, 201)
    run = run_code(api, "raise ValueError(os.environ['TRACED_KEY'])", secrets=["TRACED_KEY"])
    assert run["error_json"]["detail"] == "ValueError: [secret TRACED_KEY]"
    assert "tr4ced-value" not in stored_text(house_of_code, run["id"])


def test_the_run_token_stays_out_of_what_is_kept(api, house_of_code):
    run = run_code(api, "print(run_token)\nreturn f'my token is {run_token}'")
    assert run["final_response"] == "my token is [secret run token]"
    assert api.get(f"/api/runs/{run['id']}/output")["stdout"] == "[secret run token]\n"


def test_a_new_value_reaches_the_next_run_and_a_missing_one_is_said(api):
    first = api.post("/api/credentials", {"name": "TURNED", "value": "first-value"}, 201)
    body = code_agent("return str(len(os.environ['TURNED']))", secrets=["TURNED"])
    agent = api.post("/api/agents", body, 201)
    assert run_of(api, agent["id"])["final_response"] == "11"
    assert api.post("/api/credentials", {"name": "TURNED", "value": "second"}, 201)["id"] == first["id"]
    assert run_of(api, agent["id"])["final_response"] == "6"
    assert api.client.delete(f"/api/credentials/{first['id']}").status_code == 204
    run = run_of(api, agent["id"])
    assert run["error_class"] == "agent_unreachable"
    assert "there is no credential `TURNED`" in run["error_json"]["detail"]
    assert run["error_json"]["reached"] == "no"


# -- the door


def test_only_this_runs_tools_are_reached(api):
    """With a true key of the server and a true token of another run."""
    other = api.agent("https://agents.example.com/dispatch")
    task_id = api.dataset()["task_ids"][0]
    opened = api.post("/api/runs", {"mode": "manual", "agent_id": other["id"], "task_ids": [task_id]}, 201)
    api.post("/api/credentials", {"name": "A_KEY", "value": api.key}, 201)
    api.post("/api/credentials", {"name": "OTHER_TOKEN", "value": opened["run_token"]}, 201)
    run = run_code(
        api,
        f"""
        key, other, jti = os.environ["A_KEY"], os.environ["OTHER_TOKEN"], {opened["run_token_jti"]!r}
        host, base = proxy_url.split("/api/")[0], proxy_url.rsplit("/runs/", 1)[0]
        tried = {{
            "own": post(f"{{base}}/tools/get_order", run_token, b'{{"order_id": "4521"}}'),
            "other token": post(f"{{base}}/tools/get_order", other, b'{{"order_id": "4521"}}'),
            "other run": post(f"{{base}}/runs/{{jti}}/tools/get_order", other, b'{{"order_id": "4521"}}'),
            "own token, other run": post(f"{{base}}/runs/{{jti}}/tools/get_order", run_token),
            "two tokens": post(f"{{base}}/tools/get_order", run_token, X_Pipelines_Run_Token=other),
            "no token": post(f"{{base}}/tools/__reachability_probe__", "fake-token"),
            "api": post(f"{{host}}/api/agents", key, None, "GET"),
            "api twisted": post(f"{{base}}/../agents", key, None, "GET"),
            "health": post(f"{{host}}/health", key, None, "GET"),
            "key as token": post(f"{{base}}/tools", key, None, "GET"),
        }}
        told = {{name: status for name, (status, _) in tried.items()}}
        return {{"final_response": "tried", "metadata": told}}
        """,
        secrets=["A_KEY", "OTHER_TOKEN"],
    )
    assert run["status"] == "completed", run["error_json"]
    assert run["metadata"] == {
        "own": 200,
        "other token": 401,
        "other run": 401,
        "own token, other run": 401,
        "two tokens": 401,
        "no token": 401,
        "api": 404,
        "api twisted": 401,
        "health": 404,
        "key as token": 401,
    }
    assert api.trace(opened["id"]) == []


def test_a_connection_can_be_kept_and_used_again(api):
    run = run_code(
        api,
        """
        import http.client
        address, path = proxy_url.removeprefix("http://").split("/", 1)
        connection = http.client.HTTPConnection(address)
        for _ in range(20):
            headers = {"Authorization": f"Bearer {run_token}"}
            connection.request("POST", f"/{path}/tools/get_order", '{"order_id": "4521"}', headers)
            assert json.load(connection.getresponse())["source"] == "odyssey"
        return "Done."
        """,
    )
    assert run["status"] == "completed", run["error_json"]
    assert len(api.trace(run["id"])) == 20


# -- stopping


def test_a_cancelled_run_is_killed(api):
    body = "call(proxy_url, run_token, 'get_order', order_id='4521')\nwhile True: pass"
    agent = api.post("/api/agents", code_agent(body), 201)
    batch_id = api.batch_of(agent["id"], api.dataset()["id"])
    (run,) = eventually(lambda: [r for r in api.runs(batch_id) if api.trace(r["id"])], "it has called")
    answered = api.post(f"/api/runs/{run['id']}/cancel")
    assert answered["status"] == "cancelled"
    api.ended(batch_id)
    # Its place is free again at once: were it still burning, a pool of eight would be full after eight.
    assert run_code(api, "return 'Next.'")["final_response"] == "Next."


# -- before any run


def test_connection_of_code_is_its_import(api):
    def tested(body, **changes):
        agent = api.post("/api/agents", code_agent(body, **changes), 201)
        return api.post(f"/api/agents/{agent['id']}/test-connection")

    good = tested("raise SystemExit('never called')")
    assert good["ok"] is True
    assert set(good) == {"ok", "http_status", "latency_ms", "problem", "hint"}
    lost = tested("pass", code={"source": "paste", "text": "import nowhere_to_be_found\nrun = print\n"})
    assert lost["ok"] is False
    assert "No module named 'nowhere_to_be_found'" in lost["problem"]
    assert "line 1" in lost["hint"]
    odd = tested("pass", code={"source": "paste", "text": "run = 7\n"})
    assert "has no function run" in odd["problem"]
    short = tested("pass", code={"source": "paste", "text": "run = lambda task: 'x'\n"})
    assert "proxy_url" in short["problem"]


def test_a_draft_is_not_run(api):
    agent = api.post("/api/agents", code_agent("return 'x'", status="draft"), 201)
    body = {"agent_id": agent["id"], "dataset_id": api.dataset()["id"]}
    refused(api.client.post("/api/runs", json=body), 409, "agent_is_draft")


def test_runs_keep_the_version_they_ran_on(api):
    agent = api.post("/api/agents", code_agent("return 'one'"), 201)
    dataset_id = api.dataset()["id"]
    first = api.batch_of(agent["id"], dataset_id)
    api.ended(first)
    code = code_agent("return 'two'")["code"]
    changed = api.client.put(f"/api/agents/{agent['id']}", json={"code": code}).json()
    assert changed["version"] == 2
    assert changed["code"]["hash"] != agent["code"]["hash"]
    second = api.batch_of(agent["id"], dataset_id)
    api.ended(second)
    said = [api.only_run(batch) for batch in (first, second)]
    assert [(run["agent_version"], run["final_response"]) for run in said] == [(1, "one"), (2, "two")]
