"""Uploaded code that uses the SDK as it comes: imported and called, with nothing bound by hand."""

import json
import subprocess
import sys
from pathlib import Path

from code_desk import EXAMPLES

from support.server_process import Api, clean_environment

AGENT = """
import re

from pipelines.odyssey import ToolFailed, proxy_call


def run(task_input, *, proxy_url, run_token):
    order_id = re.search(r"\\d+", task_input["user_instruction"])[0]
    proxy_call("get_order", {"order_id": order_id})
    try:
        proxy_call("refund_order", {"order_id": order_id})
    except ToolFailed:
        proxy_call("refund_order", {"order_id": order_id})
    return f"I have refunded order {order_id}."
"""


def folder_in(directory: Path) -> Path:
    """An agent's folder: this code, the example's tools, its refund and its refund that fails once."""
    definition = json.loads((EXAMPLES / "code_agent" / "agent.json").read_text())
    (directory / "agent.json").write_text(json.dumps(definition | {"name": "With the SDK"}))
    (directory / "agent.py").write_text(AGENT)
    head, *rows = (EXAMPLES / "refund_agent" / "tasks.csv").read_text().splitlines()
    refunds = [row for row in rows if row.startswith(('"Please refund order #4521', "Refund order 4600"))]
    (directory / "tasks.csv").write_text("\n".join([head, *refunds]) + "\n")
    return directory


def test_one_command_runs_a_folder_whose_code_calls_tools_through_the_sdk(api: Api, tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    command = [sys.executable, "-m", "pipelines", "run", "--json", "--agent", str(folder)]
    command += ["--dataset", str(folder / "tasks.csv")]
    environment = clean_environment() | {"PIPELINES_URL": api.url, "PIPELINES_API_KEY": api.key}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = sorted(json.loads(done.stdout)["runs"], key=lambda run: run["id"])
    assert [(run["status"], run["verdict"]) for run in runs] == [("completed", "PASS")] * 2
    calls = [[(row["tool_name"], row["source"]) for row in api.trace(run["id"])] for run in runs]
    assert calls == [
        [("get_order", "odyssey"), ("refund_order", "odyssey")],
        [("get_order", "odyssey"), ("refund_order", "injected"), ("refund_order", "odyssey")],
    ]
