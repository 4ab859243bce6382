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
from pipelines.cli.agent.watch import Watch
from pipelines.cli.client import KEY_FILE, Server, uses_proxies
from pipelines.cli.files import stop
from pipelines.cli.output.dev_report import Report
from pipelines.cli.processes import AppFailed, child, served_app
from pipelines.cli.project import Project, token_from_environment
from pipelines.cli.task_file import print_notes
from pipelines.core.text.problems import said_of

START_PATIENCE_S = 60.0
POLL_S = 0.15
DEV_SUFFIX = " (dev)"
console = Console(highlight=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    read_project: Callable[[], Project]  # again for every round: agent.json may have changed
    tasks: tuple[int, ...]  # which, counted from 1; none are all
    port: int
    server: str
    api_key: str | None
    token_variable: str
    once: bool


class Changed(Exception):
    """Files changed while their old versions were being run."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__()
        self.paths = paths


def develop(wanted: Wanted) -> None:
    """Until Ctrl-C, or with `once` for one round: then the exit code says whether every task passed."""
    with suppress(KeyboardInterrupt), ended_by_signals(), ExitStack() as stack:
        watch = Watch(wanted.read_project().directory)
        server = _server(stack, wanted)
        stack.callback(server.close)
        while True:
            has_passed = _round(server, wanted, watch)
            if wanted.once:
                raise typer.Exit(0 if has_passed else 1)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM is as good a goodbye as Ctrl-C: children are ended, the temporary folder goes."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# -- the server


def _server(stack: ExitStack, wanted: Wanted) -> Server:
    key = wanted.api_key or (KEY_FILE.read_text().strip() if KEY_FILE.is_file() else None)
    if key is not None and takes(wanted.server, key):
        console.print(f"Server: {wanted.server}")
        return Server(wanted.server, key)
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="odyssey-dev-"))
    key = "pk_live_" + secrets.token_hex(20)
    url = stack.enter_context(own_server(Path(directory), key))
    console.print(f"Server: {url} (started for this session, forgotten at its end)")
    return Server(url, key)


def takes(url: str, key: str) -> bool:
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
def own_server(directory: Path, key: str) -> Iterator[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIPELINES_")}
    arguments = ("up", "--port", "0", "--data-dir", str(directory))
    with child(*arguments, env=kept | {"PIPELINES_API_KEY": key}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = _announced(process.stdout)
        if url is None:
            stop("The server did not start; what it said stands above.")
        deadline = time.monotonic() + START_PATIENCE_S
        while not takes(url, key):
            if process.poll() is not None or time.monotonic() > deadline:
                stop(f"The server at {url} does not answer.")
            time.sleep(0.05)
        yield url


def _announced(output: IO[bytes]) -> str | None:
    """Its first line names its address; a server that cannot start ends without one."""
    words = output.readline().decode().split()
    return next((word for word in words if word.startswith("http://")), None)


# -- one round


class Reached(NamedTuple):
    """Where the platform reaches the agent; nowhere, if it has the code itself."""

    endpoint_url: str | None = None
    token: str | None = None


def _round(server: Server, wanted: Wanted, watch: Watch) -> bool:
    """Serve, register, run, and wait for the next change with the agent still there."""
    project = wanted.read_project()
    if project.unreadable is not None and not wanted.once:  # in the middle of an edit, most likely
        console.print(f"\n[red]{escape(said_of(str(project.agent), project.unreadable))}[/]")
        _wait(watch)
        return False
    try:
        with _agent(project, wanted) as reached:
            verdicts = _verdicts(server, project, wanted, watch, reached)
            if not wanted.once:
                _wait(watch)
            return all(verdict == "PASS" for verdict in verdicts)
    except AppFailed as failed:
        _print_failure(failed, project)
        if not wanted.once:
            _wait(watch)
    except Changed as changed:
        _tell(changed.paths)
    return False


@contextmanager
def _agent(project: Project, wanted: Wanted) -> Iterator[Reached]:
    if project.is_code:
        yield Reached()
        return
    if project.app is None:
        stop("There is no app.py here: name the app with --app module:attribute.")
    token, _ = token_from_environment(wanted.token_variable)
    env = {wanted.token_variable: token}
    with served_app(project.app, project.directory, port=wanted.port, env=env) as served:
        yield Reached(served.url + project.dispatch_path, token)


def _verdicts(server: Server, project: Project, wanted: Wanted, watch: Watch, reached: Reached) -> list[str]:
    try:
        verdicts = _run_tasks(server, project, wanted, watch, reached)
    except typer.Exit:  # what is wrong with a file is on the screen already, and can be mended
        if wanted.once:
            raise
        return []
    _summary(verdicts)
    return verdicts


def _run_tasks(server: Server, project: Project, wanted: Wanted, watch: Watch, reached: Reached) -> list[str]:
    # An agent of its own: the registered one stays where it is when this session ends.
    agent = register(
        server, project, token=reached.token, endpoint_url=reached.endpoint_url, suffix=DEV_SUFFIX
    )
    console.print(f"Agent:  {reached.endpoint_url or 'uploaded code'}")
    rows = _tasks(server, project, agent["id"], wanted.tasks)
    body = {"agent_id": agent["id"], "task_ids": list(rows), "concurrency": 1}  # one at a time, to be read
    batch_id = server.post("/api/runs", body)["batch_id"]
    report = Report(console, server, rows)
    while True:
        is_done = server.get(f"/api/batches/{batch_id}")["status"] != "running"
        report.look(batch_id)
        if is_done:
            return report.verdicts
        if not wanted.once and (paths := watch.changed()):
            server.try_post(f"/api/batches/{batch_id}/cancel")
            raise Changed(paths)
        time.sleep(POLL_S)


def _tasks(server: Server, project: Project, agent_id: int, wanted: tuple[int, ...]) -> dict[int, int]:
    """The ids of the tasks to run, with the row each stands in."""
    if project.dataset is None:
        stop("There is no file of tasks (tasks.csv) here: name one with --dataset.")
    try:
        content = project.dataset.read_bytes()
    except OSError as error:
        stop(f"{project.dataset}: {error.strerror or error}")
    uploaded: Any = server.post(
        "/api/datasets",
        files={"file": (project.dataset.name, content)},
        data={"name": project.dataset.name, "agent_id": str(agent_id)},
    )
    print_notes(uploaded["notes"])
    rows = {task_id: row for row, task_id in enumerate(uploaded["task_ids"], start=1)}
    unknown = sorted(set(wanted) - set(rows.values()))
    if unknown:
        stop(f"{project.dataset.name} has {len(rows)} tasks; there is no task {unknown[0]}.")
    return {task_id: row for task_id, row in rows.items() if not wanted or row in wanted}


# -- words


def _print_failure(failed: AppFailed, project: Project) -> None:
    where = f"{failed.place}: " if failed.place is not None else f"{project.app}: "
    console.print(f"\n[red]{escape(where + failed.error)}[/]")
    if failed.code:
        console.print(f"  {escape(failed.code)}")


def _summary(verdicts: list[str]) -> None:
    passed = len([verdict for verdict in verdicts if verdict == "PASS"])
    colour = "green" if passed == len(verdicts) else "yellow"
    console.print(f"\n[{colour}]{passed} of {len(verdicts)} pass[/]")


def _wait(watch: Watch) -> None:
    console.print("[dim]Waiting for a change. Stop with Ctrl-C.[/]")
    _tell(watch.wait())


def _tell(paths: list[str]) -> None:
    shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    console.rule(f"[dim]{escape(shown)} changed[/]", style="dim")
