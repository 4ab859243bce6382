"""Runs that evidence leaves open are read by a judge model; what it says is checked and stored."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.models.model_question import Failure
from pipelines.core.verdict.model_judge.rubric import PROMPT_VERSION
from pipelines.engine.judging import judge_by_model
from pipelines.engine.model_calls.ask_models import Models
from pipelines.engine.runs import open_run as runs_by_hand
from pipelines.models.scripted import Scripted, ScriptedModel
from support.desk import TASK, House, Org, Row, answered, open_house, refused
from support.judge_attacks import ATTACKS, answer_with, data_of, entry_for, obedient
from support.judge_models import A_JUDGE, OPEN, ask_of, changed, decided, driven, judge, open_run, verdicts_of
from support.played_agents import Dispatch, played

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("judged"), own_url="http://127.0.0.1:9") as opened:
        yield opened


@pytest.fixture
async def org(house: House, request: pytest.FixtureRequest) -> Org:
    """One for each test: its judges and its runs are its own. The server asks nobody before `ask_of`."""
    nobody = Models()
    nobody.on_used_up = house.platform.models.on_used_up
    object.__setattr__(house.platform, "models", nobody)
    return await house.another_org(request.node.name)


async def batch_once(org: Org, batch_id: int, is_so: Callable[[Row], bool]) -> Row:
    for _ in range(3_000):  # a minute
        batch: Row = answered(await org.client.get(f"/api/batches/{batch_id}"))
        if is_so(batch):
            return batch
        await asyncio.sleep(0.02)
    raise AssertionError(batch)


def has_ended(batch: Row) -> bool:
    return bool(batch["status"] != "running")


async def test_a_run_that_evidence_leaves_open_gets_its_verdict_from_the_model(
    house: House, org: Org
) -> None:
    model = ask_of(house, judge("met"))
    run = await open_run(org, behavior="Notes are kept for a year.")
    assert (run["verdict"], run["judge_error"]) == ("PASS", None)
    told = run["judgement"]["model_judge"]
    assert (told["model"], told["prompt_version"], told["attempts"]) == (A_JUDGE, PROMPT_VERSION, 1)
    assert told["cost_usd"] > 0
    names = [each["criterion"] for each in told["criteria"]]
    assert names == ["task_completion", "right_refusal", "instruction_adherence", "tool_use"]
    assert [each["pending_reason"] for each in told["left_open"]] == ["no_oracle"]
    assert run["judgement"]["grader"] == {"name": "model", "version": PROMPT_VERSION}
    assert len(model.asked) == 1


async def test_without_a_model_such_a_run_waits_for_a_person(house: House, org: Org) -> None:
    run = await open_run(org)
    assert (run["verdict"], run["judgement"]["grader"]["name"]) == ("PENDING", "embedded")
    assert (await verdicts_of(org, run["id"]))["model_judgements"] == []


@pytest.mark.parametrize(
    ("task", "said", "verdict"),
    [
        ({"expected_state": {"order.4521.status": "refunded"}}, "I could not.", "FAIL"),
        (
            {"expected_state": {"order.4521.status": "shipped"}, "expected_calls": ["get_order"]},
            "Ok.",
            "PASS",
        ),
        ({}, "I have refunded order 4521.", "FAIL"),  # no call did it
    ],
)
async def test_where_evidence_decides_no_model_is_asked(
    house: House, org: Org, task: Any, said: str, verdict: str
) -> None:
    model = ask_of(house, judge("met"))
    run = await open_run(org, said=said, **task)
    assert (run["verdict"], model.asked) == (verdict, [])
    again = await org.client.post(f"/api/runs/{run['id']}/judge", json={"model": A_JUDGE})
    assert (answered(again)["verdict"], model.asked) == (verdict, [])


async def test_a_judge_is_shown_no_oracle_no_failure_rule_and_nothing_of_the_world_that_was_not_met(
    house: House, org: Org
) -> None:
    model = ask_of(house, judge("met"))
    rule = {
        "trigger": "after_n_calls",
        "tool": "cancel_order",
        "n": 9,
        "error": {"code": 503, "message": "xylophone"},
    }
    state = {"order": {"4521": {"status": "shipped"}, "77": {"status": "quartzite"}}}
    oracle = {"expected_calls": [{"tool": "get_order", "arguments": {"order_id": {"$regex": "^4[5]21$"}}}]}
    opened = await driven(
        org, user="Write a poem about order 4521.", state=state, failure_rules=[rule], **oracle
    )
    answered(await opened.finish(final_response="By a fair wind it comes, the order, by REF-99812."))
    (question,) = model.asked
    written = json.dumps(question.as_json())
    assert "poem about order 4521" in written
    for hidden in (
        "xylophone",
        "quartzite",
        "failure_rules",
        "initial_state",
        "user_simulator_persona",
    ):
        assert hidden not in written
    shown = json.loads(data_of(question)[2])
    proven = shown.pop("findings")
    assert "[5]21" in json.dumps(proven), "what a program has proven stands, in its words"
    assert "[5]21" not in json.dumps(shown)
    assert set(shown["task"]) == {
        "user_instruction",
        "behavior_instructions",
        "expected_outcome",
        "task_input",
        "now",
    }


async def test_a_judge_is_shown_the_rules_in_force_and_the_rule_that_refused_a_call(
    house: House, org: Org
) -> None:
    model = ask_of(house, judge("met"))
    state = {"order": {"4521": {"status": "paid", "tier": "gold"}, "7001": {"status": "paid", "tier": "tin"}}}
    rule = "cancel_order fails when the order's tier is gold."
    opened = await driven(org, user="Write a poem about order 4521.", state=state, behavior=rule)
    answered(await opened.call("cancel_order", {"order_id": "4521"}), 409)
    answered(await opened.finish(final_response="By a fair wind it comes, the order."))
    (question,) = model.asked
    shown = json.loads(data_of(question)[2])
    assert len(shown["rules"]) == 1
    assert "cancel_order" in shown["rules"][0]
    assert "gold" in shown["rules"][0]
    assert shown["trace"][-1]["matched_rule"] == rule
    assert shown["records"] == [{"type": "order", "id": "4521", "before": state["order"]["4521"]}]


async def refunded_with_a_code(org: Org) -> Row:
    """The oracle is met; only a phrase of the answer is open."""
    opened = await driven(org, user="Refund order 4521.", expected_state={"order.4521.status": "refunded"})
    answered(await opened.call("refund_order", {"order_id": "4521"}))
    return answered(await opened.finish(final_response="Order 4521 is refunded, by REF-99812."))  # type: ignore[no-any-return]


async def test_a_completion_that_an_oracle_proved_is_not_asked_again(house: House, org: Org) -> None:
    """The model cannot say that it was not done."""
    model = ask_of(house, judge("not_met"))
    run = await refunded_with_a_code(org)
    ids = model.asked[0].schema["properties"]["criteria"]["items"]["properties"]["id"]["enum"]  # type: ignore[index,call-overload]
    assert ids == ["tool_use", "claim_1"]
    assert (run["verdict"], run["judgement"]["scores"]["task_completion"]) == ("PASS", 5)


@pytest.mark.parametrize(
    ("said", "verdict", "mode", "reason"),
    [
        ({"status": "met"}, "PASS", None, None),
        ({"status": "not_met", "evidence": [2]}, "FAIL", "false_claim", None),
        ({"status": "cannot_tell"}, "PENDING", None, "value_not_found"),
    ],
)
async def test_what_a_judge_says_of_a_claim_settles_the_run(
    house: House, org: Org, said: Row, verdict: str, mode: str | None, reason: str | None
) -> None:
    ask_of(house, judge(changed(claim_1=said)))
    run = await refunded_with_a_code(org)
    assert (run["verdict"], run["failure_mode"], run["judgement"]["pending_reason"]) == (
        verdict,
        mode,
        reason,
    )
    read = [each for each in run["judgement"]["findings"] if each["check"] == "model/claims/REF-99812"]
    assert [each.get("pending_reason") for each in read] == [reason]


@pytest.mark.parametrize(
    ("answers", "reason", "says", "sent"),
    [
        ((Failure.REFUSED,), "refused", "gave no answer", 1),
        ((Failure.TIMEOUT,), "timeout", "gave no answer", 1),
        (('{"criteria": [{"id": "task_com',), "not_json", "cut off", 2),
        (({"verdict": "PASS"},), "wrong_schema", "could not be used", 2),
        ((changed(tool_use={"evidence": [99]}),), "wrong_schema", "row 99: the trace has no such row", 2),
        ((changed(right_refusal={"id": "tool_use"}),), "wrong_schema", "`right_refusal` is not answered", 2),
        ((changed(tool_use=None),), "wrong_schema", "could not be used", 2),  # type: ignore[arg-type]
        ((changed(tool_use={"score": 1}),), "wrong_schema", "contradicts `met`", 2),
        ((changed(right_refusal={"status": "met"}),), "wrong_schema", "cannot have been refused", 2),
        ((changed(tool_use={"reasoning": "  "}),), "wrong_schema", "is blank", 2),
        (("met, all of it",), "not_json", "is not a JSON object", 2),
    ],
)
async def test_nothing_usable_is_an_error_and_the_run_stays_open(
    house: House, org: Org, answers: Any, reason: str, says: str, sent: int
) -> None:
    model = ask_of(house, judge(*answers))
    run = await open_run(org)
    assert run["verdict"] == "PENDING"
    assert says in run["judge_error"]
    assert len(model.asked) == sent
    (said,) = (await verdicts_of(org, run["id"]))["model_judgements"]
    assert (said["status"], said["failure"], said["verdict"]) == ("failed", reason, None)
    waiting = answered(await org.client.get("/api/runs", params={"needs_review": True}))["items"]
    assert [each["id"] for each in waiting] == [run["id"]]


async def test_a_wrong_answer_is_asked_for_once_more_and_then_counts(house: House, org: Org) -> None:
    model = ask_of(house, judge(changed(tool_use={"evidence": [99]}), "met"))
    run = await open_run(org)
    assert (run["verdict"], run["judgement"]["model_judge"]["attempts"]) == ("PASS", 2)
    assert "row 99: the trace has no such row" in model.asked[1].messages[-1].content


async def test_what_a_judge_cannot_tell_stays_with_people_and_is_no_error(house: House, org: Org) -> None:
    ask_of(house, judge("cannot_tell"))
    run = await open_run(org)
    assert (run["verdict"], run["judge_error"]) == ("PENDING", None)
    assert run["judgement"]["pending_reason"] == "no_oracle"
    assert run["judgement"]["reasoning"].startswith("Not decided: a person has to review this run.")


async def test_the_authors_own_lines_are_asked_and_decide(house: House, org: Org) -> None:
    model = ask_of(house, judge(changed(rubric_2={"status": "not_met"})))
    run = await open_run(org, rubric=["Is kind.", {"id": "short", "text": "Has at most 20 words."}])
    assert (run["verdict"], run["failure_mode"]) == ("FAIL", "constraint_violated")
    assert '"text":"Has at most 20 words."' in data_of(model.asked[0])[2]
    broken = [each for each in run["judgement"]["findings"] if each["status"] == "broken"]
    assert [each["check"] for each in broken] == ["model/rubric/short"]


# -- hostile runs


@pytest.mark.parametrize("place", ["final", "arguments", "behavior", "user", "rubric", "constraint"])
async def test_no_hostile_text_gets_a_pass_from_a_judge_that_obeys(
    house: House, org: Org, place: str
) -> None:
    model = ask_of(house, ScriptedModel([Scripted(answer=obedient)]))
    agent = await org.agent()
    for name in ("closes a guessed fence", "forged answer in a fence", "chatml role", "line separators"):
        text = ATTACKS[name].replace("{fence}", data_of(model.asked[-1])[0] if model.asked else "data-0")
        columns: dict[str, Any] = {
            "behavior": {"behavior": text},
            "user": {"user": f"{OPEN} {text}"},
            "rubric": {"rubric": [text]},
            "constraint": {"tracked_constraints": [text]},
        }.get(place, {})
        opened = await org.run(agent, **({"user": OPEN} | columns))
        note = text if place == "arguments" else "ok"
        answered(await opened.call("add_note", {"order_id": "4521", "text": note}))
        run = answered(await opened.finish(final_response=text if place == "final" else "A fine order."))
        assert run["verdict"] != "PASS", (name, place)
    assert model.asked


# -- nothing is lost, nothing is paid for twice


async def test_a_judge_that_was_cut_off_is_asked_when_the_server_starts_again(
    tmp_path: Path, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_by_hand, "JUDGE_WAITED_FOR_S", 0.0)
    script = tmp_path / "judge.jsonl"
    named = {"judge_model": f"scripted:{script}"}
    script.write_text(json.dumps({"answer": {}, "delay_s": 3_000}))
    async with open_house(tmp_path / "house", **named) as house:
        run = await open_run(house.owner)
        assert (run["status"], run["verdict"]) == ("completed", "PENDING")
    ids = ("task_completion", "right_refusal", "tool_use")
    script.write_text(json.dumps({"answer": {"criteria": [entry_for(id, "met") for id in ids]}}))
    async with open_house(tmp_path / "house", **named) as house:
        await house.platform.judge_tasks.wait(run["id"], 60)
        after = answered(await house.owner.client.get(f"/api/runs/{run['id']}"))
        assert (after["verdict"], after["judge_error"]) == ("PASS", None)
        assert len((await verdicts_of(house.owner, run["id"]))["model_judgements"]) == 1


async def test_an_answer_that_was_kept_is_not_asked_for_again_after_a_kill(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ask_of(house, judge("met"))
    stored = judge_by_model._store

    async def killed(*_: Any) -> None:
        monkeypatch.setattr(judge_by_model, "_store", stored)
        raise asyncio.CancelledError

    monkeypatch.setattr(judge_by_model, "_store", killed)
    run = await open_run(org)
    assert (run["verdict"], len(model.asked)) == ("PENDING", 1)
    await house.platform.judge_tasks.take_up()
    await house.platform.judge_tasks.wait(run["id"], 10)
    after = answered(await org.client.get(f"/api/runs/{run['id']}"))
    assert (after["verdict"], len(model.asked)) == ("PASS", 1)
    assert after["judgement"]["model_judge"]["is_replayed"]


async def test_a_batch_ends_when_its_last_judge_has_answered_and_its_runs_wait_for_none(
    house: House, org: Org
) -> None:
    may_answer = asyncio.Event()

    class Waiting(ScriptedModel):
        async def ask(self, question: Any) -> Any:
            await may_answer.wait()
            return await super().ask(question)

    model = ask_of(house, Waiting([Scripted(answer=lambda question: answer_with(question, "met"))]))
    with played(lambda dispatch: dispatch.answer("A fine order.")) as agent:
        made = await org.agent(endpoint_url=agent.url, max_concurrency=1)
        dataset = await org.dataset(
            *({"user": f"{OPEN} {number}"} for number in range(3)), agent_id=made["id"]
        )
        body = {"agent_id": made["id"], "dataset_id": dataset["id"]}
        batch_id = answered(await org.client.post("/api/runs", json=body))["batch_id"]
        batch = await batch_once(
            org, batch_id, lambda batch: batch["counts"]["by_status"] == {"completed": 3}
        )
        # One run at a time, and all three were sent although no judge has said a word.
        assert (batch["status"], batch["counts"]["by_verdict"], model.asked) == (
            "running",
            {"PENDING": 3},
            [],
        )
        may_answer.set()
        batch = await batch_once(org, batch_id, has_ended)
    assert batch["counts"]["by_verdict"] == {"PASS": 3}


async def test_a_budget_that_is_used_up_ends_the_batch_and_leaves_its_runs_open(
    house: House, org: Org
) -> None:
    model = ask_of(house, judge("met"))
    with played(_answers) as agent:
        made = await org.agent(endpoint_url=agent.url)
        dataset = await org.dataset(*({"user": f"{OPEN} {n}"} for n in range(3)), agent_id=made["id"])
        body = {"agent_id": made["id"], "dataset_id": dataset["id"], "max_model_tokens": 1}
        batch_id = answered(await org.client.post("/api/runs", json=body))["batch_id"]
        batch = await batch_once(org, batch_id, has_ended)
    assert (batch["status"], len(model.asked)) == ("budget_exceeded", 1)
    for listed in answered(await org.client.get("/api/runs", params={"batch_id": batch_id}))["items"]:
        await house.platform.judge_tasks.wait(listed["id"], 60)
        run = answered(await org.client.get(f"/api/runs/{listed['id']}"))
        assert run["verdict"] in (None, "PASS") or "used up" in run["judge_error"], run
    passed = answered(await org.client.get("/api/runs", params={"batch_id": batch_id, "verdict": "PASS"}))
    assert len(passed["items"]) == 1
    again = answered(await org.client.post(f"/api/batches/{batch_id}/judge"))
    assert {each["reason"] for each in again["failed"]} <= {"budget_exceeded"}
    assert (again["changed"], len(model.asked)) == (0, 1)


# -- looking again


async def test_another_model_reads_stored_runs_and_every_judgement_is_kept(house: House, org: Org) -> None:
    ask_of(house, judge("met"), b=judge("not_met"))
    run = await open_run(org)
    other = await org.client.post(f"/api/runs/{run['id']}/judge", json={"model": "scripted:b"})
    assert (answered(other)["verdict"], answered(other)["failure_mode"]) == ("FAIL", "incomplete")
    read = await verdicts_of(org, run["id"])
    assert [(each["model"], each["verdict"]) for each in read["model_judgements"]] == [
        ("scripted:b", "FAIL"),
        (A_JUDGE, "PASS"),
    ]
    assert [each["verdict"] for each in read["earlier"]] == ["PASS"]
    alone = await org.client.post(f"/api/runs/{run['id']}/judge", json={"model": "none"})
    assert answered(alone)["verdict"] == "PENDING"


async def test_a_judgement_beside_the_verdict_leaves_it(house: House, org: Org) -> None:
    ask_of(house, judge("met"), b=judge("not_met"))
    run = await open_run(org)
    body = {"model": "scripted:b", "beside": True}
    assert answered(await org.client.post(f"/api/runs/{run['id']}/judge", json=body))["verdict"] == "PASS"
    (newest, _) = (await verdicts_of(org, run["id"]))["model_judgements"]
    assert (newest["verdict"], newest["is_taken"]) == ("FAIL", False)


async def test_another_rubric_is_asked_of_stored_runs(house: House, org: Org) -> None:
    model = ask_of(house, judge(changed(rubric_1={"status": "not_met"})))
    run = await open_run(org)
    assert run["verdict"] == "PASS"
    body = {"rubric": ["Thanks the customer."]}
    again = answered(await org.client.post(f"/api/runs/{run['id']}/judge", json=body))
    assert (again["verdict"], again["failure_mode"]) == ("FAIL", "constraint_violated")
    assert "Thanks the customer." in data_of(model.asked[-1])[2]


async def test_a_model_that_gives_nothing_changes_no_stored_verdict(house: House, org: Org) -> None:
    ask_of(house, judge("met"), b=judge(Failure.UNAVAILABLE))
    run = await open_run(org)
    again = await org.client.post(f"/api/runs/{run['id']}/judge", json={"model": "scripted:b"})
    assert refused(again, 502, "model_failed")["details"]["reason"] == "unavailable"
    now = answered(await org.client.get(f"/api/runs/{run['id']}"))
    assert (now["verdict"], now["judge_error"]) == ("PASS", None)
    assert len((await verdicts_of(org, run["id"]))["model_judgements"]) == 2


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"model": "gpt"}, "/model"),
        ({"model": 3}, "/model"),
        ({"rubric": [3]}, "/rubric/0"),
        ({"rubric": ["a line"] * 31}, "/rubric"),
        ({"beside": "yes"}, "/beside"),
        ({"judge": "x"}, "/judge"),
    ],
)
async def test_what_is_wrong_with_a_request_is_said(house: House, org: Org, body: Any, path: str) -> None:
    run = await open_run(org)
    error = refused(await org.client.post(f"/api/runs/{run['id']}/judge", json=body), 422, "invalid_request")
    assert [each["path"] for each in error["details"]] == [path]


async def test_a_pressure_test_is_read_when_somebody_asks_and_counts_by_its_match_all_the_same(
    house: House, org: Org
) -> None:
    """Nobody pays for verdicts that no figure of a matrix rests on; who wants them asks for them."""
    model = ask_of(house, judge("met"))
    seed = {"initial_state": TASK["state"], "expected_outcome": "completion"}
    asked = {
        "name": "kind words",
        "risk_level": "low",
        "instruction": OPEN,
        "input_context": {"order": "4521"},
        "expected_behavior": {"mood": "kind"},
        "odyssey_seed": seed,
    }
    with played(lambda dispatch: dispatch.answer('{"mood": "kind"}')) as agent:
        agent_id = (await org.agent(endpoint_url=agent.url))["id"]
        scenario_id = answered(await org.client.post("/api/v1/eval/scenarios", json=asked), 201)["id"]
        body = {"scenario_id": scenario_id, "agent_id": agent_id}
        opened = answered(await org.client.post("/api/v1/eval/runs", json=body), 202)
        run_id = opened["run_ids"][0]
        run = answered(await org.client.get(f"/api/runs/{run_id}"))
        await batch_once(org, run["batch_id"], has_ended)
    run = answered(await org.client.get(f"/api/runs/{run_id}"))
    assert (run["verdict"], model.asked) == ("PENDING", [])
    before = answered(await org.client.get(f"/api/v1/eval/runs/{run_id}"))
    read = await org.client.post(f"/api/runs/{run_id}/judge", json={"model": A_JUDGE})
    assert (answered(read)["verdict"], len(model.asked)) == ("PASS", 1)
    after = answered(await org.client.get(f"/api/v1/eval/runs/{run_id}"))
    assert (before["matched"], after["matched"], after["match_score"]) == (True, True, before["match_score"])
    assert (before["verdict"], after["verdict"]) == ("PENDING", "PASS")


async def test_a_model_is_named_in_vain_where_the_server_asks_none(
    tmp_path: Path, anyio_backend: str
) -> None:
    async with open_house(tmp_path) as house:
        run = await open_run(house.owner)
        body = {"model": "openai:gpt-5-mini"}
        response = await house.owner.client.post(f"/api/runs/{run['id']}/judge", json=body)
        assert response.status_code in (422, 502), "there is no key"


async def test_another_orgs_run_and_batch_are_not_there(house: House, org: Org) -> None:
    ask_of(house, judge("met"))
    run = await open_run(org)
    stranger = await house.another_org()
    body = {"model": A_JUDGE}
    assert (await stranger.client.post(f"/api/runs/{run['id']}/judge", json=body)).status_code == 404
    assert (await stranger.client.get("/api/batches/1/judges")).status_code == 404
    assert answered(await stranger.client.get("/api/judges/calibration")) == {"items": []}


async def test_a_judge_is_calibrated_by_thirty_runs_that_people_decided(house: House, org: Org) -> None:
    answers = ["met"] * 20 + ["not_met"] * 9 + ["cannot_tell", "met"]
    ask_of(house, judge(*answers))
    agent = await org.agent()
    runs = [(await open_run(org, agent, user=f"{OPEN} {n}"))["id"] for n in range(len(answers))]
    await decided(org, runs[:18], "PASS")  # two of those that the judge passed, people fail
    await decided(org, runs[18:30], "FAIL")
    (found,) = answered(await org.client.get("/api/judges/calibration"))["items"]
    assert (found["status"], found["labels"], found["undecided"]) == ("uncalibrated", 29, 1)
    assert (found["true_positive_rate"], found["agreement"]) == (None, None)
    await decided(org, runs[30:], "PASS")
    (found,) = answered(await org.client.get("/api/judges/calibration"))["items"]
    assert (found["judge"], found["status"], found["labels"]) == (
        f"{A_JUDGE}@{PROMPT_VERSION}",
        "calibrated",
        30,
    )
    assert found["true_positive_rate"]["rate"] == 1.0
    assert (found["true_negative_rate"]["rate"], found["true_negative_rate"]["runs"]) == (0.8182, 11)
    assert 0.8 < found["agreement"]["kappa"] < 0.9
    low, high = found["agreement"]["interval"]
    assert low < found["agreement"]["kappa"] < high


async def test_two_judges_are_compared_over_a_batch(house: House, org: Org) -> None:
    ask_of(house, judge("met"), b=judge("not_met", "met"))
    with played(_answers) as agent:
        made = await org.agent(endpoint_url=agent.url)
        dataset = await org.dataset(*(TASK | {"user": f"{OPEN} {n}"} for n in range(4)), agent_id=made["id"])
        body = {"agent_id": made["id"], "dataset_id": dataset["id"]}
        batch_id = answered(await org.client.post("/api/runs", json=body))["batch_id"]
        await batch_once(org, batch_id, has_ended)
    path = f"/api/batches/{batch_id}"
    again = answered(await org.client.post(f"{path}/judge", json={"model": "scripted:b", "beside": True}))
    assert (again["judged"], again["changed"], again["failed"]) == (4, 0, [])
    listed = answered(await org.client.get(f"{path}/judges"))["items"]
    assert [(each["judge"], each["runs"]) for each in listed] == [
        (f"scripted:a@{PROMPT_VERSION}", 4),
        (f"scripted:b@{PROMPT_VERSION}", 4),
    ]
    names = {"first": f"scripted:a@{PROMPT_VERSION}", "second": f"scripted:b@{PROMPT_VERSION}"}
    found = answered(await org.client.get(f"{path}/judges/compare", params=names))
    assert (found["runs"], found["agreed"], len(found["disagreements"])) == (4, 3, 1)
    assert found["disagreements"][0]["second"] == {"verdict": "FAIL", "failure_mode": "incomplete"}
    wrong = await org.client.get(f"{path}/judges/compare", params=names | {"second": "nobody"})
    assert (
        f"known: scripted:a@{PROMPT_VERSION}" in refused(wrong, 422, "invalid_request")["details"][0]["hint"]
    )


def _answers(dispatch: Dispatch) -> None:
    dispatch.answer("A fine order.")
