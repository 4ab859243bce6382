"""T: cassettes that are large, wrong line by line, or hard to read, imported, exported and replayed."""

import json
from collections.abc import Callable

from hostile.documents import ENDPOINTS, INFO, NOWHERE, named
from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.tenant import MEBIBYTE, HandRun, Row, Tenant

CASSETTES = "/api/cassettes"
LINES = "application/x-ndjson"


def _line(at: int, response: object = None, **more: object) -> bytes:
    call = {"tool": "t", "arguments": {"n": at}, "status": 200, "response": response, "endpoint": "e"}
    return json.dumps(call | more).encode() + b"\n"


def _filled(start: bytes, unit: bytes, end: bytes, size: int) -> bytes:
    return start + unit * ((size - len(start) - len(end)) // len(unit)) + end


_OPEN = b'{"tool":"t","arguments":{},"status":200,"response":'
Shape = Callable[[int], bytes]
#: Each of about so many bytes.
SHAPES: dict[str, Shape] = {
    "many calls": lambda n: b"".join(_line(at) for at in range(min(n // 90, 100_000))),
    "too many calls": lambda n: b"".join(_line(at) for at in range(n // 90)),
    "the same call": lambda n: _line(1) * (n // 90),
    "one line of values": lambda n: _filled(_OPEN + b"[", b"1,", b"1]}", n),
    "one line of objects": lambda n: _filled(_OPEN + b"[", b"{},", b"1]}", n),
    "one line of text": lambda n: _filled(_OPEN + b'"', b"x", b'"}', n),
    "one line of escapes": lambda n: _filled(_OPEN + b'"', b"\\u00e9", b'"}', n),
    "one line of arguments": lambda n: _filled(
        b'{"tool":"t","response":1,"arguments":{"x":[', b"1,", b"1]}}", n
    ),
    "lines of a mebibyte": lambda n: b"".join(
        _filled(_OPEN.replace(b"{}", b'{"n":%d}' % at) + b"[", b"1,", b"1]}\n", MEBIBYTE - 100)
        for at in range(n // MEBIBYTE)
    ),
    "empty lines": lambda n: b"\n" * n,
    "brackets": lambda n: b"[" * n,
    "lines of brackets": lambda n: b"[\n" * (n // 2),
    "lines of nothing": lambda n: b"{}\n" * (n // 3),
    "not UTF-8": lambda n: b"\xff\n" * (n // 2),
    "secrets": lambda n: b"".join(
        _line(at, {"password": "x" * 40, "text": "Bearer abcdefghijklmnop " * 40}) for at in range(n // 1_200)
    ),
    "long keys": lambda n: b"".join(_line(at, {"k" * 50_000: 1}) for at in range(n // 50_100)),
    "mail addresses": lambda n: b"".join(_line(at, "a@" * 5_000 + "." * 5_000) for at in range(n // 15_100)),
    "digits": lambda n: b"".join(_line(at, "4111 " * 4_000) for at in range(n // 20_100)),
    "base64": lambda n: b"".join(_line(at, "eyJ" + "a." * 10_000) for at in range(n // 20_100)),
    "long notes": lambda n: b"".join(_line(at, 1, notes=["n" * 1_000] * 20) for at in range(n // 20_400)),
    "deep": lambda n: b"".join(_line(at, json.loads("[" * 55 + "1" + "]" * 55)) for at in range(n // 200)),
    "unknown fields": lambda n: b"".join(_line(at, 1, naem=1) for at in range(n // 100)),
}


@kind("T-cassettes", seconds=2.0, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def hostile_cassettes(tenant: Tenant) -> None:
    """Imported, listed, exported, verified and deleted."""
    size = tenant.size(6, 60) * MEBIBYTE

    def take(item: tuple[str, Shape]) -> None:
        name, made = item
        path = f"{CASSETTES}/{name.replace(' ', '-')}"
        reply = tenant.ask("PUT", path, made(size), what=f"import {name}", Content_Type=LINES)
        if reply.status != 200:
            return
        tenant.get(path, what=f"export {name}")
        tenant.post(f"{path}/verify", {}, what=f"verify {name}")
        tenant.ask("DELETE", path, what=f"delete {name}")

    first = ("one line of objects", "many calls", "lines of nothing")
    tenant.together(take, tenant.shuffled(SHAPES, *first), at_once=3)


def _agent(tenant: Tenant) -> int:
    """Whose one tool is passed through to where nobody answers."""
    operation = {"operationId": "t", "responses": {"200": {"description": "x"}}}
    spec = json.dumps(INFO | {"paths": {"/t": {"get": operation}}})
    name = named("replayed")
    config = {"base_url": NOWHERE, "spec": spec}
    tenant.made(ENDPOINTS, {"name": name, "type": "http_openapi", "config": config}, "an endpoint")
    tool = {
        "name": "t",
        "description": "t",
        "input_schema": {"type": "object"},
        "default_execution_mode": "passthrough",
        "passthrough_binding": {"endpoint_name": name, "tool_name": "t"},
    }
    return tenant.agent([tool], "an agent that is replayed")


REPLAYED = (
    *("one line of objects", "one line of values", "many calls", "lines of a mebibyte", "one line of text"),
    *("the same call", "long keys"),
)


@kind("T-replays", seconds=2.0, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def hostile_replays(tenant: Tenant) -> None:
    """Calls answered from large cassettes, found and not found."""
    agent_id, task = _agent(tenant), tenant.tasks({"user": "x"})["task_ids"][0]
    size = tenant.size(6, 60) * MEBIBYTE
    shapes = {name: SHAPES[name] for name in REPLAYED}
    for name, made in tenant.in_turn(shapes, "one line of objects", "many calls"):
        path = f"{CASSETTES}/{name.replace(' ', '-')}-played"
        reply = tenant.ask("PUT", path, made(size), what=f"import {name}", Content_Type=LINES)
        if reply.status != 200:
            continue
        told: Row = {"mode": "manual", "agent_id": agent_id, "task_ids": [task]}
        told |= {"passthrough": "replay", "cassette": path.rpartition("/")[2]}
        _replay(tenant, tenant.made("/api/runs", told, "a run that replays"), name)
        tenant.ask("DELETE", path, what=f"delete {name}")


def _replay(tenant: Tenant, opened: Row, name: str) -> None:
    run = HandRun(tenant, opened)
    asked: list[Row] = [{}, {}, {"n": 1}, {"n": -1}, {"x": [1] * 300_000}, {"n": "x" * 900_000}]
    tenant.together(lambda arguments: run.call("t", arguments, what=f"replay {name}"), asked, at_once=4)
