"""Plans and rules that a model proposes, from the terminal, over a server with a scripted one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from pipelines.cli.main import app
from support.desk import ORDER_ID, STATE, tool
from support.plan_answers import answer_of, with_examples
from support.server_process import Api, house_in

UNCLEAR = tool("run_close", "Runs it.", ORDER_ID, ["order_id"])
CLOSE = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {"set": {"order.status": "'closed'"}},
    {"return": {"order_id": "order.id", "status": "order.status"}},
]
CALLS = [
    {"tool": "run_close", "arguments": {"order_id": "7001"}, "outcome": "allowed", "status": 200},
    {"tool": "run_close", "arguments": {"order_id": "1"}, "outcome": "refused", "status": 404},
]
BROKEN = [{"return": "ordr"}]
PRECIOUS = "Precious goods leave the house only with a clerk."
RULE = {"form": "require", "tools": ["run_close"], "expression": "order.amount < 50", "error": "needs_clerk"}
BY_MODEL = {
    "reason": "told so",
    "status": 409,
    "response": {"error": {"code": "no", "message": "No."}},
    "updates": [],
}
EXAMPLES = [
    {"tool": "run_close", "arguments": {"order_id": "7001"}, "outcome": "allowed"},
    {"tool": "run_close", "arguments": {"order_id": "4521"}, "outcome": "refused", "error": "needs_clerk"},
]
SLOW = "Slow goods wait for the tide."
LOST = "Lost goods are sought by a diver."
SCRIPT = [
    {
        "purpose": "author",
        "about": SLOW,
        "delay_s": 1.0,
        "answer": {"sentences": [{"number": 1, "rules": [RULE], "examples": EXAMPLES}]},
    },
    {"purpose": "author", "about": LOST, "failure": "unavailable"},
    {"purpose": "simulator", "answer": BY_MODEL},
    {
        "purpose": "author",
        "about": "Write the plans of run_close, run_seal",
        "answer": answer_of(run_close=with_examples(CLOSE, *CALLS), run_seal=BROKEN),
    },
    {
        "purpose": "author",
        "about": "Write the plans of run_close.",
        "answer": answer_of(run_close=with_examples(CLOSE, *CALLS)),
    },
    {
        "purpose": "author",
        "about": "Translate",
        "answer": {"sentences": [{"number": 1, "rules": [RULE], "examples": EXAMPLES}]},
    },
]


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    directory = tmp_path_factory.mktemp("asking")
    script = directory / "answers.jsonl"
    script.write_text("\n".join(map(json.dumps, SCRIPT)))
    with house_in(directory, {"PIPELINES_MODEL": f"scripted:{script}"}) as house:
        yield house.open()


def said(asking: Api, *arguments: str, code: int = 0) -> str:
    more = ["--url", asking.url, "--api-key", asking.key]
    done = CliRunner().invoke(app, ["odyssey", *arguments, *more])
    assert done.exit_code == code, done.output
    return done.stdout


def test_plans_are_shown_as_a_file_and_kept_only_when_accepted(asking: Api, tmp_path: Path) -> None:
    agent = asking.agent("http://127.0.0.1:9", name="Closer", tools_schema=[UNCLEAR])
    (tmp_path / "agent.json").write_text(json.dumps({"name": "Closer", "tools_schema": [UNCLEAR]}))
    (tmp_path / "state.json").write_text(json.dumps(STATE))
    files = [str(tmp_path / "agent.json"), str(tmp_path / "state.json")]
    shown = said(asking, "plan", *files, "--write")
    assert yaml.safe_load(shown) == {"run_close": CLOSE}
    assert "# nothing is saved" in shown
    assert '# as expected: run_close {"order_id":"7001"} → 200' in shown
    assert asking.get(f"/api/agents/{agent['id']}")["version"] == agent["version"]
    assert "the agent is at version 2 now" in said(asking, "plan", *files, "--write", "--accept", "all")
    assert asking.get(f"/api/agents/{agent['id']}")["tools_schema"][0]["simulation"] == CLOSE


def closed(number: str) -> Any:
    status = {"status": "closed"}
    change = {"op": "update", "entity_type": "order", "id": number, "set": status, "unset": []}
    return {
        "tool": "run_close",
        "args": {"order_id": number},
        "status": "ok",
        "response": {"order_id": number, **status},
        "updates": [change],
    }


def test_with_a_recording_a_table_at_the_end_says_what_each_plan_is_worth(
    asking: Api, tmp_path: Path
) -> None:
    tools = [UNCLEAR, tool("run_seal", "Runs it.", ORDER_ID, ["order_id"])]
    agent = asking.agent("http://127.0.0.1:9", name="Recorded", tools_schema=tools)
    (tmp_path / "agent.json").write_text(json.dumps({"name": "Recorded", "tools_schema": tools}))
    orders = {str(number): {"status": "pending"} for number in range(6)}
    (tmp_path / "state.json").write_text(json.dumps({"order": orders}))
    calls = [*map(closed, orders), closed("9")]
    (tmp_path / "calls.jsonl").write_text(json.dumps({"task": "t-1", "calls": calls}) + "\n")
    asked = ["plan", str(tmp_path / "agent.json"), "--write", "--recording", str(tmp_path)]
    shown = said(asking, *asked, code=1)
    lines = shown.splitlines()
    (head,) = [at for at, line in enumerate(lines) if line.startswith("# tool ")]
    rows = [
        [cell.strip() for cell in line[2:].split("  ") if cell.strip()] for line in lines[head : head + 3]
    ]
    assert rows == [
        ["tool", "measured with", "before", "after", "suggested"],
        ["run_close", "2 held-out calls", "0 %", "100 %", "proposed"],
        ["run_seal", "0 examples of the model", "–", "not usable", "current"],
    ]
    assert lines[head + 3] == "# run_close does not explain:"
    assert lines[head + 4].startswith('#   task t-1, call 7 with {"order_id":"9"}: ')
    assert yaml.safe_load(shown) == {"run_close": CLOSE}, "the whole output is a plans file"
    for wrong in ("run_seal", "gone", ""):
        said(asking, *asked, "--accept", wrong, code=2)
    assert asking.get(f"/api/agents/{agent['id']}")["version"] == 1
    assert "accepted: run_close" in said(asking, *asked, "--accept", "run_close", code=1)
    simulations = [one.get("simulation") for one in asking.get(f"/api/agents/{agent['id']}")["tools_schema"]]
    assert simulations == [CLOSE, None]


def test_rules_are_proposed_accepted_and_then_answer_without_the_model(asking: Api) -> None:
    agent = asking.agent("http://127.0.0.1:9", name="Keeper", tools_schema=[UNCLEAR | {"simulation": CLOSE}])
    row = {"user": "Close it.", "state": STATE, "behavior": PRECIOUS}
    dataset = asking.dataset(row, agent_id=agent["id"])

    def closing() -> Any:
        body = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}
        run = asking.post("/api/runs", body)
        path = f"/api/odyssey-proxy/runs/{run['run_token_jti']}/tools/run_close"
        headers = {"Authorization": f"Bearer {run['run_token']}"}
        reply = asking.client.post(path, json={"order_id": "4521"}, headers=headers)
        (traced,) = asking.get(f"/api/runs/{run['id']}/trace")["items"]
        return reply.json()["response"]["error"]["code"], traced["validation"]["engine"]

    assert closing() == ("no", "model")
    proposed = said(asking, "rules", str(dataset["id"]), "--propose")
    assert f"proposed  {PRECIOUS}" in proposed
    assert "as a sentence: run_close fails with needs_clerk unless the order's amount is" in proposed
    assert 'as expected: run_close {"order_id":"7001"} → 200' in proposed
    assert 'as expected: run_close {"order_id":"4521"} → 409 needs_clerk' in proposed
    assert "accepted" in said(asking, "rules", str(dataset["id"]), "--accept", "all")
    assert closing() == ("needs_clerk", "embedded")


def test_rules_are_chosen_by_their_ids_and_any_sentence_can_be_asked_about(asking: Api) -> None:
    agent = asking.agent("http://127.0.0.1:9", name="Chooser", tools_schema=[UNCLEAR | {"simulation": CLOSE}])
    read = "run_close fails when the order's amount is above 30."
    row = {"user": "Close it.", "state": STATE, "behavior": read}
    id = str(asking.dataset(row, agent_id=agent["id"])["id"])
    assert "Every sentence is understood." in said(asking, "rules", id, "--propose")
    proposed = said(asking, "rules", id, "--propose", "--sentence", read)
    number = proposed.split()[0]
    assert f"{number}  proposed  {read}" in proposed
    said(asking, "rules", id, "--accept", "some", code=2)
    said(asking, "rules", id, "--sentence", read, code=2)
    assert f"{number}  accepted  {read}" in said(asking, "rules", id, "--accept", number)
    said(asking, "rules", id, "--accept", f"{number},{number}", code=2)


def test_a_sentence_is_dismissed_from_the_terminal(asking: Api) -> None:
    agent = asking.agent(
        "http://127.0.0.1:9", name="Dismisser", tools_schema=[UNCLEAR | {"simulation": CLOSE}]
    )
    row = {"user": "Close it.", "state": STATE, "behavior": "Be kind."}
    id = str(asking.dataset(row, agent_id=agent["id"])["id"])
    assert "dismissed  Be kind." in said(asking, "rules", id, "--dismiss", "Be kind.")
    assert "Every sentence is understood." in said(asking, "rules", id, "--propose")


def test_a_slow_model_is_waited_for_with_its_progress_and_a_failed_question_says_why(
    asking: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.cli.client.JOB_LOOK_S", 0.1)
    monkeypatch.setattr("pipelines.cli.client.TIMEOUT_S", 0.9)
    agent = asking.agent("http://127.0.0.1:9", name="Waiter", tools_schema=[UNCLEAR | {"simulation": CLOSE}])
    more = ["--url", asking.url, "--api-key", asking.key]
    for sentence, code, says in (
        (SLOW, 0, ("The model is asked: 0 of 1 done.", f"proposed  {SLOW}")),
        (LOST, 3, ("unavailable",)),
    ):
        row = {"user": "Close it.", "state": STATE, "behavior": sentence}
        id = str(asking.dataset(row, agent_id=agent["id"])["id"])
        done = CliRunner().invoke(app, ["odyssey", "rules", id, "--propose", *more])
        assert done.exit_code == code, done.output
        assert all(one in done.output for one in says), done.output
