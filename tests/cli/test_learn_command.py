"""`pipelines odyssey learn` and `drift`: plans from a recording, and what changed between two recordings."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from support.backends.clinic import Clinic
from support.backends.recorder import record_lines

RUNNER = CliRunner()


def write(directory: Path, lines: list[dict[str, Any]]) -> Path:
    directory.mkdir()
    (directory / "tools.json").write_text(json.dumps(Clinic.tools))
    (directory / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return directory


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write(tmp_path / "clinic", record_lines(Clinic, tasks=8, calls=12))


def run(*arguments: object) -> tuple[int, str]:
    result = RUNNER.invoke(app, ["odyssey", *map(str, arguments)])
    return result.exit_code, result.output


def test_learned_plans_are_written_and_measured(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.yaml"
    code, text = run("learn", recording, "--out", out, "--budget", "40")
    assert code == 0, text
    assert "inferred" in text
    assert f"written to {out}" in text
    code, text = run("fidelity", recording, "--plans", out, "--json")
    assert code == 0, text
    with_plans = json.loads(text)["fm_all_forced"]
    _, text = run("fidelity", recording, "--json")
    assert with_plans > json.loads(text)["fm_all_forced"]


def test_plans_are_written_into_the_agent(recording: Path, tmp_path: Path) -> None:
    agent = tmp_path / "agent.json"
    agent.write_text(json.dumps({"name": "clinic", "tools_schema": Clinic.tools}))
    code, text = run("learn", recording, "--into", agent, "--budget", "40")
    assert code == 0, text
    body = json.loads(agent.read_text())
    written = [tool["name"] for tool in body["tools_schema"] if "simulation" in tool]
    assert body["name"] == "clinic"
    assert f"{len(written)} plans written to {agent}" in text
    agent.write_text(json.dumps({"tools_schema": [{"name": 1}]}))
    code, _ = run("learn", recording, "--into", agent)
    assert (code, json.loads(agent.read_text())) == (2, {"tools_schema": [{"name": 1}]})


def test_a_tool_that_changed_is_named(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.yaml"
    run("learn", recording, "--out", out, "--budget", "40")
    code, text = run("drift", recording, recording, "--plans", out, "--json")
    assert (code, json.loads(text)["drifted"]) == (0, [])
    right = {one["tool"] for one in json.loads(text)["tools"] if one["right_before"] == one["calls_before"]}
    old = record_lines(Clinic, tasks=8, calls=12)
    answered = [call["tool"] for line in old for call in line["calls"] if call["status"] == "ok"]
    tool = max(right, key=answered.count)
    lines = record_lines(Clinic, tasks=8, calls=12, seed=8)
    for line in lines:
        for call in line["calls"]:
            if call["tool"] == tool:
                call["response"] = {"moved": call["response"]}
    newer = write(tmp_path / "newer", lines)
    code, text = run("drift", newer, recording, "--plans", out, "--json")
    assert (code, json.loads(text)["drifted"]) == (1, [tool])
    code, text = run("drift", newer, recording, "--plans", out)
    assert "changed" in text
    assert "/response/moved" in text


def test_recorded_runs_need_their_tools(tmp_path: Path) -> None:
    traces = tmp_path / "traces.json"
    traces.write_text("[]")
    code, text = run("learn", traces)
    assert (code, "add --tools FILE" in text) == (2, True)
    code, text = run("learn", tmp_path)
    assert (code, "it has no calls.jsonl" in text) == (2, True)
