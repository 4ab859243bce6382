"""The page on copying the SDK: its commands, run as they stand, leave a copy that needs nothing else."""

import re
import subprocess
import sys
from pathlib import Path

from support.repository import ROOT
from support.server_process import clean_environment

PAGE = ROOT / "docs" / "howto" / "vendor-the-sdk.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_commands_of_the_page_leave_an_sdk_that_needs_no_package(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    path = f"{tmp_path / 'bin'}:{clean_environment()['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", "\n".join(blocks("sh"))],
        cwd=tmp_path,
        env=clean_environment() | {"ODYSSEY": str(ROOT), "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "The SDK is complete."), done.stderr
    agent = tmp_path / "my-agent"
    assert (agent / "pipelines" / "LICENSE").is_file()
    for number, code in enumerate(blocks("python")):
        (agent / f"part_{number}.py").write_text(code)
        said = subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); import part_{number}"],
            cwd=agent,
            capture_output=True,
            text=True,
        )
        assert said.returncode == 0, said.stderr
