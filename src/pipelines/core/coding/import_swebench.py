"""Reading rows in SWE-bench's form into scenarios of ours: a repository at a commit, a patch that solves it,
and the tests that must pass after it, before it or both."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.core.coding.imported import ImportedTask, Reference, RefusedTask
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads

NEEDED = ("instance_id", "repo", "base_commit", "patch", "test_patch", "problem_statement", "FAIL_TO_PASS")
#: Rows of data sets that come with an image for each; without it there is nothing to run them in.
IMAGES = ("image_name", "docker_image", "dockerhub_tag", "image")


@dataclass(frozen=True, kw_only=True, slots=True)
class RowSetting:
    """What no row says: how its tests are run."""

    __test__ = False  # pytest takes a class of this name for tests

    requirements: str | None = None
    setup_command: str | None = None
    test_command: str | None = None  # leaves JUnit XML at $PIPELINES_JUNIT_FILE; pytest where there is none
    timeout_s: int | None = None


def read_swebench_file(text: str, name: str) -> list[Any]:
    """The rows of a file: JSON lines, an array, or an object of rows by their id. Raises InvalidJson."""
    stripped = text.lstrip()
    is_lines = name.endswith((".jsonl", ".ndjson")) or (
        stripped.startswith("{") and "\n{" in stripped.rstrip()
    )
    if is_lines:
        return [loads(line) for line in text.splitlines() if line.strip()]
    body = loads(text)
    if isinstance(body, dict) and "instance_id" not in body:
        return list(body.values())
    return body if isinstance(body, list) else [body]


def read_swebench_row(
    row: Any, number: int, seed: JsonObject | None = None, setting: RowSetting | None = None
) -> ImportedTask | RefusedTask:
    """The row's task. `seed` is what its repository is taken from, in place of GitHub."""
    settings = setting or RowSetting()
    if not isinstance(row, dict):
        return RefusedTask(name=f"row {number}", reasons=("is not an object",))
    name = str(row.get("instance_id") or f"row {number}")
    reasons = [f"has no `{key}`" for key in NEEDED if not row.get(key) and key != "test_patch"]
    reasons += [f"needs the container image `{row[key]}` ({key})" for key in IMAGES if row.get(key)]
    reasons += [f"`{key}` must be a text" for key in _WORDS if row.get(key) and not isinstance(row[key], str)]
    tests = {key: _tests(row, key, reasons) for key in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    if not tests["FAIL_TO_PASS"] and not reasons:
        reasons.append("has no `FAIL_TO_PASS`")
    if settings.test_command is None:
        odd = next((test for found in tests.values() for test in found if not is_pytest_name(test)), None)
        if odd is not None:
            reasons.append(
                f"`{odd[:80]}` is not a pytest test: give the command that runs the tests (--test-command)"
            )
    if "GIT binary patch" in str(row.get("test_patch")):
        reasons.append("its tests have binary files")
    if reasons:
        return RefusedTask(name=name, reasons=tuple(reasons))
    return _task(name, row, tests, seed or _github(row), settings)


def is_pytest_name(test: str) -> bool:
    """`tests/test_a.py::test_b`, with a class or parameters or without."""
    path, sep, _ = test.partition("::")
    return bool(sep) and path.endswith(".py") and " " not in path


_WORDS = ("instance_id", "repo", "base_commit", "patch", "test_patch", "problem_statement")


def _task(
    name: str, row: Mapping[str, Any], tests: dict[str, list[str]], seed: JsonObject, told: RowSetting
) -> ImportedTask:
    scorer: JsonObject = {
        "name": "tests",
        "type": "tests",
        "fail_to_pass": [*tests["FAIL_TO_PASS"]],
        "pass_to_pass": [*tests["PASS_TO_PASS"]],
        "command": told.test_command,
        "timeout_s": told.timeout_s,
    }
    scenario: JsonObject = {
        "name": name,
        "user_instruction": row["problem_statement"],
        "workspace_seed": seed,
        "setup_command": told.setup_command,
        "requirements": told.requirements,
        "scorers": [{key: value for key, value in scorer.items() if value not in (None, [])}],
    }
    notes = ("its hints are not given to the agent",) if row.get("hints_text") else ()
    return ImportedTask(
        name=name,
        scenario={key: value for key, value in scenario.items() if value is not None},
        reference=Reference(patch=row["patch"]),
        test_patch=row.get("test_patch") or None,
        notes=notes,
    )


def _github(row: Mapping[str, Any]) -> JsonObject:
    return {"type": "git", "url": f"https://github.com/{row['repo']}.git", "ref": row["base_commit"]}


def _tests(row: Mapping[str, Any], key: str, reasons: list[str]) -> list[str]:
    """An array, or the text of one: the published files have it as text."""
    value: Json = row.get(key)
    if isinstance(value, str):
        try:
            value = loads(value)
        except InvalidJson as error:
            reasons.append(f"`{key}` {error.predicate}")
            return []
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(test, str) for test in value):
        reasons.append(f"`{key}` must be an array of names of tests")
        return []
    return [str(test) for test in value]
