"""Cassettes from the terminal, over a real server, read at 80 columns."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from test_results_commands import Look
from test_run_command import Cli, registered

from pipelines.cli.output.blocks import new_console
from pipelines.cli.output.cassette_report import _print_report, path_of
from support.played_agents import refunds
from support.server_process import REFUND_TASK, Api

HOWTO = Path(__file__).parents[2] / "docs/howto/cassettes.md"
LINES = [
    {
        "tool": "get_order",
        "arguments": {"order_id": "1"},
        "response": {"status": "paid"},
        "endpoint": "orders",
    },
    {"tool": "get_order", "arguments": {"order_id": "1"}, "occurrence": 2, "response": {"status": "shipped"}},
    {"tool": "ping", "arguments": {}, "failure": "No answer came."},
]


@pytest.fixture
def look(api: Api, tmp_path: Path) -> Look:
    return Look(api, tmp_path)


def write(look: Look, *lines: object, name: str = "staging.jsonl") -> None:
    (look.directory / name).write_text("\n".join(map(json.dumps, lines)) + "\n")


def test_a_cassette_goes_out_to_a_file_and_comes_back(look: Look) -> None:
    write(look, *LINES)
    assert look("cassette", "import", "staging.jsonl") == "Cassette staging: 3 calls.\n"
    text = look("cassette", "export", "staging")
    assert [json.loads(line)["tool"] for line in text.splitlines()] == ["get_order", "get_order", "ping"]
    look("cassette", "export", "staging", "-o", "out.jsonl")
    assert (look.directory / "out.jsonl").read_text() == text
    look("cassette", "import", "out.jsonl", "--name", "copy")
    assert look("cassette", "export", "copy") == text
    listed = look("cassette", "list")
    assert listed.splitlines()[0].split() == ["name", "calls", "size", "changed"]
    assert {"staging", "copy"} <= {line.split()[0] for line in listed.splitlines()}
    assert look("cassette", "rm", "copy") == "Cassette copy is deleted.\n"
    assert "There is no cassette 'copy'." in look("cassette", "export", "copy", code=2)


@pytest.mark.parametrize("command", ["rm", "show", "export", "verify"])
def test_a_name_does_not_become_another_path(look: Look, api: Api, command: str) -> None:
    with registered(api, refunds) as (_, agent_id):
        look("cassette", command, f"../agents/{agent_id}", code=2)
        assert str(api.get(f"/api/agents/{agent_id}")["id"]) == agent_id
    assert "`..` is not a valid name for a cassette" in look("cassette", command, "..", code=2)


@pytest.mark.parametrize("name", ["../agents/3", "a?b#c", "a b", "é"])
def test_a_name_is_one_part_of_the_path(name: str) -> None:
    path = path_of(name)
    assert path.startswith("/api/cassettes/")
    assert unquote(path.removeprefix("/api/cassettes/")) == name
    assert set("/?# ").isdisjoint(path.removeprefix("/api/cassettes/"))


def test_the_calls_on_a_cassette_are_shown_as_a_person_reads_them(look: Look) -> None:
    write(look, *LINES)
    look("cassette", "import", "staging.jsonl")
    assert look("cassette", "show", "staging").splitlines() == [
        "Cassette staging: 3 calls",
        '  get_order order_id="1"',
        '    200 {"status": "paid"}',
        '  get_order order_id="1" (time 2)',
        '    200 {"status": "shipped"}',
        "  ping",
        "    no answer: No answer came.",
    ]
    assert [call["tool"] for call in look.json("cassette", "show", "staging", "--tool", "ping")] == ["ping"]


def test_a_file_edited_by_hand_is_refused_with_its_lines(look: Look) -> None:
    write(look, LINES[0], {"tool": "x", "respnse": 1}, LINES[0], name="edited.jsonl")
    said = look("cassette", "import", "edited.jsonl", code=2)
    assert "line 2: unknown field `respnse` (did you mean `response`?)" in " ".join(said.split())
    assert "line 3 is the same call as line 1" in " ".join(said.split())
    assert "nowhere.jsonl" in look("cassette", "import", "nowhere.jsonl", code=2)


def test_verifying_says_what_was_not_asked_and_that_nothing_is_known(look: Look) -> None:
    write(look, *LINES)
    look("cassette", "import", "staging.jsonl")
    report = look.api.post("/api/cassettes/staging/verify", {})
    assert {each["reason"] for each in report["skipped"]} == {
        "there is no endpoint `orders` here",
        "its line names no endpoint",
    }
    assert "No call was repeated, so the result is unknown" in look("cassette", "verify", "staging", code=3)


def test_differences_are_printed_by_their_path(capsys: pytest.CaptureFixture[str]) -> None:
    call = {"tool": "get_order", "arguments": {"order_id": "1"}, "occurrence": 1}
    changes = [
        {"path": "$.status", "how": "changed", "recorded": "paid", "now": "shipped"},
        {"path": "$.lines[1]", "how": "removed", "recorded": 2, "now": None},
        {"path": "$.new", "how": "added", "recorded": None, "now": {"a": 1}},
    ]
    report = {"calls": 4, "asked": 3, "same": 1, "differ": 1, "failed": 1}
    report |= {"differences": [call | {"differences": changes}]}
    report |= {"failures": [call | {"message": "The endpoint is down."}]}
    report |= {"skipped": [{"tool": "refund", "reason": "may write: its operation is POST", "calls": 1}]}
    _print_report(new_console(), report)
    assert capsys.readouterr().out.splitlines() == [
        'DIFFERS get_order order_id="1"',
        "    $.status: paid → shipped",
        "    $.lines[1]: 2 is gone",
        '    $.new: {"a": 1} is new',
        'NO ANSWER get_order order_id="1"',
        "    The endpoint is down.",
        "SKIPPED 1 call of refund: may write: its operation is POST",
        "4 calls: 1 as recorded, 1 differ, 1 without an answer, 1 not repeated",
    ]


def test_a_batch_says_what_it_was_recorded_on(api: Api, look: Look) -> None:
    cli = Cli(api, look.directory)
    with registered(api, refunds) as (_, agent):
        asked = ("--agent", agent, "--dataset", cli.tasks(REFUND_TASK), "--passthrough")
        code, said, _ = cli.run(*asked, "record", "--cassette", "of-the-desk", "--overwrite-cassette")
        assert code == 0
        assert said.splitlines()[0].endswith("completed, record of-the-desk")
        (run,) = look.json("ls", "runs", "--limit", "1")
        assert "passthrough tools: record, cassette of-the-desk" in look("show", str(run["id"]))
        code, _, wrong = cli.run(*asked, "replay")
        assert (code, "`passthrough` `replay` needs a `cassette`" in wrong) == (2, True)


def test_options_of_a_cassette_do_not_go_with_suites(look: Look) -> None:
    (look.directory / "pipelines.yaml").write_text(
        "agents: {desk: {id: 1}}\nsuites: {a: {dataset: t.csv, passthrough: replay}}\n"
    )
    assert "--cassette: suites do not take this" in look("run", "--cassette", "x", code=2)
    assert "needs a `cassette`" in look("run", code=2)


def test_the_commands_of_the_howto_work_as_printed(api: Api, look: Look) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    commands = [line.split()[1:] for block in blocks for line in block.splitlines()]
    cli = Cli(api, look.directory)
    cli.tasks(REFUND_TASK)
    write(look, name="staging.jsonl")
    look("cassette", "import", "staging.jsonl")  # empty: the desk has no live tools
    done = []
    with registered(api, refunds) as (_, agent):
        for name, *rest in commands:
            if name == "run":
                code, said, wrong = cli.run(*[agent if each == "desk" else each for each in rest])
                assert code == 0, said + wrong
            else:
                look(name, *rest)
            done.append((name, rest[0]))
    assert ("cassette", "verify") in done
    assert [name for name, _ in done].count("run") == 2
