"""Q: messages to a run's `/mcp` that are large, deep, many, half sent, or no messages."""

import json
import time
from contextlib import suppress
from typing import Any

from hostile.kind import kind
from hostile.tenant import MEBIBYTE, HandRun, Row, Tenant, tool

_META = "io.modelcontextprotocol/"
ECHO = tool("echo", {"x": {}}, simulation=[{"return": "args"}])


def _message(method: str, params: Any, id: Any = 1) -> Row:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def _call(x: Any, id: Any = 1) -> Row:
    return _message("tools/call", {"name": "echo", "arguments": {"x": x}}, id)


def _filled(start: str, unit: str, end: str) -> bytes:
    """Nearly a mebibyte."""
    return (start + unit * ((MEBIBYTE - 2_000) // len(unit)) + end).encode()


_OPEN = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":'
MESSAGES: dict[str, bytes] = {
    "objects": _filled(_OPEN + "[", "{},", "1]}}}"),
    "objects, read twice": _filled(_OPEN + '["\\u00e9",', '{"a":1},', "1]}}}"),
    "lists": _filled(_OPEN + "[", "[],", "1]}}}"),
    "deep lists": _filled(_OPEN + "[", "[" * 50 + "]" * 50 + ",", "1]}}}"),
    "too deep": _filled(_OPEN, "[", ""),
    "numbers": _filled(_OPEN + "[", "1,", "1]}}}"),
    "escapes": _filled(_OPEN + '"', "\\u00e9", '"}}}'),
    "a long text": _filled(_OPEN + '"', "x", '"}}}'),
    "not closed": _filled(_OPEN + "[", '{"a":1},', ""),
    "NaN at the end": _filled(_OPEN + "[", '{"a":1},', "NaN]}}}"),
    "a long method": json.dumps(_message("m" * 1_000_000, {})).encode(),
    "a long id": json.dumps(_message("nothing", {}, id="i" * 1_000_000)).encode(),
    "a long name": json.dumps(_message("tools/call", {"name": "n" * 1_000_000, "arguments": {}})).encode(),
    "a large client": json.dumps(
        _message("initialize", {"clientInfo": {"name": "c" * 1_000_000, "version": ["v"] * 1_000}})
    ).encode(),
    "a large _meta": json.dumps(
        _message("tools/list", {"_meta": {f"{_META}protocolVersion": "v" * 500_000, "more": [{}] * 100_000}})
    ).encode(),
    "an odd _meta": json.dumps(_message("tools/list", {"_meta": [1] * 300_000})).encode(),
    "notifications": _filled("[", '{"jsonrpc":"2.0","method":"x"},', '{"jsonrpc":"2.0","method":"x"}]'),
    "fifty calls": json.dumps([_call(["y"] * 4_000, at) for at in range(50)]).encode(),
    "fifty lists": json.dumps([_message("tools/list", {}, at) for at in range(50)]).encode(),
    "fifty of no kind": json.dumps([_message("m" * 19_000, {}, at) for at in range(50)]).encode(),
}


def _post(run: HandRun, raw: bytes, what: str) -> None:
    run.tenant.post(f"{run.base}/mcp", raw, what=what, Authorization=f"Bearer {run.token}")


@kind("Q-messages", seconds=0.8)
def messages_of_a_mebibyte(tenant: Tenant) -> None:
    """Every shape of message, some at a time, to a run with one small tool."""
    run = tenant.run_of([ECHO])
    listed = list(tenant.shuffled(MESSAGES, "objects, read twice", "deep lists", "fifty calls"))
    tenant.together(lambda item: _post(run, item[1], item[0]), listed * tenant.size(1, 4), at_once=6)


@kind("Q-lists", seconds=1.5)
def lists_of_large_tools(tenant: Tenant) -> None:
    """Tools of megabytes, listed fifty times in one message, by several at once."""
    large = [tool(f"t{at}", {"x": {"description": "d" * 6_000}}) for at in range(tenant.size(200, 480))]
    run = tenant.run_of([ECHO, *large])
    raw = json.dumps([_message("tools/list", {}, at) for at in range(50)]).encode()
    one = json.dumps(_message("tools/list", {})).encode()
    tenant.together(lambda each: _post(run, each, "lists of large tools"), [raw, one] * 4, at_once=8)


@kind("Q-flood", seconds=1.0)
def a_flood_of_greetings(tenant: Tenant) -> None:
    """`initialize` without end on kept connections, and bodies of which half is sent."""
    run = tenant.run_of([ECHO])
    body = json.dumps(_message("initialize", {"clientInfo": {"name": "c"}})).encode()
    head = tenant.head("POST", f"{run.base}/mcp", len(body), run.token, Content_Type="application/json")
    halves = tenant.head("POST", f"{run.base}/mcp", MEBIBYTE, run.token, Content_Type="application/json")
    started, held = time.monotonic(), []
    try:
        for _ in range(tenant.size(100, 400)):
            with suppress(OSError):
                held.append(tenant.connect(timeout_s=2))
                held[-1].sendall(halves + MESSAGES["objects"][: MEBIBYTE // 2])
        greeting = [tenant.connect(timeout_s=2) for _ in range(8)]
        held += greeting
        while tenant.has_time:
            for each in greeting:
                each.setblocking(True)
                each.sendall((head + body) * 20)
            for each in greeting:
                each.setblocking(False)
                with suppress(OSError):
                    while each.recv(1 << 20):
                        pass
    finally:
        tenant.tell(f"{len(held)} connections", started, 0)
        for each in held:
            each.close()
