"""H8 and more of H9: many of what is small each, kept replies, and readers who do not read."""

import socket
import time
from contextlib import suppress

from hostile.kind import kind
from hostile.tenant import PROXY, Row, Tenant, tool

ECHO = tool("echo", {"x": {}}, simulation=[{"return": {"x": "args.x"}}])


@kind("H8-replies", seconds=1.0)
def kept_replies(tenant: Tenant) -> None:
    """Calls with a key of their own each, whose replies are a megabyte."""
    run = tenant.run_of([ECHO])
    texts = ["x" * 90_000] * 11

    def call(at: int) -> None:
        run.call("echo", {"x": texts}, what="a kept reply", Idempotency_Key=f"key {at}")

    tenant.together(call, range(tenant.size(300, 3_000)), at_once=3)
    run.call("echo", {"x": texts}, what="asked again", Idempotency_Key="key 0")


@kind("H8-runs", seconds=0.8)
def many_live_runs(tenant: Tenant) -> None:
    """Many runs by hand that stay open, each with a reply to keep and a world of its own changes."""
    plan = [{"find": {"as": "o", "in": "o", "id": "'1'"}}, {"set": {"o.x": "args.x"}}, {"return": "args.x"}]
    agent_id = tenant.agent([tool("put", {"x": {}}, simulation=plan)])
    task = tenant.tasks({"user": "x", "state": {"o": {"1": {}}}})["task_ids"][0]

    def live(at: int) -> None:
        run = tenant.run(agent_id, task)
        run.call("put", {"x": ["y" * 90_000] * 5}, what="a live run", Idempotency_Key=f"{at}")

    tenant.together(live, range(tenant.size(200, 2_000)), at_once=4)


@kind("H8-keys", seconds=0.8)
def many_keys_of_a_call(tenant: Tenant) -> None:
    """Keys as long as a header may be, one and the same from everywhere at once, and asked again."""
    run = tenant.run_of([ECHO])
    keys = ["k" * 7_000 + str(at % 40) for at in range(tenant.size(300, 3_000))]
    tenant.together(
        lambda key: tenant.has_time and run.call("echo", {"x": 1}, what="a long key", Idempotency_Key=key),
        keys,
    )


@kind("H9-readers", seconds=1.0)
def readers_who_do_not_read(tenant: Tenant) -> None:
    """Watchers of a batch that never read what they are sent."""
    agent_id, dataset = tenant.agent([tool("t", {})]), tenant.tasks(*[{"user": str(at)} for at in range(500)])
    held: list[socket.socket] = []
    started = time.monotonic()
    with tenant.batch(agent_id, dataset_id=dataset["id"], repeats=20, concurrency=1) as batch_id:
        watch = tenant.head("GET", f"/api/batches/{batch_id}/events")
        with suppress(OSError):
            for _ in range(tenant.size(400, 900)):
                held.append(tenant.connect(timeout_s=2))
                held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                held[-1].sendall(watch)
        time.sleep(max(0.5, tenant.until - time.monotonic()))
        tenant.tell(f"{len(held)} watchers", started, 0)
        for connection in held:
            connection.close()


@kind("H9-tokens")
def wrong_tokens(tenant: Tenant) -> None:
    """Keys and tokens that are none, en masse, on many connections."""

    def knock(at: int) -> None:
        key = tenant.chance.choice(["pk_live_" + f"{at:040x}", "x" * 8_000, "é" * 100, "", " ", "Bearer"])
        path, method = tenant.chance.choice(
            [
                ("/api/runs", "GET"),
                (f"{PROXY}/tools/x", "POST"),
                (f"{PROXY}/tools", "GET"),
                ("/metrics", "GET"),
                ("/api/agents", "POST"),
            ]
        )
        headers = {"Authorization": f"Bearer {key}".encode().decode("latin-1")}
        tenant.ask(method, path, b"{}", what="a wrong token", **headers)

    while tenant.has_time:
        tenant.together(knock, range(200), at_once=8)


@kind("H9-strangers")
def strangers(tenant: Tenant) -> None:
    """What needs no key, as often as possible: health, readiness, the document, pages that are not there."""
    paths = [
        "/health",
        "/health/ready",
        "/openapi.json",
        "/docs",
        "/schemas/agent-response.json",
        "/nothing",
        "/api/code-mode",
    ]

    def knock(at: int) -> None:
        with suppress(OSError), tenant.connect(timeout_s=5) as connection:
            started = time.monotonic()
            connection.sendall(
                b"".join(
                    f"GET {paths[n % 7]} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for n in range(at, at + 50)
                )
            )
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 18):
                pass
            tenant.tell("strangers", started, 0)

    while tenant.has_time:
        tenant.together(knock, range(8), at_once=8)


