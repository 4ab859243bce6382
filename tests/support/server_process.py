"""Real processes of the platform, and short words for what tests ask of them over HTTP."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from support.desk import AGENT, STATE, answered
from support.warm_process import WarmProcess

Row = dict[str, Any]
T = TypeVar("T")
PATIENCE_S = 40.0  # two loaded cores: only a test that fails waits this long

#: Refunding order 4521 and nothing else is what passes it.
REFUND_TASK: Row = {
    "user": "Refund order #4521.",
    "state": STATE,
    "expected_state": {"order.4521.status": "refunded"},
}


def eventually(look: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """The first truthy thing that a look brings."""
    deadline = time.monotonic() + patience_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.02)
    return found


class Api:
    """One node's API with a key."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key
        self.client = httpx2.Client(
            base_url=url,
            headers={"X-API-Key": key},
            timeout=PATIENCE_S,
            limits=httpx2.Limits(max_keepalive_connections=0),  # the server may be killed at any moment
        )

    def get(self, path: str, **query: Any) -> Any:
        return answered(self.client.get(path, params=query))

    def post(self, path: str, body: Any = None, status: int | None = None) -> Any:
        options = {} if body is None else {"json": body}
        return answered(self.client.post(path, **options), status)

    def put(self, path: str, body: Any) -> Any:
        return answered(self.client.put(path, json=body))

    def agent(self, endpoint_url: str, **changes: Any) -> Row:
        made: Row = self.post("/api/agents", AGENT | {"endpoint_url": endpoint_url} | changes, 201)
        return made

    def dataset(self, *rows: Row, agent_id: int | None = None) -> Row:
        body: Row = {"name": "tasks", "rows": list(rows) or [REFUND_TASK]}
        body |= {"agent_id": agent_id} if agent_id is not None else {}
        made: Row = self.post("/api/datasets", body, 201)
        return made

    def start_batch(self, endpoint_url: str, *rows: Row, agent: Row | None = None, **asked: Any) -> int:
        """The id of a batch over these rows (the refund task, unless told otherwise)."""
        changes = agent or {}
        agent_id = self.agent(endpoint_url, **changes)["id"]
        dataset = self.dataset(*rows, agent_id=agent_id)
        return self.batch_of(agent_id, dataset["id"], **asked)

    def batch_of(self, agent_id: int, dataset_id: int, **asked: Any) -> int:
        body = {"agent_id": agent_id, "dataset_id": dataset_id} | asked
        return int(self.post("/api/runs", body, 202)["batch_id"])

    def batch(self, batch_id: int) -> Row:
        found: Row = self.get(f"/api/batches/{batch_id}")
        return found

    def ended(self, batch_id: int, patience_s: float = PATIENCE_S) -> Row:
        def look() -> Row | None:
            batch = self.batch(batch_id)
            return batch if batch["status"] != "running" else None

        found = eventually(look, f"batch {batch_id} ends: {self.batch(batch_id)}", patience_s)
        assert found is not None
        return found

    def runs(self, batch_id: int, **filters: Any) -> list[Row]:
        """Oldest first."""
        items: list[Row] = []
        cursor: dict[str, str] = {}
        while True:
            page = self.get("/api/runs", batch_id=batch_id, limit=500, **filters, **cursor)
            items += page["items"]
            if page["next_cursor"] is None:
                return items[::-1]
            cursor = {"cursor": page["next_cursor"]}

    def whole_runs(self, batch_id: int) -> list[Row]:
        """With what no list carries; oldest first."""
        items: list[Row] = self.get(f"/api/batches/{batch_id}/export")["items"]
        return items

    def only_run(self, batch_id: int) -> Row:
        (run,) = self.runs(batch_id)
        return self.get(f"/api/runs/{run['id']}")  # type: ignore[no-any-return]

    def trace(self, run_id: int) -> list[Row]:
        found: list[Row] = self.get(f"/api/runs/{run_id}/trace", limit=500)["items"]
        return found

    def by_status(self, batch_id: int) -> Row:
        counts: Row = self.batch(batch_id)["counts"]["by_status"]
        return counts


class Node:
    """A `pipelines` process that serves."""

    def __init__(
        self,
        *command: str,
        env: dict[str, str] | None = None,
        program: tuple[str, ...] = (),
    ) -> None:
        """`program`: what Python runs instead, afresh."""
        self.command = command
        environment = clean_environment() | (env or {})
        self.process: subprocess.Popen[str] | WarmProcess = (
            subprocess.Popen(
                [sys.executable, *program, *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
            if program
            else WarmProcess(*command, env=environment)
        )
        self.said = ""

    def ready(self) -> str:
        """Its URL, once it answers."""
        stdout = self.process.stdout
        assert stdout is not None
        deadline = time.monotonic() + PATIENCE_S
        while (
            found := re.search(r"at (http://\S+?)[,\s]", self.said)
        ) is None or "Stop with" not in self.said:
            left = deadline - time.monotonic()
            readable = left > 0 and select.select([stdout], [], [], left)[0]
            line = os.read(stdout.fileno(), 65_536).decode() if readable else ""
            assert line, f"{self.command} did not start: {self.said}\n{self._errors()}"
            self.said += line
        found = re.search(r"at (http://\S+?)[,\s]", self.said)
        assert found is not None, self.said
        url = found[1]

        def answers() -> bool:
            assert self.process.poll() is None, self._errors()
            try:
                return httpx2.get(f"{url}/health", timeout=5).is_success
            except httpx2.HTTPError:
                return False

        eventually(answers, f"{url} answers")
        return url

    def _errors(self) -> str:
        self.process.kill()
        return self.process.communicate()[1]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self, number: int = signal.SIGTERM, patience_s: float = 30) -> tuple[int, str]:
        """Asked to stop: its exit code, and what it said to stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=patience_s)
        return self.process.returncode, errors


def clean_environment() -> dict[str, str]:
    """Without the settings of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PIPELINES_")}


class House:
    """A server on a data directory that outlives its processes."""

    def __init__(self, directory: Path, env: dict[str, str] | None = None, *flags: str) -> None:
        self.directory = directory
        self.env = env or {}
        self.flags = flags
        self.node: Node | None = None
        self.program: tuple[str, ...] = ()

    def open(self) -> Api:
        flags = ("--port", "0", "--data-dir", str(self.directory), *self.flags)
        self.node = Node("up", *flags, env=self.env, program=self.program)
        url = self.node.ready()
        return Api(url, (self.directory / "api-key").read_text().strip())

    def kill(self) -> None:
        assert self.node is not None
        self.node.kill()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        assert self.node is not None
        return self.node.stop(number)

    def close(self) -> None:
        if self.node is not None and self.node.process.poll() is None:
            self.node.kill()


@contextmanager
def house_in(directory: Path, env: dict[str, str] | None = None, *flags: str) -> Iterator[House]:
    house = House(directory, env, *flags)
    try:
        yield house
    finally:
        house.close()


@contextmanager
def fresh_house_in(directory: Path, env: dict[str, str] | None = None, *flags: str) -> Iterator[House]:
    """Where somebody looks at the process itself: its command line, its environment, its memory."""
    with house_in(directory, env, *flags) as house:
        house.program = ("-m", "pipelines")
        yield house


def events_of(api: Api, batch_id: int) -> Iterator[tuple[str, Row]]:
    """Server-sent events, as (event, data), until the server ends the stream."""
    with api.client.stream("GET", f"/api/batches/{batch_id}/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in response.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))
