"""docs/howto/mcp-clients.md done as written: a run is opened for a client, asked over MCP, and finished."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from served import KEY, Server, clean_environment, running

from support.repository import DOCS

PAGE = (DOCS / "howto" / "mcp-clients.md").read_text()
OWN_ADDRESS = "http://127.0.0.1:8420"

pytestmark = pytest.mark.slow


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def entered(
    block: str, folder: Path, server: Server, code: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = clean_environment() | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIPELINES_URL": server.url,
        "PIPELINES_API_KEY": KEY,
        **variables,
    }
    done = subprocess.run(
        ["bash", "-e", "-c", block.replace(OWN_ADDRESS, server.url)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_the_page_holds_from_the_first_command_to_the_last(tmp_path: Path) -> None:
    start, upload, configure, finish, by_hand = blocks()
    up, init, register = start.splitlines()
    assert up.startswith("pipelines up ")  # which runs already
    (tmp_path / ".pipelines").mkdir()
    (tmp_path / ".pipelines" / "api-key").write_text(KEY)
    with running(tmp_path / "data") as server:
        entered(init, tmp_path, server)
        assert "cannot run yet" in entered(register, tmp_path, server, code=1).stderr
        assert json.loads(entered(upload, tmp_path, server).stdout)["task_ids"][0] == 1
        said = entered(configure, tmp_path, server)
        assert list(json.loads((tmp_path / ".mcp.json").read_text())) == ["mcpServers"]
        (token,) = re.findall(r"export PIPELINES_RUN_TOKEN=(\S+)", said.stdout + said.stderr)
        listed = json.loads(entered(by_hand, tmp_path, server, PIPELINES_RUN_TOKEN=token).stdout)
        assert listed["result"]["tools"]
        ended = json.loads(entered(finish, tmp_path, server).stdout)
        assert (ended["id"], ended["status"]) == (1, "completed")
