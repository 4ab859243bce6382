"""Looking at runs from the terminal, and deciding about them: over a real server, read as a person reads."""

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from rich.console import Console
from test_run_command import Cli, registered
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.cli.output.batch_report import print_batch
from pipelines.cli.output.ledger_changes import ledger_changes
from pipelines.cli.output.usage import usage_json, usage_lines
from pipelines.cli.results.show import row_lines
from support.played_agents import Dispatch, does_nothing, refunds
from support.server_process import REFUND_TASK, Api
from support.warm_process import WarmProcess

Row = dict[str, Any]
UNDECIDED = {key: value for key, value in REFUND_TASK.items() if key != "expected_state"}
WRONG = REFUND_TASK | {"expected_state": {"order.4521.status": "cancelled"}}


class Look:
    def __init__(self, api: Api, directory: Path) -> None:
        self.api = api
        self.directory = directory
        self.env = Cli(api, directory).env | {"COLUMNS": "80", "NO_COLOR": "1"}

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0, **env: str) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.directory)
            done = CliRunner().invoke(app, [*arguments], env=self.env | env, input=stdin)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        assert done.exit_code == code, done.output
        return done.stdout if code == 0 else done.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def look(api: Api, tmp_path: Path) -> Look:
    return Look(api, tmp_path)


def by_wish(dispatch: Dispatch) -> None:
    (does_nothing if "nothing" in dispatch.said else refunds)(dispatch)


@pytest.fixture(scope="module")
def batch(api: Api) -> Iterator[Row]:
    """Passes, fails, and is left open."""
    rows = [
        REFUND_TASK | {"user": "Refund order #4521, and tell me."},
        REFUND_TASK | {"user": "Refund order #4521, but do nothing."},
        UNDECIDED | {"user": "Refund order #4521 as you think best."},
    ]
    with registered(api, by_wish) as (_, agent_id):
        dataset = api.dataset(*rows, agent_id=int(agent_id))
        batch_id = api.batch_of(int(agent_id), dataset["id"])
        yield api.ended(batch_id) | {"runs": [], "agent": agent_id}


def run_ids(api: Api, batch: Row) -> list[int]:
    return [run["id"] for run in api.runs(batch["id"])]


def fits(text: str, width: int = 80) -> bool:
    return all(len(line) <= width and line == line.rstrip() for line in text.splitlines())


def words_of(text: str) -> str:
    return " ".join(text.split())


# Lists


def test_the_runs_of_a_batch_are_listed_with_failures_first_and_what_was_asked(
    look: Look, api: Api, batch: Row
):
    passed, failed, undecided = run_ids(api, batch)
    out = look("ls", "runs", "--batch", str(batch["id"]))
    heads = [line for line in out.splitlines() if " run " in line and "task" in line]
    assert heads == [
        f"FAIL run {failed}, task 2: Refund order #4521, but do nothing.",
        f"PENDING run {undecided}, task 3: Refund order #4521 as you think best.",
        f"PASS run {passed}, task 1: Refund order #4521, and tell me.",
    ]
    assert fits(out)


def test_lists_are_narrowed_down(look: Look, api: Api, batch: Row):
    passed, failed, _ = run_ids(api, batch)
    of_batch = ("ls", "runs", "--batch", str(batch["id"]))
    assert [run["id"] for run in look.json(*of_batch, "--verdict", "fail")] == [failed]
    assert look.json(*of_batch, "--status", "failed") == []
    assert [run["id"] for run in look.json(*of_batch, "--limit", "1")] == [failed]
    newest = look.json("ls", "--agent", batch["agent"])
    assert [run["id"] for run in newest][-1] == passed
    assert "1 of 3 runs" in look(*of_batch, "--limit", "1")
    assert "no such runs" in look(*of_batch, "--status", "cancelled")


