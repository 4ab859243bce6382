"""What holds for root holds for a normal user: the same attacks on a sandbox that no privilege has built."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from boxes import Boxes

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="this user is a normal one already")
def test_the_attacks_fail_for_a_normal_user_too(boxes: Boxes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        command = [sys.executable, HERE / "as_normal_user.py", folder, HERE / "test_attacks.py"]
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(HERE)}
        )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    # Only what needs root is skipped: a suite that does not run proves nothing.
    counted = re.search(r"(\d+) passed, 1 skipped", done.stdout)
    assert counted is not None, done.stdout[-500:]
    assert int(counted[1]) > 80


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="this user is a normal one already")
def test_workspaces_are_made_and_graded_by_a_normal_user_too(boxes: Boxes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        command = [sys.executable, HERE / "as_normal_user.py", folder, HERE / "test_workspaces.py"]
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(HERE)}
        )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    assert re.search(r"\d\d passed", done.stdout), done.stdout[-500:]
