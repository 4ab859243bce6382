"""Uploaded code that asks a model: what it finds, what it can reach, and what its run says of it."""

import json
from collections.abc import Iterator

import pytest
from code_desk import code_agent, run_code, run_of, source_of

from support.desk import AGENT, refused
from support.model_api import PlayedModel, model_beside
from support.server_process import REFUND_TASK, Api, House, Row, eventually, fresh_house_in

KEY = "sk-operators-own-0123456789abcdef"
ORG_KEY = "sk-of-the-org-fedcba9876543210"

#: How an agent without any package asks a model.
ASK = """
def ask(path, body=None, name="OPENAI_BASE_URL", key="PIPELINES_MODEL_KEY"):
    headers = {"Authorization": "Bearer " + os.environ.get(key, "none"), "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ[name] + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

def chat(model, text="hi", **more):
    said = [{"role": "user", "content": text}]
    return ask("/chat/completions", {"model": model, "messages": said, **more})
"""


def asking(body: str) -> str:
    return f"{ASK}\n{body}"


def settings_for(model: PlayedModel) -> dict[str, str]:
    root = model.url.removesuffix("/v1")
    listed = {
        "local": {"kind": "openai", "base_url": model.url, "key_environment": "LOCAL_MODEL_KEY"},
        "of-org": {"kind": "openai", "base_url": model.url, "key_credential": "MODEL_KEY"},
        "bare": {"kind": "openai", "base_url": model.url},
        "claude": {"kind": "anthropic", "base_url": root, "key_environment": "LOCAL_MODEL_KEY"},
        "away": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "key_environment": "LOCAL_MODEL_KEY"},
    }
    return {
        "PIPELINES_PROXY_RATE_LIMIT": "0",
        "PIPELINES_MODEL_GATEWAY": json.dumps(listed),
        "PIPELINES_MODEL_CALLS": "6",
        "LOCAL_MODEL_KEY": KEY,
    }


@pytest.fixture(scope="module")
def model() -> Iterator[PlayedModel]:
    with model_beside() as played:
        yield played


def opened(house: House) -> Api:
    api = house.open()
    found = api.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    return api


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, model: PlayedModel) -> Iterator[Api]:
    """Whatever the tests do, the operator's key is neither in the server's log nor in its files."""
    directory = tmp_path_factory.mktemp("models") / "house"
    with fresh_house_in(directory, settings_for(model)) as house:
        yield opened(house)
        _, said = house.stop()
    assert KEY not in said
    on_disk = [path for path in directory.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in on_disk)
    assert not [path for path in on_disk if KEY.encode() in path.read_bytes()]


def model_rows(api: Api, run: Row) -> list[Row]:
    return [row for row in api.trace(run["id"]) if row["kind"] == "model_call"]


# -- what the code finds, and what it leaves


def test_frameworks_find_their_model_and_no_key_of_value(api, model):
    body = """
    told = {name: os.environ.get(name) for name in (
        "OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "PIPELINES_MODEL_KEY",
        "PIPELINES_MODEL_URL_LOCAL", "PIPELINES_MODEL_URL_BARE", "PIPELINES_MODEL_URL_CLAUDE",
        "PIPELINES_MODEL_URL_OF_ORG")}
    return {"final_response": "ok", "metadata": told}
    """
    told = run_code(api, body, model_gateways=["bare", "local", "claude"])["metadata"]
    door = "http://127.0.0.1:8377/models"
    key = told["PIPELINES_MODEL_KEY"]
    assert key.startswith("pipelines-run-")
    assert told == {
        "OPENAI_BASE_URL": f"{door}/bare",  # the first of its kind
        "OPENAI_API_KEY": key,
        "ANTHROPIC_BASE_URL": f"{door}/claude",
        "ANTHROPIC_API_KEY": key,
        "PIPELINES_MODEL_KEY": key,
        "PIPELINES_MODEL_URL_LOCAL": f"{door}/local",
        "PIPELINES_MODEL_URL_BARE": f"{door}/bare",
        "PIPELINES_MODEL_URL_CLAUDE": f"{door}/claude",
        "PIPELINES_MODEL_URL_OF_ORG": None,
    }
    assert set(run_code(api, body)["metadata"].values()) == {None}