@pytest.mark.parametrize("what", ["batches", "agents", "datasets"])
def test_batches_agents_and_datasets_are_listed(look: Look, batch: Row, what: str):
    items = look.json("ls", what)
    shown = look("ls", what, "--limit", "2")
    assert str(items[0]["id"]) in shown
    if what == "batches":
        (line,) = [line for line in look("ls", what).splitlines() if line.startswith(f"{batch['id']} ")]
        assert " 1/3 " in line


WRONG_USAGE = {
    "a filter of runs": (("ls", "agents", "--batch", "1"), "--batch filters runs"),
    "no such agent": (("ls", "--agent", "nobody at all"), "0 agents named"),
    "a run that is none": (("show", "latest"), "give the number of a run"),
    "a run that is not there": (("show", "999999"), "no run 999999"),
    "a batch that is not there": (("show", "batch:999999"), "no batch 999999"),
    "logs of a batch that is not there": (("logs", "batch:999999", "--follow"), "no batch 999999"),
    "a verdict on nothing": (("review", "--verdict", "pass"), "Name the run"),
    "a batch to judge that is not there": (("rejudge", "999999"), "no batch 999999"),
}


@pytest.mark.parametrize("name", WRONG_USAGE)
def test_wrong_usage_is_exit_code_2_with_words(look: Look, name: str):
    arguments, words = WRONG_USAGE[name]
    assert words in words_of(look(*arguments, code=2))


# One run


def test_a_run_is_shown_from_what_was_asked_to_why_it_was_judged_so(look: Look, api: Api, batch: Row):
    passed, failed, _ = run_ids(api, batch)
    out = look("show", str(passed))
    assert fits(out)
    whole = words_of(out)
    for words in (
        f"Run {passed}: PASS",
        f"batch {batch['id']}, task 1 of dataset",
        "Refund order #4521, and tell me.",
        'expected_state: {"order.4521.status": "refunded"}',
        'refund_order order_id="4521"',
        "→ 200, odyssey, ",
        'order.4521.status: "shipped" → "refunded"',
        "I have refunded order 4521.",
        "judge: embedded v",
        "oracle v1",
        "held expected_state",
        "tokens: not reported",
    ):
        assert words in whole, words
    missed = words_of(look("show", str(failed)))
    assert "Changed in the world nothing" in missed
    assert "broken expected_state" in missed
    assert "the agent has tools, but no call reached the proxy" in missed.partition("Warnings ")[2]


def test_a_run_as_json_has_its_trace_and_output(look: Look, api: Api, batch: Row):
    whole = look.json("show", str(run_ids(api, batch)[0]))
    assert [row["tool_name"] for row in whole["trace"]] == ["get_order", "refund_order", "get_order"]
    assert (whole["output"]["stdout"], whole["earlier_verdicts"]) == ("", [])


def test_a_batch_is_shown_as_run_printed_it(look: Look, batch: Row):
    out = look("show", f"batch:{batch['id']}")
    assert f"1 of 3 need a person to decide: pipelines review --batch {batch['id']}" in out
    assert look.json("show", f"batch:{batch['id']}")["usage"]["total_cost_usd"] is None


def test_what_an_agent_wrote_is_shown_as_text(look: Look, api: Api):
    def colours(dispatch: Dispatch) -> None:
        dispatch.answer("[red]no[/red] \x1b[2J done")

    with registered(api, colours) as (_, agent_id):
        batch_id = api.batch_of(int(agent_id), api.dataset(REFUND_TASK)["id"])
        api.ended(batch_id)
    (run,) = api.runs(batch_id)
    out = look("show", str(run["id"]))
    assert "[red]no[/red]" in out
    assert "\x1b" not in out