@kind("H9-paging")
def odd_paging(tenant: Tenant) -> None:
    """Lists with odd limits, cursors and filters."""
    values = [
        "0",
        "-1",
        "500",
        "501",
        "9" * 5_000,
        "1e9",
        "NaN",
        "%00",
        "MQ",
        "OTk5OTk5OTk5OTk5OTk5OTk5",
        "A" * 60_000,
        "%ff",
        "٣",
        "true",
    ]
    names = [
        "limit",
        "cursor",
        "agent_id",
        "dataset_id",
        "task_id",
        "batch_id",
        "verdict",
        "status",
        "mode",
        "needs_review",
        "step",
    ]
    lists = [
        "runs",
        "agents",
        "datasets",
        "batches",
        "keys",
        "credentials",
        "runs/1/trace",
        "datasets/1/tasks",
    ]
    while tenant.has_time:
        query = "&".join(f"{tenant.chance.choice(names)}={tenant.chance.choice(values)}" for _ in range(3))
        path = f"/api/{tenant.chance.choice(lists)}?{query}"
        tenant.get(path.encode().decode("latin-1").replace("Ù£", "%D9%A3"), what="an odd list")


@kind("H9-creation", seconds=0.8)
def many_of_everything(tenant: Tenant) -> None:
    """Agents, datasets, keys, credentials and runs, as many as can be made."""
    agent_id, dataset = tenant.agent([ECHO]), tenant.tasks({"user": "x"})
    run: Row = {"mode": "manual", "agent_id": agent_id, "task_ids": dataset["task_ids"]}

    def make(at: int) -> None:
        bodies: list[tuple[str, Row]] = [
            ("/api/keys", {"name": f"k{at}", "role": "viewer"}),
            ("/api/credentials", {"name": f"C{at}", "value": "secret " * 50}),
            (
                "/api/agents",
                {"name": f"a{at}", "endpoint_url": "http://127.0.0.1:9/", "tools_schema": [ECHO]},
            ),
            ("/api/datasets", {"name": f"d{at}", "rows": [{"user": "x"}] * 50}),
            ("/api/runs", run),
            ("/api/runs", {"agent_id": agent_id, "dataset_id": dataset["id"], "repeats": 5}),
        ]
        path, body = bodies[at % len(bodies)]
        tenant.post(path, body, what=f"one more at {path}")

    tenant.together(make, range(100_000), at_once=8)


@kind("H9-asks", seconds=0.8)
def calls_that_wait(tenant: Tenant) -> None:
    """Tools that answer in five minutes, called by everybody and left alone."""
    slow = tool("slow", {}, simulation={"steps": [{"return": "1"}], "latency_ms": 300_000})
    run = tenant.run_of([slow])
    call = (
        tenant.head("POST", f"{run.base}/tools/slow", 2, run.token, Content_Type="application/json") + b"{}"
    )
    held: list[socket.socket] = []
    started = time.monotonic()
    with suppress(OSError):
        for at in range(tenant.size(400, 900)):
            held.append(tenant.connect(timeout_s=2))
            held[-1].sendall(call)
            if at % 3 == 0:
                held.pop().close()
    time.sleep(max(0.3, tenant.until - time.monotonic()))
    tenant.tell(f"{len(held)} calls that wait", started, 0)
    for connection in held:
        connection.close()
    tenant.post(f"/api/runs/{run.id}/cancel", what="cancel the run that waits")


@kind("H9-connections")
def tested_connections(tenant: Tenant) -> None:
    """Agents that never answer a ping, asked by everybody."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        agent_id = tenant.agent([tool("t", {})], endpoint_url=endpoint)
        path = f"/api/agents/{agent_id}/test-connection"
        held = []
        with suppress(OSError):
            for _ in range(tenant.size(300, 600)):
                held.append(tenant.connect(timeout_s=2))
                held[-1].sendall(tenant.head("POST", path))
        started = time.monotonic()
        time.sleep(max(0.5, tenant.until - time.monotonic()))
        tenant.tell(f"{len(held)} pings", started, 0)
        for connection in held:
            connection.close()