def test_what_was_asked_is_on_the_run_and_nothing_of_what_was_said(api, model):
    run = run_code(
        api,
        asking(
            """
chat("gpt-test", "a word that stays between us")
chat("limited")
ask("/v1/messages", {"model": "claude-y", "messages": []}, "ANTHROPIC_BASE_URL")
call(proxy_url, run_token, "refund_order", order_id="4521")
return {"final_response": "I have refunded order 4521.", "metadata": {"model_gateway": "forged"}}
"""
        ),
        model_gateways=["local", "claude"],
    )
    assert (run["status"], run["verdict"]) == ("completed", "PASS")
    rows = api.trace(run["id"])
    assert [row["kind"] for row in rows] == ["model_call"] * 3 + ["tool_call"]
    shown = [
        (
            row["http_status"],
            row["payload"]["gateway"],
            row["payload"]["model"],
            row["payload"]["input_tokens"],
        )
        for row in rows[:3]
    ]
    assert shown == [
        (200, "local", "gpt-test", 11),
        (429, "local", "limited", None),
        (200, "claude", "claude-y", 9),
    ]
    assert run["metadata"]["model_gateway"] == {
        "calls": 3,
        "failed": 1,
        "uncounted": 0,
        "input_tokens": 20,
        "output_tokens": 10,
        "models": ["gpt-test", "limited", "claude-y"],
    }
    assert any("metadata.model_gateway was dropped" in warning for warning in run["soft_warnings"])
    assert "between us" not in json.dumps([run, rows])
    found = api.get(f"/api/runs/{run['id']}/trace", kind="model_call")["items"]
    assert len(found) == 3


def test_a_run_that_ends_badly_says_what_it_asked_too(api):
    run = run_code(api, asking("chat('gpt-test')\nraise KeyError('no')"), model_gateways=["local"])
    assert run["error_class"] == "agent_exception"
    assert run["metadata"]["model_gateway"]["calls"] == 1
    assert len(model_rows(api, run)) == 1


def test_the_operators_key_is_nowhere_but_at_the_model(api, model):
    """Not in what code can print, return or be answered; nor, by the fixture, on disk and in a log."""
    body = asking(
        """
everything = [dict(os.environ), chat("echo"), ask("/files")]
everything.append(ask("/chat/completions", {"model": "x"}, "PIPELINES_MODEL_URL_AWAY"))
for name in ("/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline"):
    try:
        everything.append(open(name, "rb").read().decode("latin-1"))
    except OSError as error:
        everything.append(str(error))
print(everything)
return {"final_response": repr(everything), "metadata": {"all": everything}}
"""
    )
    run = run_code(api, body, model_gateways=["local", "away"])
    output = api.get(f"/api/runs/{run['id']}/output")
    assert run["status"] == "completed"
    assert "*" * len(KEY) in run["final_response"]
    assert any(question.header("authorization") == f"Bearer {KEY}" for question in model.asked)
    assert KEY not in json.dumps([run, output, api.trace(run["id"])])


# -- what it cannot reach


def test_a_run_reaches_the_gateways_of_its_own_agent_and_no_others(api, model):
    reached = asking(
        """
door = "http://127.0.0.1:8377/models/"
os.environ["OTHER"] = door + "local"
return repr(ask("/models", name="OTHER"))
"""
    )
    before = len(model.asked)
    assert "model_gateway_unknown" in run_code(api, reached, model_gateways=["bare"])["final_response"]
    run = run_code(api, reached)
    assert "model_gateway_closed" in run["final_response"]
    assert len(model.asked) == before


def test_the_key_of_one_run_opens_no_other(api):
    body = "return os.environ['PIPELINES_MODEL_KEY']"
    key = run_code(api, body, model_gateways=["local"])["final_response"]
    stolen = asking(f"os.environ['STOLEN'] = {key!r}\nreturn repr(ask('/models', key='STOLEN'))")
    run = run_code(api, stolen, model_gateways=["local"])
    assert "model_key_wrong" in run["final_response"]
    assert any("1 request was not passed on to a model" in warning for warning in run["soft_warnings"])


def test_the_calls_of_a_run_are_counted_over_its_turns(api):
    turns = {"scripted_user_turns": ["And again."], "max_turns": 2}
    body = asking("return ' '.join(str(chat('gpt-test')[0]) for _ in range(4))")
    run = run_code(api, body, {**REFUND_TASK, **turns}, model_gateways=["local"])
    assert run["final_response"] == "200 200 429 429"
    assert run["metadata"]["model_gateway"]["calls"] == 6


# -- its end


LEFT_OPEN = asking(
    """
import threading, time
threading.Thread(target=chat, args=("silent",), daemon=True).start()
while ask("/models")[0] and not os.path.exists("x"):
    time.sleep(0.1)
    open("x", "w").close()
return "done"
"""
)


