"""D: coding scenarios, changes to be graded and coding runs that are large or odd."""

from collections.abc import Callable
from typing import Any

from hostile.code import MOST_GROWTH_BY_CODE_MB
from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.pages import look
from hostile.tenant import NotTaken, Row, Tenant

SCENARIOS = "/api/coding-scenarios"
FIRST: Row = {"name": "first", "type": "allowed_paths", "paths": ["*.py"]}


def scenario(name: str, **changes: Any) -> Row:
    seed = {"type": "files", "files": {"sums.py": "def total(x):\n    return x[0]\n"}}
    return {
        "name": name,
        "user_instruction": "Mend it.",
        "workspace_seed": seed,
        "scorers": [FIRST],
    } | changes


def _files(files: Row) -> Row:
    return {"workspace_seed": {"type": "files", "files": files}}


def _shapes() -> dict[str, Row]:
    many = {f"d{at % 50}/f{at}.py": "x = 1\n" * 300 for at in range(1_999)}
    bomb = "^(a+)+(b|bb)*" + "c{0,999}" * 3 + "$"
    return {
        "many files": _files(many),
        "too many files": _files({f"f{at}.py": "" for at in range(120_000)}),
        "one large file": _files({"a.py": "x" * 9_000_000}),
        "deep paths": _files({"/".join(["d"] * 120) + f"/f{at}": "x" for at in range(500)}),
        "long paths": _files({f"{at}/" + "p" * 60_000: "x" for at in range(100)}),
        "odd paths": _files({"../" * 1_000 + "x": "x", "\u202e" * 10_000: "x", ".git/config": "x"}),
        "test files": {
            "test_files": {f"tests/test_{at}.py": "def test(): pass\n" * 40 for at in range(1_500)}
        },
        "many scorers": {"scorers": [FIRST | {"name": f"s{at}"} for at in range(40_000)]},
        "globs": {
            "scorers": [
                FIRST | {"name": f"s{at}", "paths": ["**/*" * 40 + f"/x{at}"] * 900} for at in range(40)
            ]
        },
        "texts": {
            "scorers": [{"name": f"s{at}", "type": "diff_contains", "text": bomb * 2_000} for at in range(45)]
        },
        "tests": {
            "scorers": [
                {"name": "t", "type": "tests", "fail_to_pass": [f"t.py::test_{at}" for at in range(19_999)]}
            ]
        },
        "a long setup": {"setup_command": "true; " * 10_000, "requirements": "a==1\n" * 15_000},
        "variables": {"env": {f"V{at}": "x" * 30_000 for at in range(100)}},
        "unknown fields": {f"naem{at}": 1 for at in range(200_000)},
    }


