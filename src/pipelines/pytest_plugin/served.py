"""Runs the repeats of a task on a server of this session, for an agent behind HTTP or uploaded as code.

It is started when the first such test runs, in a temporary folder, one for each process of xdist.
"""

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.agent.register import register
from pipelines.cli.client import Server
from pipelines.cli.files import Stopped
from pipelines.cli.output.batch_report import reason_text
from pipelines.cli.output.verdict_text import unverified_lines
from pipelines.cli.project import TOKEN_VARIABLE, find_project
from pipelines.cli.run.hosted import hosted_agent, temporary_server
from pipelines.core.results.gate import is_not_run
from pipelines.pytest_plugin import CouldNotRun
from pipelines.pytest_plugin.attempt import Attempt, check_attempt
from pipelines.pytest_plugin.marked import Mark
from pipelines.pytest_plugin.tasks import OdysseyTask, read_bytes

POLL_S = 0.05


def served_attempts(item: pytest.Function, task: OdysseyTask) -> list[Attempt]:
    """Every repeat with its verdict; the test is then called with each of them."""
    config = item.config.__dict__
    if "odyssey_served" not in config:
        served = config["odyssey_served"] = _ServedRuns()
        config["odyssey_close"] = served.close
    try:
        runs = config["odyssey_served"].runs(task)
    except Stopped as stopped:
        raise CouldNotRun(stopped.message) from None
    not_run = [run for run in runs if is_not_run(run)]
    if not_run:
        kind = not_run[0]["error_class"] or ("not judged" if not_run[0]["judge_error"] else "cancelled")
        raise CouldNotRun(
            f"{len(not_run)} of {len(runs)} runs could not be run: {kind}: {reason_text(not_run[0])}"
        )
    return [check_attempt(item, _attempt_of_run(config["odyssey_served"].server, run)) for run in runs]


class _ServedRuns:
    def __init__(self) -> None:
        self._stack = ExitStack()
        self._server: Server | None = None
        self._agents: dict[Any, int] = {}
        self._tasks: dict[Any, list[int]] = {}

    @property
    def server(self) -> Server:
        if self._server is None:
            self._server = self._stack.enter_context(temporary_server())
        return self._server

    def close(self) -> None:
        self._stack.close()

    def runs(self, task: OdysseyTask) -> list[Any]:
        marked = task.marked
        agent_id = self._agent(marked)
        task_id = self._task_ids(marked.dataset, agent_id)[task.number - 1]
        body = {"agent_id": agent_id, "task_ids": [task_id], "repeats": marked.repeats}
        batch_id = self.server.post("/api/runs", body | {"fault_seed": marked.fault_seed})["batch_id"]
        while self.server.get(f"/api/batches/{batch_id}")["status"] == "running":
            time.sleep(POLL_S)
        runs = self.server.get(f"/api/batches/{batch_id}/export")["items"]
        return [run for run in runs if not run["retried"]]

    def _agent(self, marked: Mark) -> int:
        assert marked.agent is not None
        known = (marked.agent, marked.url)
        if known not in self._agents:
            project = find_project(marked.agent.parent, agent=Path(marked.agent.name))
            token, url = os.environ.get(TOKEN_VARIABLE) or None, marked.url
            if url is None:
                reached = self._stack.enter_context(hosted_agent(project))
                token, url = reached.token, reached.endpoint_url
            agent = register(self.server, project, token=token, endpoint_url=url)
            self._agents[known] = int(agent["id"])
        return self._agents[known]

    def _task_ids(self, dataset: Path, agent_id: int) -> list[int]:
        if (dataset, agent_id) not in self._tasks:
            body = {"name": dataset.name, "agent_id": str(agent_id)}
            file = (dataset.name, read_bytes(dataset))
            created = self.server.post("/api/datasets", files={"file": file}, data=body)
            self._tasks[dataset, agent_id] = created["task_ids"]
        return self._tasks[dataset, agent_id]


def _attempt_of_run(server: Server, run: Any) -> Attempt:
    path = f"/api/runs/{run['id']}"
    verdict = run["verdict"]
    return Attempt(
        verdict="FAIL" if verdict == "NOT_APPLICABLE" else verdict,
        failure_mode=run["failure_mode"] or run["error_class"],
        reasoning=reason_text(run),
        final_response=run["final_response"],
        calls=server.every(f"{path}/trace", kind="tool_call"),
        before=server.get(f"{path}/ledger", step=0)["state"],
        after=server.get(f"{path}/ledger")["state"],
        pending_reason=run.get("pending_reason"),
        unverified=tuple(unverified_lines(run)),
    )
