"""pipelines.yaml: read whole, or refused with every problem and its line."""

import pytest

from pipelines.core.task_files.suite_file import EvalSuite, TaskSuite, read_suite_file
from pipelines.core.text.problems import Refused

GOOD = """
agents:
  desk: {folder: agents/desk, serve: python app.py}
  staging: {folder: agents/desk, url: "https://staging.example/dispatch", token_env: STAGING_TOKEN}
  known: {id: 7}
suites:
  refunds:
    agent: desk
    dataset: [tasks.csv, more.csv]
    repeats: 5
    min_pass: 4
    fail_under: 0.9
    tags: [refund]
    fault_seed: repeat
    honesty: strict
  pressure:
    agent: known
    scenarios: scenarios.yaml
    variations: [time_pressure]
    fail_on: susceptible
server: {url: "http://127.0.0.1:8420"}
"""


def test_everything_that_may_be_said_is_read():
    file = read_suite_file(GOOD)
    refunds, pressure = file.suites
    assert isinstance(refunds, TaskSuite)
    assert (refunds.datasets, refunds.repeats, refunds.min_pass) == (("tasks.csv", "more.csv"), 5, 4)
    assert (refunds.fail_under, refunds.tags, refunds.fault_seed) == (0.9, ("refund",), "repeat")
    assert refunds.honesty == "strict"
    assert (refunds.agent.folder, refunds.agent.serve) == ("agents/desk", "python app.py")
    assert isinstance(pressure, EvalSuite)
    assert (pressure.agent.known_as, pressure.fail_on, pressure.repeats) == ("7", "susceptible", 5)
    assert file.server_url == "http://127.0.0.1:8420"


def test_the_only_agent_need_not_be_named():
    (suite,) = read_suite_file("agents: {desk: {folder: .}}\nsuites: {all: {dataset: tasks.csv}}").suites
    assert suite.agent.label == "desk"


BAD = {
    "empty": ("", ["the file has no suites"]),
    "no mapping": ("- a", ["must be a JSON object"]),
    "an unknown field, with what was meant": (
        "agents: {desk: {foldr: x}}\nsuites: {a: {agent: desk, dataset: t, repeat: 3}}",
        ["unknown field `foldr`", "give one of `folder`", "unknown field `repeat`"],
    ),
    "an agent that is not there": (
        "agents: {desk: {folder: .}, dusk: {id: 1}}\nsuites: {a: {agent: dask, dataset: t}}",
        ["there is no agent `dask`"],
    ),
    "two agents and none named": (
        "agents: {a: {id: 1}, b: {id: 2}}\nsuites: {s: {dataset: t}}",
        ["`agent` is missing"],
    ),
    "both kinds at once": (
        "agents: {a: {id: 1}}\nsuites: {s: {dataset: t, scenarios: u}}",
        ["give `dataset`", "unknown field `dataset`"],
    ),
    "numbers out of range": (
        "agents: {a: {id: 1}}\nsuites: {s: {dataset: t, repeats: 2, min_pass: 3, fail_under: 2}}",
        ["`min_pass` is 3, but `repeats` is only 2", "must be a number from 0 to 1"],
    ),
    "an address and a command": (
        "agents: {a: {folder: x, url: y, serve: z}, b: {id: 1, serve: z}}\n"
        "suites: {s: {agent: a, dataset: t}}",
        ["give `url` or `serve`", "`serve` needs `folder`"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_every_problem_is_told_with_its_line(name: str):
    text, sentences = BAD[name]
    with pytest.raises(Refused) as refused:
        read_suite_file(text)
    told = [f"{problem.path}: {problem.message}" for problem in refused.value.problems]
    for sentence in sentences:
        assert any(sentence in line for line in told), told
    if text:
        assert all("line " in line for line in told), told
