"""A whole visit to the range: start a server, register an agent, seed two tasks, call tools, read the traces.

The agent is played by hand here (each call is listed below), over real HTTP, exactly as an agent would call.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
RUN_DATE = "2026-05-15T09:00:00Z"  # the tasks are about dates, so their world has one
CALLS: list[list[tuple[str, dict[str, Any]]]] = [
    [
        ("get_order", {"order_id": "#4521"}),
        ("search_inventory", {"query": "mug"}),
        ("refund_order", {"order_id": "4521", "reason": "arrived broken"}),
        ("refund_order", {"order_id": "4521", "reason": "arrived broken"}),
        ("get_order", {"order_id": "4521"}),
    ],
    [
        ("cancel_order", {"order_id": "7001"}),
        ("refund_order", {"order_id": "7002"}),
        ("cancel_order", {"order_id": "7003"}),
        ("get_order", {"order_id": "9999"}),
    ],
]
console = Console(highlight=False, width=None if sys.stdout.isatty() else 132)


@contextmanager
def server() -> Iterator[httpx2.Client]:
    """`pipelines up` on a free port and a directory of its own; stopped when we are done."""
    with tempfile.TemporaryDirectory() as directory:
        key = "pk_live_" + secrets.token_hex(20)
        process = subprocess.Popen(
            [sys.executable, "-m", "pipelines", "up", "--port", "0", "--data-dir", directory],
            env=os.environ | {"PIPELINES_API_KEY": key, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[3]
            with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}) as client:
                yield client
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)


def answered(response: httpx2.Response) -> Any:
    if response.is_error:
        raise SystemExit(f"{response.request.url}: {response.status_code} {response.text}")
    return response.json()


def drive(client: httpx2.Client, agent_id: int, task_id: int, calls: list[tuple[str, dict[str, Any]]]) -> int:
    """Open a run, make its calls the way the docs show with curl, finish it."""
    opened = answered(
        client.post(
            "/api/runs",
            json={"mode": "manual", "agent_id": agent_id, "task_ids": [task_id], "now": RUN_DATE},
        )
    )
    token = {"Authorization": f"Bearer {opened['run_token']}"}
    for tool, arguments in calls:
        httpx2.post(f"{opened['odyssey_proxy_url']}/tools/{tool}", json=arguments, headers=token)
    answered(client.post(f"/api/runs/{opened['id']}/finish", json={"final_response": "Done."}))
    return int(opened["id"])


def show(client: httpx2.Client, run_id: int, instruction: str) -> None:
    table = Table(title=f"Run {run_id}: {instruction}", title_justify="left", title_style="bold")
    for column in ("#", "tool", "arguments", "source", "rule", "status", "answer", "changed", "ms"):
        table.add_column(column, justify="right" if column in ("#", "ms") else "left")
    for row in answered(client.get(f"/api/runs/{run_id}/trace"))["items"]:
        table.add_row(
            str(row["sequence"]),
            row["tool_name"],
            ", ".join(f"{name}={value}" for name, value in row["arguments"].items()),
            row["source"],
            "" if row["matched_rule_index"] is None else str(row["matched_rule_index"]),
            str(row["http_status"] or row["error_code"]),
            short(row["response"]),
            "\n".join(map(change, row["updates"])),
            f"{row['latency_ms']:.2f}",
        )
    console.print(table)


def short(response: Any) -> str:
    if isinstance(response, dict) and "error" in response:
        error = response["error"]
        return f"{error['code']}: {error['message']}"
    text = json.dumps(response, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


def change(update: dict[str, Any]) -> str:
    if update["op"] == "set_flag":
        return f"flag {update['flag']}"
    fields = update.get("set") or update.get("attrs") or {}
    what = ", ".join(f"{name}={value}" for name, value in fields.items())
    return f"{update['op']} {update['entity_type']} {update['id']}: {what}"


def main() -> None:
    with server() as client:
        console.print(f"Server up at {client.base_url} (SQLite, no key, no model)\n")
        agent = answered(client.post("/api/agents", json=json.loads((HERE / "agent.json").read_text())))
        console.print(f"Agent {agent['id']}: {agent['name']}, {len(agent['tools_schema'])} tools")
        dataset = answered(
            client.post(
                "/api/datasets",
                files={"file": ("tasks.csv", (HERE / "tasks.csv").read_bytes())},
                data={"name": "support desk", "agent_id": str(agent["id"])},
            )
        )
        console.print(f"Dataset {dataset['id']}: {dataset['task_count']} tasks from tasks.csv\n")
        for task_id, calls in zip(dataset["task_ids"], CALLS, strict=True):
            run_id = drive(client, agent["id"], task_id, calls)
            task = answered(client.get(f"/api/tasks/{task_id}"))
            show(client, run_id, task["odyssey_seed"]["user_instruction"])
            console.print()
    console.print("Next: docs/quickstart.md registers an agent of your own and calls its tools with curl.")


if __name__ == "__main__":
    main()
