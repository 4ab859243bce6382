"""H2: agents as large as may be, their replies, and reading what is large back."""

import json
import time
from collections.abc import Callable
from contextlib import suppress

from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.tenant import MEBIBYTE, Row, Tenant, tool
from support.played_agents import Dispatch, played

AGENT: Row = {"name": "large", "endpoint_url": "http://127.0.0.1:9/dispatch"}


@kind("H2-agents", seconds=1.0)
def large_agents(tenant: Tenant) -> None:
    """Definitions of up to eight mebibytes, registered, changed, read and listed."""
    size = tenant.size(7, 7) * MEBIBYTE
    many = [f"actor_{at}" for at in range(3_000)]
    shapes: dict[str, Row] = {
        "a long description": {"tools_schema": [tool("t", {"x": {"description": "d" * size}})]},
        "a thousand tools": {
            "tools_schema": [tool(f"t{at}", {"x": {"description": "d" * 6_000}}) for at in range(1_000)]
        },
        "many tools": {"tools_schema": [tool(f"t{at}", {}) for at in range(60_000)]},
        "tools of one name": {"tools_schema": [tool("t", {}) for _ in range(60_000)]},
        "many values": {"tools_schema": [tool("t", {"x": {"enum": list(range(900_000))}})]},
        "many properties": {
            "tools_schema": [tool("t", {f"p{at}": {"type": "string"} for at in range(150_000)})]
        },
        "no tools": {"tools_schema": [1] * 2_000_000},
        "unknown fields": {f"naem{at}": 1 for at in range(300_000)},
        "many actors": {
            "config": {"sub_agents": [{"actor_id": each, "talks_to": ["actor_x"] * 20} for each in many]}
        },
        "actors who talk to all": {
            "config": {"sub_agents": [{"actor_id": each, "talks_to": many[:100]} for each in many]}
        },
        "a long ledger": {
            "ledger_schema": {"entities": [{"type": f"t{at}", "id_field": "id"} for at in range(100_000)]}
        },
        "an empty text": {"description": " " * size},
    }
    for name, more in tenant.in_turn(shapes, "unknown fields", "actors who talk to all"):
        reply = tenant.post("/api/agents", AGENT | more, what=f"an agent: {name}")
        if reply.status == 201:
            agent_id = reply.json()["id"]
            tenant.get(f"/api/agents/{agent_id}/plans", what=f"plans of {name}")
            tenant.ask("PUT", f"/api/agents/{agent_id}", {"description": "y"}, what=f"change {name}")
            tenant.get("/api/agents?limit=500", what=f"list with {name}")
            tenant.ask("DELETE", f"/api/agents/{agent_id}", what=f"delete {name}")


