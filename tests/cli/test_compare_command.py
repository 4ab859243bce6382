"""The same file run twice: not uploaded twice, compared row by row, named alike in JUnit; some tasks only."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_run_command import ROWS, Cli, registered, sometimes

from support.played_agents import Dispatch, does_nothing, refunds
from support.server_process import PATIENCE_S, Api
from support.warm_process import finished

TAGGED = [
    ROWS[0] | {"id": "zero", "tags": "slow,refund"},
    ROWS[1] | {"tags": "refund"},
    ROWS[2] | {"id": "1"},
]


@pytest.fixture
def cli(api: Api, tmp_path: Path) -> Cli:
    return Cli(api, tmp_path)


def compare(cli: Cli, *arguments: str, **env: str) -> tuple[int, str, str]:
    env = cli.env | {"COLUMNS": "80"} | env
    done = finished("compare", *arguments, env=env, cwd=cli.directory, timeout=PATIENCE_S)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def but_one(dispatch: Dispatch) -> None:
    (does_nothing if "(1)" in dispatch.said else refunds)(dispatch)


def batches(api: Api, agent_id: str) -> list[str]:
    return [str(batch["id"]) for batch in api.get("/api/batches", agent_id=agent_id)["items"]]


def test_an_unchanged_file_is_used_again_and_a_changed_one_is_uploaded(api: Api, cli: Cli):
    with registered(api, refunds) as (_, agent_id):
        first = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS[:2]), "--json")
        again = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS[:2]), "--json")
        changed = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS[1:3]), "--json")
    used = [json.loads(out)["batch"]["dataset_id"] for _, out, _ in (first, again, changed)]
    assert used[0] == used[1] != used[2]
    told = f"tasks.csv is unchanged: dataset {used[0]} is used again."
    assert [told in err for _, _, err in (first, again, changed)] == [False, True, False]
    names = {each["id"]: each["name"] for each in api.get("/api/datasets", agent_id=agent_id)["items"]}
    assert names == {used[0]: "tasks.csv", used[2]: "tasks.csv"}


def test_the_tasks_of_two_batches_are_compared_over_uploads(api: Api, cli: Cli):
    with registered(api, sometimes) as (agent, agent_id):
        cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS))
        agent.behave = but_one
        # Reordered, one gone, one new: another dataset, whose tasks are known all the same.
        new = ROWS[0] | {"user": "Refund order #4521 (new)."}
        cli.run("--agent", agent_id, "--dataset", cli.tasks(new, ROWS[1], ROWS[0], ROWS[3]))
    later, earlier = batches(api, agent_id)
    code, out, _ = compare(cli, earlier, later)
    assert code == 0
    lines = out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    told = [line for line in lines if line[:1].isupper()]
    assert told[:4] == [
        "REGRESSED 2. Refund order #4521 (1).",
        "FIXED     3. Refund order #4521 (0).",
        "GONE      3. Refund order #4521 (2).",
        "NEW       1. Refund order #4521 (new).",
    ]
    assert "pass 1/1 → 0/1" in lines[2]
    assert "incomplete" in lines[2]
    assert "5 tasks: 1 regressed, 1 fixed, 1 passing as before, 1 only in the first" in out
    assert "Pass rate +0 points over 3 tasks: p 1 (exact McNemar test)." in out


def test_a_regression_fails_where_asked_and_the_batches_have_names(api: Api, cli: Cli):
    with registered(api, refunds) as (agent, agent_id):
        cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS[:2]))
        agent.behave = but_one
        cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS[:2]))
    later, earlier = batches(api, agent_id)
    code, out, err = compare(cli, "--fail-on-regression", "previous", "latest")
    assert (code, err) == (1, "Regressed: 1 task\n")
    assert out.startswith(f"batch {earlier} (agent {agent_id} v1)  →  batch {later} (agent {agent_id} v1)")
    code, out, _ = compare(cli, earlier, later, "--json", "--fail-on-regression")
    assert code == 1
    (task,) = json.loads(out)["tasks"]
    assert (task["change"], task["user_instruction"]) == ("regressed", ROWS[1]["user"])
    assert compare(cli, later, earlier, "--fail-on-regression")[0] == 0
    assert compare(cli, "nonsense", later)[0] == 2


def test_a_corrected_oracle_keeps_the_task_and_is_said(api: Api, cli: Cli):
    other = ROWS[0] | {"expected_state": {"order.4521.status": "cancelled"}}
    with registered(api, refunds) as (_, agent_id):
        cli.run("--agent", agent_id, "--dataset", cli.tasks(ROWS[0]))
        cli.run("--agent", agent_id, "--dataset", cli.tasks(other))
    later, earlier = batches(api, agent_id)
    _, out, _ = compare(cli, earlier, later)
    assert "REGRESSED 1. Refund order #4521 (0)." in out
    assert "judged by another oracle: not tested" in out
    assert "Nothing could be tested" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "zero"], ["(0)"]),
        (["--task", "2", "--task", "ze"], ["(0)", "(1)"]),
        (["--task", "row:1"], ["(0)"]),
        (["--tag", "refund"], ["(0)", "(1)"]),
        (["--tag", "refund", "--tag", "slow", "--task", "2"], ["(1)"]),
    ],
)
def test_only_some_tasks_are_run(api: Api, cli: Cli, options: list[str], said: list[str]):
    with registered(api, refunds) as (agent, agent_id):
        code, _, err = cli.run("--agent", agent_id, "--dataset", cli.tasks(*TAGGED), *options)
        assert code == 0, err
        assert sorted(dispatch.said[-5:-1].strip(" #") for dispatch in agent.dispatches) == said


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--task", "zeor"], "--task zeor: there is no such task; did you mean `zero`?"),
        (["--task", "9"], "--task 9: there is no such task; rows are 1 to 3; keys: zero, t"),
        (["--task", "1"], "--task 1: that is the id of one task and the row of another (zero); write row:1"),
        (["--task", ""], "--task : 3 keys begin so: zero, t"),
        (["--tag", "refnud"], "--tag refnud: no task has it; did you mean `refund`?"),
        (["--tag", "qqq"], "--tag qqq: no task has it; the tags are refund, slow"),
        (["--tag", "slow", "--task", "2"], "No task that --task names has the tag `slow`."),
    ],
)
def test_what_names_no_task_is_refused(api: Api, cli: Cli, options: list[str], told: str):
    with registered(api, refunds) as (agent, agent_id):
        code, out, err = cli.run("--agent", agent_id, "--dataset", cli.tasks(*TAGGED), *options)
        assert (code, out) == (2, "")
        assert told in err
        assert agent.dispatches == []


def test_junit_names_say_the_instruction_and_stay(api: Api, cli: Cli):
    long = ROWS[1] | {"user": "Refund\norder #4521 (1), " + "please, " * 40}
    with registered(api, refunds, name="refunder") as (_, agent_id):
        named = []
        for rows in ([TAGGED[0], long], [long, TAGGED[0]]):
            file = cli.tasks(*rows)
            options = ("--dataset", file, "--repeats", "2", "--junit", "out.xml")
            cli.run("--agent", agent_id, *options)
            suite = ElementTree.parse(cli.directory / "out.xml").getroot()
            named.append({(case.get("classname"), case.get("name")) for case in suite})
    assert named[0] == named[1]
    assert ("refunder/tasks.csv", "Refund order #4521 (0). [zero] (2)") in named[0]
    (other,) = [name for _, name in named[0] if name and "[zero]" not in name and name.endswith("(1)")]
    assert other.startswith("Refund order #4521 (1), please, please,")
    assert "… [t" in other
    assert "\n" not in other
