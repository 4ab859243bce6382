"""Whole public tasks of Harbor's format, as published: imported by the command line, and graded.

They are not kept here. Source distributions that have some are fetched by name and hash, and unpacked.
Whoever has others names their folder; all in it must be taken, but those in its `refused/`, which must not:

    PIPELINES_HARBOR_TASKS=/folder pytest tests/engine/coding/test_public_tasks.py
"""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.core.coding.import_harbor import CONFIG
from support.server_process import Api, Row, house_in

PINNED = Path(__file__).with_name("public_tasks.txt")
FETCH_S, PROVE_S = 180.0, 1_800.0
#: By their folder, below that of the distribution.
TAKEN = (
    "benchflow-0.7.11/tests/examples/hello-world-task",
    "benchflow-0.5.2/tests/examples/terminal-bench-smoke-task",
    "tetrabench-0.3.0/tests/fixtures/harbor_task",
)
SLICE = "benchflow-0.7.11/tests/fixtures/skillsbench_slice"
#: Its simulator draws noise without a seed: its own solution misses one bound more often than not.
BY_CHANCE = f"{SLICE}/r2r-mpc-control"
REFUSED = {
    f"{SLICE}/lake-warming-attribution": "building from source is disabled",
    "benchflow-0.7.11/src/benchflow/demo_task": "has no solution/solve.sh",
    "benchflow-0.7.11/tests/conformance/acp_smoke": "environment/docker-compose.yaml needs containers",
    f"{SLICE}/flood-risk-analysis": "With its reference it does not pass",
    f"{SLICE}/suricata-custom-exfil": "needs the container image `jasonish/suricata",
    f"{SLICE}/syzkaller-ppdev-syzlang": "needs the system packages `make`",
    "tetrabench-0.3.0/benchmarks/tasks/systems-design/authority-fencing": "graded in a container of its own",
    "tetrabench-0.3.0/tests/fixtures/harbor_authority_task": "collects from services of its container",
}
#: Published to show a weak range: what they call a solution plants a file that changes how the grader runs.
CHEATS = "benchflow-0.2.2/labs/benchjack-sandbox-hardening"
NAMED = os.environ.get("PIPELINES_HARBOR_TASKS", "")
OTHERS = sorted(path.parent for path in Path(NAMED).rglob(CONFIG)) if NAMED else []

pytestmark = pytest.mark.slow


Find = Callable[[str], Path]


def unpacked(line: str, folder: Path) -> str | None:
    """Why the distribution of this line cannot be had; None once it is in the folder."""
    name, _, rest = line.partition("==")
    wanted = folder / f"{name}-{rest.split()[0]}"
    wish, fetched = folder / f"{wanted.name}.txt", folder / f"{wanted.name}.fetched"
    wish.write_text(line)
    options = ["--no-deps", "--require-hashes", "--ignore-requires-python", "--no-binary", name]
    command = [sys.executable, "-m", "pip", "download", "-q", *options, "-r", str(wish), "-d", str(fetched)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        return f"{wanted.name} could not be fetched within {FETCH_S:g} s"
    if done.returncode:
        return f"{wanted.name} cannot be fetched: {done.stderr.strip()[-300:]}"
    (archive,) = fetched.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    assert wanted.is_dir()
    return None


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Find:
    """Where a published task is. Its distribution is fetched when first asked for, and never installed."""
    folder = tmp_path_factory.mktemp("published")
    lines = [line for line in PINNED.read_text().splitlines() if "==" in line]
    pinned = {line.split()[0].replace("==", "-"): line for line in lines}
    missing: dict[str, str | None] = {}

    def find(task: str) -> Path:
        distribution = task.partition("/")[0]
        if distribution not in missing:
            missing[distribution] = unpacked(pinned[distribution], folder)
        if (reason := missing[distribution]) is not None:
            pytest.skip(reason)
        return folder / task

    return find


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
def test_a_published_task_is_proved_and_stored(api: Api, published: Find, name: str) -> None:
    is_proved(api, published(name))


def test_a_published_task_whose_solution_passes_by_chance_is_run_to_its_verdict(
    api: Api, published: Find
) -> None:
    """Nothing keeps it from being run here: what refuses it, when it does, is its own test."""
    found = imported(api, published(BY_CHANCE))
    if found["result"] == "refused":
        (reason,) = found["reasons"]
        assert reason.startswith("The reference solution does not pass. The scorer `test.sh`"), reason
        assert "5 passed" in reason, reason


@pytest.mark.parametrize("name", REFUSED)
def test_a_published_task_that_cannot_be_had_is_refused_by_name(api: Api, published: Find, name: str) -> None:
    found = imported(api, published(name))
    assert found["result"] == "refused"
    assert any(REFUSED[name] in reason for reason in found["reasons"]), found["reasons"]


@pytest.mark.parametrize("name", ["pattern1_conftest_hook", "pattern7_pth_injection"])
def test_a_published_cheat_does_not_pass_as_a_solution(api: Api, published: Find, name: str) -> None:
    (reason,) = imported(api, published(f"{CHEATS}/{name}"))["reasons"]
    assert reason.startswith("The reference solution does not pass. The scorer `test.sh`"), reason
    assert "3 failed" in reason, reason


@pytest.mark.parametrize("folder", OTHERS, ids=lambda folder: folder.name)
def test_a_task_of_the_named_folder_is_proved_or_refused(api: Api, folder: Path) -> None:
    if folder.parent.name == "refused":
        assert imported(api, folder)["reasons"]
    else:
        is_proved(api, folder)
