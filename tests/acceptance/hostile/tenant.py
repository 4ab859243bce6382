"""A tenant of bad intent: its own org's key, plain HTTP, and a line printed for everything it did.

Standard library only, since each attack starts a process. Connections come from an address of their own, so
that limits by address do not hit the probes.
"""

import http.client
import json
import random
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

Row = dict[str, Any]
T = TypeVar("T")
SOURCE = "127.0.0.3"
PROXY = "/api/odyssey-proxy"
MEBIBYTE = 1024 * 1024


class Reply(NamedTuple):
    status: int  # 0: there was none
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class NotTaken(Exception):
    """The server refused what the attack needs: that is an answer, too."""


class Tenant:
    def __init__(self, told: Row) -> None:
        self.host, self.port = urlsplit(told["url"]).netloc.split(":")
        self.url: str = told["url"]
        self.key: str = told["key"]
        self.seed: int = told["seed"]
        self.is_long: bool = told["is_long"]
        self.chance = random.Random(self.seed)
        self.patience_s: float = told["patience_s"]
        self.until = time.monotonic() + told["seconds"]

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self.until

    def size(self, short: int, long: int) -> int:
        """A number for the bounded form and one for the long one."""
        return long if self.is_long else short

    def shuffled(self, shapes: dict[str, T], *first: str) -> list[tuple[str, T]]:
        """All of them in an order of this seed; in the bounded form those come first that once did harm."""
        listed = list(shapes.items())
        self.chance.shuffle(listed)
        if not self.is_long:
            assert set(first) <= set(shapes), first
            listed.sort(key=lambda item: item[0] not in first)
        return listed

    def in_turn(self, shapes: dict[str, T], *first: str) -> Iterator[tuple[str, T]]:
        """The same one after the other; the first always, the others while there is time."""
        for at, item in enumerate(self.shuffled(shapes, *first)):
            if at and not self.has_time:
                return
            yield item

    def together(self, function: Callable[[Any], Any], each: Iterable[Any], at_once: int = 8) -> None:
        """All of them, several at a time; the first few always, the others while there is time."""

        def one(numbered: tuple[int, Any]) -> None:
            if numbered[0] < at_once or self.has_time:
                function(numbered[1])

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, enumerate(each)))

    # -- asking

    def ask(self, method: str, path: str, body: Any = None, *, what: str = "", **headers: str) -> Reply:
        """One request on a connection of its own. Long after the end of its time an attack gives up."""
        if time.monotonic() > self.until + self.patience_s:
            raise NotTaken(f"no time left for {what or path}")
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        named = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        started = time.monotonic()
        connection = http.client.HTTPConnection(
            self.host, int(self.port), timeout=self.patience_s, source_address=(SOURCE, 0)
        )
        try:
            connection.request(method, path, raw, named)
            response = connection.getresponse()
            reply = Reply(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            reply = Reply(0, repr(error).encode())
        finally:
            connection.close()
        self.tell(
            what or f"{method} {path[:60]}",
            started,
            reply.status,
            reply.body[:160].decode("utf-8", "replace"),
        )
        return reply

    def get(self, path: str, **more: Any) -> Reply:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        return self.ask("POST", path, body, **more)

    def tell(self, what: str, started: float, status: int, note: str = "") -> None:
        line = {
            "what": what,
            "at": started,
            "took": time.monotonic() - started,
            "status": status,
            "note": note,
        }
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    # -- what most attacks begin with

    def made(self, path: str, body: Any, what: str) -> Any:
        reply = self.post(path, body, what=what)
        if reply.status not in (200, 201, 202):
            raise NotTaken(f"{what}: {reply.status} {reply.body[:300].decode('utf-8', 'replace')}")
        return reply.json()

    def agent(self, tools: list[Row], what: str = "register an agent", **changes: Any) -> int:
        body = {"name": "hostile", "description": "x", "tools_schema": tools}
        body |= {} if "mode" in changes else {"endpoint_url": "http://127.0.0.1:9/dispatch"}
        return int(self.made("/api/agents", body | changes, what)["id"])

    def tasks(self, *rows: Row, what: str = "upload tasks", **more: Any) -> Row:
        made: Row = self.made("/api/datasets", {"name": "hostile", "rows": list(rows), **more}, what)
        return made

    def run(self, agent_id: int, task_id: int, what: str = "open a run") -> "HandRun":
        body = {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}
        return HandRun(self, self.made("/api/runs", body, what))

    def run_of(self, tools: list[Row], **task: Any) -> "HandRun":
        agent_id = self.agent(tools)
        return self.run(agent_id, self.tasks({"user": "Do it."} | task)["task_ids"][0])

    @contextmanager
    def batch(self, agent_id: int, what: str = "start a batch", **asked: Any) -> Iterator[int]:
        """Cancelled at the end, so that the next attack is not blamed for it."""
        batch_id = int(self.made("/api/runs", {"agent_id": agent_id} | asked, what)["batch_id"])
        try:
            yield batch_id
        finally:
            self.post(f"/api/batches/{batch_id}/cancel", what=f"{what}: cancel it")

    def wait_for(self, batch_id: int) -> None:
        """Until it has ended, or the time is up."""
        while self.has_time:
            reply = self.get(f"/api/batches/{batch_id}", what="look at the batch")
            if reply.status == 200 and reply.json()["status"] != "running":
                return
            time.sleep(0.2)

    # -- sockets

    def connect(self, timeout_s: float | None = None, source: str = SOURCE) -> socket.socket:
        connection = socket.create_connection(
            (self.host, int(self.port)), timeout=timeout_s or self.patience_s, source_address=(source, 0)
        )
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def head(
        self, method: str, path: str, length: int = 0, token: str | None = None, **headers: str
    ) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token or self.key}"]
        lines += [f"Content-Length: {length}"] if length else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class HandRun:
    """A run by hand of the tenant's own."""

    def __init__(self, tenant: Tenant, opened: Row) -> None:
        self.tenant = tenant
        self.id: int = opened["id"]
        self.token: str = opened["run_token"]
        self.base = f"{PROXY}/runs/{opened['run_token_jti']}"

    def call(self, tool: str, body: Any, what: str = "", **headers: str) -> Reply:
        path = f"{self.base}/tools/{tool}"
        return self.tenant.post(
            path, body, what=what or tool, Authorization=f"Bearer {self.token}", **headers
        )

    def event(self, kind: str, body: Any, what: str = "") -> Reply:
        path = f"{self.base}/traces/{kind}"
        return self.tenant.post(path, body, what=what or kind, Authorization=f"Bearer {self.token}")

    def finish(self, final_response: Any, what: str = "finish") -> Reply:
        body = {"final_response": final_response}
        return self.tenant.post(f"/api/runs/{self.id}/finish", body, what=what)


def tool(name: str, properties: Row | None = None, **more: Any) -> Row:
    schema: Row = {"type": "object"} | ({"properties": properties} if properties is not None else {})
    return {"name": name, "description": name, "input_schema": schema} | more
