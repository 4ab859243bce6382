"""docs/howto/mcp-servers.md done as written: a server over HTTP and one that is a program, called by hand."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest
from served import KEY, Server, clean_environment, running

from support.ports import free_port
from support.repository import DOCS

PAGE = (DOCS / "howto" / "mcp-servers.md").read_text()
AUTH = {"Authorization": f"Bearer {KEY}"}
PATIENCE_S = 60.0
INSTALLS_S = 300.0

pytestmark = pytest.mark.slow


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def entered(block: str, folder: Path, server: Server) -> str:
    environment = clean_environment() | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIPELINES_URL": server.url,
        "PIPELINES_API_KEY": KEY,
        "COLUMNS": "80",
    }
    shell = ["bash", "-e", "-c", block]
    done = subprocess.run(
        shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def clock(folder: Path, port: int) -> Iterator[None]:
    """The page's own server, on a port that is free here."""
    (folder / "clock.py").write_text(blocks("python")[0].replace("port=9000", f"port={port}"))
    assert blocks("sh serve") == ["python clock.py\n"]
    process = subprocess.Popen(
        [sys.executable, "clock.py"],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + PATIENCE_S
        while not _answers(port):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with closing(socket.socket()) as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def test_the_page_holds_for_a_server_over_http(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    port = free_port()
    with clock(tmp_path, port), running(tmp_path / "data") as server:
        (register,) = blocks("sh")
        said = entered(register.replace("9000", str(port)), tmp_path, server)
        assert "Endpoint time is registered" in said
        assert "get_current_time" in said
        assert "Europe/Berlin" in said.partition("200 in")[2], said
        tool = json.loads(blocks("json tool")[0])
        agent = {"name": "desk", "endpoint_url": "http://127.0.0.1:1/dispatch", "tools_schema": [tool]}
        made = httpx2.post(f"{server.url}/api/agents", json=agent, headers=AUTH)
        assert made.status_code == 201, made.text


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """/opt/mcp, filled as the page says."""
    folder = tmp_path / "mcp"
    (block,) = blocks("sh install")
    command = ["bash", "-e", "-c", block.replace("/opt/mcp", str(folder))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLS_S, umask=0o022)
    if done.returncode != 0:
        pytest.skip(f"the program could not be fetched: {done.stderr[-300:]}")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)
    return folder


def test_the_page_holds_for_a_server_that_is_a_program(tmp_path: Path, programs: Path) -> None:
    pytest.importorskip("mcp")
    assert blocks("sh up") == ["PIPELINES_MCP_STDIO=/opt/mcp pipelines up\n"]
    with running(tmp_path / "data", PIPELINES_MCP_STDIO=str(programs)) as server:
        isolation = httpx2.get(f"{server.url}/api/code-mode", headers=AUTH).json()
        if not isolation["available"]:
            pytest.skip(isolation["reason"])
        by_command, by_api = blocks("sh programs")
        said = entered(by_command, tmp_path, server)
        assert "Endpoint clock is registered" in said
        assert "Europe/Berlin" in said.partition("200 in")[2], said
        made = json.loads(entered(by_api, tmp_path, server))
        assert (made["discovery_error"], made["tools"]) == (None, 2)
