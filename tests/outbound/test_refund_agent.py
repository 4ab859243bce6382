"""The example agent: what it understands, how it behaves on the wire, and its tasks from row to verdict."""

import asyncio
import importlib.util
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from pipelines.core.agents.transcript import Message, after_turn
from pipelines.core.tasks.seed import Seed
from pipelines.core.tools.tools_schema import tools_from_stored
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import Verdict
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.agent_client import AgentClient, AgentTarget, Dispatched, DispatchFailed
from pipelines.wire.envelope import Envelope
from support.repository import EXAMPLES

EXAMPLE = EXAMPLES / "refund_agent"
TOKEN = "agent-token-1"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("refund_agent", EXAMPLE / "agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Verb and order, in the order they are asked for.
UNDERSTOOD = {
    "Refund order #4521 if it shipped more than 30 days ago.": [("refund", "4521")],
    "Cancel my order 7001, and refund 7002 while you are at it.": [("cancel", "7001"), ("refund", "7002")],
    "Cancel 7001 and 7003.": [("cancel", "7001"), ("cancel", "7003")],
    "Look up order 4521 and refund it.": [("look up", "4521"), ("refund", "4521")],
    "I want my money back for #12345!": [("refund", "12345")],
    "Where is my order 5001?": [("look up", "5001")],
    "Order 4521 arrived broken. Please refund it.": [("refund", "4521")],
    "Refund me the 900 dollars for order 8800.": [("refund", "8800")],
    "I would like a refund, please.": [("refund", None)],
    "Do you have blue mugs in stock?": [("stock", None)],
    "Cancel o-101.": [("cancel", "o-101")],
    "It is order 4522.": [],
    "Hello!": [],
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_what_it_understands(example, text):
    assert [(wish.verb, wish.order_id) for wish in example.wishes_in(text)] == UNDERSTOOD[text]


class StandInProxy:
    """A proxy that answers by a script, for what the real one cannot be made to do at will."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                proxy.calls.append((self.path, body, dict(self.headers)))
                status, answer = proxy.answers.pop(0)
                raw = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/api/odyssey-proxy/runs/abc"


@contextmanager
def served(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def agent_url(example, monkeypatch):
    monkeypatch.setattr(example.Endpoint, "agent_token", TOKEN)
    monkeypatch.setattr(example.Endpoint, "sessions", example.Sessions())
    with served(example.AgentServer(("127.0.0.1", 0), example.Endpoint)) as server:
        yield f"http://127.0.0.1:{server.server_port}/dispatch"


def target(url, token=TOKEN, **changes):
    auth = {"auth_header_name": "Authorization", "auth_header_value": f"Bearer {token}"}
    return AgentTarget(**{"endpoint_url": url, "timeout_s": 20.0} | auth | changes)


def envelope(proxy_url, text, **more):
    return Envelope(
        run_id=1,
        task_id=1,
        agent_id=1,
        user_instruction=text,
        odyssey_proxy_url=proxy_url,
        run_token="run-token",
        run_token_jti="abc",
        **more,
    )


@pytest.fixture(scope="module")
def client():
    return AgentClient(AddressPolicy(allow_private=True))


@pytest.mark.anyio
async def test_it_checks_the_token_before_it_answers_a_ping(client, agent_url):
    assert (await client.ping(target(agent_url))).ok
    for wrong in (target(agent_url, "another"), AgentTarget(endpoint_url=agent_url)):
        assert (await client.ping(wrong)).http_status == 401


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {"Authorization": "Bearer \xe9".encode("latin-1")}, 401),
        (b"{}", {}, 400),
        (b"[]", {}, 400),
        (b"{", {}, 400),
        (b'{"odyssey_proxy_url": "http://127.0.0.1:9"}', {}, 400),
        (b'{"odyssey_proxy_url": "http://127.0.0.1:9", "input": {"user_instruction": "Refund 4521"}}',
         {"X-Pipelines-Run-Token": "t"}, 502),
    ],
    ids=["a token that is not ASCII", "nothing", "no object", "no JSON", "no token", "no proxy there"],
)  # fmt: skip
def test_what_is_no_dispatch(agent_url, content, headers, status):
    sent = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"} | headers
    assert httpx2.post(agent_url, content=content, headers=sent, trust_env=False).status_code == status


ORDER = {"response": {"order_id": "4521", "status": "shipped", "amount": 79.5}}
REFUNDED = {"response": {"order_id": "4521", "status": "refunded"}}
UNCHANGED = {"response": {"order_id": "4521", "status": "shipped"}}
BUSY = {"error": {"code": "rate_limited", "message": "Wait.", "retryable": True}, "retryable": True}
DOWN = {"response": {"error": {"code": 503, "message": "Processor is down."}}, "source": "injected"}
CLOSED = {"response": {"error": {"code": "window_closed", "message": "The refund window is closed."}}}
UNKNOWN = {"response": {"error": {"code": "order_not_found", "message": "Order not found"}}}

# What the backend answers, call by call; what the agent says.
STORIES = {
    "done": ([(200, ORDER), (200, REFUNDED)], "I have refunded order 4521 ($79.50)."),
    "the proxy is busy": (
        [(429, BUSY), (200, ORDER), (503, BUSY), (503, BUSY), (200, REFUNDED)],
        "I have refunded order 4521 ($79.50).",
    ),
    "the backend fails once": ([(200, ORDER), (503, DOWN), (200, REFUNDED)], "I have refunded order 4521"),
    "the backend stays down": (
        [(200, ORDER), (503, DOWN), (503, DOWN)],
        "I tried to refund order 4521, but our system failed: Processor is down. Nothing was changed.",
    ),
    "the backend says no": (
        [(200, ORDER), (422, CLOSED)],
        "I cannot refund order 4521: The refund window is closed.",
    ),
    "the backend does nothing": ([(200, ORDER), (200, UNCHANGED)], "our system left it unchanged"),
    "no such order": ([(404, UNKNOWN)], "I could not refund order 4521: Order not found."),
}


@pytest.mark.anyio
@pytest.mark.parametrize("name", STORIES)
async def test_a_refund_under_every_kind_of_backend(client, agent_url, name):
    answers, words = STORIES[name]
    proxy = StandInProxy(*answers)
    with served(proxy.server):
        outcome = await client.dispatch(target(agent_url), envelope(proxy.url, "Refund order 4521."))
    assert isinstance(outcome, Dispatched)
    assert words in outcome.reply.final_response
    assert not outcome.reply.soft_warnings
    assert not proxy.answers  # every call that the story has was made, and no other
    assert {call[2]["Authorization"] for call in proxy.calls} == {"Bearer run-token"}


@pytest.mark.anyio
async def test_only_the_tries_of_one_call_share_their_idempotency_key(client, agent_url):
    proxy = StandInProxy((429, BUSY), (200, ORDER), (503, DOWN), (200, REFUNDED))
    with served(proxy.server):
        await client.dispatch(target(agent_url), envelope(proxy.url, "Refund order 4521."))
    keys = [headers["Idempotency-Key"] for _, _, headers in proxy.calls]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert [path for path, _, _ in proxy.calls] == [
        f"/api/odyssey-proxy/runs/abc/tools/{tool}"
        for tool in ("get_order", "get_order", "refund_order", "refund_order")
    ]


@pytest.mark.anyio
async def test_a_stateful_conversation_is_remembered_by_its_session(client, agent_url):
    proxy = StandInProxy((200, ORDER), (200, REFUNDED))
    with served(proxy.server):
        said = []
        for session, text in (("s-1", "A refund, please."), ("s-2", "Hello!"), ("s-1", "It is 4521.")):
            outcome = await client.dispatch(target(agent_url), envelope(proxy.url, text, session_id=session))
            assert isinstance(outcome, Dispatched)
            said.append(outcome.reply.final_response)
    assert said[0] == "Which order should I refund? Please tell me its number."
    assert said[2] == "I have refunded order 4521 ($79.50)."


@pytest.mark.anyio
async def test_a_condition_on_days_uses_the_date_it_was_given(client, agent_url):
    shipped = {"response": {"status": "shipped", "shipped_at": "2026-04-01", "amount": 5}}
    for today, words in (("2026-04-20", "I left order 4521 alone"), ("2026-05-15", "I have refunded")):
        proxy = StandInProxy((200, shipped), (200, REFUNDED))
        text = "Refund order #4521 if it shipped more than 30 days ago."
        with served(proxy.server):
            outcome = await client.dispatch(
                target(agent_url), envelope(proxy.url, text, task_input={"today": today})
            )
        assert isinstance(outcome, Dispatched)
        assert words in outcome.reply.final_response


# The example's tasks in their order, and what comes of each.
VERDICTS = [
    ("PASS", None),
    ("PASS", None),
    ("PASS", None),
    ("PASS", None),
    ("PASS", None),
    ("PASS", None),
    ("PASS", None),
    ("FAIL", "incorrect_completion"),  # cancels for somebody who is not the buyer
    ("FAIL", "incomplete"),  # refuses a large refund that it should give
    ("PASS", None),  # the first refund fails, the second works
    ("FAIL", "unrecovered_failure"),  # every refund fails
    ("PASS", None),  # two turns
]


@contextmanager
def process(*command, **environment):
    started = subprocess.Popen(
        [sys.executable, *command],
        env=os.environ | environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout is not None
        found = re.search(r"http://\S+", started.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        started.send_signal(signal.SIGINT)
        started.wait(20)
        started.stdout.close()


@pytest.mark.anyio
async def test_its_tasks_from_the_row_to_the_verdict(client, tmp_path):
    key = "pk_live_" + secrets.token_hex(20)
    up = ("-m", "pipelines", "up", "--port", "0", "--data-dir", str(tmp_path))
    with (
        process(*up, PIPELINES_API_KEY=key) as server_url,
        process(str(EXAMPLE / "agent.py"), "--port", "0", AGENT_TOKEN=TOKEN) as agent_url,
    ):
        headers = {"X-API-Key": key}
        async with httpx2.AsyncClient(base_url=server_url, headers=headers, trust_env=False) as api:
            body = json.loads((EXAMPLE / "agent.json").read_text()) | {"endpoint_url": agent_url}
            agent = (await api.post("/api/agents", json=body)).json()
            file = ("tasks.csv", (EXAMPLE / "tasks.csv").read_bytes())
            sent = await api.post("/api/datasets", files={"file": file}, data={"agent_id": str(agent["id"])})
            dataset = sent.json()
            assert dataset["warnings"] == []
            verdicts = [await played(client, api, agent, task, agent_url) for task in dataset["task_ids"]]
    assert [(each.verdict, each.failure_mode) for each in verdicts] == VERDICTS


async def played(client, api, agent, task_id, agent_url) -> Verdict:
    """One task: a run by hand whose turns are dispatched to the agent, judged on its trace."""
    seed = Seed.from_stored((await api.get(f"/api/tasks/{task_id}")).json()["odyssey_seed"])
    opening = {"mode": "manual", "agent_id": agent["id"], "task_ids": [task_id]}
    run = (await api.post("/api/runs", json=opening)).json()
    history: list[Message] = []
    said: list[str] = []
    for turn in (seed.user_instruction, *seed.scripted_user_turns):
        history.append(Message(role="user", content=turn))
        dispatch = Envelope(
            run_id=run["id"],
            task_id=task_id,
            agent_id=agent["id"],
            user_instruction=turn,
            odyssey_proxy_url=run["odyssey_proxy_url"],
            run_token=run["run_token"],
            run_token_jti=run["run_token_jti"],
            messages=[message.as_json() for message in history] if seed.scripted_user_turns else None,
        )
        contract = {"response_mode": "rich", "strictness": "strict"}
        outcome = await client.dispatch(target(agent_url, response_contract=contract), dispatch)
        assert isinstance(outcome, Dispatched), outcome
        said.append(outcome.reply.final_response)
        history = after_turn(history, outcome.reply.messages, outcome.reply.final_response)
    trace = (await api.get(f"/api/runs/{run['id']}/trace")).json()["items"]
    verdict = judge(
        RunEvidence.from_seed(
            seed,
            tools=tuple(tools_from_stored(agent["tools_schema"])),
            trace=tuple(EvidenceRow.from_json(row) for row in trace),
            responses=tuple(said),
        )
    )
    assert isinstance(verdict, Verdict), verdict
    return verdict


@pytest.mark.anyio
async def test_many_dispatches_at_once(client, agent_url):
    outcomes = await asyncio.gather(
        *(client.dispatch(target(agent_url), envelope("http://127.0.0.1:9", "Hello!")) for _ in range(50))
    )
    failed = [outcome for outcome in outcomes if isinstance(outcome, DispatchFailed)]
    assert not failed
