"""Anthropic's Messages API, played behind a loopback socket: the real client talks to it."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
from played_models import MODEL, SYSTEM, THOUGHT, TOKENS_IN, TOKENS_OUT, Heard, Played, Use

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters import anthropic as adapter

NUMBERS = itertools.count()
ORDER = {"order_id": {"type": "string"}}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_order",
        "description": "Get an order by its id.",
        "input_schema": {"type": "object", "properties": ORDER, "required": ["order_id"]},
    },
    {
        "name": "refund_order",
        "description": "Refund an order. The order status will be changed to 'refunded'.",
        "input_schema": {
            "type": "object",
            "properties": ORDER | {"reason": {"type": "string"}},
            "required": ["order_id"],
        },
        "cache_control": {"type": "ephemeral"},
    },
]


def answer(played: Played, request: dict[str, Any]) -> dict[str, Any]:
    system = request.get("system") or ""
    system = system if isinstance(system, str) else "\n\n".join(block["text"] for block in system)
    spoken = [each for message in request["messages"] for each in heard(message)]
    step = played.next_step(system, spoken, [tool["name"] for tool in request.get("tools") or ()])
    if isinstance(step, Use):
        block = {
            "type": "tool_use",
            "id": f"toolu_{next(NUMBERS)}",
            "name": step.tool,
            "input": step.arguments,
        }
    else:
        block = {"type": "text", "text": step.text}
    return {
        "id": f"msg_{next(NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "thinking", "thinking": THOUGHT, "signature": "s"}, block],
        "stop_reason": "tool_use" if isinstance(step, Use) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT},
    }


def heard(message: dict[str, Any]) -> Iterator[Heard]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            yield Heard("tool", block["content"], block.get("is_error", False))
        elif block["type"] == "text":
            yield Heard(message["role"], block["text"])


@contextmanager
def played_api(played: Played) -> Iterator[str]:
    class Endpoint(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(played, request)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *rest: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def client_of(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


class Studio:
    """This framework's agent for the tests that every framework has to pass."""

    def __init__(self, url: str, client: anthropic.Anthropic) -> None:
        self.client = client
        self.async_options: dict[str, Any] = {"base_url": url, "api_key": "none", "max_retries": 0}
        self.options: dict[str, Any] = {"model": MODEL, "system": SYSTEM, "tools": TOOLS}

    def tools_schema(self) -> list[dict[str, Any]]:
        return adapter.dump_tools_schema(TOOLS)

    def run(self, envelope: Envelope, **options: Any) -> dict[str, Any]:
        return adapter.run_anthropic_loop(self.client, envelope=envelope, **(self.options | options))

    @property
    def run_async(self) -> Callable[..., Any]:
        async def run(envelope: Envelope, **options: Any) -> dict[str, Any]:
            async with anthropic.AsyncAnthropic(**self.async_options) as client:
                return await adapter.run_anthropic_loop_async(
                    client, envelope=envelope, **(self.options | options)
                )

        return run
