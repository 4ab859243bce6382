"""`pipelines run` with a pipelines.yaml, `pipelines ci init`, and its workflows without their forge."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from pipelines.cli.agent.init import write_agent
from pipelines.cli.ci.init import write_workflows
from pipelines.core.results.results import read_results
from pipelines.core.task_files.suite_file import read_suite_file
from support.ports import free_port
from support.server_process import clean_environment
from support.warm_process import finished

PATIENCE_S = 300.0


def command(*arguments: str, cwd: Path, **env: str) -> tuple[int, str, str]:
    env = clean_environment() | {"COLUMNS": "80"} | env
    done = finished(*arguments, env=env, cwd=cwd, timeout=PATIENCE_S)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with an agent that passes its four tasks."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "trunk", str(tmp_path)], check=True)
    write_agent(tmp_path / "desk", "plain", "http")
    return tmp_path


def suites(repository: Path, text: str) -> None:
    (repository / "pipelines.yaml").write_text(text)


def spoil(repository: Path) -> None:
    """The agent says that it has done what it has not."""
    agent = repository / "desk" / "agent.py"
    body, called = agent.read_text(), "proxy_call(step.tool, step.arguments)"
    assert called in body
    agent.write_text(body.replace(called, f'{{"status": "refunded"}} if "refund" in step.tool else {called}'))


BASH = shutil.which("bash") or "/bin/bash"


def steps(path: Path) -> dict[str, str]:
    """The scripts of a GitHub workflow, by the names of their steps."""
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def shell(script: str, cwd: Path, **env: str) -> tuple[int, str]:
    """As a runner does it."""
    path = f"{cwd / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [BASH, "-e", "-c", script],
        cwd=cwd,
        env=clean_environment() | {"PATH": path} | env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout + done.stderr


#: Stands in for GitHub: knows one ended run of the main branch, and keeps the comments of one pull request.
GH = """#!/bin/sh
case "$*" in
  "run list"*) [ -d forge/baseline ] && echo 17 || true ;;
  "run download 17"*) cp -r forge/baseline baseline ;;
  *"--paginate"*) [ -f forge/comment.md ] && echo 99 || true ;;
  *"--method POST"*) echo posted >> forge/log; cp odyssey-comment.md forge/comment.md ;;
  *"--method PATCH"*comments/99*) echo changed >> forge/log; cp odyssey-comment.md forge/comment.md ;;
  *) echo "unexpected: $*" >&2; exit 64 ;;
esac
"""


@pytest.mark.slow
def test_a_pull_request_from_nothing_to_red_and_back(repository: Path):
    """The workflow's own scripts: main is green, a change breaks it, the next one mends it."""
    wheel = repository / "vendor" / "pipelines_odyssey-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    code, _, err = command("ci", "init", "--github", cwd=repository)
    assert code == 0, err
    workflow = repository / ".github" / "workflows" / "odyssey.yml"
    assert f"pip install {wheel.relative_to(repository)}" in steps(workflow)["Install"]
    assert yaml.safe_load(workflow.read_text())[True]["push"]["branches"] == [
        "trunk"
    ]  # `on` is a word of YAML 1.1
    (suite,) = read_suite_file((repository / "pipelines.yaml").read_text()).suites
    assert (suite.name, suite.repeats) == ("desk", 3)

    (repository / "bin").mkdir()
    (repository / "forge").mkdir()
    (repository / "bin" / "gh").write_text(GH)
    (repository / "bin" / "gh").chmod(0o755)
    env = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_REPOSITORY": "o/r", "BASE": "trunk"}
    env |= {"GITHUB_WORKFLOW": "agent tests", "PULL_REQUEST": "5"}
    scripts = steps(workflow)
    run, compare, comment = (
        scripts[name]
        for name in ("Run the suites", "Compare with the main branch", "Comment, only when something flipped")
    )

    code, said = shell(run, repository, **env)
    assert code == 0, said
    code, said = shell(compare, repository, **env)
    assert (code, "There are no results of trunk yet" in said) == (0, True), said
    (repository / "forge" / "baseline").mkdir()
    shutil.copy(repository / "odyssey-results.json", repository / "forge" / "baseline")

    spoil(repository)
    code, said = shell(run, repository, **env)
    assert code == 1, said
    for script in (compare, comment, comment):  # a second push changes the comment, and writes no other
        shutil.rmtree(repository / "baseline", ignore_errors=True)
        code, said = shell(script, repository, **env)
        assert code == 0, said
    told = (repository / "forge" / "comment.md").read_text()
    assert "3 regressed, 0 fixed of 4 compared" in told
    assert (repository / "forge" / "log").read_text().split() == ["posted", "changed"]
    assert "**failed**" in (repository / "summary.md").read_text()

    (repository / "odyssey-comment.md").unlink()
    shutil.rmtree(repository / "baseline", ignore_errors=True)
    shutil.copy(repository / "forge" / "baseline" / "odyssey-results.json", repository)  # mended
    for script in (compare, comment):
        code, said = shell(script, repository, **env)
        assert code == 0, said
    assert "nothing flips any more" in (repository / "forge" / "comment.md").read_text()


