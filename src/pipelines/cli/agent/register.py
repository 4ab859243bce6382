"""`pipelines odyssey register`: register an agent's folder on a server, as a new agent or a new version."""

import os
import time
from contextlib import suppress
from typing import Any, NamedTuple

import httpx2
import typer

from pipelines.cli.client import Server, uses_proxies
from pipelines.cli.code_upload import CannotUpload, collect_code
from pipelines.cli.files import stderr, stop
from pipelines.cli.project import Project
from pipelines.core.agents.agent_definition import LONGEST_NAME
from pipelines.core.text.problems import said_of

START_PATIENCE_S = 15.0
LOOK_EVERY_S = 0.2


def register(
    server: Server,
    project: Project,
    *,
    token: str | None,
    endpoint_url: str | None = None,
    suffix: str = "",
) -> Any:
    """Register and return the agent. An agent of the same name (with the suffix) gets a new version."""
    if project.agent is None:
        stop("There is no agent.json here: name it with --agent, or make one with `pipelines odyssey init`.")
    if project.unreadable is not None:
        stop(said_of(str(project.agent), project.unreadable))
    body, archive = _body(project, token=token, endpoint_url=endpoint_url)
    if suffix and isinstance(body.get("name"), str):
        body["name"] = body["name"][: LONGEST_NAME - len(suffix)] + suffix
    named = [agent for agent in server.every("/api/agents") if agent["name"] == body.get("name")]
    if len(named) > 1:
        stop(
            f"There are {len(named)} agents named {body['name']!r}; rename this one in {project.agent.name}."
        )
    known = named[0] if named else None
    if archive is not None:
        return _register_with_zip(server, body, archive, known)
    return server.put(f"/api/agents/{known['id']}", body) if known else server.post("/api/agents", body)


def _register_with_zip(server: Server, body: dict[str, Any], archive: bytes, known: Any) -> Any:
    """Create a draft, upload its code, publish it: an agent without code can only be a draft."""
    if known is not None:
        agent = server.put(f"/api/agents/{known['id']}", body)
    else:
        agent = server.post("/api/agents", body | {"status": "draft"})
    agent = server.put_zip(f"/api/agents/{agent['id']}/code", archive)
    if body.get("status") == "draft":
        return agent
    return server.post(f"/api/agents/{agent['id']}/publish")


class _Body(NamedTuple):
    definition: dict[str, Any]
    archive: bytes | None = None  # code that does not fit into the definition


def _body(project: Project, *, token: str | None, endpoint_url: str | None) -> _Body:
    body: dict[str, Any] = dict(project.definition)
    if project.is_code:
        try:
            code = collect_code(project)
            if code is None:
                return _Body(body)
            text = code.as_json()
            return _Body(body | {"code": text}) if text is not None else _Body(body, code.as_zip())
        except CannotUpload as error:
            stop(f"{project.directory}: {error}")
    if endpoint_url is not None:
        body["endpoint_url"] = endpoint_url
    if token is not None:
        body |= {"auth_header_name": project.auth_header, "auth_header_value": project.auth_value(token)}
    return _Body(body)


def wait_for(url: str) -> None:
    """Wait for a server that was just started. If it does not answer, the next call reports it."""
    deadline = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(httpx2.HTTPError, httpx2.InvalidURL):
            httpx2.get(f"{url.rstrip('/')}/health", timeout=5, trust_env=uses_proxies(url))
            return
        time.sleep(LOOK_EVERY_S)


def register_and_ping(
    server: Server, project: Project, *, token_variable: str, endpoint_url: str | None
) -> None:
    """Exits with 1 if the agent is registered but could not be reached."""
    token = os.environ.get(token_variable) or None
    agent = register(server, project, token=token, endpoint_url=endpoint_url)
    count = len(agent["tools_schema"])
    typer.echo(f"Agent {agent['id']}: {agent['name']}, version {agent['version']}, {count} tools")
    for warning in agent.get("warnings", ()):
        hint = f" ({warning['hint']})" if warning.get("hint") else ""
        stderr.print(f"Warning: {said_of(warning['path'], warning['message'])}{hint}", markup=False)
    ping = _ping(server, agent)
    if not ping["ok"]:
        hint = f" ({ping['hint']})" if ping.get("hint") else ""
        stderr.print(f"The agent is registered, but cannot run yet: {ping['problem']}{hint}", markup=False)
        raise typer.Exit(1)
    if project.dataset is not None:
        typer.echo(f"Run its tasks: pipelines run --agent {agent['id']} --dataset {project.dataset.name}")


def _ping(server: Server, agent: Any) -> Any:
    """Wait for an endpoint that does not answer yet; a bad answer is final."""
    deadline = time.monotonic() + START_PATIENCE_S
    while True:
        ping = server.post(f"/api/agents/{agent['id']}/test-connection")
        is_absent = agent["mode"] != "code" and ping["http_status"] is None
        if ping["ok"] or not is_absent or time.monotonic() > deadline:
            return ping
        time.sleep(LOOK_EVERY_S)
