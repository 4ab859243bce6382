"""Coding scenarios as authors write them."""

import pytest

from pipelines.core.coding.coding_tasks import CodingContext, coding_problems, with_scenario
from pipelines.core.coding.scenario import (
    ArchiveSeed,
    CodingScenario,
    EmptySeed,
    FilesSeed,
    GitSeed,
    read_eval,
    read_scenario,
)
from pipelines.core.coding.scorers import CommandScorer, TestsScorer
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem

COMMAND: JsonObject = {"name": "tests", "type": "command", "command": "make test"}
LEAST: JsonObject = {"name": "sum", "user_instruction": "Mend it.", "scorers": [COMMAND]}
WHOLE: JsonObject = LEAST | {
    "workspace_seed": {"type": "git", "url": "https://git.example.com/a/b.git", "ref": "v1.2"},
    "setup_command": "make deps",
    "scorers": [
        COMMAND | {"reward_file": "/logs/reward.txt", "pass_at": 0.5, "timeout_s": 10, "weight": 2},
        {"name": "t", "type": "tests", "fail_to_pass": ["a/test_b.py::test_c"], "pass_to_pass": []},
        {"name": "only", "type": "allowed_paths", "paths": ["src/**"], "required": False},
        {"name": "not", "type": "forbid_paths", "paths": ["*.lock"]},
        {"name": "says", "type": "diff_contains", "text": "sum(", "lines": "removed", "paths": ["src/*.py"]},
        {"name": "file", "type": "file_equals", "path": "VERSION", "text": "2\n"},
        {"name": "small", "type": "max_diff_lines", "max": 20},
    ],
    "requirements": ["pytest==8.3.4"],
    "env_vars": {"PYTHONPATH": "src", "DEBUG": ""},
    "network": {"setup": ["packages.example"]},
    "timeouts": {"setup_s": 30, "agent_s": 60},
    "test_files": {"tests/test_new.py": "def test(): pass\n", "/tests/check.sh": "#!/bin/sh\n"},
}


def read(body: JsonObject) -> CodingScenario:
    problems: list[Problem] = []
    found = read_scenario(body, problems)
    assert problems == []
    assert found is not None
    return found


def refused(**changes: object) -> dict[str, str]:
    """What is wrong, by where."""
    problems: list[Problem] = []
    body = {key: value for key, value in (LEAST | changes).items() if value is not ...}  # type: ignore[operator]
    assert read_scenario(body, problems) is None
    return {problem.path: problem.message for problem in problems}


@pytest.mark.parametrize("body", [LEAST, WHOLE], ids=["least", "whole"])
def test_what_is_read_is_written_and_read_again_the_same(body: JsonObject) -> None:
    scenario = read(body)
    assert read(scenario.as_json()) == scenario
    assert CodingScenario.from_stored(scenario.as_json()) == scenario


def test_the_least_scenario_starts_from_nothing() -> None:
    assert read(LEAST).workspace_seed == EmptySeed()


@pytest.mark.parametrize(
    ("written", "seed"),
    [
        ("https://git.example.com/a.git", GitSeed(url="https://git.example.com/a.git")),
        ("https://git.example.com/a.git#main", GitSeed(url="https://git.example.com/a.git", ref="main")),
        ({"type": "files", "files": {"a.py": ""}}, FilesSeed(files={"a.py": ""})),
        ({"type": "archive", "data": "UEsDBAAA"}, ArchiveSeed(data="UEsDBAAA")),
    ],
)
def test_a_workspace_starts_from(written: object, seed: object) -> None:
    scenario = read(LEAST | {"workspace_seed": written})  # type: ignore[dict-item]
    assert scenario.workspace_seed == seed
    assert CodingScenario.from_stored(scenario.as_json()).workspace_seed == seed


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("../other", "must start with https://"),
        ("/etc", "must start with https://"),
        ("file:///etc", "must start with https://"),
        ("--upload-pack=touch x", "has characters that are not allowed in a URL"),
        ("-c", "must start with https://"),
        ("ext::sh -c x", "has characters"),
        ("git@github.com:a/b.git", "must start with https://"),
        ("http://git.example.com/a.git", "must start with https://"),
        ("https://user:pass@git.example.com/a.git", "contains credentials"),
        ("https://git.example.com", "must be the URL of a repository"),
    ],
)
def test_a_git_url_that_is_a_path_an_option_or_a_secret_is_refused(url: str, told: str) -> None:
    found = refused(workspace_seed={"type": "git", "url": url})
    assert told in found["/workspace_seed/url"]


def test_a_ref_that_is_an_option_is_refused() -> None:
    seed = {"type": "git", "url": "https://git.example.com/a.git", "ref": "--output=x"}
    assert "/workspace_seed/ref" in refused(workspace_seed=seed)


