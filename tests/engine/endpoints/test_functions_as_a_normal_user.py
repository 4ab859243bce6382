"""What holds for root holds for a normal user: the same functions, without a privilege."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from functions_desk import Desk

HERE = Path(__file__).parent
SANDBOX = HERE.parent / "sandbox"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="this user is a normal one already")
def test_functions_are_called_for_a_normal_user_too(desk: Desk) -> None:
    names = ("test_code_calls.py", "test_hostile_functions.py")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        command = [sys.executable, SANDBOX / "as_normal_user.py", folder, *(HERE / name for name in names)]
        variables = os.environ | {"PYTHONPATH": str(SANDBOX)}
        done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    counted = re.search(r"(\d+) passed in", done.stdout)
    assert counted is not None, done.stdout[-500:]
    assert int(counted[1]) > 50
