"""The agent that a command names: by its id, its name, or its folder."""

import os
from pathlib import Path
from typing import Any

from pipelines.cli.agent.register import register
from pipelines.cli.client import Server
from pipelines.cli.files import is_number, stop
from pipelines.cli.project import TOKEN_VARIABLE, find_project

MOST_NAMED = 10  # agents, where one is not found


def find_agent(server: Server, name: str) -> Any:
    """The agent by its id, its name, or its folder or agent.json, which is registered first."""
    if is_number(name):
        return server.get(f"/api/agents/{name}")
    path = Path(name)
    if path.is_dir() or path.suffix == ".json":
        folder, file = (path, None) if path.is_dir() else (path.parent, Path(path.name))
        token = os.environ.get(TOKEN_VARIABLE) or None
        return register(server, find_project(folder, agent=file), token=token)
    everyone = server.every("/api/agents")
    named = [agent for agent in everyone if agent["name"] == name]
    if len(named) > 1:
        stop(f"There are {len(named)} agents named {name!r}; use its id.")
    if not named:
        there = ", ".join(f"{agent['id']} ({agent['name']})" for agent in everyone[:MOST_NAMED])
        stop(f"There is no agent named {name!r}, nor such a folder. Agents: {there or 'none yet'}.")
    return named[0]