def test_what_a_run_left_open_is_cut_off_and_on_its_log(api, model):
    run = run_code(api, LEFT_OPEN, model_gateways=["local"])
    eventually(lambda: model.open == 0, "the model is hung up on")
    calls = {row["payload"]["model"]: row for row in model_rows(api, run)}
    assert "the run ended" in calls["silent"]["payload"]["error"]


def test_a_cancelled_run_hangs_up_on_its_model(api, model):
    agent = api.post("/api/agents", code_agent(asking("chat('silent')"), model_gateways=["local"]), 201)
    batch_id = api.batch_of(agent["id"], api.dataset()["id"])
    eventually(lambda: model.open == 1, "it asks")
    api.post(f"/api/batches/{batch_id}/cancel")
    eventually(lambda: model.open == 0, "the model is hung up on")
    assert api.ended(batch_id)["counts"]["by_status"] == {"cancelled": 1}


# -- registering


def test_a_gateway_that_is_not_listed_is_refused_with_the_one_that_was_meant(api):
    reply = api.client.post("/api/agents", json=code_agent("return ''", model_gateways=["locl", "x"]))
    problems = refused(reply, 422, "invalid_request")["details"]
    assert [(problem["path"], problem["message"]) for problem in problems] == [
        ("/model_gateways/0", "this server has no model gateway `locl`"),
        ("/model_gateways/1", "this server has no model gateway `x`"),
    ]
    assert problems[0]["hint"] == "did you mean `local`?"
    assert "PIPELINES_MODEL_GATEWAY" in problems[1]["hint"]
    agent = api.post("/api/agents", code_agent("return ''"), 201)
    changed = api.client.put(f"/api/agents/{agent['id']}", json={"model_gateways": ["nothing"]})
    refused(changed, 422, "invalid_request")


def test_only_code_has_gateways(api):
    reply = api.client.post("/api/agents", json=AGENT | {"model_gateways": ["local"]})
    (problem,) = refused(reply, 422, "invalid_request")["details"]
    assert "for agents of mode `code`" in problem["message"]


def test_which_gateways_there_are_is_told(api):
    listed = api.get("/api/code-mode")["model_gateways"]
    assert {"name": "claude", "kind": "anthropic"} in listed
    assert KEY not in str(listed)


def test_a_key_of_the_org_is_its_credential(api, model):
    body = asking("return repr(chat('echo'))")
    reply = api.client.post("/api/agents", json=code_agent(body, model_gateways=["of-org"]))
    (problem,) = refused(reply, 422, "invalid_request")["details"]
    assert "the credential `MODEL_KEY`" in problem["message"]
    credential = api.post("/api/credentials", {"name": "MODEL_KEY", "value": ORG_KEY}, 201)
    agent = api.post("/api/agents", code_agent(body, model_gateways=["of-org"]), 201)
    run = run_of(api, agent["id"])
    assert model.asked[-1].header("authorization") == f"Bearer {ORG_KEY}"
    assert ORG_KEY not in json.dumps([run, api.trace(run["id"])])
    api.client.delete(f"/api/credentials/{credential['id']}")
    gone = run_of(api, agent["id"])
    assert gone["error_class"] == "agent_unreachable"
    assert "MODEL_KEY" in gone["error_json"]["detail"]


def test_a_secret_of_the_name_that_the_gateway_sets_is_refused(api):
    api.post("/api/credentials", {"name": "OPENAI_API_KEY", "value": "sk-my-own-key"}, 201)
    body = code_agent("return ''", model_gateways=["local"], secrets=["OPENAI_API_KEY"])
    (problem,) = refused(api.client.post("/api/agents", json=body), 422, "invalid_request")["details"]
    assert problem["path"] == "/secrets/0"
    assert "sets `OPENAI_API_KEY` itself" in problem["message"]


def test_code_that_makes_its_client_when_it_is_loaded_can_be_tested(api):
    text = "import os\nBASE, KEY = os.environ['OPENAI_BASE_URL'], os.environ['OPENAI_API_KEY']\n" + source_of(
        "return 1"
    )
    code = {"source": "paste", "text": text}
    agent = api.post("/api/agents", code_agent("", code=code, model_gateways=["local"]), 201)
    assert api.post(f"/api/agents/{agent['id']}/test-connection")["ok"]


def test_registering_again_what_has_gateways_changes_nothing(api):
    body = code_agent("return ''", model_gateways=["local", "bare"])
    agent = api.post("/api/agents", body, 201)
    assert agent["model_gateways"] == ["local", "bare"]
    assert api.put(f"/api/agents/{agent['id']}", body)["version"] == agent["version"]
    without = api.put(f"/api/agents/{agent['id']}", {"model_gateways": []})
    assert without["version"] == agent["version"] + 1
    assert "model_gateways" not in without


