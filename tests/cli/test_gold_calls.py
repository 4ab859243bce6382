"""`pipelines odyssey oracle --from-calls`: oracles from gold calls, replayed without a server."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from test_results_commands import fits, words_of
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.odyssey import proxy_call
from pipelines.odyssey.testing import odyssey_run
from support.desk import STATE, TOOLS, tool

Row = dict[str, Any]
REFUND = [{"tool": "refund_order", "arguments": {"order_id": "4521", "reason": "lost in the mail"}}]
LOOK = [{"tool": "get_order", "arguments": {"order_id": "4521"}}]
MISSING = [{"tool": "cancel_order", "arguments": {"order_id": "9999"}}]
ROWS = [("Refund order 4521.", REFUND), ("When was order 4521 shipped?", LOOK), ("Say hello.", None)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    return tmp_path


def command(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["odyssey", "oracle", *arguments], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert done.exit_code == code, done.output
    return done.output


def write_csv(path: Path, rows: list[tuple[str, Any]], *, has_calls: bool = True) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["user", "state", *(["gold_calls"] if has_calls else [])])
    for user, calls in rows:
        cells = [json.dumps(calls) if calls is not None else ""] if has_calls else []
        writer.writerow([user, json.dumps(STATE), *cells])
    path.write_text(out.getvalue())


def written(path: Path) -> list[Row]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_the_copy_has_what_the_calls_changed_and_the_writes(folder: Path) -> None:
    write_csv(folder / "tasks.csv", ROWS)
    out = command("tasks.csv", "--from-calls")
    assert fits(out)
    refund, look, hello = written(folder / "tasks.oracles.csv")
    assert json.loads(refund["expected_state"]) == {"order.4521.status": "refunded"}
    assert json.loads(refund["expected_calls"]) == {
        "must": [{"tool": "refund_order", "arguments": {"order_id": "4521"}}]
    }
    assert json.loads(look["expected_calls"]) == {"must": [{"tool": "get_order"}]}
    assert hello["expected_state"] == ""
    assert "3 tasks: 2 oracles derived, 0 failed" in words_of(out)


def test_an_agent_is_judged_by_what_was_derived(folder: Path) -> None:
    write_csv(folder / "tasks.csv", ROWS[:1])
    command("tasks.csv", "--from-calls", "--out", "new.json")
    (row,) = json.loads((folder / "new.json").read_text())
    with odyssey_run(tools_schema=TOOLS, **row) as run:
        proxy_call("refund_order", {"order_id": "4521", "reason": "never arrived"})
    assert run.verdict("Order 4521 is refunded.").verdict == "PASS"
    with odyssey_run(tools_schema=TOOLS, **row) as run:
        pass
    assert run.verdict("I looked into it.").verdict == "FAIL"


def test_calls_may_stand_in_a_file_of_their_own(folder: Path) -> None:
    write_csv(folder / "tasks.csv", ROWS, has_calls=False)
    (folder / "calls.json").write_text(json.dumps([calls for _, calls in ROWS]))
    command("tasks.csv", "--from-calls", "calls.json", "--tools", "tools.json", "--out", "new.csv")
    assert json.loads(written(folder / "new.csv")[0]["expected_state"]) == {"order.4521.status": "refunded"}


@pytest.mark.parametrize("name", ["tasks.json", "tasks.jsonl", "tasks.yaml"])
def test_tasks_of_every_format_may_have_the_column(folder: Path, name: str) -> None:
    rows = [{"user": user, "state": STATE, "gold_calls": calls} for user, calls in ROWS]
    lines = "\n".join(json.dumps(row) for row in rows)
    (folder / name).write_text(lines if name.endswith("jsonl") else json.dumps(rows))
    command(name, "--from-calls")
    assert json.loads(written(folder / "tasks.oracles.csv")[0]["expected_state"]) == {
        "order.4521.status": "refunded"
    }


def test_a_call_that_fails_leaves_its_task_without_an_oracle_and_is_exit_code_1(folder: Path) -> None:
    write_csv(folder / "tasks.csv", [("Cancel order 9999.", MISSING), *ROWS[:1]])
    out = words_of(command("tasks.csv", "--from-calls", code=1))
    assert "call 1, cancel_order: 404" in out
    failed, refund = written(folder / "tasks.oracles.csv")
    assert failed["expected_state"] == ""
    assert refund["expected_state"]


def test_a_tool_that_is_not_declared_is_a_call_that_failed(folder: Path) -> None:
    write_csv(folder / "tasks.csv", [("Fly.", [{"tool": "fly"}])])
    assert "call 1, fly" in words_of(command("tasks.csv", "--from-calls", code=1))


def test_ids_and_moments_that_differ_from_run_to_run_are_left_open(folder: Path) -> None:
    opens = tool(
        "open_ticket",
        "Open a ticket.",
        {"subject": {"type": "string"}},
        ["subject"],
        simulation=[
            {"add": {"in": "ticket", "id": "uuid()", "attrs": {"subject": "args.subject", "at": "now"}}},
            {"return": {"ok": "true"}},
        ],
    )
    (folder / "tools.json").write_text(json.dumps([opens]))
    write_csv(
        folder / "tasks.csv",
        [("Open a ticket: late.", [{"tool": "open_ticket", "arguments": {"subject": "late"}}])],
    )
    command("tasks.csv", "--from-calls")
    (row,) = written(folder / "tasks.oracles.csv")
    assert json.loads(row["expected_state"]) == {"ticket.<new>": {"subject": "late"}}


def test_every_problem_of_the_calls_is_told_at_once(folder: Path) -> None:
    write_csv(folder / "tasks.csv", [("Refund it.", [{"tol": "x"}]), ("Look.", {"tool": "get_order"})])
    out = words_of(command("tasks.csv", "--from-calls", code=2))
    assert "row 2, gold_calls/0" in out
    assert "row 3, gold_calls" in out
    assert not (folder / "tasks.oracles.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plain.csv", "--from-calls"), "has no column `gold_calls`"),
        (("plain.csv",), "Say what to derive the oracles from"),
        (("plain.csv", "--from-calls", "short.json"), "3 tasks"),
        (("plain.csv", "--from-calls", "short.json", "--out", "plain.csv"), "the file of tasks itself"),
    ],
)
def test_what_is_missing_is_said(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    write_csv(folder / "plain.csv", ROWS, has_calls=False)
    (folder / "short.json").write_text("[[]]")
    assert said in words_of(command(*arguments, code=2))