@kind("D-scenarios", seconds=2.0, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def large_scenarios(tenant: Tenant) -> None:
    """Scenarios of every field as large as it may be, and larger; replaced, read, listed, used by tasks."""
    for name, more in tenant.in_turn(_shapes(), "many files", "globs", "many scorers"):
        ref = f"s-{tenant.chance.randrange(10**9)}"
        reply = tenant.post(SCENARIOS, scenario(ref, **more), what=f"a scenario with {name}")
        if reply.status == 201:
            tenant.ask("PUT", f"{SCENARIOS}/{ref}", scenario(ref, **more), what=f"replace {name}")
            tenant.get(f"{SCENARIOS}/{ref}", what=f"read {name}")
            tenant.get(f"{SCENARIOS}?limit=500", what=f"list with {name}")
            tenant.post(
                "/api/datasets",
                {"name": "d", "rows": [{"user": "Mend it.", "scenario_ref": ref}] * 50},
                what=f"tasks of {name}",
            )
            tenant.ask("DELETE", f"{SCENARIOS}/{ref}", what=f"delete {name}")


def _patches() -> dict[str, str]:
    head = "diff --git a/sums.py b/sums.py\n--- a/sums.py\n+++ b/sums.py\n"
    return {
        "one long line": head + "@@ -1,2 +1,3 @@\n+" + "x" * 15_000_000 + "\n",
        "many lines": head + "@@ -1,2 +1,2000000 @@\n" + "+x\n" * 2_000_000,
        "many files": "".join(
            f"diff --git a/f{at} b/f{at}\nnew file mode 100644\n--- /dev/null\n+++ b/f{at}\n@@ -0,0 +1 @@\n+x"
            "\n"
            for at in range(60_000)
        ),
        "many hunks": head + "@@ -1,1 +1,1 @@\n-a\n+b\n" * 300_000,
        "heads": "diff --git " * 800_000,
        "quoted names": 'diff --git "a/' + "\\303\\251" * 500_000 + '" "b/x"\n',
        "no patch": "\n" * 8_000_000,
        "returns": "\r" * 8_000_000,
        "separators": "\u2028\x0b\x1c" * 1_000_000,
    }


@kind("D-grade", seconds=2.0, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def large_changes(tenant: Tenant) -> None:
    """Changes of many megabytes, graded by scorers that only look at them."""
    bomb = "^(a+)+(b|bb)*$"
    scorers = [
        *(FIRST | {"name": f"g{at}", "paths": ["**/" * 30 + "*.py", "*" * 200 + "b"]} for at in range(20)),
        *({"name": f"c{at}", "type": "diff_contains", "text": bomb * 100} for at in range(10)),
        {"name": "most", "type": "max_diff_lines", "max": 12},
    ]
    ref = f"g-{tenant.chance.randrange(10**9)}"
    tenant.made(SCENARIOS, scenario(ref, scorers=scorers), "a scenario to grade by")
    for name, patch in tenant.in_turn(_patches(), "many files", "many lines", "many hunks"):
        tenant.post(f"{SCENARIOS}/{ref}/grade", {"patch": patch}, what=f"grade {name}")
    proved = {"scenario": scenario(ref + "i", scorers=scorers)}
    proved |= {"reference": {"patch": _patches()["many hunks"][:4_000_000]}}
    tenant.post(f"{SCENARIOS}/import", proved, what="import with a large reference")


CODE = """
import os
from pathlib import Path


def run(task_input, *, proxy_url, run_token):
    folder = Path(os.environ["PIPELINES_WORKSPACE"])
    shape = task_input["user_instruction"]
    if shape == "many":
        for at in range(4_000):
            (folder / f"f{at}.py").write_text("x = 1\\n" * 20)
    elif shape == "large":
        (folder / "large.py").write_text("x = 1\\n" * 1_500_000)
    elif shape == "line":
        (folder / "line.py").write_text("x" * 9_000_000)
    elif shape == "names":
        for at in range(500):
            (folder / ("\\u202e<b>&" * 20 + str(at))).write_text("<script>" * 500)
    elif shape == "bytes":
        (folder / "bytes.py").write_bytes(bytes(range(256)) * 20_000)
    return {"final_response": "Mended. " * 5_000}
"""


@kind("D-runs", seconds=4.0, runs_code=True, growth_mb=MOST_GROWTH_BY_CODE_MB)
def large_coding_runs(tenant: Tenant) -> None:
    """Agents that leave thousands of files, long lines and odd names; the runs are looked at and rescored."""
    ref = f"r-{tenant.chance.randrange(10**9)}"
    globs = FIRST | {"name": "globs", "paths": ["**/" * 30 + "*.py"] * 100}
    tenant.made(SCENARIOS, scenario(ref, scorers=[FIRST, globs]), "a scenario to run")
    code = {"source": "paste", "text": CODE}
    body = {"name": "coder", "mode": "code", "code": code, "tools_schema": [], "run_timeout_s": 60}
    agent_id = int(tenant.made("/api/agents", body, "an agent that writes much")["id"])
    shapes = ("many", "large", "line", "names", "bytes")
    dataset = tenant.tasks(*[{"user": shape, "scenario_ref": ref} for shape in shapes])
    with tenant.batch(agent_id, what="coding runs", dataset_id=dataset["id"], concurrency=4) as batch_id:
        tenant.wait_for(batch_id)
        reply = tenant.get(f"/api/runs?batch_id={batch_id}", what="the coding runs")
        looks: list[Callable[[int], Any]] = [
            lambda run: tenant.get(f"/api/runs/{run}/coding", what="a large change"),
            lambda run: tenant.get(f"/api/runs/{run}/export?format=atif", what="export a coding run"),
            lambda run: tenant.post(
                f"/api/runs/{run}/rescore", {"scorers": [globs]}, what="rescore a large change"
            ),
        ]
        if reply.status != 200:
            raise NotTaken("no runs")
        ids = [run["id"] for run in reply.json()["items"]]
        for run_id in ids:
            for ask in looks:
                ask(run_id)
        look(tenant, [f"/runs/{run_id}" for run_id in ids] + ["/runs", f"/batches/{batch_id}"])
