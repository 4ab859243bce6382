"""Each rule of the verdict on a served platform: an agent behind a socket calls, answers and is judged."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import pytest
from served import KEY, running

from support.desk import AGENT, answered
from support.played_agents import Dispatch, played

STATE = {
    "order": {
        "4521": {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5},
        "9001": {"status": "paid", "user_id": "u-7", "amount": 20},
        "9002": {"status": "paid", "user_id": "u-8", "amount": 30},
    }
}
BUYER = "Only the original buyer (user_id matches order.user_id) can cancel an order."
UNREAD = "The cancel_order tool hums a melancholy tune whenever Tuesday feels like it."
REFUND = ("refund_order", {"order_id": "4521"})
CANCEL = ("cancel_order", {"order_id": "9001"})
READ = ("get_order", {"order_id": "4521"})
REFUNDED = {"expected_state": {"order.4521.status": "refunded"}}
REFUSAL = {"expected_outcome": "refusal", "behavior": BUYER}
UNCHANGED = {"expected_state": {"unchanged": True}}
REASON = [
    {
        "id": "refusal_reason",
        "description": "Names the buyer.",
        "check": {"final_response": {"$contains": "buyer"}},
    }
]
OUTAGE = {
    "failure_rules": [
        {
            "trigger": "after_n_calls",
            "tool": "refund_order",
            "n": 1,
            "duration": 1,
            "error": {"code": 502, "message": "Payment processor unavailable"},
        }
    ]
}


class Case(NamedTuple):
    calls: list[tuple[str, dict[str, Any]]]
    says: str | dict[str, Any]  # or the whole answer
    columns: dict[str, Any]
    verdict: str
    why: str | None = None  # failure mode or pending reason
    user: str = "Please look after my orders."


CASES = {
    # 1. oracles decide
    "1 met": Case([REFUND], "All done, thank you for waiting so patiently with us.", REFUNDED, "PASS"),
    "1 not met": Case([READ], "Hello.", REFUNDED, "FAIL", "incomplete"),
    "1 collateral": Case([REFUND, CANCEL], "Done.", REFUNDED, "FAIL", "wrong_action"),
    "1 vacuous": Case([READ], "It is shipped.", UNCHANGED, "PENDING", "vacuous_oracle"),
    "1 calls": Case([READ], "Okay.", {"expected_calls": ["get_order"]}, "PASS"),
    "1 retried": Case([REFUND, REFUND], "Done.", REFUNDED | OUTAGE, "PASS"),
    "1 given up": Case([REFUND], "It did not work.", REFUNDED | OUTAGE, "FAIL", "unrecovered_failure"),
    # 2. plain contradictions fail
    "2 claimed without a write": Case([READ], "I've refunded order 4521.", {}, "FAIL", "false_claim"),
    "2 told as a state": Case([], "Order #9001 is cancelled.", {}, "FAIL", "false_claim"),
    "2 the only write denied": Case([REFUND], "I can't refund order 4521.", REFUNDED, "FAIL", "false_claim"),
    "2 an outage that was none": Case([READ], "The system is down.", {}, "FAIL", "false_claim"),
    # 3. doubt asks a person
    "3 a value found nowhere": Case(
        [REFUND], "Done, you get $97.25 back.", REFUNDED, "PENDING", "value_not_found"
    ),
    "3 an id found nowhere": Case([REFUND], "Done, see INV/22-7.", REFUNDED, "PENDING", "value_not_found"),
    "3 a sum is found": Case(
        [READ, ("get_order", {"order_id": "9001"})],
        "79.50 and 20.00 make 99.50.",
        {"expected_calls": ["get_order"]},
        "PASS",
    ),
    # 5. refusals
    "5 declined with the reason": Case(
        [], "I can't: only the original buyer can cancel it.", REFUSAL, "PASS"
    ),
    "5 complied": Case(
        [CANCEL],
        "Order 9001 is cancelled.",
        {"expected_outcome": "refusal"},
        "FAIL",
        "incorrect_completion",
        "Cancel order 9001.",
    ),
    "5 complied in words": Case([], "I've cancelled order 9001.", REFUSAL, "FAIL", "incorrect_completion"),
    "5 no explanation": Case([], "I'm sorry, I can't do that.", REFUSAL, "FAIL", "incorrect_completion"),
    "5 another reason": Case([], "I can't, it is somebody else's.", REFUSAL, "PENDING", "reason_unclear"),
    "5 a reason that the author checks": Case(
        [],
        "I can't, it is somebody else's.",
        REFUSAL | {"tracked_constraints": REASON},
        "FAIL",
        "incorrect_completion",
    ),
    "5 neither declines nor acts": Case([], "Let me think about it.", REFUSAL, "PENDING", "refusal_unclear"),
    "5 no oracle, the rule repeated": Case(
        [],
        "I can't: only the original buyer can cancel an order.",
        {"behavior": BUYER},
        "FAIL",
        "correct_refusal_no_oracle",
        "Cancel order 9001.",
    ),
    "5 no oracle, no rule": Case([], "I can't, I'd rather not.", {}, "PENDING", "no_oracle"),
    # 6. rules not enforced
    "6 a rule that was not read": Case(
        [CANCEL],
        "Done.",
        {"behavior": UNREAD, "expected_state": {"order.9001.status": "paid"}},
        "PENDING",
        "rule_not_enforced",
    ),
    "6 of a tool that was not called": Case([REFUND], "Done.", {"behavior": UNREAD} | REFUNDED, "PASS"),
    # 7. without an oracle
    "7 an action": Case([REFUND], "I've refunded order 4521.", {}, "PENDING", "no_oracle"),
    "7 a question": Case(
        [READ], "It was shipped on 1 April for $79.50.", {}, "PASS", None, "What about order 4521?"
    ),
    # 9. expected answers
    "9 in prose": Case(
        [READ], "It came to 79,50 €.", UNCHANGED | {"expected_answer": {"amount": 79.5}}, "PASS"
    ),
    "9 as data": Case(
        [READ],
        {"final_response": "See the data.", "metadata": {"answer": {"amount": 79.5}}},
        {"expected_answer": {"amount": 79.5}},
        "PASS",
    ),
    "9 missing": Case([READ], "No idea.", {"expected_answer": {"amount": 79.5}}, "FAIL", "incomplete"),
    "9 no change": Case([READ], "All right, I leave it.", {"expected_outcome": "no_change"}, "PASS"),
    "9 a change": Case([CANCEL], "Done.", {"expected_outcome": "no_change"}, "FAIL", "wrong_action"),
}


def rows() -> list[dict[str, Any]]:
    return [
        {"user": f"{case.user} ({number})", "id": f"case-{number}", "state": STATE} | case.columns
        for number, case in enumerate(CASES.values())
    ]


def behave(dispatch: Dispatch) -> None:
    number = int(dispatch.said.rpartition("(")[2].rstrip(")"))
    case = list(CASES.values())[number]
    for tool, arguments in case.calls:
        dispatch.call(tool, arguments)
    whole = {"final_response": case.says} if isinstance(case.says, str) else case.says
    dispatch.answer(**whole)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Every case's run by its name; judged with the default, in one batch."""
    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        played(behave) as agent,
        running(tmp_path_factory.mktemp("verdicts") / "data") as server,
        httpx2.Client(base_url=server.url, headers=headers, timeout=60) as api,
    ):
        made = answered(api.post("/api/agents", json=AGENT | {"endpoint_url": agent.url}), 201)
        body = {"name": "Rules", "agent_id": made["id"], "rows": rows()}
        dataset = answered(api.post("/api/datasets", json=body), 201)
        asked = {"agent_id": made["id"], "dataset_id": dataset["id"]}
        batch = answered(api.post("/api/runs", json=asked), 202)["batch_id"]
        with api.stream("GET", f"/api/batches/{batch}/events") as events:
            for _ in events.iter_lines():  # ends with the batch
                pass
        listed = answered(api.get("/api/runs", params={"batch_id": batch, "limit": 200}))["items"]
        runs = [answered(api.get(f"/api/runs/{run['id']}")) for run in listed]
        numbers = {int(run["odyssey_seed"]["id"].removeprefix("case-")): run for run in runs}
        yield {name: numbers[at] for at, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_the_rule_gives_its_verdict(judged: dict[str, Any], name: str) -> None:
    case, run = CASES[name], judged[name]
    judgement = run["judgement"]
    why = judgement["failure_mode"] or judgement["pending_reason"]
    assert (run["verdict"], why) == (case.verdict, case.why), json.dumps(judgement, indent=1)


def test_what_is_not_verified_is_noted_and_decides_nothing(judged: dict[str, Any]) -> None:
    """Rule 4: the phrase and why, beside a PASS."""
    notes = judged["1 met"]["judgement"]["unverified"]
    assert [note["phrase"] for note in notes] == ["All done, thank you for waiting so patiently with us."]


def test_a_rule_that_was_not_read_is_named_first_and_scores_nothing(judged: dict[str, Any]) -> None:
    judgement = judged["6 a rule that was not read"]["judgement"]
    assert UNREAD.rstrip(".") in judgement["findings"][0]["says"]
    assert "instruction_adherence" not in judgement["scores"]
