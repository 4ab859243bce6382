"""docs/howto/worlds.md done as written: every command, and what it prints, word by word.

WRITE=1 writes what commands print today into the page.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from served import KEY, clean_environment, running

from support.repository import DOCS

PATH = DOCS / "howto" / "worlds.md"
PAGE = PATH.read_text()
PATIENCE_S = 120.0
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def entered(block: str, folder: Path, url: str) -> str:
    """The block with what its commands print today."""
    environment = clean_environment() | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIPELINES_URL": url,
        "PIPELINES_API_KEY": KEY,
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    said = ""
    for command in re.findall(r"^\$ (.*)\n", block, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        said += f"$ {command}\n{done.stdout}"
    return said


@pytest.mark.slow
def test_the_page_holds_word_by_word(tmp_path: Path) -> None:
    (agent,) = re.findall(r"^```json agent\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "agent.json").write_text(agent)
    with running(tmp_path / "data") as server:
        today = BLOCK.sub(lambda found: f"```console\n{entered(found[1], tmp_path, server.url)}```", PAGE)
    if os.environ.get("WRITE"):
        PATH.write_text(today)
    assert today == PAGE
