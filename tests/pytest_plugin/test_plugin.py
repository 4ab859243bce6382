"""`@pytest.mark.odyssey` as its users meet it: real pytest runs over a dataset, read at 80 columns."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Loaded here, so that the pytest runs of this module, which share its process, need not load it each.
import pipelines.pytest_plugin.item
import pipelines.pytest_plugin.summary  # noqa: F401
from pipelines.core.results.results import read_results
from support.repository import DOCS

pytest_plugins = ["pytester"]

QUIET = ("-p", "no:langsmith_plugin", "-p", "no:cacheprovider", "-p", "no:schemathesis")
TOOLS = [
    {
        "name": name,
        "description": description,
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
    }
    for name, description in [
        ("get_order", "Get an order by its id."),
        ("refund_order", "Refund an order. The order status will be changed to 'refunded'."),
    ]
]


def row(user: str, order: str, **more: Any) -> dict[str, Any]:
    expected = {"expected_state": {f"order.{order}.status": "refunded"}}
    return {"user": user, "state": {"order": {order: {"status": "shipped"}}}} | expected | more


ROWS = [
    row("Refund order 4521.", "4521", tags="good"),
    row("Refund order 4522, but lie.", "4522"),
    row("Refund order 4523 now and then.", "4523"),
]
UNDECIDED = {"user": "What do you think of order 4524?", "state": {"order": {"4524": {}}}, "tags": "open"}

AGENT = """
import itertools
import re

import pytest
from pipelines.odyssey import proxy_call

turns = itertools.count(1)


{mark}
def test_desk(odyssey_envelope):
    said = odyssey_envelope.user_instruction
    order = re.search("[0-9]+", said)[0]
    if "lie" in said:
        proxy_call("get_order", {{"order_id": order}})
        return f"I have refunded order {{order}}."
    if "now and then" in said and next(turns) % 3 == 0:
        raise LookupError("not this time")
    if "think" in said:
        return "It is a nice order."
    proxy_call("refund_order", {{"order_id": order}})
    return f"I have refunded order {{order}}."