def _replies() -> dict[str, bytes]:
    text = b"I refunded order 4521. "
    size = 8 * MEBIBYTE - 1_000
    return {
        "a long answer": b'{"final_response": "' + text * (size // len(text) - 2) + b'"}',
        "many messages": b'{"final_response": "x", "messages": ['
        + b'{"role":"user","content":"x"},' * 250_000
        + b"1]}",
        "many values": b'{"final_response": "x", "more": [' + b"1," * (size // 2 - 50) + b"1]}",
        "many objects": b'{"final_response": "x", "more": [' + b"{}," * (size // 3 - 50) + b"{}]}",
        "in a fence": b"```json\n" + b'{"final_response": "' + b"x" * (size - 100) + b'"}\n```',
        "not closed": b'{"final_response": "' + b"x" * (size - 100),
        "fences": b"```" * (size // 3),
        "braces": b"{" * size,
        "brackets and braces": b'{"a":[' * (size // 6),
        "quotes": b'"' * size,
        "commas at the end": b'{"final_response": "x",' + b" ,\n" * (size // 3 - 20) + b"}",
        "backslashes": b'{"final_response": "' + b"\\" * (size - 30) + b'"}',
        "no JSON": text * (size // len(text)),
        "no text": b"\xff\xfe" * (size // 2),
        "over the limit": b"x" * (12 * MEBIBYTE),
        "numbers": b'{"final_response": ' + b"9" * (size - 30) + b"}",
    }


@kind("H2-replies", seconds=1.2)
def large_replies(tenant: Tenant) -> None:
    """Answers of eight mebibytes, whole, broken, and to be mended."""
    replies = list(_replies().values())
    tenant.chance.shuffle(replies)
    _dispatched(tenant, lambda dispatch: dispatch.answer_with(200, replies[dispatch.run_id % len(replies)]))


@kind("H2-dripped", seconds=0.8)
def dripped_replies(tenant: Tenant) -> None:
    """Answers in pieces of a byte, heads without end, and answers that never end."""

    def behave(dispatch: Dispatch) -> None:
        out = dispatch.handler.wfile
        shape = dispatch.run_id % 3
        with suppress(OSError):
            if shape == 0:
                out.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(60):
                    out.write(b"1\r\nx\r\n" * 20_000)
            elif shape == 1:
                out.write(b"HTTP/1.1 200 OK\r\n")
                for _ in range(40):
                    out.write(b"X-A: b\r\n" * 5_000)
            else:
                out.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9000000\r\n\r\n")
                while tenant.has_time:
                    out.write(b"\x1f\x8b" * 10)
                    out.flush()
                    time.sleep(0.01)

    _dispatched(tenant, behave)


def _dispatched(tenant: Tenant, behave: Callable[[Dispatch], None]) -> None:
    with played(behave) as agent:
        agent_id = tenant.agent([tool("t", {})], endpoint_url=agent.url, run_timeout_s=20)
        dataset = tenant.tasks({"user": "Refund order 4521."})
        with tenant.batch(agent_id, dataset_id=dataset["id"], repeats=tenant.size(16, 48)) as batch_id:
            tenant.wait_for(batch_id)
            tenant.get(f"/api/runs?batch_id={batch_id}&limit=500", what="list runs with large answers")
            tenant.get(f"/api/batches/{batch_id}/export", what="export large answers")


@kind("H2-lists", seconds=0.8, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def lists_of_what_is_large(tenant: Tenant) -> None:
    """Runs by hand that ended with a megabyte each, then listed again and again."""
    agent_id, task = tenant.agent([tool("t", {})]), tenant.tasks({"user": "u" * 200_000})["task_ids"][0]
    for _ in range(tenant.size(20, 100)):
        tenant.run(agent_id, task).finish("word " * 190_000, what="finish with a megabyte")
    paths = [
        "/api/runs?limit=500",
        "/api/runs?needs_review=true&limit=500",
        f"/api/runs?task_id={task}&limit=100",
    ]
    while True:
        tenant.together(lambda path: tenant.get(path, what=f"list {path}"), paths * 3)
        if not tenant.has_time:
            return


@kind("H2-trace", seconds=0.8, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def large_traces(tenant: Tenant) -> None:
    """A run with a trace of many megabytes, read in the largest pages, judged and read again."""
    plan = [{"find": {"as": "o", "in": "o", "id": "'1'"}}, {"set": {"o.x": "args.x"}}, {"return": "args.x"}]
    run = tenant.run_of([tool("t", {"x": {}}, simulation=plan)], state={"o": {"1": {}}})
    value = [{"n": at} for at in range(40_000)]
    for at in range(tenant.size(5, 20)):
        run.call("t", {"x": value}, what="a call of half a megabyte")
        run.event("custom", {"value": value, "n": at}, what="an event of half a megabyte")
    run.finish("Done.", what="finish a large trace")
    paths = ["/trace?limit=500", "", "/ledger", "/ledger?step=3", "/output"]
    while True:
        tenant.together(
            lambda path: tenant.get(f"/api/runs/{run.id}{path}", what=f"read {path or 'the run'}"), paths * 2
        )
        tenant.post(f"/api/runs/{run.id}/judge", what="judge a large trace")
        if not tenant.has_time:
            return


@kind("H2-events")
def many_events(tenant: Tenant) -> None:
    """Trace events of a megabyte, of every shape, from several connections at once."""
    run = tenant.run_of([tool("t", {})])
    bodies = {
        "text": json.dumps({"text": "x" * 1_000_000}).encode(),
        "values": b'{"v": [' + b"1," * 500_000 + b"1]}",
        "objects": b'{"v": [' + b"{}," * 340_000 + b"{}]}",
        "floats": b'{"v": [' + b"1e-9," * 200_000 + b"1]}",
        "keys": json.dumps({f"k{at}": None for at in range(60_000)}).encode(),
        "one key": b"{" + b'"k":1,' * 170_000 + b'"k":1}',
        "a time": json.dumps({"__occurred_at": "2026-" * 200_000}).encode(),
    }
    kinds = ["custom", "thinking", "assistant_message", "handoff", "system_prompt"]
    while True:
        tenant.together(
            lambda item: run.event(tenant.chance.choice(kinds), item[1], what=f"an event of {item[0]}"),
            tenant.shuffled(bodies),
            at_once=4,
        )
        if not tenant.has_time:
            return
