"""docs/howto/openapi-endpoints.md done as written: a service, its tools, a call, and an agent bound to it."""

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
from served import KEY, clean_environment, running

from support.ports import free_port
from support.repository import DOCS

PAGE = (DOCS / "howto" / "openapi-endpoints.md").read_text()
PATIENCE_S = 60.0


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@contextmanager
def orders_service(folder: Path, port: int) -> Iterator[None]:
    """The page's own, on a port that is free here."""
    (folder / "orders.py").write_text(blocks("python")[0].replace("port=8010", f"port={port}"))
    assert blocks("sh serve") == ["python orders.py\n"]
    process = subprocess.Popen(
        [sys.executable, "orders.py"],
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


@pytest.mark.slow
def test_the_page_holds_from_the_first_command_to_the_last(tmp_path: Path) -> None:
    port = free_port()
    with orders_service(tmp_path, port), running(tmp_path / "data") as server:
        environment = clean_environment() | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PIPELINES_URL": server.url,
            "PIPELINES_API_KEY": KEY,
            "COLUMNS": "80",
        }

        def enter(block: str) -> str:
            done = subprocess.run(
                ["bash", "-e", "-c", block.replace("8010", str(port))],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout + done.stderr

        register, again = blocks("sh")
        said = enter(register)
        assert "get_order" in said
        assert "refund_order" in said
        assert '"status": "shipped"' in said or "shipped" in said
        assert enter(again)
        tool = json.loads(blocks("json tool")[0])
        agent = {"name": "desk", "endpoint_url": "http://127.0.0.1:1/dispatch", "tools_schema": [tool]}
        made = httpx2.post(f"{server.url}/api/agents", json=agent, headers={"Authorization": f"Bearer {KEY}"})
        assert made.status_code == 201, made.text
