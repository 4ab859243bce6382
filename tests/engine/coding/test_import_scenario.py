"""What may stand in a request to take a task of another range; test_imported_rows proves real ones."""

import pytest

from pipelines.core.coding.patch_paths import changed_paths
from pipelines.core.text.problems import Refused
from pipelines.engine.coding.import_scenario import read_import

SCENARIO = {
    "name": "done",
    "user_instruction": "Write done.txt.",
    "scorers": [{"name": "x", "type": "command", "command": "test -f done.txt"}],
}


def problems(body):
    with pytest.raises(Refused) as refused:
        read_import(body)
    return {problem.path: problem.message for problem in refused.value.problems}


def test_a_reference_is_a_patch_or_a_command_with_its_files():
    read = read_import({"scenario": SCENARIO, "reference": {"patch": "diff"}})
    assert (read.patch, read.command, read.replaces) == ("diff", None, False)
    command = {"command": "sh /solution/solve.sh", "files": {"/solution/solve.sh": "touch done.txt\n"}}
    read = read_import({"scenario": SCENARIO, "reference": command, "replace": True})
    assert read.files == {"/solution/solve.sh": "touch done.txt\n"}
    assert read.replaces


def test_everything_wrong_is_told_at_once():
    found = problems({"scenario": {"name": "x"}, "reference": {"files": {"/etc/x": "1"}}, "more": 1})
    assert "/scenario/user_instruction" in found
    assert "/scenario/scorers" in found
    assert found["/reference/patch"] == "a reference is either a `patch` or a `command`"
    assert "/reference/files/~1etc~1x" in found
    assert "/more" in found


@pytest.mark.parametrize("body", [None, [], {}, {"scenario": 1, "reference": 2}, {"reference": {"patch": 3}}])
def test_what_is_no_import_is_refused(body):
    assert problems(body)


def test_the_files_of_a_test_patch_are_found_by_its_heads():
    patch = (
        "diff --git a/t/a.py b/t/a.py\n--- a/t/a.py\n+++ b/t/a.py\n@@ -1,2 +1,2 @@\n"
        "-+++ b/no.py\n++++ b/no.py\n x\n"
        "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py\n"
        "diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/x b/x\n--- a/x\n+++ b/../../etc/x\n@@ -0,0 +1 @@\n+x\n"
    )
    assert changed_paths(patch) == ["t/a.py", "new.py"]