def test_the_log_of_a_run_is_a_line_per_event(look: Look, api: Api, batch: Row):
    passed, failed, _ = run_ids(api, batch)
    out = look("logs", str(passed), COLUMNS="200")
    lines = [line.partition(" ")[2] for line in out.splitlines()]
    assert lines[0].startswith(f"run {passed} begins, task 1: Refund order #4521")
    assert lines[1].startswith('get_order order_id="4521" → 200, odyssey')
    begun = [line for line in lines if not line.startswith(" ")]  # the rest goes on with the line before
    assert begun[-1].startswith(f"run {passed} completed, PASS")
    events = [json.loads(line) for line in look("logs", str(passed), "--json").splitlines()]
    assert [event["tool_name"] for event in events[:-1]] == ["get_order", "refund_order", "get_order"]
    followed = look("logs", f"batch:{batch['id']}", "--follow")
    assert f"FAIL run {failed}, task 2" in followed
    assert "(incomplete)" in followed


def test_logs_follow_a_run_until_it_ends(look: Look, api: Api):
    def held(dispatch: Dispatch) -> None:
        dispatch.until_let_go()
        refunds(dispatch)

    with registered(api, held) as (agent, agent_id):
        batch_id = api.batch_of(int(agent_id), api.dataset(REFUND_TASK)["id"])
        (run,) = api.runs(batch_id)
        env = look.env | {"PYTHONUNBUFFERED": "1"}
        follower = WarmProcess("logs", str(run["id"]), "--follow", env=env)
        first = follower.stdout.readline()
        agent.may_answer.set()
        out, _ = follower.communicate(timeout=40)
    assert "begins, task 1" in first
    assert "refund_order" in out
    assert "completed, PASS" in out


# People decide


def test_a_run_is_decided_in_one_line(look: Look, api: Api, batch: Row):
    passed, failed, _ = run_ids(api, batch)
    out = look("review", str(failed), "--verdict", "pass", "--note", "was told to", "--label", "oracle")
    assert out == f"run {failed}: PASS by a person; the judge said FAIL\n"
    run = api.get(f"/api/runs/{failed}")
    assert (run["verdict"], run["human_verdict"]) == ("FAIL", "PASS")
    (given,) = run["review"]["verdicts"]
    assert (given["note"], given["labels"]) == ("was told to", ["oracle"])
    assert "--again" in look("review", str(failed), "--verdict", "fail", code=2)
    look("review", str(failed), "--verdict", "fail", "--again", "--reviewer", "bob")
    assert "bob says FAIL" in look("show", str(failed))
    assert look.json("review", str(passed), "--verdict", "pass")["human_verdict"] == "PASS"


def test_what_waits_is_shown_one_at_a_time_and_decided_from_a_pipe(look: Look, api: Api):
    rows = [UNDECIDED | {"user": f"Refund order #4521 somehow ({n})."} for n in range(3)]
    with registered(api, refunds) as (_, agent_id):
        batch_id = api.batch_of(int(agent_id), api.dataset(*rows)["id"])
        api.ended(batch_id)
    first, second, third = (run["id"] for run in api.runs(batch_id))
    waiting = ("review", "--batch", str(batch_id))
    assert [run["id"] for run in look.json(*waiting)] == [first, second, third]
    out = look(*waiting, stdin="what\npass well done\nskip\nf not asked for\n")
    assert "3 runs wait for a person" in out
    assert "Answer pass, fail, skip or quit." in out
    assert "Verdict: PENDING" in out
    decided = {run["id"]: run["human_verdict"] for run in api.runs(batch_id)}
    assert decided == {first: "PASS", second: None, third: "FAIL"}
    assert api.get(f"/api/runs/{first}")["review"]["verdicts"][0]["note"] == "well done"
    assert [run["id"] for run in look.json(*waiting)] == [second]
    look(*waiting)  # nothing to read: shown, and left as it is
    look("review", str(second), stdin="q\n")
    assert api.get(f"/api/runs/{second}")["human_verdict"] is None
    look("review", str(second), "--verdict", "fail")
    assert look(*waiting) == "Nothing waits for a decision.\n"


