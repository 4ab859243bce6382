"""A temporary server and served agents for suites, CI and pytest; they end with the command."""

import os
import secrets
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.cli.agent.dev import AgentAddress, start_server
from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.processes import STOP_PATIENCE_S, AppFailed, served_app
from pipelines.cli.project import TOKEN_VARIABLE, Project, token_from_environment
from pipelines.core.results.gate import ExitCode

START_PATIENCE_S = 120.0  # a framework is imported, perhaps for the first time on this machine
LOOK_EVERY_S = 0.1


@contextmanager
def temporary_server() -> Iterator[Server]:
    """A server in a temporary folder, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="odyssey-") as directory, ExitStack() as stack:
        key = "pk_live_" + secrets.token_hex(20)
        url = stack.enter_context(start_server(Path(directory), key))
        yield stack.enter_context(Server(url, key))


@contextmanager
def hosted_agent(
    project: Project, *, command: str | None = None, token_variable: str = TOKEN_VARIABLE
) -> Iterator[AgentAddress]:
    """Serve the app of a folder, or run its command, so that the platform reaches the agent."""
    if project.is_code:
        yield AgentAddress()
        return
    token, _ = token_from_environment(token_variable)
    if command is not None:
        with _run_command(command, project, {token_variable: token}):
            yield AgentAddress(None, token)  # where its registration says
        return
    if project.app is None:
        stop(f"{project.directory}: there is no app.py to serve; give `serve` (a command) or `url`.")
    try:
        with served_app(project.app, project.directory, env={token_variable: token}) as served:
            yield AgentAddress(served.url + project.dispatch_path, token)
    except AppFailed as failed:
        where = f"{failed.place}: " if failed.place is not None else f"{project.app}: "
        stop(f"{where}{failed.error}", ExitCode.COULD_NOT_RUN)


@contextmanager
def _run_command(command: str, project: Project, env: dict[str, str]) -> Iterator[None]:
    """Run a command in the agent's folder, once it listens on the address in agent.json."""
    url = project.definition.get("endpoint_url")
    address = urlsplit(url) if isinstance(url, str) else None
    if address is None or address.hostname is None:
        stop(f"{project.agent or project.directory}: `endpoint_url` must say where `serve` listens.")
    port = address.port or (443 if address.scheme == "https" else 80)
    if _is_listening(address.hostname, port):
        stop(f"Something listens at {address.netloc} already: stop it, or give `url` instead of `serve`.")
    try:
        process = subprocess.Popen(
            shlex.split(command),
            cwd=project.directory,
            env=os.environ | env,
            start_new_session=True,
            stdout=2,
        )
    except (OSError, ValueError) as error:
        stop(f"serve: {command}: {error}", ExitCode.COULD_NOT_RUN)
    try:
        deadline = time.monotonic() + START_PATIENCE_S
        while not _is_listening(address.hostname, port):
            if process.poll() is not None:
                stop(f"serve: {command}: it ended with code {process.returncode}.", ExitCode.COULD_NOT_RUN)
            if time.monotonic() > deadline:
                stop(f"serve: {command}: nothing listens at {address.netloc}.", ExitCode.COULD_NOT_RUN)
            time.sleep(LOOK_EVERY_S)
        yield
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group: `npm start` is only the parent of the server."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOP_PATIENCE_S)
            return


def _is_listening(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True
