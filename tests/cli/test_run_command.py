"""`pipelines run` as CI and people use it: what it prints where, and what its exit code says."""

import csv
import io
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pipelines.cli.gate import gate_code
from pipelines.cli.output.batch_report import warnings_of
from support.played_agents import Dispatch, PlayedAgent, does_nothing, holds, played, refunds
from support.server_process import PATIENCE_S, REFUND_TASK, Api, clean_environment, eventually, house_in
from support.warm_process import WarmProcess

WIDE = {"COLUMNS": "200"}


class Cli:
    """The command, pointed at a server by the environment."""

    def __init__(self, api: Api, directory: Path) -> None:
        self.directory = directory
        self.env = clean_environment() | {"PIPELINES_URL": api.url, "PIPELINES_API_KEY": api.key} | WIDE

    def start(self, *arguments: str, **env: str) -> WarmProcess:
        return WarmProcess("run", *arguments, env=self.env | env, cwd=self.directory)

    def run(self, *arguments: str, **env: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **env)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in err, err
        return process.wait(), out, err

    def tasks(self, *rows: dict[str, Any], name: str = "tasks.csv") -> str:
        text = io.StringIO()
        table = csv.DictWriter(text, sorted({column for row in rows for column in row}))
        table.writeheader()
        for row in rows:
            table.writerow({k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()})
        (self.directory / name).write_text(text.getvalue())
        return name


@pytest.fixture
def cli(api: Api, tmp_path: Path) -> Cli:
    return Cli(api, tmp_path)


@contextmanager
def registered(api: Api, behave: Any, **fields: Any) -> Iterator[tuple[PlayedAgent, str]]:
    with played(behave) as agent:
        yield agent, str(api.agent(agent.url, **fields)["id"])


def sometimes(dispatch: Dispatch) -> None:
    (does_nothing if "(0)" in dispatch.said else refunds)(dispatch)


ROWS = [REFUND_TASK | {"user": f"Refund order #4521 ({n})."} for n in range(4)]


def test_all_pass_is_exit_code_0(api: Api, cli: Cli):
    with registered(api, refunds) as (agent, agent_id):
        code, out, err = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS), "--repeats", "2")
        assert code == 0, err
        assert len(agent.dispatches) == 8
    assert out.count("PASS runs ") == 4  # a line a task, with both of its runs
    assert "8 of 8 judged runs pass: 100%" in out
    assert "pass^2: 100%" in out
    assert "batch" in err
    assert "PASS" not in out.splitlines()[0]


def test_what_the_runs_point_out_is_printed_once_below_the_verdicts(api: Api, cli: Cli):
    """Here, that the agent has tools and calls none."""
    with registered(api, does_nothing) as (_, agent_id):
        _, out, _ = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS[:2]))
    first, second = (run["id"] for run in reversed(api.get("/api/runs", limit=2)["items"]))
    assert f"warning runs {first}, {second}: the agent has tools, but no call reached the proxy" in out
    assert out.count("no call reached the proxy") == 1


GATES = {"0.75": 0, "0.76": 1}


def test_the_exit_code_says_whether_the_gate_is_met(api: Api, cli: Cli):
    with registered(api, sometimes) as (_, agent_id):
        code, out, _ = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS))
        assert code == 1
        assert "incomplete" in out
        dataset = str(api.get("/api/datasets")["items"][0]["id"])
        for share, expected in GATES.items():
            assert cli.run("--agent", agent_id, "--dataset", dataset, "--fail-under", share)[0] == expected


def test_a_gate_that_pending_runs_would_decide_has_a_code_of_its_own(capsys: pytest.CaptureFixture[str]):
    decided = {"verdict": "PASS", "judge_error": None, "error_class": None}
    runs = [decided, decided | {"verdict": "PENDING", "pending_reason": "no_oracle"}]
    assert gate_code(runs, None) == 0  # nobody asked
    assert gate_code(runs, 0.5) == 0
    assert gate_code(runs, 1.0) == 4
    assert "The gate is open: PENDING runs would decide it. 1 of 2 runs" in capsys.readouterr().err


def test_many_warnings_are_cut_short_and_counted():
    runs = [{"id": n, "soft_warnings": ["all alike", f"number {n}"]} for n in range(1, 13)]
    lines = warnings_of([*runs, {"id": 13, "soft_warnings": None}])
    assert lines[:2] == ["runs 1, 2, 3, 4, 5, … (12 in all): all alike", "run 1: number 1"]
    assert lines[-1] == "… and 3 more: soft_warnings of each run"
    assert len(lines) == 11


