"""docs/howto/operate.md done as written: what is backed up from a live server can be restored."""

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest
import typer.main
from served import KEY, Server, clean_environment, running, visiting

from pipelines.cli.main import app as cli
from pipelines.server.config.settings import SETTINGS
from support.desk import DrivenRun, answered
from support.private_postgres import Cluster, binaries
from support.repository import DOCS

pytestmark = pytest.mark.anyio
PAGE = (DOCS / "howto" / "operate.md").read_text()
ORDER = {"order_id": "4521"}
DATA = ".pipelines"


def blocks(heading: str, language: str = "sh") -> list[str]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def typed(block: str, directory: Path, **variables: str) -> str:
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", block],
        cwd=directory,
        env=clean_environment() | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def called(server: Server) -> DrivenRun:
    """A run with one call in it."""
    async with visiting(server) as org:
        run = await org.run()
        answered(await run.call("get_order", ORDER))
    return run


async def goes_on(server: Server, run: DrivenRun) -> list[str]:
    """The tools called by now, after one more; its own token still opens the run."""
    async with visiting(server) as org:
        again = DrivenRun(org.client, run.opened)
        answered(await again.call("search_inventory", {"query": "mug"}))
        return [row["tool_name"] for row in await again.trace()]


@pytest.mark.slow
async def test_a_live_sqlite_database_is_backed_up_and_restored(tmp_path: Path) -> None:
    if shutil.which("sqlite3") is None:
        pytest.skip("no sqlite3 here (Debian: apt-get install sqlite3)")
    backup, restore = blocks("Back up: SQLite")
    with running(tmp_path / DATA) as server:
        run = await called(server)
        assert typed(backup, tmp_path).strip().endswith("ok")
        assert await goes_on(server, run) == ["get_order", "search_inventory"]  # nothing is held up
        assert server.stop() == 0
    typed(restore, tmp_path)
    with running(tmp_path / DATA) as restored:
        assert await goes_on(restored, run) == ["get_order", "search_inventory"]  # the later one is not there
        assert restored.stop() == 0
    assert (tmp_path / DATA / "secret.key").read_bytes() == (
        tmp_path / f"{DATA}.before" / "secret.key"
    ).read_bytes()
    assert restored.errors.read_text() == ""


@pytest.mark.slow
async def test_a_live_postgres_database_is_backed_up_and_restored(tmp_path: Path, postgres: Cluster) -> None:
    found = binaries()
    assert found is not None
    url = postgres.new_database()
    variables = {"PIPELINES_DATABASE_URL": url, "PATH": f"{found}:{os.environ['PATH']}"}
    backup, restore = blocks("Back up: Postgres")
    with running(tmp_path / DATA, "--database-url", url) as server:
        run = await called(server)
        typed(backup, tmp_path, **variables)
        assert await goes_on(server, run) == ["get_order", "search_inventory"]
        assert server.stop() == 0
    typed(restore, tmp_path, **variables)
    with running(tmp_path / DATA, "--database-url", url) as restored:
        assert await goes_on(restored, run) == ["get_order", "search_inventory"]
        assert restored.stop() == 0


def test_a_server_is_looked_after_as_the_page_says(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    (look,) = blocks("Monitor it")
    with running(tmp_path / DATA) as server:
        said = typed(look.replace("http://127.0.0.1:8420", server.url), tmp_path)
    assert '"status":"ok"' in said
    assert "pipelines_storage_up 1" in said.splitlines()


def test_the_unit_starts_a_command_that_exists_with_settings_that_exist() -> None:
    (unit,) = blocks("As a systemd service", "ini")
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit)
    program, *arguments = parser["Service"]["ExecStart"].split()
    assert program.endswith("/pipelines")
    assert arguments[0] in typer.main.get_command(cli).commands  # type: ignore[attr-defined]


def test_every_setting_on_the_page_exists() -> None:
    named = set(re.findall(r"PIPELINES_\w+", PAGE))
    assert named <= {setting.variable for setting in SETTINGS}


def test_behind_a_proxy_metrics_want_a_key(tmp_path: Path) -> None:
    with running(tmp_path / DATA, PIPELINES_PUBLIC_URL="https://odyssey.example.com") as server:
        assert httpx2.get(f"{server.url}/metrics").status_code == 401
        assert httpx2.get(f"{server.url}/metrics", headers={"X-API-Key": KEY}).is_success
