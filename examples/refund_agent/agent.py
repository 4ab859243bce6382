"""A support agent without a model and without an SDK: rules, the standard library, one file.

    AGENT_TOKEN=secret python examples/refund_agent/agent.py --port 9100

It looks orders up, refunds and cancels them and checks the stock, through the tools of its run's proxy.
Register it with the endpoint URL it prints and the auth header `Authorization: Bearer secret`. To port your
own agent, keep the second half (the proxy and the endpoint) and put it in the place of `SupportAgent`.
"""

import argparse
import hmac
import json
import os
import re
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MOST_WITHOUT_A_MANAGER = 500  # this agent's own policy: it does not give back more than this by itself
MAX_BODY_BYTES = 8 * 1024 * 1024
MOST_SESSIONS = 1_000

# ---------------------------------------------------------------------------------------------------------
# The agent: what the user wants, and what to do about it.

VERBS = {
    "refund": re.compile(r"\b(refund|reimburse|money back|give back)", re.IGNORECASE),
    "cancel": re.compile(r"\bcancel", re.IGNORECASE),
    "stock": re.compile(r"\b(in stock|do you have|have you got|available)\b", re.IGNORECASE),
    "look up": re.compile(r"\b(where is|status|look up|track|check on|how much|what about)\b", re.IGNORECASE),
}
ORDER_ID = re.compile(
    r"(?<![\w$.-])#?((?:[a-z]{1,4}-)?\d{3,})\b(?!\s*(?:days?|dollars?|euros?|%))", re.IGNORECASE
)
CLAUSE = re.compile(r"(?:[.;!?]\s+|,\s*(?:and\s+|then\s+)?|\s+and\s+(?:then\s+)?)")
SHIPPED_BEFORE = re.compile(r"\bif\b.*\bshipped more than (\d+) days ago", re.IGNORECASE)
THING = re.compile(
    r"(?:have|got|any|there)\s+(?:any\s+|more\s+)?([\w -]+?)(?:\s+in stock|\s+available|[?.!]|$)",
    re.IGNORECASE,
)


class Wish(NamedTuple):
    """One thing the user asks for. Without an order id the agent has to ask for it."""

    verb: str
    order_id: str | None = None
    shipped_more_than_days: int | None = None
    query: str = ""

    @property
    def lacks_its_order(self) -> bool:
        return self.order_id is None and self.verb != "stock"


def wishes_in(text: str) -> list[Wish]:
    """Every wish of a message, in its order: `Cancel 7001 and refund 7002` are two."""
    found: list[Wish] = []
    verb: str | None = None
    order_id: str | None = None
    for clause in CLAUSE.split(text):
        said = next((name for name, pattern in VERBS.items() if pattern.search(clause)), None)
        ids = ORDER_ID.findall(clause)
        verb, order_id = said or verb, ids[0] if ids else order_id
        if said == "stock":
            thing = THING.search(clause)
            found.append(Wish("stock", query=_singular(thing[1]) if thing else clause.strip(" ?.!")))
        elif said is not None and not ids:  # `refund it` means the order named before
            found.append(Wish(said, order_id, _days(text)))
        elif verb is not None and verb != "stock":
            found.extend(Wish(verb, each, _days(text)) for each in ids)
    named = {wish.verb for wish in found if not wish.lacks_its_order}
    return [wish for wish in dict.fromkeys(found) if not wish.lacks_its_order or wish.verb not in named]


def _days(text: str) -> int | None:
    condition = SHIPPED_BEFORE.search(text)
    return int(condition[1]) if condition is not None else None


def _singular(words: str) -> str:
    return re.sub(r"s$", "", words.strip())