def test_json_is_all_there_is_on_stdout(api: Api, cli: Cli):
    with registered(api, refunds) as (_, agent_id):
        code, out, _ = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS[:2]), "--json")
    printed = json.loads(out)
    assert code == 0
    assert printed["batch"]["status"] == "completed"
    assert [run["verdict"] for run in printed["runs"]] == ["PASS", "PASS"]


def test_an_agent_is_found_by_its_name(api: Api, cli: Cli):
    with registered(api, refunds, name="The only desk") as (_, _id):
        assert cli.run("--agent", "The only desk", "--dataset", cli.tasks(ROWS[1]))[0] == 0
        api.agent("http://127.0.0.1:9/dispatch", name="The only desk")
        code, _, err = cli.run("--agent", "The only desk", "--dataset", cli.tasks(ROWS[1]))
    assert code == 2
    assert "2 agents named 'The only desk'" in err


def test_junit_is_xml_with_a_case_per_run(api: Api, cli: Cli):
    """Words of an agent that XML cannot hold among them."""

    def badly(dispatch: Dispatch) -> None:
        if "(1)" in dispatch.said:
            dispatch.answer_with(500, "<b>\x00\x1b[31m ä & \ufffe".encode())
        else:
            sometimes(dispatch)

    with registered(api, badly) as (_, agent_id):
        code, _, _ = cli.run(
            "--agent", agent_id, "--dataset", cli.tasks(*ROWS), "--junit", "out.xml", LC_ALL="C"
        )
    assert code == 1
    suite = ElementTree.fromstring((cli.directory / "out.xml").read_bytes())
    assert suite.tag == "testsuite"
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    assert len(suite.findall("testcase")) == 4
    assert suite.find(".//failure").get("message") == "incomplete"
    assert "ä &" in suite.find(".//error").text


def test_a_report_that_cannot_be_written_is_found_out_before_the_run(api: Api, cli: Cli):
    with registered(api, refunds) as (agent, agent_id):
        code, _, err = cli.run(
            "--agent", agent_id, "--dataset", cli.tasks(ROWS[1]), "--junit", "no/such/directory/out.xml"
        )
        assert agent.dispatches == []
    assert code == 2
    assert "no/such/directory" in err


def test_what_an_agent_says_is_shown_as_text(api: Api, cli: Cli):
    """Neither the markup of our own output nor the terminal's."""
    with registered(api, lambda d: d.answer_with(500, b"[/red] \x1b[2J [bold]no[/bold]")) as (_, agent_id):
        code, out, _ = cli.run("--agent", agent_id, "--dataset", cli.tasks(ROWS[1]))
    assert code == 1
    assert "[/red]" in out
    assert "[bold]no[/bold]" in out
    assert "\x1b" not in out