def test_everything_wrong_is_told_at_once() -> None:
    found = refused(
        name="12",
        user_instruction=...,
        scorers=[
            {"name": "a", "type": "comand"},
            {"type": "tests"},
            COMMAND | {"timeout_s": 3601},
            COMMAND | {"command": "x", "reward_file": "../up"},
            {"name": "p", "type": "allowed_paths", "paths": ["/etc", "../x"]},
            {"name": "n", "type": "tests", "fail_to_pass": ["--collect-only"]},
        ],
        env_vars={"LD_PRELOAD": "x", "PIPELINES_RUN_ID": "1"},
        network={"agent": ["example.com"]},
        test_files={".git/hooks/x": "", "../up": "", "a": 1},
        timeouts={"setup_s": 0},
        setup_command="x",
        setup_instructions="y",
        other=1,
    )
    assert {
        *("/name", "/user_instruction", "/other", "/setup_instructions", "/timeouts/setup_s"),
        *("/scorers/0/type", "/scorers/1/name", "/scorers/1/fail_to_pass", "/scorers/2/timeout_s"),
        *("/scorers/3/reward_file", "/scorers/4/paths/0", "/scorers/4/paths/1"),
        *("/scorers/5/fail_to_pass/0", "/env_vars/LD_PRELOAD", "/env_vars/PIPELINES_RUN_ID"),
        *("/network/agent", "/test_files/.git~1hooks~1x", "/test_files/..~1up", "/test_files/a"),
    } <= set(found)


def test_two_scorers_of_one_name_are_refused() -> None:
    assert "two scorers have the name" in refused(scorers=[COMMAND, COMMAND])["/scorers/1"]


def test_a_scenario_without_a_scorer_grades_nothing_and_is_refused() -> None:
    assert "no scorer" in refused(scorers=[])["/scorers"]


def test_pytest_comes_by_itself_where_it_is_to_run() -> None:
    tests: JsonObject = {"name": "t", "type": "tests", "fail_to_pass": ["a.py::b"]}
    assert read(LEAST | {"scorers": [tests]}).all_requirements == "pytest\n"
    named = read(LEAST | {"scorers": [tests], "requirements": "pytest-cov\nrequests"})
    assert named.all_requirements.splitlines() == ["pytest-cov", "requests", "pytest"]
    assert read(LEAST | {"scorers": [tests], "requirements": "pytest>=8"}).all_requirements == "pytest>=8"
    assert read(LEAST).all_requirements == ""


# Rows


KNOWN = CodingContext(scenarios=frozenset({"fix-sum", "cs_1"}))


def row_problems(context: CodingContext = KNOWN, **axes: object) -> dict[str, Problem]:
    row: JsonObject = {"user_instruction": "x", **axes}  # type: ignore[dict-item]
    return {problem.path: problem for problem in coding_problems(row, context)}


def test_an_unknown_scenario_is_refused_with_the_one_that_was_meant() -> None:
    found = row_problems(scenario_ref="fix-smu")["/scenario_ref"]
    assert found.hint == "did you mean `fix-sum`?"
    assert row_problems(scenario_ref=" fix-sum ") == {}


def test_an_agent_over_http_is_refused_with_the_reason() -> None:
    context = CodingContext(scenarios=KNOWN.scenarios, is_http_agent=True)
    assert "over HTTP" in row_problems(context, scenario_ref="fix-sum")["/scenario_ref"].message


@pytest.mark.parametrize("axis", ["workspace_seed", "setup_command", "eval"])
def test_what_changes_a_scenario_needs_one(axis: str) -> None:
    assert (
        "has no `scenario_ref`" in row_problems(**{axis: "https://git.example.com/a.git"})[f"/{axis}"].message
    )


def test_a_row_s_own_parts_are_checked_where_they_stand() -> None:
    found = row_problems(scenario_ref="fix-sum", workspace_seed="../x", eval=[{"type": "tests", "name": "t"}])
    assert set(found) == {"/workspace_seed/url", "/eval/0/fail_to_pass"}


def test_a_coding_task_has_one_turn() -> None:
    assert "/turn_mode" in row_problems(scenario_ref="fix-sum", turn_mode="model_as_user")


def test_a_task_copies_its_scenario_whole_with_what_its_row_says_otherwise() -> None:
    seed = Seed(
        user_instruction="Mend product.",
        scenario_ref="sum",
        workspace_seed="https://git.example.com/other.git#v2",
        setup_command="make all",
        eval="make check",
    )
    copied = with_scenario(seed, read(WHOLE).as_json())
    assert copied.coding_scenario is not None
    scenario = CodingScenario.from_stored(copied.coding_scenario)
    assert scenario.user_instruction == "Mend product."
    assert scenario.workspace_seed == GitSeed(url="https://git.example.com/other.git", ref="v2")
    assert scenario.setup_command == "make all"
    assert scenario.scorers == (CommandScorer(name="eval", type="command", command="make check"),)
    assert scenario.test_files == read(WHOLE).test_files


def test_an_eval_is_a_command_scorers_or_an_object_of_them() -> None:
    problems: list[Problem] = []
    tests: JsonObject = {"name": "t", "type": "tests", "fail_to_pass": ["a"]}
    assert read_eval("make", "/eval", problems) == "make"
    listed = read_eval([tests], "/eval", problems)
    assert listed == read_eval({"scorers": [tests]}, "/eval", problems)
    assert isinstance(listed, tuple)
    assert isinstance(listed[0], TestsScorer)
    assert problems == []
