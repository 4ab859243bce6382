"""Whole public tasks of Harbor's format, as published: imported by the command line, and graded.

They are not kept here. A source distribution that ships some is fetched by its name and unpacked; whoever has
others names their folder, all of which must be taken (`refused/` in it may hold tasks that must not be):

    PIPELINES_HARBOR_TASKS=/folder pytest tests/coding/test_public_tasks.py
"""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nodes import Api, Row, house_in
from pipelines.cli.main import app
from pipelines.core.coding.import_harbor import CONFIG

PINNED = Path(__file__).with_name("public_tasks.txt")
FETCH_S, PROVE_S = 180.0, 1_800.0
#: By their folder in the distribution.
TAKEN = ("tests/examples/hello-world-task",)
#: Its simulator draws noise without a seed: its own solution misses one bound more often than not.
BY_CHANCE = "tests/fixtures/skillsbench_slice/r2r-mpc-control"
REFUSED = {
    "tests/fixtures/skillsbench_slice/lake-warming-attribution": "building from source is disabled",
    "src/benchflow/demo_task": "has no solution/solve.sh",
    "tests/conformance/acp_smoke": "environment/docker-compose.yaml needs containers",
    "tests/fixtures/skillsbench_slice/flood-risk-analysis": "With its reference it does not pass",
    "tests/fixtures/skillsbench_slice/suricata-custom-exfil": "needs the container image `jasonish/suricata",
    "tests/fixtures/skillsbench_slice/syzkaller-ppdev-syzlang": "needs the system packages `make`",
}
NAMED = os.environ.get("PIPELINES_HARBOR_TASKS", "")
OTHERS = sorted(path.parent for path in Path(NAMED).rglob(CONFIG)) if NAMED else []

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, unpacked; nothing of it is installed."""
    folder = tmp_path_factory.mktemp("published")
    (name,) = [line.partition("==")[0] for line in PINNED.read_text().splitlines() if "==" in line]
    options = ["--no-deps", "--require-hashes", "--ignore-requires-python", "--no-binary", name]
    command = [sys.executable, "-m", "pip", "download", "-q", *options, "-r", str(PINNED), "-d", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{name} could not be fetched within {FETCH_S:g} s")
    if done.returncode:
        pytest.skip(f"{name} cannot be fetched: {done.stderr.strip()[-300:]}")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (top,) = [path for path in folder.iterdir() if path.is_dir()]
    return top


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("public") / "house", {}) as house:
        opened = house.open()
        found = opened.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        opened.client.timeout = PROVE_S
        yield opened


def imported(api: Api, folder: Path) -> Row:
    """What the command says of the one task in this folder."""
    env = {"PIPELINES_URL": api.url, "PIPELINES_API_KEY": api.key}
    done = CliRunner().invoke(app, ["coding", "import", "harbor", str(folder), "--json"], env=env)
    (found,) = json.loads(done.stdout)
    assert done.exit_code == (1 if found["result"] == "refused" else 0), done.output
    return dict(found)


def is_proved(api: Api, folder: Path) -> None:
    """Taken, and graded as the import has proved it: who does nothing fails."""
    found = imported(api, folder)
    assert found["result"] == "imported", found["reasons"]
    graded = api.post(f"/api/coding-scenarios/{found['scenario_id']}/grade", {"patch": ""}, 200)
    assert graded["passed"] is False
    (result,) = graded["results"]
    assert result["status"] == "FAIL"
    assert result["reason"].startswith("The reward is 0;"), result


@pytest.mark.parametrize("name", TAKEN)
def test_a_published_task_is_proved_and_stored(api: Api, published: Path, name: str) -> None:
    is_proved(api, published / name)


def test_a_published_task_whose_solution_passes_by_chance_is_run_to_its_verdict(
    api: Api, published: Path
) -> None:
    """Nothing keeps it from being run here: what refuses it, when it does, is its own test."""
    found = imported(api, published / BY_CHANCE)
    if found["result"] == "refused":
        (reason,) = found["reasons"]
        assert reason.startswith("With its reference it does not pass. The scorer `test.sh`"), reason
        assert "5 passed" in reason, reason


@pytest.mark.parametrize("name", REFUSED)
def test_a_published_task_that_cannot_be_had_is_refused_by_name(api: Api, published: Path, name: str) -> None:
    found = imported(api, published / name)
    assert found["result"] == "refused"
    assert any(REFUSED[name] in reason for reason in found["reasons"]), found["reasons"]


@pytest.mark.parametrize("folder", OTHERS, ids=lambda folder: folder.name)
def test_a_task_of_the_named_folder_is_proved_or_refused(api: Api, folder: Path) -> None:
    if folder.parent.name == "refused":
        assert imported(api, folder)["reasons"]
    else:
        is_proved(api, folder)