# -- with packages

OPENAI_SDK = """
import json
from openai import OpenAI
from urllib.request import Request, urlopen

TOOL = {"type": "function", "function": {"name": "refund_order", "parameters": {
    "type": "object", "properties": {"order_id": {"type": "string"}}}}}

def run(task_input, *, proxy_url, run_token):
    client = OpenAI()
    messages = [{"role": "user", "content": task_input["user_instruction"]}]
    while True:
        answer = client.chat.completions.create(model="gpt-test", messages=messages, tools=[TOOL])
        reply = answer.choices[0].message
        messages.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            break
        for asked in reply.tool_calls:
            request = Request(f"{proxy_url}/tools/{asked.function.name}", asked.function.arguments.encode(),
                              {"Authorization": f"Bearer {run_token}", "Content-Type": "application/json"})
            with urlopen(request) as answer:
                said = json.load(answer)["response"]
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": json.dumps(said)})
    words = client.chat.completions.create(model="quick-stream", messages=messages, stream=True)
    print("".join(chunk.choices[0].delta.content or "" for chunk in words))
    return reply.content
"""
PYDANTIC_AI = """
import json, os
from urllib.request import Request, urlopen
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-test")

@agent.tool_plain
def refund_order(order_id: str) -> str:
    "Refund an order."
    request = Request(f"{os.environ['PIPELINES_ODYSSEY_PROXY_URL']}/tools/refund_order",
                      json.dumps({"order_id": order_id}).encode(),
                      {"Authorization": f"Bearer {os.environ['PIPELINES_RUN_TOKEN']}"})
    with urlopen(request) as answer:
        return json.dumps(json.load(answer)["response"])

async def run(task_input, *, proxy_url, run_token):
    return (await agent.run(task_input["user_instruction"])).output
"""
SMOLAGENTS = '''
import json, os
from urllib.request import Request, urlopen
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

@tool
def refund_order(order_id: str) -> str:
    """Refund an order.

    Args:
        order_id: its id
    """
    request = Request(f"{os.environ['PIPELINES_ODYSSEY_PROXY_URL']}/tools/refund_order",
                      json.dumps({"order_id": order_id}).encode(),
                      {"Authorization": f"Bearer {os.environ['PIPELINES_RUN_TOKEN']}"})
    with urlopen(request) as answer:
        return json.dumps(json.load(answer)["response"])

def run(task_input, *, proxy_url, run_token):
    agent = ToolCallingAgent(tools=[refund_order], model=OpenAIServerModel("gpt-test"), max_steps=3)
    return str(agent.run(task_input["user_instruction"]))
'''
ANTHROPIC_SDK = """
import json
from anthropic import Anthropic
from urllib.request import Request, urlopen

def run(task_input, *, proxy_url, run_token):
    messages = [{"role": "user", "content": task_input["user_instruction"]}]
    said = Anthropic().messages.create(model="claude-z", max_tokens=9, messages=messages)
    token = {"Authorization": f"Bearer {run_token}"}
    urlopen(Request(f"{proxy_url}/tools/refund_order", b'{"order_id": "4521"}', token)).read()
    return f"I have refunded order 4521. {said.content[0].text}"
"""
FRAMEWORKS = {
    "openai": (OPENAI_SDK, "openai", ["gpt-test", "gpt-test", "quick-stream"]),
    "pydantic-ai": (PYDANTIC_AI, "pydantic-ai-slim[openai]", ["gpt-test", "gpt-test"]),
    "smolagents": (SMOLAGENTS, "smolagents[openai]", ["gpt-test", "gpt-test"]),
    "anthropic": (ANTHROPIC_SDK, "anthropic", ["claude-z"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "requirements", "asked"), FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_agents_of_frameworks_run_unchanged(api, text, requirements, asked):
    """The packages as they are installed; they know of nothing but the variables they always read."""
    code = {"source": "paste", "text": text}
    more = {"model_gateways": ["local", "claude"], "requirements": requirements, "run_timeout_s": 120}
    agent = api.post("/api/agents", code_agent("", code=code, **more), 201)
    batch_id = api.batch_of(agent["id"], api.dataset(REFUND_TASK)["id"])
    api.ended(batch_id, 300)
    run = api.only_run(batch_id)
    if "cannot be installed" in (run["error_json"] or {}).get("detail", ""):
        pytest.skip("no index of packages is reached from here")
    assert (run["status"], run["verdict"]) == ("completed", "PASS"), run["error_json"]
    assert [row["payload"]["model"] for row in model_rows(api, run)] == asked
    assert run["metadata"]["model_gateway"]["input_tokens"] > 0