class SupportAgent:
    """One run's agent. `tools` reaches the backend; `today` decides what `days ago` means."""

    def __init__(self, tools: "ToolBox", today: date) -> None:
        self.tools = tools
        self.today = today

    def answer(self, text: str, earlier: list[str]) -> str:
        wishes = wishes_in(text)
        if not wishes:  # `It's order 4521.` answers our question about a wish from before
            before = (wish for said in reversed(earlier) for wish in wishes_in(said) if wish.lacks_its_order)
            asked = next(before, None)
            wishes = [asked._replace(order_id=each) for each in ORDER_ID.findall(text)] if asked else []
        if not wishes:
            return "I can look up, refund or cancel an order, or check our stock. Which order is it about?"
        return " ".join(self.fulfil(wish) for wish in wishes)

    def fulfil(self, wish: Wish) -> str:
        if wish.verb == "stock":
            return self.stock(wish.query)
        if wish.order_id is None:
            return f"Which order should I {wish.verb}? Please tell me its number."
        found = self.tools.call("get_order", {"order_id": wish.order_id})
        if not found.ok:
            return f"I could not {wish.verb} order {wish.order_id}: {found.reason}."
        order = found.response if isinstance(found.response, dict) else {}
        if wish.verb == "look up":
            return described(wish.order_id, order)
        return self.refund(wish, order) if wish.verb == "refund" else self.cancel(wish)

    def refund(self, wish: Wish, order: dict[str, Any]) -> str:
        amount = order.get("amount")
        least = wish.shipped_more_than_days
        if least is not None and self.days_since(order.get("shipped_at")) <= least:
            return f"I left order {wish.order_id} alone: it did not ship more than {least} days ago."
        if isinstance(amount, int | float) and amount > MOST_WITHOUT_A_MANAGER:
            return f"I cannot refund order {wish.order_id}: {money(amount)} needs the approval of a manager."
        result = self.tools.call(
            "refund_order", {"order_id": wish.order_id, "reason": "asked by the customer"}
        )
        told = f" ({money(amount)})" if isinstance(amount, int | float) else ""
        return self.outcome(result, wish, "refunded", f"I have refunded order {wish.order_id}{told}.")

    def days_since(self, shipped_at: Any) -> int:
        """0 for an order that has not shipped."""
        with suppress(TypeError, ValueError):
            return (self.today - date.fromisoformat(shipped_at[:10])).days
        return 0

    def cancel(self, wish: Wish) -> str:
        result = self.tools.call("cancel_order", {"order_id": wish.order_id})
        return self.outcome(result, wish, "cancelled", f"I have cancelled order {wish.order_id}.")

    def outcome(self, result: "ToolResult", wish: Wish, status: str, done: str) -> str:
        """Only what the backend confirms is said to be done; otherwise its own reason is passed on."""
        if result.ok and isinstance(result.response, dict) and result.response.get("status") == status:
            return done
        if result.ok:
            return f"I could not {wish.verb} order {wish.order_id}: our system left it unchanged."
        if result.status >= 500:
            failed = f"I tried to {wish.verb} order {wish.order_id}, but our system failed: {result.reason}."
            return f"{failed} Nothing was changed."
        return f"I cannot {wish.verb} order {wish.order_id}: {result.reason}."

    def stock(self, query: str) -> str:
        result = self.tools.call("search_items", {"query": query})
        if not result.ok:
            return f"I could not check our stock: {result.reason}."
        items = result.response if isinstance(result.response, list) else _first_list(result.response)
        told = [f"{item.get('name', 'an item')}: {item.get('stock', 'unknown')} in stock" for item in items]
        return f"We have {'; '.join(told)}." if told else f"We have nothing like “{query}”."


def described(order_id: str, order: dict[str, Any]) -> str:
    shipped = f", shipped on {order['shipped_at']}" if order.get("shipped_at") else ""
    amount = order.get("amount")
    price = f" It comes to {money(amount)}." if isinstance(amount, int | float) else ""
    return f"Order {order_id} is {order.get('status', 'of unknown status')}{shipped}.{price}"


def money(amount: float) -> str:
    return f"${amount:.2f}"


def _first_list(response: Any) -> list[dict[str, Any]]:
    values = response.values() if isinstance(response, dict) else ()
    return next((value for value in values if isinstance(value, list)), [])


# ---------------------------------------------------------------------------------------------------------
# The tools: each call is one POST to the run's proxy, whose reply is unwrapped.


class ToolResult(NamedTuple):
    status: int
    response: Any

    @property
    def ok(self) -> bool:
        return self.status < 400

    @property
    def reason(self) -> str:
        """Why it was refused, in the backend's words."""
        error = self.response.get("error") if isinstance(self.response, dict) else self.response
        if isinstance(error, dict):
            return str(error.get("message") or error.get("code") or "no reason given").rstrip(".")
        return str(error or f"status {self.status}").rstrip(".")


