"""`pipelines token`, and what it prints used against a real server."""

from pathlib import Path

import httpx2
from served import run_command, running


def test_a_printed_token_opens_the_server_it_was_made_beside(tmp_path: Path) -> None:
    directory = tmp_path / "house"
    with running(directory) as server:
        made = run_command("token", "--role", "viewer", "--subject", "ci", "--data-dir", str(directory))
        assert made.returncode == 0, made.stderr
        headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
        who = httpx2.get(f"{server.url}/api/v1/whoami", headers=headers).json()
        assert (who["name"], who["role"]) == ("ci", "viewer")
        (token,) = made.stdout.split()
        assert token not in made.stderr + server.errors.read_text()


def test_without_a_server_there_is_no_token(tmp_path: Path) -> None:
    made = run_command("token", "--data-dir", str(tmp_path / "nothing"))
    assert (made.returncode, made.stdout) == (2, "")
    assert "pipelines up" in made.stderr
    assert not (tmp_path / "nothing").exists(), "nothing is made in passing"


def test_a_role_that_is_none_is_told(tmp_path: Path) -> None:
    made = run_command("token", "--role", "root", "--data-dir", str(tmp_path))
    assert made.returncode == 2
    assert "viewer" in made.stderr