def test_a_batch_is_judged_again_by_corrected_oracles(look: Look, api: Api):
    with registered(api, refunds) as (agent, agent_id):
        batch_id = api.batch_of(int(agent_id), api.dataset(WRONG, REFUND_TASK)["id"])
        api.ended(batch_id)
        first, _ = api.runs(batch_id)
        assert "No verdict changed" in look("rejudge", str(batch_id))
        api.put(f"/api/tasks/{first['task_id']}/oracle", {"expected_state": REFUND_TASK["expected_state"]})
        out = look("rejudge", str(batch_id))
        assert len(agent.dispatches) == 2
    assert f"run {first['id']} FAIL (wrong_action) → PASS" in out
    assert "1 verdict changed; now 2 of 2 judged runs pass" in out
    shown = words_of(look("show", str(first["id"])))
    assert ", oracle v2)" in shown
    assert 'expected_state: {"order.4521.status": "refunded"}' in shown  # as it was judged by
    assert "Earlier verdicts FAIL (judge: embedded" in shown
    back = look.json("rejudge", str(batch_id), "--own-oracle")
    assert (back["judged"], back["changed"]) == (2, 1)


def tries_and_tells(dispatch: Dispatch) -> None:
    with contextlib.suppress(Exception):  # the connection is closed without a reply
        dispatch.call("refund_order", {"order_id": "4521"})
    dispatch.answer("I have tried to refund order 4521.")


