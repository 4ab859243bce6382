"""Rows in SWE-bench's form: what becomes of them, and what is refused."""

import json
from typing import Any

import pytest

from pipelines.core.coding.import_swebench import RowSetting, read_swebench_file, read_swebench_row
from pipelines.core.coding.imported import ImportedTask, RefusedTask

ROW = {
    "instance_id": "acme__textkit-1",
    "repo": "acme/textkit",
    "base_commit": "88c1c676" * 5,
    "patch": "diff --git a/x b/x\n",
    "test_patch": "diff --git a/tests/t.py b/tests/t.py\n",
    "problem_statement": "It is broken.",
    "FAIL_TO_PASS": '["tests/t.py::test_a", "tests/t.py::TestB::test_c[1-x y]"]',
    "PASS_TO_PASS": ["tests/t.py::test_d"],
}


def read(**changes: Any) -> ImportedTask:
    task = read_swebench_row(ROW | changes, 1)
    assert isinstance(task, ImportedTask), task
    return task


def reasons(**changes: Any) -> tuple[str, ...]:
    task = read_swebench_row({k: v for k, v in (ROW | changes).items() if v is not None}, 3)
    assert isinstance(task, RefusedTask), task
    return task.reasons


def test_a_row_becomes_a_scenario_at_its_commit():
    task = read()
    assert task.scenario["workspace_seed"] == {
        "type": "git",
        "url": "https://github.com/acme/textkit.git",
        "ref": ROW["base_commit"],
    }
    assert task.scenario["user_instruction"] == "It is broken."
    assert task.scenario["scorers"] == [
        {
            "name": "tests",
            "type": "tests",
            "fail_to_pass": ["tests/t.py::test_a", "tests/t.py::TestB::test_c[1-x y]"],
            "pass_to_pass": ["tests/t.py::test_d"],
        }
    ]
    assert task.reference.patch == ROW["patch"]
    assert task.test_patch == ROW["test_patch"]


def test_the_fix_and_the_hints_are_not_in_what_the_agent_is_told():
    task = read(hints_text="look at x", patch="diff --git a/secret b/secret\n")
    assert "secret" not in json.dumps(task.scenario)
    assert "look at x" not in json.dumps(task.scenario)
    assert task.notes == ("its hints are not given to the agent",)


def test_how_tests_are_run_is_taken_from_whoever_imports():
    setting = RowSetting(requirements="attrs\n", setup_command="make", test_command="make test", timeout_s=60)
    task = read_swebench_row(ROW | {"FAIL_TO_PASS": ["test_a (x.Y)"]}, 1, None, setting)
    assert isinstance(task, ImportedTask)
    assert task.scenario["requirements"] == "attrs\n"
    assert task.scenario["setup_command"] == "make"
    assert task.scenario["scorers"][0]["command"] == "make test"
    assert task.scenario["scorers"][0]["timeout_s"] == 60


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"base_commit": None}, "has no `base_commit`"),
        ({"FAIL_TO_PASS": "[]"}, "has no `FAIL_TO_PASS`"),
        ({"FAIL_TO_PASS": "[1]"}, "`FAIL_TO_PASS` must be an array of names of tests"),
        ({"FAIL_TO_PASS": "{"}, "`FAIL_TO_PASS` is not valid JSON"),
        ({"PASS_TO_PASS": ["test_x (app.tests.T)"]}, "`test_x (app.tests.T)` is not a pytest test"),
        ({"image_name": "swebench/x:1"}, "needs the container image `swebench/x:1` (image_name)"),
        ({"patch": 3}, "`patch` must be a text"),
        ({"test_patch": "GIT binary patch\n"}, "its tests have binary files"),
    ],
)
def test_rows_that_cannot_be_had_are_refused_with_the_reason(changes, reason):
    assert any(told.startswith(reason) for told in reasons(**changes))


def test_a_row_that_is_no_object_is_named_by_its_place():
    assert read_swebench_row([1], 7) == RefusedTask(name="row 7", reasons=("is not an object",))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.jsonl", json.dumps(ROW) + "\n\n" + json.dumps(ROW) + "\n"),
        ("rows.json", json.dumps([ROW, ROW])),
        ("rows.json", json.dumps({"a": ROW, "b": ROW}, indent=1)),
        ("rows", json.dumps(ROW) + "\n" + json.dumps(ROW)),
    ],
)
def test_files_are_lines_an_array_or_an_object_of_rows(name, text):
    assert read_swebench_file(text, name) == [ROW, ROW]
