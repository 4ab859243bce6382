"""The SDK stands alone: what importing it loads, and that a copied folder works with nothing installed."""

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.wire.names import (
    ENV_PROXY_URL,
    ENV_RUN_ID,
    ENV_RUN_TOKEN,
    ENV_RUN_TOKEN_JTI,
    ENV_TASK_ID,
    ENV_TASK_INPUT,
)
from support.desk import STATE
from support.repository import PACKAGE
from support.server_process import Api, clean_environment, house_in

#: Each of these takes longer to load than the SDK itself, or may not be there at all.
HEAVY = (
    "asyncio",
    "http.client",
    "ssl",
    "email",
    "urllib.request",
    "concurrent.futures",
    "pydantic",
    "httpx2",
)
HEAVY += ("fastapi", "starlette", "orjson", "jsonschema_rs", "pipelines.core", "pipelines.odyssey.testing")


def test_importing_it_loads_nothing_heavy() -> None:
    program = "import sys, json, pipelines.odyssey; print(json.dumps(sorted(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert not set(HEAVY) & set(json.loads(loaded))


@pytest.mark.parametrize("path", sorted((PACKAGE / "odyssey").glob("*.py")), ids=lambda path: path.name)
def test_it_imports_only_the_standard_library_and_its_neighbours(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            continue
        for name in names:
            is_core = name.startswith("pipelines.core") and path.name == "testing.py"
            assert name.split(".")[0] in sys.stdlib_module_names or is_core, f"{path.name} imports {name}"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("alone"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


#: Sync, async, an event and a thread, from the environment of a code-mode run.
PROGRAM = """
import asyncio, sys
from {package}.odyssey import (
    Envelope, ToolFailed, async_proxy_call, post_trace_event, proxy_call, run_async_in_thread, set_current,
)
from {package}.odyssey import agents, tool_endpoints

assert not any("site-packages" in path for path in sys.path), sys.path
with set_current(Envelope.from_env()) as envelope:
    order = envelope.task_input["order_id"]
    print(proxy_call("get_order", {{"order_id": order}})["status"])
    post_trace_event("thinking", {{"text": "It may be refunded."}})
    run_async_in_thread(lambda: async_proxy_call("refund_order", {{"order_id": order}}))
    print(asyncio.run(async_proxy_call("get_order", {{"order_id": order}}))["status"])
    try:
        proxy_call("get_order", {{"order_id": "none"}})
    except ToolFailed as failed:
        print(failed.status, failed.source)
"""


@pytest.mark.parametrize("package", ["pipelines", "vendor.pipelines"])
def test_a_copied_folder_works_where_nothing_is_installed(package: str, api: Api, tmp_path: Path) -> None:
    copy = tmp_path / Path(*package.split("."))
    copy.mkdir(parents=True)
    shutil.copy(PACKAGE / "__init__.py", copy)
    for room in ("wire", "odyssey"):
        shutil.copytree(PACKAGE / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    agent_id = api.agent("http://127.0.0.1:9/dispatch")["id"]
    task = {"user": "Refund it.", "state": STATE, "task_input": {"order_id": "4521"}}
    (task_id,) = api.dataset(task, agent_id=agent_id)["task_ids"]
    run = api.post("/api/runs", {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}, 201)
    # -I -S: no site-packages, no PYTHONPATH, no user folder; only what the program puts on its own path.
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAM.format(package=package)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        env=clean_environment() | code_mode(run, task_id),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == ["shipped", "refunded", "404 odyssey"]
    kinds = [row["kind"] for row in api.trace(run["id"])]
    assert kinds == ["tool_call", "thinking", "tool_call", "tool_call", "tool_call"]


def code_mode(run: dict[str, Any], task_id: int) -> dict[str, str]:
    payload = {"user_instruction": "Refund it.", "input": {"order_id": "4521"}, "task_id": task_id}
    return {
        ENV_PROXY_URL: run["odyssey_proxy_url"],
        ENV_RUN_TOKEN: run["run_token"],
        ENV_RUN_TOKEN_JTI: run["run_token_jti"],
        ENV_RUN_ID: str(run["id"]),
        ENV_TASK_ID: str(task_id),
        ENV_TASK_INPUT: json.dumps(payload),
    }