WRONG = {
    "nothing to run": ([], "--agent and --dataset"),
    "no dataset": (["--agent", "1"], "--agent and --dataset"),
    "no such agent": (["--agent", "999999", "--dataset", "tasks.csv"], "no agent 999999"),
    "no agent of that name": (["--agent", "nobody", "--dataset", "tasks.csv"], "no agent named 'nobody'"),
    "no such dataset": (["--agent", "{agent}", "--dataset", "999999"], "no dataset 999999"),
    "no such file": (["--agent", "{agent}", "--dataset", "none.csv"], "none.csv"),
    "a file that is none": (["--agent", "{agent}", "--dataset", "bad.csv"], "row 2"),
    "no such batch": (["--resume", "999999"], "no batch 999999"),
    "too few repeats": (["--agent", "1", "--dataset", "1", "--repeats", "0"], "--repeats"),
    "a share over one": (["--agent", "1", "--dataset", "1", "--fail-under", "1.5"], "--fail-under"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_is_exit_code_2_with_words(api: Api, cli: Cli, name: str):
    arguments, words = WRONG[name]
    agent_id = str(api.agent("http://127.0.0.1:9/dispatch")["id"])
    cli.tasks(ROWS[0])
    (cli.directory / "bad.csv").write_text('user,state\nDo it.,"{not json"\n')
    code, out, err = cli.run(*[part.format(agent=agent_id) for part in arguments])
    assert code == 2
    assert words in " ".join(err.split())
    assert out == ""


def test_a_wrong_key_and_no_server_are_said(api: Api, cli: Cli):
    code, _, err = cli.run("--agent", "1", "--dataset", "1", PIPELINES_API_KEY="pk_live_wrong")
    assert (code, "unknown or revoked" in err) == (2, True)
    code, _, err = cli.run("--agent", "1", "--dataset", "1", PIPELINES_URL="http://127.0.0.1:9")
    assert (code, "pipelines up" in err) == (3, True)


def test_runs_that_could_not_be_run_are_exit_code_3_and_a_proven_failure_outranks_them(api: Api, cli: Cli):
    """The agent goes away after its first answer, which is wrong in one case and right in the other."""
    nobody = str(api.agent("http://127.0.0.1:9/dispatch")["id"])
    code, _, err = cli.run("--agent", nobody, "--dataset", cli.tasks(*ROWS[:2]), "--fail-under", "0")
    assert code == 3
    assert "2 of 2 runs could not be run: agent_unreachable (2)." in err
    assert "The agent could not be reached: connection refused (127.0.0.1:9)." in " ".join(err.split())

    def refused_from(first: int) -> Any:
        def behave(dispatch: Dispatch) -> None:
            if any(f"({number})" in dispatch.said for number in range(first, 4)):
                dispatch.answer_with(401, b"{}")
            else:
                sometimes(dispatch)

        return behave

    for rows, expected in ((ROWS, 1), (ROWS[1:], 3)):
        with registered(api, refused_from(2)) as (_, agent_id):
            code, _, err = cli.run("--agent", agent_id, "--dataset", cli.tasks(*rows))
        assert code == expected, err
        assert "auth_failed (2)" in err


def test_ctrl_c_cancels_the_batch_and_says_how_to_go_on(api: Api, cli: Cli):
    with registered(api, holds, max_concurrency=2) as (agent, agent_id):
        process = cli.start("--agent", agent_id, "--dataset", cli.tasks(*ROWS))
        eventually(lambda: agent.at_once == 2, "the batch is under way")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert "Traceback" not in err
        batch_id = api.get("/api/runs", agent_id=agent_id)["items"][0]["batch_id"]
        assert f"pipelines run --resume {batch_id}" in " ".join(err.split())
        assert api.batch(batch_id)["counts"]["by_status"] == {"cancelled": 4}
        sent = dict(agent.runs_seen)
        agent.may_answer.set()
        code, out, err = cli.run("--resume", str(batch_id), "--json")
        assert code == 0, err
        assert set(agent.runs_seen.values()) == {1}
    printed = json.loads(out)
    assert [run["verdict"] for run in printed["runs"]] == ["PASS"] * 4
    assert not set(sent) & {run["id"] for run in printed["runs"]}


@pytest.mark.slow
def test_resuming_after_the_server_was_killed_gives_the_whole(tmp_path: Path):
    with house_in(tmp_path / "house", {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house, played(holds) as agent:
        api = house.open()
        batch_id = api.start_batch(agent.url, *ROWS, agent={"max_concurrency": 2})
        eventually(lambda: agent.at_once == 2, "the batch is under way")
        house.kill()
        agent.may_answer.set()
        api = house.open()
        code, out, err = Cli(api, tmp_path).run("--resume", str(batch_id), "--json")
        assert code == 0, err
        assert [run["verdict"] for run in json.loads(out)["runs"]] == ["PASS"] * 4
        assert set(agent.runs_seen.values()) == {1}
        assert len(agent.runs_seen) == 6


def test_the_key_is_found_in_the_data_directory(api: Api, cli: Cli):
    elsewhere = {"PIPELINES_API_KEY": "", "XDG_STATE_HOME": str(cli.directory)}  # no server is noted there
    (cli.directory / ".pipelines").mkdir()
    (cli.directory / ".pipelines" / "api-key").write_text(api.key + "\n")
    code, _, err = cli.run("--agent", "999999", "--dataset", "1", **elsewhere)
    assert (code, "no agent 999999" in err) == (2, True)
    os.unlink(cli.directory / ".pipelines" / "api-key")
    code, _, err = cli.run("--agent", "999999", "--dataset", "1", **elsewhere)
    assert (code, "No API key" in err) == (2, True)
