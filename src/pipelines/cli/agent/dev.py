"""`pipelines odyssey dev`: the local agent against a local server, run again whenever a file changes."""

import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx2
import typer
from rich.console import Console
from rich.markup import escape

from pipelines.cli.agent.register import register
from pipelines.cli.agent.watch import FolderWatch
from pipelines.cli.client import KEY_FILE, Server, uses_proxies
from pipelines.cli.files import read_bytes, stop
from pipelines.cli.output.dev_report import Report
from pipelines.cli.processes import AppFailed, child_process, served_app
from pipelines.cli.project import Project, token_from_environment
from pipelines.cli.task_file import print_notes
from pipelines.core.text.problems import said_of

START_PATIENCE_S = 60.0
POLL_S = 0.15
DEV_SUFFIX = " (dev)"
console = Console(highlight=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class DevOptions:
    read_project: Callable[[], Project]  # again for every round: agent.json may have changed
    tasks: tuple[int, ...]  # which, counted from 1; none are all
    port: int
    server: str
    api_key: str | None
    token_variable: str
    once: bool


class FilesChanged(Exception):
    """Files changed while their old versions were being run."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__()
        self.paths = paths


def develop(options: DevOptions) -> None:
    """Run rounds until Ctrl-C. With `once`, run one; the exit code then says whether every task passed."""
    with suppress(KeyboardInterrupt), ended_by_signals(), ExitStack() as stack:
        watch = FolderWatch(options.read_project().directory)
        server = _open_server(stack, options)
        stack.callback(server.close)
        while True:
            has_passed = _run_round(server, options, watch)
            if options.once:
                raise typer.Exit(0 if has_passed else 1)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that children end and the temporary folder is removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# -- the server


def _open_server(stack: ExitStack, options: DevOptions) -> Server:
    key = options.api_key or (KEY_FILE.read_text().strip() if KEY_FILE.is_file() else None)
    if key is not None and accepts_key(options.server, key):
        console.print(f"Server: {options.server}")
        return Server(options.server, key)
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="odyssey-dev-"))
    key = "pk_live_" + secrets.token_hex(20)
    url = stack.enter_context(start_server(Path(directory), key))
    console.print(f"Server: {url} (temporary, for this session only)")
    return Server(url, key)


def accepts_key(url: str, key: str) -> bool:
    with suppress(httpx2.HTTPError, httpx2.InvalidURL):
        reply = httpx2.get(
            f"{url.rstrip('/')}/api/agents",
            headers={"X-API-Key": key},
            timeout=5,
            trust_env=uses_proxies(url),
        )
        return reply.is_success
    return False


@contextmanager
def start_server(directory: Path, key: str) -> Iterator[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIPELINES_")}
    arguments = ("up", "--port", "0", "--data-dir", str(directory))
    with child_process(*arguments, env=kept | {"PIPELINES_API_KEY": key}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = _read_announced_url(process.stdout)
        if url is None:
            stop("The server did not start; what it said stands above.")
        deadline = time.monotonic() + START_PATIENCE_S
        while not accepts_key(url, key):
            if process.poll() is not None or time.monotonic() > deadline:
                stop(f"The server at {url} does not answer.")
            time.sleep(0.05)
        yield url


def _read_announced_url(output: IO[bytes]) -> str | None:
    """The server's URL from its first line; None if it ends without one because it cannot start."""
    words = output.readline().decode().split()
    return next((word for word in words if word.startswith("http://")), None)


# -- one round


class AgentAddress(NamedTuple):
    """Where the platform reaches the agent; empty for an agent whose code is uploaded."""

    endpoint_url: str | None = None
    token: str | None = None


def _run_round(server: Server, options: DevOptions, watch: FolderWatch) -> bool:
    """Serve, register and run the agent, and keep it up while waiting for the next change."""
    project = options.read_project()
    if project.unreadable is not None and not options.once:  # in the middle of an edit, most likely
        console.print(f"\n[red]{escape(said_of(str(project.agent), project.unreadable))}[/]")
        _wait_for_change(watch)
        return False
    try:
        with _serve_agent(project, options) as reached:
            verdicts = _run_and_summarize(server, project, options, watch, reached)
            if not options.once:
                _wait_for_change(watch)
            return all(verdict == "PASS" for verdict in verdicts)
    except AppFailed as failed:
        _print_failure(failed, project)
        if not options.once:
            _wait_for_change(watch)
    except FilesChanged as changed:
        _print_changed_files(changed.paths)
    return False


@contextmanager
def _serve_agent(project: Project, options: DevOptions) -> Iterator[AgentAddress]:
    if project.is_code:
        yield AgentAddress()
        return
    if project.app is None:
        stop("There is no app.py here: name the app with --app module:attribute.")
    token, _ = token_from_environment(options.token_variable)
    env = {options.token_variable: token}
    with served_app(project.app, project.directory, port=options.port, env=env) as served:
        yield AgentAddress(served.url + project.dispatch_path, token)


def _run_and_summarize(
    server: Server, project: Project, options: DevOptions, watch: FolderWatch, reached: AgentAddress
) -> list[str]:
    try:
        verdicts = _run_tasks(server, project, options, watch, reached)
    except typer.Exit:  # what is wrong with a file is on the screen already, and can be mended
        if options.once:
            raise
        return []
    _print_summary(verdicts)
    return verdicts


def _run_tasks(
    server: Server, project: Project, options: DevOptions, watch: FolderWatch, reached: AgentAddress
) -> list[str]:
    # An agent of its own: the registered one stays where it is when this session ends.
    agent = register(
        server, project, token=reached.token, endpoint_url=reached.endpoint_url, suffix=DEV_SUFFIX
    )
    console.print(f"Agent:  {reached.endpoint_url or 'uploaded code'}")
    rows = _upload_tasks(server, project, agent["id"], options.tasks)
    body = {"agent_id": agent["id"], "task_ids": list(rows), "concurrency": 1}  # one at a time, to be read
    batch_id = server.post("/api/runs", body)["batch_id"]
    report = Report(console, server, rows)
    while True:
        is_done = server.get(f"/api/batches/{batch_id}")["status"] != "running"
        report.update(batch_id)
        if is_done:
            return report.verdicts
        if not options.once and (paths := watch.changed()):
            server.try_post(f"/api/batches/{batch_id}/cancel")
            raise FilesChanged(paths)
        time.sleep(POLL_S)


def _upload_tasks(
    server: Server, project: Project, agent_id: int, numbers: tuple[int, ...]
) -> dict[int, int]:
    """The ids of the tasks to run, each with its row number."""
    if project.dataset is None:
        stop("There is no file of tasks (tasks.csv) here: name one with --dataset.")
    uploaded: Any = server.post(
        "/api/datasets",
        files={"file": (project.dataset.name, read_bytes(project.dataset))},
        data={"name": project.dataset.name, "agent_id": str(agent_id)},
    )
    print_notes(uploaded["notes"])
    rows = {task_id: row for row, task_id in enumerate(uploaded["task_ids"], start=1)}
    unknown = sorted(set(numbers) - set(rows.values()))
    if unknown:
        stop(f"{project.dataset.name} has {len(rows)} tasks; there is no task {unknown[0]}.")
    return {task_id: row for task_id, row in rows.items() if not numbers or row in numbers}


# -- words


def _print_failure(failed: AppFailed, project: Project) -> None:
    where = f"{failed.place}: " if failed.place is not None else f"{project.app}: "
    console.print(f"\n[red]{escape(where + failed.error)}[/]")
    if failed.code:
        console.print(f"  {escape(failed.code)}")


def _print_summary(verdicts: list[str]) -> None:
    passed = len([verdict for verdict in verdicts if verdict == "PASS"])
    colour = "green" if passed == len(verdicts) else "yellow"
    console.print(f"\n[{colour}]{passed} of {len(verdicts)} pass[/]")


def _wait_for_change(watch: FolderWatch) -> None:
    console.print("[dim]Waiting for a change. Stop with Ctrl-C.[/]")
    _print_changed_files(watch.wait())


def _print_changed_files(paths: list[str]) -> None:
    listed = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    console.rule(f"[dim]{escape(listed)} changed[/]", style="dim")