"""
MARK = '@pytest.mark.odyssey(dataset="tasks.json", tools="tools.json", {})'


class Desk:
    """A folder with tools, tasks and a test; run in this process, or where it must be in one of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def write(self, *rows: dict[str, Any], test: str = AGENT, mark: str = "") -> None:
        (self.path / "tools.json").write_text(json.dumps(TOOLS))
        (self.path / "tasks.json").write_text(json.dumps(rows or ROWS))
        (self.path / "test_desk.py").write_text(test.format(mark=MARK.format(mark)))

    def run(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess(*QUIET, *arguments)


@pytest.fixture
def desk(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("CI", "BUILD_NUMBER"):  # there pytest cuts no line of its summary
        monkeypatch.delenv(name, raising=False)
    return Desk(pytester)


def test_one_test_for_each_task_with_a_name_that_says_which(desk: Desk):
    desk.write()
    found = desk.run("--collect-only", "-q")
    found.stdout.fnmatch_lines(
        [
            "test_desk.py::test_desk[[]1-refund-order-4521]",
            "test_desk.py::test_desk[[]2-refund-order-4522-but-lie]",
            "test_desk.py::test_desk[[]3-refund-order-4523-now-and-then]",
        ]
    )
    assert desk.run("-k", "4522").parseoutcomes() == {"failed": 1, "deselected": 2}


def test_repeats_tell_stable_from_flaky_and_enough_passes_are_a_pass(desk: Desk):
    desk.write(mark="repeats=5, min_pass=4")
    found = desk.run("--odyssey-report", "found.json")
    assert found.parseoutcomes() == {"passed": 2, "failed": 1}
    text = found.stdout.str()
    assert "3 tasks: 1 stable pass, 1 flaky, 1 stable fail" in text
    assert "pass^1 60%, pass^5 33%" in text
    assert "flaky       4/5  test_desk.py::test_desk[3-refund-order-4523-now-and-then]" in text
    (suite,) = read_results((desk.path / "found.json").read_text())
    assert [(case.outcome, case.is_met, case.runs.passed) for case in suite.cases] == [
        ("stable pass", True, 5),
        ("stable fail", False, 0),
        ("flaky", True, 4),
    ]


def test_a_failure_says_why_with_the_calls_and_what_changed_within_80_columns(desk: Desk):
    desk.write(mark="repeats=3")
    text = desk.run().stdout.str()
    for line in (
        "0 of 3 runs pass, 3 are needed: stable fail",
        "task 2 of tasks.json: Refund order 4522, but lie.",
        "runs 1, 2, 3: FAIL, false_claim (the first of them is shown)",
        '    1 get_order(order_id="4522") -> 200',
        "    unchanged",
        "    I have refunded order 4522.",
        "2 of 3 runs pass, 3 are needed: flaky",
        "run 3: FAIL, LookupError",
        '    raise LookupError("not this time")',
    ):
        assert line in text, line
    assert max(len(line) for line in text.splitlines() if "/" not in line) <= 80


@pytest.mark.slow
def test_workers_of_xdist_run_and_the_summary_is_one(desk: Desk):
    desk.write(mark="repeats=2, min_pass=1")
    found = desk.pytester.runpytest_subprocess(*QUIET, "-n", "2", "--odyssey-report", "found.json")
    assert found.parseoutcomes() == {"passed": 2, "failed": 1}
    assert found.stdout.str().count("3 tasks: ") == 1
    (suite,) = read_results((desk.path / "found.json").read_text())
    assert len(suite.cases) == 3


@pytest.mark.parametrize("word", ["fail", "skip"])
def test_what_cannot_be_decided_is_never_a_pass(desk: Desk, word: str):
    desk.write(UNDECIDED)
    found = desk.run(*(["-o", "odyssey_pending=skip"] if word == "skip" else []), "-rs")
    assert found.parseoutcomes() == {f"{word}ped" if word == "skip" else "failed": 1}
    assert "could not be decided" in found.stdout.str()
    assert "1 task: 1 undecided" in found.stdout.str()


def test_what_could_not_be_run_is_an_error_and_no_failure(desk: Desk):
    """Here nothing was returned that could be judged; in JUnit it is an error too."""
    desk.write(ROWS[0], test="import pytest\n\n\n{mark}\ndef test_desk():\n    pass\n")
    found = desk.run("--junitxml=found.xml")
    assert found.parseoutcomes() == {"errors": 1}
    assert "return the agent's final response" in found.stdout.str()
    assert "1 task: 1 not run" in found.stdout.str()
    written = (desk.path / "found.xml").read_text()
    assert 'errors="1"' in written
    assert 'failures="0"' in written


def test_a_bad_dataset_is_told_whole_and_once_where_it_is_collected(desk: Desk):
    desk.write(ROWS[0] | {"stat": 1}, {"user": "Hi.", "expected_state": 7}, {"state": {}})
    (desk.path / "test_other.py").write_text((desk.path / "test_desk.py").read_text())
    found = desk.run()
    assert found.parseoutcomes() == {"errors": 2}
    text = found.stdout.str()
    assert "tasks.json: 3 problems" in text
    for place in ("/0/stat", "/1/expected_state", "/2/user"):
        assert text.count(place) == 1, place
    assert "its problems are listed with the first test that uses it" in text
    assert "Traceback" not in text


def test_every_mistake_in_a_mark_is_told_at_once(desk: Desk):
    desk.write(mark='repeat=3, repeats=2, min_pass=5, pending="ignore"')
    text = desk.run().stdout.str()
    assert "unknown argument `repeat` (did you mean `repeats`?)" in text
    assert "`min_pass` is 5, but there are 2 repeats" in text
    assert "`pending` must be `fail` or `skip`, not 'ignore'" in text
    desk.write(mark='tags=["nobody"]')
    assert "no task has the tag nobody" in desk.run().stdout.str()
    desk.write(mark='tags=["good"]')
    assert desk.run().parseoutcomes() == {"passed": 1}


def test_a_conversation_needs_a_served_agent(desk: Desk):
    talk = {"turn_mode": "model_as_user", "simulator_mode": "scripted", "scripted_user_turns": ["Thanks."]}
    desk.write(ROWS[0] | talk)
    assert "task 1 is a conversation" in " ".join(desk.run().stdout.str().split())


ASYNC = """
import pytest
from pipelines.odyssey import async_proxy_call, current


{mark}
async def test_desk(odyssey_run, odyssey_task, tmp_path):
    await async_proxy_call("refund_order", {{"order_id": "4521"}})
    assert odyssey_run.ledger["order"]["4521"]["status"] == "refunded"
    assert odyssey_task.number == 1
    assert current().run_id == odyssey_run.envelope.run_id
    return {{"final_response": "I have refunded order 4521."}}
"""


def test_an_async_test_has_the_run_the_task_and_other_fixtures(desk: Desk):
    desk.write(ROWS[0], test=ASYNC, mark="repeats=2")
    assert desk.run().parseoutcomes() == {"passed": 1}


UNITTEST = """
import unittest

import pytest


class TestDesk(unittest.TestCase):
    {mark}
    def test_desk(self):
        pass
"""


def test_a_mark_that_could_have_no_effect_is_refused(desk: Desk):
    desk.write(ROWS[0], test=UNITTEST)
    found = desk.run()
    assert "passed" not in found.parseoutcomes()
    assert "unittest has no parameters" in found.stdout.str()


def test_the_example_of_the_howto_passes_in_a_new_agents_folder(desk: Desk):
    from pipelines.cli.agent.init import write_agent

    page = (DOCS / "howto" / "unit-tests.md").read_text()
    _, example, _ = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    write_agent(desk.path / "desk", "plain", "http")
    (desk.path / "desk" / "test_dataset.py").write_text(example)
    found = desk.run("desk/test_dataset.py", "-v")
    assert found.parseoutcomes() == {"passed": 4}
    assert "[3-i-want-my-money-back-for-order-3100]" in found.stdout.str()
    assert "4 tasks: 4 stable pass" in found.stdout.str()


def test_loading_it_costs_next_to_nothing():
    """Every pytest of whoever has the package loads it, marked tests or not."""
    program = "import sys, pytest; before = set(sys.modules); import pipelines.pytest_plugin; "
    program += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pipelines", "pipelines.pytest_plugin"]


SERVED = """
import pytest


@pytest.mark.odyssey("tasks.csv", serve=True, repeats=2)
def test_served(odyssey_result):
    assert odyssey_result.ledger != {} and len(odyssey_result.calls) < 3
"""


@pytest.mark.slow
def test_a_folder_with_an_app_is_served_and_what_the_test_says_counts_too(desk: Desk):
    from pipelines.cli.agent.init import write_agent

    folder: Path = desk.path / "desk"
    write_agent(folder, "plain", "http")
    (folder / "test_served.py").write_text(SERVED)
    found = desk.run("desk/test_served.py")
    assert found.parseoutcomes() == {"passed": 3, "failed": 1}
    assert "AssertionError" in found.stdout.str()
    (folder / "app.py").write_text("raise SystemExit('no')")
    found = desk.run("desk/test_served.py", "-k", "4521")
    assert found.parseoutcomes()["errors"] == 1
