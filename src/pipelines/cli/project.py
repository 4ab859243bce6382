"""An agent's folder: its app, registration and tasks, found by their usual names."""

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.cli.files import stop
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads

AGENT_FILE, APP_FILE, USUAL_APP = "agent.json", "app.py", "app:app"
TASKS_FILES = ("tasks.csv", "tasks.tsv", "tasks.yaml", "tasks.yml", "tasks.jsonl", "tasks.json")
USUAL_PATH = "/dispatch"
TOKEN_VARIABLE = "AGENT_TOKEN"
_APP = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


class UnreadableFile(Exception):
    """A file cannot be read; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    directory: Path
    app: str | None  # module:attribute
    agent: Path | None
    dataset: Path | None
    #: What the agent's file says; empty when there is none, or when it cannot be read.
    definition: JsonObject
    unreadable: str | None = None  # why it cannot

    @property
    def is_code(self) -> bool:
        return self.definition.get("mode") == "code"

    @property
    def dispatch_path(self) -> str:
        """The path of the registered endpoint."""
        url = self.definition.get("endpoint_url")
        try:
            return (urlsplit(url).path if isinstance(url, str) else "") or USUAL_PATH
        except ValueError:
            return USUAL_PATH

    @property
    def auth_header(self) -> str:
        name = self.definition.get("auth_header_name")
        return name if isinstance(name, str) and name.isascii() and name.strip() else "Authorization"

    def auth_value(self, token: str) -> str:
        return f"Bearer {token}" if self.auth_header.lower() == "authorization" else token


def find_project(
    directory: Path, *, app: str | None = None, agent: Path | None = None, dataset: Path | None = None
) -> Project:
    """The files that the options name, else those with usual names. Names are relative to the folder."""
    if not directory.is_dir():
        stop(f"{directory}: there is no such directory")
    if app is not None and _APP.fullmatch(app) is None:
        stop(f"--app {app}: write module:attribute, such as {USUAL_APP}")
    agent = _resolve(directory, agent, AGENT_FILE)
    definition, unreadable = _read_definition(agent)
    if app is None and definition.get("mode") != "code" and (directory / APP_FILE).is_file():
        app = USUAL_APP
    return Project(
        directory=directory.resolve(),
        app=app,
        agent=agent,
        dataset=_resolve(directory, dataset, tasks_file(directory) if dataset is None else ""),
        definition=definition,
        unreadable=unreadable,
    )


def tasks_file(directory: Path) -> str:
    """The name of the folder's tasks file, whether it exists or not."""
    there = [name for name in TASKS_FILES if (directory / name).is_file()]
    if len(there) > 1:
        stop(f"{directory} has {' and '.join(there)}: say which with --dataset.")
    return there[0] if there else TASKS_FILES[0]


def _resolve(directory: Path, given: Path | None, usual: str) -> Path | None:
    if given is None:
        return directory / usual if (directory / usual).is_file() else None
    inside = directory / given
    return inside if inside.exists() or not given.exists() else given


def _read_definition(path: Path | None) -> tuple[JsonObject, str | None]:
    if path is None:
        return {}, None
    try:
        body = read_any_json(path)
    except UnreadableFile as error:
        return {}, str(error)
    if isinstance(body, list):  # a bare tools_schema
        return {"tools_schema": body}, None
    return (body, None) if isinstance(body, dict) else ({}, "must be a JSON object")


def read_any_json(path: Path) -> Json:
    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFile(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise UnreadableFile("is not UTF-8 text") from None
    except InvalidJson as error:
        raise UnreadableFile(error.predicate) from None


def token_from_environment(variable: str) -> tuple[str, bool]:
    """The agent's own token and whether it was set; if not, a random one for this process."""
    given = os.environ.get(variable, "")
    return (given, True) if given else (secrets.token_urlsafe(32), False)
