"""The eval library: scoring, a whole matrix against promptfoo in one go, statistics of many cells, spans.

    python bench/evals.py [--json] [--rounds 3] [--only scoring,statistics,matrix,spans]

A case is a question sent over HTTP to an agent in its own process, its answer of ten fields compared, stored.
Of ours the time runs from asking for the matrix to having its report, with all its statistics; of promptfoo
that of starting it is taken off. promptfoo is installed once into the system's temporary folder; skipped with
a note where it cannot be had.
"""

import argparse
import json
import os
import platform
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import servers
from eval_agent import EXPECTED
from pipelines.core.evals.matrix.report import CellRuns, RowRuns, RunOutput, matrix_report
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scenarios.variation import BUILTIN
from pipelines.core.evals.scoring.match_score import match_score
from pipelines.core.evals.scoring.observed import Observed, observe
from pipelines.core.evals.scoring.shift import shift

SCENARIOS, VARIATIONS, REPEATS = 20, 8, 5
BASELINES = 2 * REPEATS
CASES = SCENARIOS * (VARIATIONS * REPEATS + BASELINES)
CONCURRENCY = 32
SCORED = 20_000
STATISTICS_CELLS = 10_000
FLICKER = 0.1  # of the fields of an agent that is not sure
PARTS = ("scoring", "statistics", "matrix", "spans")
TOOLS = Path(tempfile.gettempdir()) / "pipelines-bench"
OTHERS = {
    "priority": "medium",
    "include_rollback_plan": False,
    "channel": "mail",
    "wait_minutes": 30,
    "affected_tables": ["orders", "payments"],
    "environment": "staging",
    "requires_approval": False,
    "severity": "high",
    "team": "payments",
    "action": "proceed",
}


def main() -> None:
    options = _options()
    wanted = options.only.split(",")
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_before": round(os.getloadavg()[0], 2),
        "skipped": [],
    }
    if "scoring" in wanted:
        report["scoring"] = _scoring()
    if "statistics" in wanted:
        report["statistics"] = _statistics()
    if "matrix" in wanted:
        report["matrix"] = _matrix(options.rounds, report["skipped"])
    if "spans" in wanted:
        report["spans"] = _spans(report["skipped"])
    print(json.dumps(report, indent=2) if options.json else _text(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS))
    return parser.parse_args()


# Scoring and statistics, in this process


def _answers(chance: random.Random, count: int, fields: int = 10) -> list[str]:
    """Of an agent that changes each field in a tenth of its answers."""
    names = list(EXPECTED)[:fields]
    return [
        json.dumps({name: OTHERS[name] if chance.random() < FLICKER else EXPECTED[name] for name in names})
        for _ in range(count)
    ]


def _scoring() -> dict[str, float]:
    """Read, matched, and compared with a baseline; and how much of that is reading."""
    contract = Contract(expected_behavior=dict(EXPECTED))
    answers = _answers(random.Random(1), SCORED)
    reference = observe(json.dumps(EXPECTED), contract)
    started = time.perf_counter()
    observed = [observe(answer, contract) for answer in answers]
    read_s = time.perf_counter() - started
    started, used = time.perf_counter(), time.process_time()
    moved = 0
    for one in observed:
        moved += not match_score(contract, one).matched
        moved += shift(contract, reference, one).distance > 0
    scored_s, cpu_s = time.perf_counter() - started, time.process_time() - used
    assert moved > SCORED, "an agent that flickers is seen to"
    return {
        "outputs": SCORED,
        "scored_per_s": round(SCORED / scored_s),
        "scored_per_cpu_s": round(SCORED / cpu_s),
        "read_and_scored_per_s": round(SCORED / (read_s + scored_s)),
    }


def _statistics() -> dict[str, Any]:
    """The whole report of ten thousand cells: of an agent that is sure, and of ones that flicker."""
    found: dict[str, Any] = {"cells": STATISTICS_CELLS, "runs": 0}
    for name, fields, flicker in (
        ("sure_s", 10, False),
        ("flickering_3_fields_s", 3, True),
        ("flickering_10_fields_s", 10, True),
    ):
        rows = _rows(random.Random(2), fields, flicker)
        found["runs"] = sum(len(cell.outputs) for row in rows for cell in row.cells.values())
        started, used = time.perf_counter(), time.process_time()
        report = matrix_report(rows, list(BUILTIN.values())[:VARIATIONS])
        found[name] = round(time.perf_counter() - started, 2)
        found[name.removesuffix("_s") + "_cpu_s"] = round(time.process_time() - used, 2)
        assert len(report["cells"]) == STATISTICS_CELLS  # type: ignore[arg-type]
    return found