def test_the_job_of_gitlab_is_yaml_whose_scripts_are_shell(repository: Path):
    (repository / ".gitlab-ci.yml").write_text("stages: [test]\n")
    code, out, err = command("ci", "init", cwd=repository)
    assert code == 0, err
    assert "include: {local: .gitlab/odyssey.yml}" in out
    assert (repository / ".gitlab-ci.yml").read_text() == "stages: [test]\n"
    job = yaml.safe_load((repository / ".gitlab" / "odyssey.yml").read_text())["odyssey"]
    for script in (*job["before_script"], *job["script"], *job["after_script"]):
        checked = subprocess.run([BASH, "-n", "-c", script], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
    assert shell(job["after_script"][0], repository, CI_MERGE_REQUEST_IID="")[0] == 0
    said = shell(
        job["after_script"][0], repository, CI_MERGE_REQUEST_IID="3", CI_API_V4_URL="http://127.0.0.1:9"
    )
    assert said[0] == 0
    assert "nothing is compared" in said[1]
    code, said_install = shell(job["before_script"][0], repository)
    assert (code, "FILL IN how Odyssey is installed" in said_install) == (3, True)


def test_init_asks_where_it_would_guess_and_overwrites_nothing(repository: Path):
    assert "does not show which CI it uses" in command("ci", "init", cwd=repository)[2]
    assert command("ci", "init", "--github", cwd=repository)[0] == 0
    before = (repository / ".github" / "workflows" / "odyssey.yml").read_text()
    (repository / "pipelines.yaml").write_text("mine")
    code, _, err = command("ci", "init", "--github", "--install", "pip install it", cwd=repository)
    assert (code, "already there" in err) == (2, True)
    assert (repository / ".github" / "workflows" / "odyssey.yml").read_text() == before
    assert command("ci", "init", "--github", "--force", "--install", "pip install it", cwd=repository)[0] == 0
    assert "pip install it" in (repository / ".github" / "workflows" / "odyssey.yml").read_text()
    assert (repository / "pipelines.yaml").read_text() == "mine"
    empty = repository / "empty"
    empty.mkdir()
    code, _, err = command("ci", "init", "--github", "--dir", str(empty), cwd=repository)
    assert (code, "no agent.json" in err) == (2, True)


BRANCHES = [
    ("main", ["feature"], "main"),
    ("master", ["fix/main"], "master"),
    ("trunk", ["ours/agents"], "trunk"),
    ("develop", [], "develop"),
]


@pytest.mark.parametrize(("first", "then", "expected"), BRANCHES)
def test_results_are_kept_of_the_main_branch_also_when_init_is_run_on_another(
    first: str, then: list[str], expected: str, tmp_path: Path
):
    write_agent(tmp_path / "desk", "plain", "http")
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    commands = [["init", "--initial-branch", first], ["add", "."], [*who, "commit", "--message", "first"]]
    for each in [*commands, *(["checkout", "-b", name] for name in then)]:
        subprocess.run(["git", *each, *(["--quiet"] if "add" not in each else [])], cwd=tmp_path, check=True)
    write_workflows(tmp_path, github=True, gitlab=False, install=None, is_forced=False)
    workflow = yaml.safe_load((tmp_path / ".github" / "workflows" / "odyssey.yml").read_text())
    assert workflow[True]["push"]["branches"] == [expected]


def test_odyssey_as_a_submodule_is_checked_out_and_its_examples_are_no_agents_of_ours(repository: Path):
    odyssey = repository / "odyssey"
    write_agent(odyssey / "examples" / "refund_agent", "plain", "http")
    (odyssey / "pyproject.toml").write_text('[project]\nname = "pipelines-odyssey"\n')
    write_workflows(repository, github=True, gitlab=True, install=None, is_forced=False)
    assert [suite.name for suite in read_suite_file((repository / "pipelines.yaml").read_text()).suites] == [
        "desk"
    ]
    workflow = repository / ".github" / "workflows" / "odyssey.yml"
    assert "python -m pip install ./odyssey\n" in steps(workflow)["Install"]
    (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
    assert job["steps"][0]["with"] == {"submodules": True}
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["odyssey"]
    assert gitlab["variables"]["GIT_SUBMODULE_STRATEGY"] == "normal"


TWO = """
agents:
  desk: {{folder: desk}}
  away: {{folder: desk, serve: "false"}}
suites:
  good: {{agent: desk, dataset: desk/tasks.csv, tags: [{tag}]}}
  broken: {{agent: away, dataset: desk/tasks.csv}}
"""


@pytest.mark.slow  # it waits for an agent that never comes
def test_a_suite_whose_agent_does_not_start_costs_only_itself(repository: Path):
    tasks = (repository / "desk" / "tasks.csv").read_text()
    tag = "completion"
    assert tag in tasks
    suites(repository, TWO.format(tag=tag))
    below = repository / "desk"
    code, out, err = command("run", "--junit", "j.xml", "--results", "r.json", "--json", cwd=below)
    assert code == 3, err
    assert "broken: could not be run: serve: false: it ended with code 1." in " ".join(err.split())
    good, broken = read_results((below / "r.json").read_text())
    assert json.loads(out)["suites"][0]["name"] == "good"
    assert (good.exit_code, broken.exit_code) == (0, 3)
    assert 0 < len(good.cases) < 4
    names = {suite.get("name"): suite for suite in ElementTree.parse(below / "j.xml").getroot()}
    assert names["broken"].find(".//error") is not None
    assert {case.get("classname") for case in names["good"]} == {"desk/tasks.csv"}
    code, _, err = command("run", "good", "--repeats", "2", cwd=below)
    assert (code, "--repeats: suites do not take this" in err) == (2, True)
    code, _, err = command("run", "goood", cwd=below)
    assert (code, "did you mean `good`?" in err) == (2, True)
    code, _, err = command("run", "--agent", "1", "--dataset", "1", "--results", "x", cwd=below)
    assert (code, "are for suites" in err) == (2, True)
    code, _, err = command("run", "good", "--url", "http://127.0.0.1:9", "--api-key", "k", cwd=below)
    assert code == 3, err


@pytest.mark.slow
def test_a_command_is_started_waited_for_and_ended_with_its_children(repository: Path):
    """Its registration says where it listens; the folder's app is not served beside it."""
    port = free_port()
    body: Any = json.loads((repository / "desk" / "agent.json").read_text())
    body["endpoint_url"] = f"http://127.0.0.1:{port}/dispatch"
    (repository / "desk" / "agent.json").write_text(json.dumps(body))
    started = f"sh -c '{sys.executable} -m uvicorn app:app --port {port} --log-level warning; true'"
    served = f'agents: {{desk: {{folder: desk, serve: "{started}"}}}}\n'
    suites(repository, served + "suites: {all: {dataset: desk/tasks.csv, repeats: 2, min_pass: 1}}\n")
    code, _, err = command("run", "--results", "r.json", cwd=repository)
    assert code == 0, err
    (found,) = read_results((repository / "r.json").read_text())
    assert [case.outcome for case in found.cases] == ["stable pass"] * 4
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_every_problem_of_a_file_is_told_with_its_line(repository: Path):
    suites(
        repository, "agents: {desk: {foldr: desk}}\nsuites:\n  a: {agent: dusk, dataset: t.csv, repeat: 2}\n"
    )
    code, _, err = command("run", cwd=repository)
    assert code == 2
    for words in ("did you mean `folder`?", "there is no agent `dusk`", "did you mean `repeats`?", "line 3"):
        assert words in err, words


def test_two_files_are_compared_without_a_server(repository: Path):
    for name, passed in (("old.json", 2), ("new.json", 0)):
        runs = {"passed": passed, "failed": 2 - passed, "undecided": 0, "not_run": 0}
        case = {
            "key": "k",
            "name": "Refund it.",
            "runs": runs,
            "met": passed == 2,
            "outcome": "x",
            "why": "No.",
        }
        suite = {"name": "s", "agent": "a", "exit_code": 0, "cases": [case]}
        body = {"format": "odyssey-results", "version": 1, "suites": [suite]}
        (repository / name).write_text(json.dumps(body))
    code, out, _ = command("ci", "compare", "old.json", "new.json", "--comment", "c.md", cwd=repository)
    assert (code, "1 regressed, 0 fixed of 1 compared" in out) == (0, True)
    assert "Refund it." in (repository / "c.md").read_text()
    assert command("ci", "compare", "old.json", "new.json", "--fail-on-regression", cwd=repository)[0] == 1
    code, out, _ = command(
        "ci", "compare", "old.json", "old.json", "--comment", "d.md", "--json", cwd=repository
    )
    assert (code, json.loads(out)["compared"]) == (0, 1)
    assert not (repository / "d.md").exists()
    assert command("ci", "compare", "old.json", "none.json", cwd=repository)[0] == 2