def test_of_a_conversation_all_that_was_said_is_shown_and_a_time_out_is_no_reply(look: Look, api: Api):
    late = {
        "trigger": "after_n_calls",
        "tool": "refund_order",
        "n": 1,
        "error": {"kind": "timeout", "after_ms": 1},
    }
    talk = REFUND_TASK | {"scripted_user_turns": ["Thank you."], "failure_rules": [late]}
    with registered(api, tries_and_tells) as (_, agent_id):
        dataset = api.dataset(talk, agent_id=int(agent_id))
        batch_id = api.batch_of(int(agent_id), dataset["id"])
        api.ended(batch_id)
    (run,) = api.runs(batch_id)
    said = look("show", str(run["id"]))
    part = said.partition("\nConversation\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split(":")[0].strip() for line in part] == ["user", "agent"] * 2
    assert "→ no reply (504), injected by failure_rules[0]: " in words_of(said)
    assert fits(said)


# Many runs


def run_of(number: int, verdict: str = "PASS", **changes: Any) -> Row:
    blank = dict.fromkeys(("judge_error", "error_class", "error_json", "failure_mode", "human_verdict"))
    known = {
        "id": number,
        "task_id": number,
        "row_number": number,
        "repeat_number": 1,
        "user_instruction": f"Refund order {number}, " + "which arrived broken, " * 3,
        "status": "completed",
        "verdict": verdict,
        "judgement": {"reasoning": "The task was not completed. " * 4},
        "soft_warnings": [],
        "metadata": None,
        "dispatched_at": "2026-05-01T12:00:00.000000Z",
        "started_at": "2026-05-01T12:00:00.000000Z",
        "ended_at": "2026-05-01T12:00:01.500000Z",
    }
    return blank | known | changes


def printed(runs: list[Row], width: int, repeats: int = 1, pass_hat_k: Row | None = None) -> str:
    batch = {"id": 5, "agent_id": 1, "agent_version": 2, "repeats": repeats, "status": "completed"}
    passed = sum(run["verdict"] == "PASS" for run in runs)
    summary = {"passed": passed, "judged": len(runs), "pass_rate": passed / len(runs)}
    summary |= {"pass_rate_interval": [0, 1], "pass_hat_k": pass_hat_k or {}}
    out = io.StringIO()
    print_batch(Console(file=out, width=width, highlight=False), batch | {"summary": summary}, runs)
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("count", [1, 12, 1_000])
@pytest.mark.parametrize("share", [0, 3, 1])
def test_results_stack_at_any_width_and_of_many_a_summary_is_printed(width: int, count: int, share: int):
    fails = [share and number % share == 0 for number in range(count)]
    runs = [
        run_of(n, "FAIL", failure_mode="incomplete") if bad else run_of(n) for n, bad in enumerate(fails, 1)
    ]
    out = printed(runs, width)
    assert fits(out, width)
    assert "…" not in out.partition("more")[0].partition("Refund")[0]  # no column is cut
    assert len(out.splitlines()) < (260 if width == 40 else 120)
    failures = [line for line in out.splitlines() if line.startswith("FAIL")]
    passes = [line for line in out.splitlines() if line.startswith("PASS")]
    assert not passes or not failures or out.index(failures[-1]) < out.index(passes[0])
    if sum(fails) > len(failures):
        assert f"… and {sum(fails) - len(failures):,} more FAIL:" in out


def test_a_rare_failure_is_shown_among_many_of_a_common_one():
    common = [run_of(n, "FAIL", failure_mode="incomplete") for n in range(1, 500)]
    rare = run_of(900, "FAIL", failure_mode="false_claim")
    out = printed([*common, rare], 80)
    assert "FAIL run 900, task 900" in out
    assert "incomplete 499, false_claim 1" in words_of(out)


def test_repeats_that_ended_for_the_same_reason_are_told_once():
    fails = [run_of(n, "FAIL", task_id=1, row_number=1, repeat_number=n) for n in (1, 2, 3)]
    other = run_of(4, "FAIL", task_id=1, row_number=1, repeat_number=4, judgement={"reasoning": "Other."})
    passes = [run_of(n, task_id=2, row_number=2, repeat_number=n - 4) for n in range(5, 25)]
    out = printed([*fails, other, *passes], 80, repeats=20)
    lines = [line.partition(":")[0] for line in out.splitlines() if line.startswith(("FAIL", "PASS"))]
    assert lines == [
        "FAIL runs 1, 2, 3, task 1",
        "FAIL run 4, task 1, repeat 4",
        "PASS runs 5, 6, 7, 8, 9, … (20 in all), task 2",
    ]
    assert "4 FAIL" in out  # counted each


def test_of_many_repeats_the_first_and_the_last_pass_k_are_told():
    out = printed([run_of(1)], 80, repeats=50, pass_hat_k={str(k): 0.5 for k in range(2, 51)})
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("pass^")] == [
        "pass^2",
        "pass^3",
        "pass^4",
        "pass^50",
    ]


def test_what_nobody_reported_is_said_to_be_so_and_not_nothing():
    one = run_of(1)
    assert [line.partition(" (")[0] for line in usage_lines([one])] == [
        "time: 1.5 s for the run",
        "tokens: not reported",
        "cost: not reported",
    ]
    told = run_of(
        2, metadata={"total_input_tokens": 1_200, "total_output_tokens": 30, "total_cost_usd": 0.02}
    )
    _, tokens, cost = usage_lines([one, told])
    assert tokens == "tokens: 1,200 in, 30 out (reported by 1 of 2 runs)"
    assert cost == "cost: 0.0200 USD (reported by 1 of 2 runs)"
    zero = run_of(3, metadata={"total_input_tokens": 0, "total_output_tokens": 0, "total_cost_usd": 0})
    assert usage_lines([zero])[1:] == ["tokens: 0 in, 0 out", "cost: 0.0000 USD"]
    assert usage_json([one])["total_cost_usd"] is None
    assert "no run was sent" in usage_lines([run_of(4, dispatched_at=None, started_at=None)])[0]