def _rows(chance: random.Random, fields: int, flicker: bool) -> list[RowRuns]:
    contract = Contract(expected_behavior=dict(list(EXPECTED.items())[:fields]))
    names = [None, *list(BUILTIN)[:VARIATIONS]]
    rows = []
    for number in range(STATISTICS_CELLS // VARIATIONS):
        cells = {}
        for name in names:
            count = BASELINES if name is None else REPEATS
            answers = _answers(chance, count, fields) if flicker else [_steady(name)] * count
            cells[name] = CellRuns(outputs=_outputs(contract, answers))
        rows.append(
            RowRuns(
                scenario_id=f"scn_{number}",
                version=1,
                name=f"scenario {number}",
                risk_level="critical",
                contract=contract,
                cells=cells,
            )
        )
    return rows


def _steady(variation: str | None) -> str:
    """Of an agent that gives in to authority and to nothing else."""
    return json.dumps(EXPECTED | ({"action": "proceed"} if variation == "authority_bias" else {}))


def _outputs(contract: Contract, answers: list[str]) -> list[RunOutput]:
    """As they come from storage: none shares anything with another."""
    return [RunOutput(at, _kept(observe(answer, contract))) for at, answer in enumerate(answers)]


def _kept(observed: Observed) -> Observed:
    return Observed.from_stored(observed.as_json())


# A matrix, and promptfoo


def _matrix(rounds: int, skipped: list[str]) -> dict[str, Any]:
    promptfoo = _promptfoo()
    if promptfoo is None:
        skipped.append("promptfoo")
    ours: list[float] = []
    theirs: list[float] = []
    with ExitStack() as stack:
        agent_port = _agent(stack)
        port, key = _server(stack)
        scenario_ids, agent_id = _register(port, key, agent_port)
        _run_matrix(port, key, scenario_ids[:2], agent_id)  # warm
        for turn in range(rounds):
            print(f"round {turn + 1}", file=sys.stderr)
            ours.append(CASES / _run_matrix(port, key, scenario_ids, agent_id))
            if promptfoo is not None:
                theirs.append(CASES / _run_promptfoo(promptfoo, agent_port))
    rate = statistics.median(ours)
    ratios = [a / b for a, b in zip(ours, theirs, strict=False)]
    return {
        "shape": f"{SCENARIOS} scenarios x {VARIATIONS} variations x {REPEATS} repeats, {CASES} cases",
        "cases_per_s": round(rate, 1),
        "cells_per_s": round(rate * SCENARIOS * VARIATIONS / CASES, 1),
        "promptfoo_cases_per_s": round(statistics.median(theirs), 1) if theirs else None,
        "ratio": round(statistics.median(ratios), 2) if ratios else None,
        "rounds": [round(each, 1) for each in ours],
        "promptfoo_rounds": [round(each, 1) for each in theirs],
    }


def _server(stack: ExitStack) -> tuple[int, str]:
    port, key = servers.free_port(), "pk_live_" + secrets.token_hex(20)
    directory = stack.enter_context(tempfile.TemporaryDirectory())
    env = {"PIPELINES_API_KEY": key, "PIPELINES_PROXY_RATE_LIMIT": "0"}
    command = [sys.executable, "-m", "pipelines", "up", "--port", str(port), "--data-dir", directory]
    stack.enter_context(servers.started(command, env=env, pinned=False))
    servers.wait_until_open(port)
    return port, key


def _agent(stack: ExitStack) -> int:
    port = servers.free_port()
    options = ["--http", "httptools", "--loop", "uvloop", "--no-access-log", "--log-level", "warning"]
    command = [sys.executable, "-m", "uvicorn", "eval_agent:app", "--port", str(port), *options]
    stack.enter_context(servers.started(command, cwd=Path(__file__).parent, pinned=False))
    servers.wait_until_open(port)
    return port


def _register(port: int, key: str, agent_port: int) -> tuple[list[str], int]:
    definition = {
        "name": "bench",
        "endpoint_url": f"http://127.0.0.1:{agent_port}/dispatch",
        "tools_schema": [servers.TOOL],
        "max_concurrency": CONCURRENCY,
    }
    agent = servers.call(port, key, "/api/agents", definition)
    made = [servers.call(port, key, "/api/v1/eval/scenarios", _scenario(at)) for at in range(SCENARIOS)]
    return [scenario["id"] for scenario in made], agent["id"]


def _scenario(at: int) -> dict[str, Any]:
    return {
        "name": f"Deployment {at} fails",
        "risk_level": "critical",
        "input_context": _input(at),
        "expected_behavior": EXPECTED,
    }


def _input(at: int) -> dict[str, Any]:
    return {
        "event": "deployment_failed",
        "deployment": f"d-{at}",
        "error": "3 tables affected",
        "retries": at,
    }


def _run_matrix(port: int, key: str, scenario_ids: list[str], agent_id: int) -> float:
    """Seconds from asking for a matrix to having its whole report."""
    body = {
        "scenario_ids": scenario_ids,
        "variation_types": list(BUILTIN)[:VARIATIONS],
        "repeats": REPEATS,
        "agent_id": agent_id,
    }
    started = time.perf_counter()
    matrix_id = servers.call(port, key, "/api/v1/eval/matrix", body)["matrix_id"]
    batch_ended = False
    deadline = time.monotonic() + 600
    while not batch_ended:
        assert time.monotonic() < deadline, "the matrix does not end"
        time.sleep(0.05)
        listed = servers.call(port, key, "/api/v1/eval/matrix?limit=1", None)["items"][0]
        batch_ended = listed["matrix_id"] == matrix_id and listed["status"] != "running"
    report = servers.call(port, key, f"/api/v1/eval/matrix/{matrix_id}", None)
    taken = time.perf_counter() - started
    _check(report, len(scenario_ids))
    return taken


def _check(report: Any, scenarios: int) -> None:
    assert len(report["cells"]) == scenarios * VARIATIONS, report["progress"]
    verdicts = {cell["variation"]: cell["verdict"] for cell in report["cells"]}
    assert all(cell["runs"] == REPEATS for cell in report["cells"])
    assert verdicts["authority_bias"] == "critical", verdicts
    assert verdicts["time_pressure"] == "robust", verdicts


def _promptfoo() -> Path | None:
    binary = servers.npm_package("promptfoo", "promptfoo", into=TOOLS)
    if binary is None:
        return None
    env = os.environ | _QUIET
    found = subprocess.run([binary, "--version"], capture_output=True, env=env, timeout=120, check=False)
    return binary if found.returncode == 0 else None


_QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "true",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "NO_COLOR": "1",
}


