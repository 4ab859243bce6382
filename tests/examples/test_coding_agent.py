"""The example agent without a model mends two of three bugs, and says so of the third."""

import csv
import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pipelines.cli.coding.scenario_files import read_scenarios
from pipelines.core.coding.scenario import read_scenario
from pipelines.core.text.problems import Problem
from support.repository import EXAMPLES
from support.server_process import Api, house_in

FOLDER = EXAMPLES / "coding_agent"
TASKS = list(csv.DictReader((FOLDER / "tasks.csv").read_text().splitlines()))
PATIENCE_S = 600.0


@pytest.fixture(scope="module")
def agent() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coding_agent", FOLDER / "agent/agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_changes_what_it_knows_and_nothing_else(
    agent: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop"
    shutil.copytree(FOLDER / "shop", shop)
    monkeypatch.setenv("PIPELINES_WORKSPACE", str(shop))
    before = {path.name: path.read_text() for path in shop.glob("shop/*.py")}
    said = [agent.run({"user_instruction": task["user"]}, proxy_url="", run_token="") for task in TASKS]
    after = {path.name: path.read_text() for path in shop.glob("shop/*.py")}
    assert {name for name in before if before[name] != after[name]} == {"cart.py", "stock.py"}
    assert "changed nothing" in said[2]["final_response"]
    compile(after["cart.py"], "cart.py", "exec")
    assert "cart = [] if cart is None else cart" in after["cart.py"]


def test_its_scenarios_are_sound_and_its_tasks_name_them() -> None:
    bodies = read_scenarios(FOLDER / "scenarios.yaml")
    problems: list[Problem] = []
    names = [read_scenario(body, problems).name for body in bodies]  # type: ignore[union-attr]
    assert problems == []
    assert [task["scenario_ref"] for task in TASKS] == names
    for body in bodies:
        assert set(body["test_files"]) & set(body["workspace_seed"]["files"]) == set()  # type: ignore[call-overload,index,arg-type]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("example") / "house", {}) as house:
        opened = house.open()
        found = opened.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        yield opened


@pytest.mark.slow
def test_it_mends_two_of_three(api: Api) -> None:
    for body in read_scenarios(FOLDER / "scenarios.yaml"):
        api.post("/api/coding-scenarios", body, 201)
    code = {"source": "files", "files": {"agent.py": (FOLDER / "agent/agent.py").read_text()}}
    agent = {"name": "Mender", "mode": "code", "tools_schema": [], "code": code}
    agent_id = api.post("/api/agents", agent, 201)["id"]
    rows = [{**task, "tags": [task["tags"]]} for task in TASKS]
    dataset = api.post("/api/datasets", {"name": "shop", "agent_id": agent_id, "rows": rows}, 201)
    batch = api.batch_of(agent_id, dataset["id"])
    api.ended(batch, PATIENCE_S)
    assert [run["verdict"] for run in api.runs(batch)] == ["PASS", "PASS", "FAIL"]
