"""Code agents for the support desk: short words for registering one and running it over real sockets."""

import textwrap
from typing import Any

from support.desk import AGENT
from support.repository import EXAMPLES
from support.server_process import REFUND_TASK, Api, Row

CODE_AGENT = EXAMPLES / "code_agent" / "agent.py"

#: How an agent calls a tool, for agents written in a line or two.
CALL = """
import json, os, sys, urllib.error, urllib.request

def post(url, token, body=b"{}", method="POST", **headers):
    named = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, data=body, headers=named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

def call(proxy_url, run_token, tool, **arguments):
    return post(f"{proxy_url}/tools/{tool}", run_token, json.dumps(arguments).encode())
"""


def source_of(body: str) -> str:
    """An agent whose `run` has this body; it may use `call` and `post`."""
    inside = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{CALL}\n\ndef run(task_input, *, proxy_url, run_token):\n{inside}\n"


def code_agent(body: str, **changes: Any) -> Row:
    shared = {name: value for name, value in AGENT.items() if name != "endpoint_url"}
    code = {"source": "paste", "text": source_of(body)}
    return shared | {"mode": "code", "run_timeout_s": 30, "code": code} | changes


def run_code(api: Api, body: str, *rows: Row, **changes: Any) -> Row:
    """The run of an agent whose `run` has this body, ended."""
    agent = api.post("/api/agents", code_agent(body, **changes), 201)
    return run_of(api, agent["id"], *rows)


def run_of(api: Api, agent_id: int, *rows: Row) -> Row:
    batch_id = api.batch_of(agent_id, api.dataset(*(rows or [REFUND_TASK]))["id"])
    api.ended(batch_id)
    return api.only_run(batch_id)