def test_tokens_that_only_the_model_gateway_counted_are_said_to_be_so():
    counted = {"calls": 2, "failed": 0, "uncounted": 0, "input_tokens": 18, "output_tokens": 7, "models": []}
    one = run_of(1, metadata={"model_gateway": counted})
    assert usage_lines([one])[1] == "tokens: 18 in, 7 out (counted by the model gateway)"
    told = run_of(2, metadata={"total_input_tokens": 2, "total_output_tokens": 1, "model_gateway": counted})
    assert usage_lines([told])[1] == "tokens: 2 in, 1 out"
    partly = run_of(3, metadata={"model_gateway": counted | {"uncounted": 1}})
    assert usage_lines([told, partly])[1] == (
        "tokens: 20 in, 8 out (counted by the model gateway for 1 run; at least: 1 model call did not tell)"
    )
    assert usage_json([one])["total_input_tokens"] == 18


def test_a_model_call_is_shown_with_what_is_known_of_it():
    call = {"gateway": "local", "model": "gpt", "call": "POST /chat/completions", "error": None}
    row = {"sequence": 3, "actor_id": None, "kind": "model_call", "http_status": 200, "latency_ms": 12}
    told = row | {"payload": call | {"input_tokens": 1_200, "output_tokens": 7}}
    assert row_lines(told, 80) == [
        (2, "3 gpt of gateway local: POST /chat/completions"),
        (6, "→ 200, 12 ms, tokens in 1,200, out 7"),
    ]
    cut = call | {"model": None, "input_tokens": None, "output_tokens": None, "error": "it broke off"}
    assert row_lines(row | {"payload": cut, "http_status": None}, 80) == [
        (2, "3 a model of gateway local: POST /chat/completions"),
        (6, "→ no answer, 12 ms: it broke off"),
    ]


def test_a_call_is_shown_with_the_rule_that_answered_it():
    row = {"sequence": 2, "actor_id": None, "kind": "tool_call", "tool_name": "refund_order", "arguments": {}}
    row |= {"source": "odyssey", "http_status": 409, "error_code": None, "matched_rule_index": None}
    row |= {"latency_ms": 1, "response": None, "matched_rule": "At most two refunds."}
    refused = row_lines(row, 80)[1]
    assert refused == (6, "→ 409, odyssey, 1 ms, refused by the rule “At most two refunds.”: null")
    answered = row_lines(row | {"http_status": 200}, 80)[1]
    assert answered == (6, "→ 200, odyssey, 1 ms, answered by the rule “At most two refunds.”: null")


def test_changes_of_the_world_are_told_from_its_beginning_to_its_end():
    state = {"order": {"1": {"status": "paid", "n": 1}, "2": {"a": True}}, "item": {"x": {}}}

    def update(id: str, set: Row, unset: list[str] | None = None) -> Row:
        return {"op": "update", "entity_type": "order", "id": id, "set": set, "unset": unset or []}

    trace = [
        {"updates": [update("1", {"status": "held"}), update("2", {"a": 1})]},
        {"updates": [update("1", {"status": "paid", "by": "ann"}, ["n"])]},
        {"updates": [{"op": "add", "entity_type": "order", "id": "3", "attrs": {"status": "new"}}]},
        {"updates": [{"op": "remove", "entity_type": "item", "id": "x"}, {"op": "set_flag", "flag": "down"}]},
        {"updates": []},
    ]
    assert ledger_changes(state, trace, 100) == [
        "order.1.n: 1 → nothing",
        'order.1.by: nothing → "ann"',
        "order.2.a: true → 1",
        'order.3 added: {"status": "new"}',
        "item.x removed",
        "flag down set",
    ]


# Pages


def test_open_prints_a_link_that_signs_in_once_and_leads_where_it_was_told_to(look: Look, api: Api):
    link = look("open", "/runs/17").strip()
    assert link.startswith(f"{api.url}/sign-in?code=")
    taken = httpx2.get(link)
    assert (taken.status_code, taken.headers["location"]) == (303, "/runs/17")
    assert httpx2.get(link).status_code == 401
    assert look.json("open")["url"].startswith(f"{api.url}/sign-in?code=")
