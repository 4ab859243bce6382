"""docs/howto/ci.md done by a stranger: every command as written, from nothing to red."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from served import clean_environment

from support.repository import DOCS

PAGE = (DOCS / "howto" / "ci.md").read_text()
PATIENCE_S = 300.0  # two loaded cores: only a test that fails waits this long


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_page_holds_from_the_first_command_to_the_last(tmp_path: Path) -> None:
    environment = clean_environment() | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "80",
    }

    def enter(block: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-c", block],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    begin, tried, broken = blocks()
    assert "Wrote pipelines.yaml" in enter(begin)
    workflow = yaml.safe_load((tmp_path / ".github" / "workflows" / "odyssey.yml").read_text())
    assert workflow["permissions"]["contents"] == "read"
    assert "desk: 4 of 4 tasks pass." in enter(tried)
    said = enter(broken)
    assert "exit code 1" in said
    assert "regressed" in said
    assert "**Regressed**" in (tmp_path / "comment.md").read_text()
