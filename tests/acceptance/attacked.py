"""A server under attack: an org that is hostile, a heartbeat, and runs of another org that must end well."""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from attack_outcome import Outcome
from attacked_model import attacked_model
from heartbeat import Heartbeat, Question, preferred, request, tree_rss_mb
from hostile.kinds import KINDS, Kind
from served import KEY, Server, clean_environment
from starvation import tree_cpu_s

from pipelines.server.config.settings import load_settings
from pipelines.server.service.first_start import prepare
from pipelines.storage.accounts.keys import add_key, add_org, new_key
from pipelines.storage.database.connection import transaction
from pipelines.wire.names import PROXY_BASE, Role
from support.desk import STATE, tool
from support.played_agents import Dispatch, PlayedAgent, played
from support.server_process import Api

Row = dict[str, Any]
HERE = Path(__file__).parent
ENOUGH_MB = 5_000  # a server that takes more is stopped: other people work on this machine
SILENT_S = "5"  # a server that takes itself for dead does so sooner than with the usual 15
USUAL_FILES = 1_024  # open files a process may have where nobody has said anything
CALM_S = 10.0  # how long what an attack left behind is waited for
NEVER_S = 60.0  # and then, how long an answer
BUSY_SHARE = 0.8  # of a core: the heartbeat alone costs less
OTHERS_RUNS_S = 20.0  # from the attack's end to the end of another org's runs
TOOLS = [
    tool("get_order", "Get an order by its id.", {"order_id": {"type": "string"}}, ["order_id"]),
    tool(
        "hold_order",
        "Hold a pending order.",
        {"order_id": {"type": "string"}, "by": {"type": "string"}},
        ["order_id", "by"],
        simulation=[
            {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
            {"require": "order.status == 'pending'", "else": {"status": 409, "error": "not_pending"}},
            {"set": {"order.held_by": "args.by"}},
            {"return": {"order_id": "args.order_id", "held_by": "order.held_by"}},
        ],
    ),
]
CODE = "def run(task_input, *, proxy_url, run_token):\n    return 'Held.'\n"
QUICK, HELD = "Hold order 7001.", "Hold order 7001, and wait."


class Attacked:
    """Started once for many attacks; after one that it did not survive, it is started anew."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.gate = threading.Event()
        self.keys = _orgs(directory)
        self.agent = played(self._behave)
        self.endpoint: PlayedAgent = self.agent.__enter__()
        self.model = attacked_model()
        self.settings = {"PIPELINES_WORKER_SILENT_S": SILENT_S} | self.model.__enter__()
        self._start()

    def _start(self) -> None:
        with preferred(), _usual_files():
            self.server = Server(self.directory, is_fresh=True, **self.settings)
        self.api = Api(self.server.url, self.keys["other"])
        found = self.api.get("/api/code-mode")
        self.no_code = "" if found["available"] else str(found["reason"])
        self.agents = {False: self.api.agent(self.endpoint.url, tools_schema=TOOLS)["id"]}
        if not self.no_code:
            code = {"source": "paste", "text": CODE}
            body = {"name": "code", "mode": "code", "code": code, "tools_schema": TOOLS}
            self.agents[True] = self.api.post("/api/agents", body, 201)["id"]
        rows = [{"user": said, "state": STATE} for said in (QUICK, HELD)]
        self.dataset = self.api.dataset(*rows)
        body = {"mode": "manual", "agent_id": self.agents[False], "task_ids": self.dataset["task_ids"][:1]}
        opened = self.api.post("/api/runs", body, 201)
        self.errors_seen = self.server.errors.stat().st_size
        self.heart = Heartbeat(
            self.server.url,
            self.server.process.pid,
            self.directory,
            _questions(self.keys["other"], opened, body),
        )
        self.heart.settle(time.monotonic(), 20)

    def _behave(self, dispatch: Dispatch) -> None:
        dispatch.call("hold_order", {"order_id": "7001", "by": "an agent"})
        if dispatch.said == HELD:
            self.gate.wait(120)
        dispatch.answer("Held.")

    def close(self) -> None:
        self.gate.set()
        self.heart.stop()
        self.api.client.close()
        self.server.kill()
        self.agent.__exit__(None, None, None)
        self.model.__exit__(None, None, None)

    def endure(
        self, name: str, *, seed: int = 1, seconds: float | None = None, is_long: bool = False
    ) -> Outcome:
        if self.server.process.poll() is not None:
            self._start()
        kind = KINDS[name]
        before, started = tree_rss_mb(self.server.process.pid), time.monotonic()
        self.highest_mb, self.is_busy = before, False
        self.gate.clear()
        asked = {"dataset_id": self.dataset["id"], "agent_id": self.agents[kind.runs_code], "repeats": 3}
        batch = self.api.post("/api/runs", asked, 202)["batch_id"]
        told = {
            "url": self.server.url, "key": self.keys["hostile"], "seed": seed, "is_long": is_long,
            "seconds": seconds or kind.seconds, "patience_s": 60 if is_long else 10,
        }  # fmt: skip
        sent, troubles = self._send(kind, told)
        if not troubles:
            troubles += self._calm()
        self.gate.set()
        outcome = Outcome(
            kind=kind,
            beats=self.heart.between(started, time.monotonic()),
            growth_mb=self.highest_mb - before,
            left_mb=tree_rss_mb(self.server.process.pid) - before,
            sent=sent,
            troubles=troubles,
        )
        if not troubles:
            self._check_others(batch, outcome)
        if self.is_busy or outcome.troubles or outcome.others != {"completed": 6}:
            self._give_up()  # the next attack is not blamed for this one
        return outcome

    def _calm(self) -> list[str]:
        """Wait until the server answers again and has nothing left to do for the attacker."""
        over = time.monotonic()
        while (waited := time.monotonic() - over) < CALM_S + NEVER_S:
            used = tree_cpu_s(self.server.process.pid)
            time.sleep(0.25)
            used = tree_cpu_s(self.server.process.pid) - used
            self.is_busy = used > 0.25 * BUSY_SHARE
            self._weigh()
            if self.heart.settle(over, 0) and (not self.is_busy or waited > CALM_S):
                return []
        return ["a minute later there was still no answer"]

    def _weigh(self) -> None:
        self.highest_mb = max(self.highest_mb, tree_rss_mb(self.server.process.pid))

    def _send(self, kind: Kind, told: Row) -> tuple[list[Row], list[str]]:
        """The attack, to its end; what it told, and what ended it early."""
        command = [sys.executable, "-m", "hostile.send", kind.name, json.dumps(told)]
        env = clean_environment() | {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
        sender = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        lines: list[str] = []
        assert sender.stdout is not None
        reader = threading.Thread(target=lambda: lines.extend(sender.stdout or ()), daemon=True)
        reader.start()
        troubles, before = [], self.highest_mb
        deadline = time.monotonic() + told["seconds"] + 2 * told["patience_s"]
        while sender.poll() is None and not troubles:
            self._weigh()
            if self.highest_mb - before > ENOUGH_MB:
                troubles.append(f"memory grew by more than {ENOUGH_MB} MB: the server was stopped")
            elif self.server.process.poll() is not None:
                troubles.append(f"the server ended: {self.server.errors.read_text()[-500:]}")
            elif time.monotonic() > deadline:
                break  # it waits longer than anybody would; what others felt of it is known
            time.sleep(0.03)
        was_ended = sender.poll() is None
        sender.kill()
        code = sender.wait()
        reader.join()
        sender.stdout.close()
        if code and not was_ended:
            troubles.append(f"the attack itself failed with {code}")
        return [json.loads(line) for line in lines], troubles

    def _check_others(self, batch: int, outcome: Outcome) -> None:
        try:
            self.api.ended(batch, OTHERS_RUNS_S)
        except (AssertionError, httpx2.HTTPError) as error:
            outcome.troubles.append(f"another org's runs have not ended: {str(error)[:300]}")
        try:
            outcome.others = {name: n for name, n in self.api.by_status(batch).items() if n}
        except (AssertionError, httpx2.HTTPError) as error:
            outcome.troubles.append(f"another org's batch cannot be read: {error!r}")
        told = self.server.errors.read_bytes()[self.errors_seen :]
        self.errors_seen += len(told)
        if b"Traceback" in told:
            outcome.troubles.append(
                f"the server's log has a traceback: {told[-1500:].decode('utf-8', 'replace')}"
            )

    def _give_up(self) -> None:
        self.heart.stop()
        self.api.client.close()
        self.server.kill()


@contextmanager
def _usual_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_FILES, before[1]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _orgs(directory: Path) -> dict[str, str]:
    """Keys of three orgs, in a data directory that is new."""
    settings = load_settings({"PIPELINES_API_KEY": KEY}, data_dir=directory)
    prepare(settings)
    keys = {name: new_key() for name in ("other", "hostile")}
    connection = settings.store().connect(read_only=False)
    try:
        with transaction(connection):
            for name, key in keys.items():
                now = "2026-01-01T00:00:00+00:00"
                org_id = add_org(connection, name, now)
                add_key(connection, org_id=org_id, name=name, role=Role.OWNER, key=key, now=now)
    finally:
        connection.close()
    return keys | {"first": KEY}


#: A task of another org, with a behaviour to read.
_BEAT: Row = {"user": QUICK, "state": STATE, "behavior": "A held order cannot be cancelled."}


def _questions(key: str, opened: Row, run: Row) -> list[Question]:
    tools = f"{PROXY_BASE}/runs/{opened['run_token_jti']}/tools"
    token = opened["run_token"]
    held = {"order_id": "7001", "by": "the heartbeat"}
    return [
        Question("health", [request("GET", "/health", "", None, "Connection: close")], is_kept=False),
        # Lists are read on the loop, one run by a reader's thread: both must be had.
        Question("api", [
            *(request("GET", path, key) for path in ("/api/runs?limit=20", "/api/agents")),
            request("GET", f"/api/runs/{opened['id']}", key),
        ]),
        Question("tool", [
            request("POST", f"{tools}/get_order", token, {"order_id": "4521"}),
            request("POST", f"{tools}/hold_order", token, held),
        ], stores=True),
        # What reads behaviour text: a dataset, and a run of a task.
        Question("work", [
            request("POST", "/api/datasets", key, {"name": "beats", "rows": [_BEAT]}),
            request("POST", "/api/runs", key, run),
        ], stores=True, pause_s=0.5, late_s=1.5),
    ]  # fmt: skip
