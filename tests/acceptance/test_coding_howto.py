"""docs/howto/coding.md done as written: a scenario, an agent, a run, scored again, and proved."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from served import KEY, Server, clean_environment, running

from support.repository import DOCS

PAGE = (DOCS / "howto" / "coding.md").read_text()
PATIENCE_S = 120.0  # packages for the tests are installed once


def block(kind: str) -> str:
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def entered(words: str, folder: Path, server: Server, code: int = 0) -> str:
    environment = clean_environment() | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIPELINES_URL": server.url,
        "PIPELINES_API_KEY": KEY,
        "COLUMNS": "80",
    }
    shell = ["bash", "-e", "-c", words]
    done = subprocess.run(
        shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == code, done.stdout + done.stderr
    is_ours = words.startswith("pipelines ")
    assert not is_ours or all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_page_holds_from_the_first_command_to_the_last(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "scenario.yaml").write_text(block("yaml"))
    (tmp_path / "agent/agent.json").write_text(block("json"))
    (tmp_path / "agent/agent.py").write_text(block("python"))
    (tmp_path / "tasks.csv").write_text(block("csv"))
    (tmp_path / "stricter.yaml").write_text(block("yaml rescore"))
    with running(tmp_path / "data") as server:
        said = entered(block("sh"), tmp_path, server)
        assert "Scenario fix-sum (id" in said
        said = entered(block("sh run"), tmp_path, server)
        assert "Run 1: PASS" in said
        assert "+    return sum(numbers)" in said
        assert re.search(r"PASS +tests \(tests, required", said)
        said = entered(block("sh rescore"), tmp_path, server)
        assert "Run 1: FAIL" in said
        assert "(was PASS; no agent was called)" in said
        said = entered(block("sh prove"), tmp_path, server)
        assert json.loads(said)["passed"] is False
