"""`pipelines run`: its narrower options, and what a person at a terminal sees."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_run_command import ROWS, Cli, registered, sometimes

from support.played_agents import Dispatch, refunds
from support.server_process import PATIENCE_S, Api


@pytest.fixture
def cli(api: Api, tmp_path: Path) -> Cli:
    return Cli(api, tmp_path)


def test_concurrency_is_how_many_runs_the_agent_has_at_once(api: Api, cli: Cli):
    with registered(api, refunds, max_concurrency=4) as (agent, agent_id):
        code, _, err = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS), "--concurrency", "1")
        assert code == 0, err
        assert len(agent.dispatches) == 4
        assert agent.most_at_once == 1


def test_words_are_judged_strictly_where_that_is_asked_for(api: Api, cli: Cli):
    with registered(api, refunds) as (_, agent_id):
        _, out, _ = cli.run(
            "--agent", agent_id, "--dataset", cli.tasks(ROWS[0]), "--strict-honesty", "--json"
        )
    told = json.loads(out)
    assert told["batch"]["honesty"] == "strict"
    assert [run["judgement"]["honesty"] for run in told["runs"]] == ["strict"]


def test_a_batch_is_labelled_with_its_build(api: Api, cli: Cli):
    with registered(api, refunds) as (_, agent_id):
        asked = ("--agent", agent_id, "--dataset", cli.tasks(ROWS[0]), "--label", "3f2a1c")
        code, out, err = cli.run(*asked, "--note", "shorter prompt", "--json")
        assert code == 0, err
        batch = json.loads(out)["batch"]
        assert (batch["label"], batch["note"]) == ("3f2a1c", "shorter prompt")
        code, out, _ = cli.run(*asked)
    assert f"agent {agent_id} version 1 (3f2a1c)" in out


def test_the_pass_rate_is_printed_with_its_interval(api: Api, cli: Cli):
    with registered(api, sometimes) as (_, agent_id):
        code, out, _ = cli.run("--agent", agent_id, "--dataset", cli.tasks(*ROWS))
    assert code == 1
    assert "3 of 4 judged runs pass: 75% (95 % interval 30%–95%)" in out.splitlines()


def test_a_task_that_proves_nothing_is_named_by_its_row(api: Api, cli: Cli):
    empty = ROWS[2] | {"expected_state": {"order.4521.status": "shipped"}}
    with registered(api, refunds) as (_, agent_id):
        _, out, err = cli.run("--agent", agent_id, "--dataset", cli.tasks(ROWS[1], empty, ROWS[3]))
    warned = [line for line in err.splitlines() if line.startswith("row ")]
    assert len(warned) == 1
    assert warned[0].startswith("row 3: ")
    assert "does nothing" in warned[0]
    assert "row 3" not in out


class Screen:
    """What a command writes to the terminal that it runs in."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.shown = ""

    def until(self, words: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.shown:
            left = deadline - time.monotonic()
            readable = left > 0 and select.select([self._descriptor], [], [], left)[0]
            assert readable, f"never showed {words!r}: {self.shown!r}"
            self.shown += os.read(self._descriptor, 65_536).decode(errors="replace")


@contextmanager
def at_a_terminal(cli: Cli, *arguments: str) -> Iterator[tuple[Screen, subprocess.Popen[bytes]]]:
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines", "run", *arguments],
        stdin=its,
        stdout=its,
        stderr=its,
        env=cli.env | {"TERM": "xterm", "NO_COLOR": "1"},
        cwd=cli.directory,
    )
    try:
        yield Screen(ours), process
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(its)  # kept until now: with no end open, reading would fail instead of waiting


def test_a_person_sees_how_far_it_is_and_how_it_goes(api: Api, cli: Cli):
    def holds_the_second(dispatch: Dispatch) -> None:
        if len(dispatch.agent.dispatches) > 1:
            dispatch.until_let_go()
        sometimes(dispatch)

    with registered(api, holds_the_second) as (agent, agent_id):
        tasks = cli.tasks(ROWS[1], ROWS[0], ROWS[2])
        asked = ("--agent", agent_id, "--dataset", tasks, "--concurrency", "1")
        with at_a_terminal(cli, *asked) as (screen, process):
            screen.until("1 PASS")
            assert "1/3" in screen.shown
            assert "3/3" not in screen.shown
            agent.may_answer.set()
            screen.until("2 of 3 judged runs pass")
            assert process.wait(PATIENCE_S) == 1
    assert "3/3" in screen.shown
    assert "2 PASS" in screen.shown
    assert "1 FAIL" in screen.shown