class ToolBox:
    """The tools of one run: they close over its proxy and its token."""

    def __init__(self, proxy_url: str, run_token: str) -> None:
        self._url = urlsplit(proxy_url.rstrip("/"))
        self._token = run_token
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        self._connection = kind(self._url.netloc, timeout=120)
        self.messages: list[dict[str, Any]] = []  # what was called and answered, for the transcript

    def call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """A failing backend gets a second chance; a backend that says no is taken at its word."""
        result = self._call(tool, arguments)
        return self._call(tool, arguments) if result.status >= 500 else result

    def _call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        call_id = f"call_{len(self.messages) // 2 + 1}"
        result = self._patiently(tool, arguments)
        made = {"id": call_id, "name": tool, "arguments": arguments}
        self.messages += [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": call_id, "content": json.dumps(result.response)},
        ]
        return result

    def _patiently(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """The proxy's own `try again later` is no failure of the backend: ask again, four times in all."""
        key = uuid.uuid4().hex  # the same for each try, so that one call is never done twice
        for attempt in range(1, 5):
            try:
                status, headers, body = self._post(tool, arguments, key)
            except (OSError, HTTPException):
                self._connection.close()  # opened anew by the next request
                if attempt == 4:
                    raise
                continue
            is_busy = status in (429, 503) and body.get("retryable") is True
            if not is_busy or attempt == 4:
                break
            time.sleep(min(60.0, float(headers.get("retry-after") or 0.5 * 2**attempt)))
        return ToolResult(status, body.get("response", body))

    def _post(
        self, tool: str, arguments: dict[str, Any], key: str
    ) -> tuple[int, dict[str, str], dict[str, Any]]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        self._connection.request("POST", f"{self._url.path}/tools/{tool}", json.dumps(arguments), headers)
        reply = self._connection.getresponse()
        raw = reply.read()
        sent = {name.lower(): value for name, value in reply.getheaders()}
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode("utf-8", "replace")
        return reply.status, sent, body if isinstance(body, dict) else {"response": body}

    def close(self) -> None:
        self._connection.close()


# ---------------------------------------------------------------------------------------------------------
# The endpoint: one POST per dispatch.


@dataclass
class Sessions:
    """What was said in stateful conversations, which send only their newest message."""

    said: dict[str, list[str]] = field(default_factory=dict)

    def earlier(self, session_id: str, text: str) -> list[str]:
        while len(self.said) > MOST_SESSIONS:
            self.said.pop(next(iter(self.said)), None)
        turns = self.said.setdefault(session_id, [])
        turns.append(text)
        return turns[:-1]


class BadRequest(Exception):
    """The request is no dispatch."""


def dispatch(body: dict[str, Any], headers: dict[str, str], sessions: Sessions) -> dict[str, Any]:
    """Run the agent on one dispatch. The body comes first; headers stand in for what an edge stripped."""
    started = time.monotonic()
    proxy_url = body.get("odyssey_proxy_url") or headers.get("x-pipelines-odyssey-proxy-url")
    run_token = headers.get("x-pipelines-run-token")
    if not proxy_url or not run_token:
        raise BadRequest("missing proxy URL or run token")
    payload = body.get("input") or {}
    if not isinstance(payload, dict):
        raise BadRequest("`input` must be a JSON object")
    task_input = payload.get("input") or {}
    text = payload.get("user_instruction") or ""
    messages = payload.get("messages") or [{"role": "user", "content": text}]
    earlier = [str(said.get("content") or "") for said in messages[:-1] if said.get("role") == "user"]
    if payload.get("session_id"):
        earlier = sessions.earlier(payload["session_id"], text)
    today = task_input.get("today") if isinstance(task_input, dict) else None
    tools = ToolBox(proxy_url, run_token)
    try:
        agent = SupportAgent(tools, date.fromisoformat(today) if today else date.today())
        final = agent.answer(text or str(messages[-1].get("content") or ""), earlier)
    finally:
        tools.close()
    return {
        "final_response": final,
        "messages": [*messages, *tools.messages, {"role": "assistant", "content": final}],
        "metadata": {
            "model": "rules",
            "system_prompt_id": "refund-agent-1",
            "agent_runtime_ms": round((time.monotonic() - started) * 1000),
        },
    }


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet
    agent_token = ""
    sessions = Sessions()

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length") or ""
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            return self.reply(413, {"detail": "send a body with a Content-Length of at most 8 MiB"})
        raw = self.rfile.read(int(length))
        if not self.is_authenticated():  # first of all, so that a ping proves the token too
            return self.reply(401, {"detail": "missing or invalid bearer token"})
        try:
            body = json.loads(raw)
            if body == {"ping": True}:
                return self.reply(200, {"ok": True})
            if not isinstance(body, dict):
                raise BadRequest("the body must be a JSON object")
            headers = {name.lower(): value for name, value in self.headers.items()}
            return self.reply(200, dispatch(body, headers, self.sessions))
        except (BadRequest, ValueError) as error:
            return self.reply(400, {"detail": str(error)})
        except (OSError, HTTPException) as error:
            return self.reply(502, {"detail": f"the proxy cannot be reached: {type(error).__name__}"})

    def is_authenticated(self) -> bool:
        # As bytes: compare_digest raises on text that is not ASCII, and anybody can send that.
        given = (self.headers.get("Authorization") or "").encode("latin-1", "replace")
        return hmac.compare_digest(given, f"Bearer {self.agent_token}".encode())

    def reply(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the platform keeps the trace."""


class AgentServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a batch connects many times at once


def main() -> None:
    parser = argparse.ArgumentParser(description="A rule-based support agent for Odyssey.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9100, help="0 takes a free one")
    options = parser.parse_args()
    token = os.environ.get("AGENT_TOKEN", "")
    if not token:
        parser.error("set AGENT_TOKEN: the platform sends it as `Authorization: Bearer …`")
    Endpoint.agent_token = token
    with AgentServer((options.host, options.port), Endpoint) as server:
        print(f"Refund agent at http://{options.host}:{server.server_port}/dispatch", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
