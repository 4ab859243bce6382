"""What `pipelines up` writes to stderr, line by line, as somebody who collects it would read it."""

import json
import re
from pathlib import Path

import httpx2
from served import KEY, running


def test_json_lines_of_a_real_server(tmp_path: Path) -> None:
    settings = {"PIPELINES_ACCESS_LOG": "yes", "PIPELINES_LOG_FORMAT": "json", "PIPELINES_LOG_LEVEL": "info"}
    with running(tmp_path / "data", **settings) as server:
        headers = {"Authorization": f"Bearer {KEY}"}
        assert httpx2.get(f"{server.url}/api/agents?limit=5", headers=headers).is_success
        assert server.stop() == 0
    text = server.errors.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    (request,) = (line for line in lines if line["logger"] == "pipelines.access")
    assert (request["method"], request["path"], request["status"]) == ("GET", "/api/agents", 200)
    assert any(line["logger"] == "uvicorn.error" and line["level"] == "info" for line in lines)
    assert KEY not in text


def test_lines_are_text_unless_json_is_wanted(tmp_path: Path) -> None:
    with running(tmp_path / "data", PIPELINES_LOG_LEVEL="info") as server:
        assert httpx2.get(f"{server.url}/health").is_success
        assert server.stop() == 0
    lines = server.errors.read_text().splitlines()
    assert lines
    assert all(re.match(r"[-0-9]{10}T[:.0-9]{12}Z INFO [a-z._]+: ", line) for line in lines)


def test_a_server_with_nothing_to_say_writes_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        assert httpx2.get(f"{server.url}/health").is_success
        assert server.stop() == 0
    assert server.errors.read_text() == ""