def _run_promptfoo(binary: Path, agent_port: int) -> float:
    """Seconds for as many cases, less what a single one takes, which is all starting."""
    return max(0.001, _promptfoo_s(binary, agent_port, CASES + 1) - _promptfoo_s(binary, agent_port, 1))


def _promptfoo_s(binary: Path, agent_port: int, cases: int) -> float:
    provider = {
        "id": f"http://127.0.0.1:{agent_port}/dispatch",
        "config": {
            "method": "POST",
            "headers": {"Content-Type": "application/json"},
            "body": {"input": {"user_instruction": "{{prompt}}"}},
            "transformResponse": "json.final_response",
        },
    }
    tests = [
        {"vars": {"question": json.dumps(_input(at))}, "assert": [{"type": "equals", "value": EXPECTED}]}
        for at in range(cases)
    ]
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "promptfooconfig.json"
        config.write_text(
            json.dumps({"prompts": ["Decide: {{question}}"], "providers": [provider], "tests": tests})
        )
        out = Path(directory) / "out.json"
        command = [binary, "eval", "-c", config, "-j", str(CONCURRENCY), "--no-cache", "--no-progress-bar"]
        command += ["--no-table", "-o", out]
        env = os.environ | _QUIET | {"PROMPTFOO_CONFIG_DIR": directory}
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=False)
        taken = time.perf_counter() - started
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        passed = json.loads(out.read_text())["results"]["stats"]["successes"]
        assert passed == cases, f"promptfoo passed {passed} of {cases}"
    return taken


# Spans


def _spans(skipped: list[str]) -> Any:
    bench = Path(__file__).parent / "spans.py"
    if not bench.exists():
        skipped.append("spans")
        return None
    done = subprocess.run([sys.executable, bench, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _text(report: dict[str, Any]) -> str:
    lines = [f"{report['machine']}; load before: {report['load_before']}"]
    for part in PARTS:
        if report.get(part) is not None:
            lines.append(f"{part}: " + ", ".join(f"{name} {value}" for name, value in report[part].items()))
    lines += [f"skipped, not to be had here: {name}" for name in report["skipped"]]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
