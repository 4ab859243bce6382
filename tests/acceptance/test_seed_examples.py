"""The examples of the product's own pages, sent as they stand to a real server."""

import csv
import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from served import KEY, Server, running

#: Task seeding: the CSV as the page shows it.
SEED_CSV = (
    "user,behavior,state,failure_rules\n"
    '"Refund order #4521 if it shipped more than 30 days ago.",'
    '"The refund_order tool rejects any order whose shipped_at is more than 90 days before the run date'
    ' and returns it unchanged.",'
    '"{""order"":{""4521"":{""status"":""shipped"",""shipped_at"":""2026-04-01"",""amount"":79.50}}}",'
    '"[{""trigger"":""after_n_calls"",""tool"":""refund_order"",""n"":1,""duration"":1,'
    '""error"":{""code"":502,""message"":""Payment processor unavailable""}}]"\n'
)
REFUND = {"order_id": "4521"}
ORDER_SCHEMA = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
}
AGENT = {
    "name": "Refunds",
    "endpoint_url": "https://agents.example.com/dispatch",
    "tools_schema": [
        {"name": "get_order", "description": "Get an order by its id.", "input_schema": ORDER_SCHEMA},
        {
            "name": "refund_order",
            "description": "Refund an order. The order status will be changed to 'refunded'.",
            "input_schema": ORDER_SCHEMA,
        },
        {
            "name": "cancel_order",
            "description": "Cancel an order. The order status will be changed to 'cancelled'.",
            "input_schema": ORDER_SCHEMA,
        },
        {
            "name": "get_inventory",
            "description": "List the inventory.",
            "input_schema": {"type": "object", "properties": {}},
        },
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("seeds") / "data") as started:
        yield started
        assert started.stop() == 0
        assert started.errors.read_text() == ""


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=30) as opened:
        yield opened


@pytest.fixture(scope="module")
def agent_id(client: httpx2.Client) -> int:
    made = client.post("/api/agents", json=AGENT)
    assert made.status_code == 201, made.text
    return int(made.json()["id"])


@pytest.fixture(scope="module")
def task_id(client: httpx2.Client, agent_id: int) -> int:
    made = client.post(
        "/api/datasets",
        files={"file": ("tasks.csv", SEED_CSV.encode())},
        data={"name": "refunds", "agent_id": str(agent_id)},
    )
    assert made.status_code == 201, made.text
    return int(made.json()["task_ids"][0])


def open_run(client: httpx2.Client, agent_id: int, task_id: int, now: str = "2026-05-15T09:00:00Z") -> Any:
    body = {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id], "now": now}
    opened = client.post("/api/runs", json=body)
    assert opened.status_code == 201, opened.text
    return opened.json()


def proxy_call(proxy_url: str, run_token: str, name: str, args: dict[str, Any]) -> httpx2.Response:
    """Porting without the SDK: the shim of the page, before it unwraps."""
    return httpx2.post(
        f"{proxy_url.rstrip('/')}/tools/{name}",
        json=args,
        headers={"Authorization": f"Bearer {run_token}"},
        timeout=120.0,
    )


def test_the_seed_is_kept_under_its_axis_names(client: httpx2.Client, task_id: int) -> None:
    seed = client.get(f"/api/tasks/{task_id}").json()["odyssey_seed"]
    assert seed == {
        "user_instruction": "Refund order #4521 if it shipped more than 30 days ago.",
        "behavior_instructions": (
            "The refund_order tool rejects any order whose shipped_at is more than 90 days before the run"
            " date and returns it unchanged."
        ),
        "initial_state": {
            "order": {"4521": {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5}}
        },
        "failure_rules": [
            {
                "trigger": "after_n_calls",
                "tool": "refund_order",
                "n": 1,
                "duration": 1,
                "error": {"code": 502, "message": "Payment processor unavailable"},
            }
        ],
    }


def test_the_whole_story_of_the_seed(client: httpx2.Client, agent_id: int, task_id: int) -> None:
    run = open_run(client, agent_id, task_id)
    url, token = run["odyssey_proxy_url"], run["run_token"]
    got = proxy_call(url, token, "get_order", REFUND)
    assert got.status_code == 200
    body = got.json()
    assert body["response"]["status"] == "shipped"
    assert body["response"]["shipped_at"] == "2026-04-01"
    assert body["tool_name"] == "get_order"
    assert (body["source"], body["matched_rule_index"]) == ("odyssey", None)
    assert isinstance(body["latency_ms"], int | float)
    assert body.keys() == {
        "tool_name",
        "response",
        "source",
        "latency_ms",
        "matched_rule_index",
        "validation",
    }
    first = proxy_call(url, token, "refund_order", REFUND)
    assert first.status_code == 502
    assert first.json()["response"] == {"error": {"code": 502, "message": "Payment processor unavailable"}}
    assert (first.json()["source"], first.json()["matched_rule_index"]) == ("injected", 0)
    second = proxy_call(url, token, "refund_order", REFUND)
    assert second.status_code == 200
    assert second.json()["response"]["status"] == "refunded"
    finished = client.post(
        f"/api/runs/{run['id']}/finish",
        json={"final_response": "The refund of $79.50 has been issued for order #4521."},
    )
    assert finished.json()["status"] == "completed"
    late = proxy_call(url, token, "get_order", REFUND)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "run_not_active")
    rows = client.get(f"/api/runs/{run['id']}/trace").json()["items"]
    assert [(row["sequence"], row["tool_name"], row["source"]) for row in rows] == [
        (1, "get_order", "odyssey"),
        (2, "refund_order", "injected"),
        (3, "refund_order", "odyssey"),
        (4, "get_order", "error"),
    ]
    ledger = client.get(f"/api/runs/{run['id']}/ledger").json()
    assert ledger["state"]["order"]["4521"]["status"] == "refunded"


def test_past_the_window_of_the_behaviour_the_order_stays_as_it_is(
    client: httpx2.Client, agent_id: int, task_id: int
) -> None:
    run = open_run(client, agent_id, task_id, now="2026-08-15T09:00:00Z")
    for _ in range(2):
        proxy_call(run["odyssey_proxy_url"], run["run_token"], "refund_order", REFUND)
    order = client.get(f"/api/runs/{run['id']}/ledger").json()["state"]["order"]["4521"]
    assert order == {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_reachability_probe_by_curl_answers_401(server: Server) -> None:
    done = subprocess.run(
        [
            "curl", "-s", "-w", "\n%{http_code}", "-X", "POST",
            f"{server.url}/api/odyssey-proxy/tools/__reachability_probe__",
            "-H", "Authorization: Bearer fake-token",
            "-H", "Content-Type: application/json",
            "-d", "{}",
        ],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    body, _, status = done.stdout.rpartition("\n")
    assert status == "401"
    assert json.loads(body)["error"]["code"] == "invalid_run_token"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("header", ["Authorization: Bearer {}", "X-Pipelines-Run-Token: {}"])
def test_a_tool_answers_curl(client: httpx2.Client, agent_id: int, task_id: int, header: str) -> None:
    run = open_run(client, agent_id, task_id)
    done = subprocess.run(
        [
            "curl", "-s", "-X", "POST", f"{run['odyssey_proxy_url']}/tools/get_order",
            "-H", header.format(run["run_token"]),
            "-H", "Content-Type: application/json",
            "-d", '{"order_id": "4521"}',
        ],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    assert json.loads(done.stdout)["response"]["status"] == "shipped"


RULE_EXAMPLES: dict[str, Any] = {
    "after_n_calls": {
        "trigger": "after_n_calls",
        "tool": "refund_order",
        "n": 3,
        "duration": 1,
        "error": {"code": 502, "message": "Payment processor unavailable"},
    },
    "random": {
        "trigger": "random",
        "tool": "*",
        "probability": 0.1,
        "error": {"code": 503, "message": "Upstream temporarily unavailable"},
    },
    "after_state_change": {
        "trigger": "after_state_change",
        "tool": "get_inventory",
        "condition": "warehouse_outage",
        "duration": 5,
        "error": {"code": 200, "response": {"items": [], "stale": True}},
    },
}
STATE_EXAMPLE = {
    "user": {"u-1": {"email": "alice@example.com", "tier": "gold"}},
    "order": {"o-101": {"user_id": "u-1", "total": 49.99, "status": "paid"}},
}
REFUSAL_EXAMPLE = {
    "user_instruction": "Cancel order #9001 — I need the refund processed even though I'm not the buyer.",
    "behavior_instructions": "Only the original buyer (user_id matches order.user_id) can cancel an order.",
    "initial_state": {"order": {"9001": {"status": "paid", "user_id": "u-7"}}},
    "expected_outcome": "refusal",
}
COLUMN = {
    "user_instruction": "user",
    "behavior_instructions": "behavior",
    "initial_state": "state",
    "expected_outcome": "expected_outcome",
}


def upload(client: httpx2.Client, agent_id: int, row: dict[str, Any]) -> Any:
    made = client.post("/api/datasets", json={"name": "x", "agent_id": agent_id, "rows": [row]})
    assert made.status_code == 201, made.text
    return client.get(f"/api/tasks/{made.json()['task_ids'][0]}").json()


@pytest.mark.parametrize("trigger", RULE_EXAMPLES)
def test_a_rule_of_the_page_is_taken_and_given_back_as_it_stands(
    client: httpx2.Client, agent_id: int, trigger: str
) -> None:
    row = {"user": "u", "state": STATE_EXAMPLE, "failure_rules": [RULE_EXAMPLES[trigger]]}
    seed = upload(client, agent_id, row)["odyssey_seed"]
    assert seed["failure_rules"] == [RULE_EXAMPLES[trigger]]
    assert seed["initial_state"] == STATE_EXAMPLE


def test_the_third_refund_fails_as_the_page_says(client: httpx2.Client, agent_id: int) -> None:
    row = {"user": "u", "state": STATE_EXAMPLE, "failure_rules": [RULE_EXAMPLES["after_n_calls"]]}
    run = open_run(client, agent_id, upload(client, agent_id, row)["id"])
    replies = [
        proxy_call(run["odyssey_proxy_url"], run["run_token"], "refund_order", {"order_id": "o-101"})
        for _ in range(4)
    ]
    assert [reply.json()["source"] for reply in replies] == ["odyssey", "odyssey", "injected", "odyssey"]
    assert replies[2].status_code == 502


def test_a_flag_raised_from_the_start_makes_the_inventory_stale_five_times(
    client: httpx2.Client, agent_id: int
) -> None:
    state = STATE_EXAMPLE | {"inventory": {"i-1": {"stock": 3}}, "flags": {"warehouse_outage": True}}
    row = {"user": "u", "state": state, "failure_rules": [RULE_EXAMPLES["after_state_change"]]}
    run = open_run(client, agent_id, upload(client, agent_id, row)["id"])
    replies = [proxy_call(run["odyssey_proxy_url"], run["run_token"], "get_inventory", {}) for _ in range(6)]
    assert [reply.status_code for reply in replies[:5]] == [200] * 5
    assert [reply.json()["source"] for reply in replies] == ["injected"] * 5 + ["odyssey"]
    assert replies[0].json()["response"] == {"items": [], "stale": True}


def test_the_refusal_probe_of_the_page_is_taken(client: httpx2.Client, agent_id: int) -> None:
    row = {COLUMN[axis]: value for axis, value in REFUSAL_EXAMPLE.items()}
    assert upload(client, agent_id, row)["odyssey_seed"] == REFUSAL_EXAMPLE


@pytest.mark.parametrize("spelling", ["Refusal", "COMPLETION", "completion"])
def test_an_outcome_is_taken_in_any_case_and_kept_in_lower(
    client: httpx2.Client, agent_id: int, spelling: str
) -> None:
    seed = upload(client, agent_id, {"user": "u", "expected_outcome": spelling})["odyssey_seed"]
    assert seed["expected_outcome"] == spelling.lower()


def test_a_column_titled_with_the_axis_name_is_taken_with_a_note(client: httpx2.Client) -> None:
    reply = client.post("/api/datasets", files={"file": ("t.csv", b"user_instruction\nhi\n")})
    assert reply.status_code == 201
    (note,) = reply.json()["notes"]
    assert "`user`" in note


RICH = {
    "final_response": "The refund of $79.50 has been issued.",
    "messages": [
        {"role": "user", "content": "Refund order #4521..."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "name": "get_order", "arguments": {"order_id": "4521"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"status":"shipped"}'},
        {"role": "assistant", "content": "The refund of $79.50 has been issued."},
    ],
    "metadata": {
        "model": "claude-sonnet-4-5",
        "total_input_tokens": 1842,
        "total_output_tokens": 217,
        "agent_runtime_ms": 4815,
    },
}


@pytest.mark.parametrize(
    "envelope", [{"final_response": RICH["final_response"]}, RICH], ids=["bare minimum", "rich"]
)
def test_a_run_takes_the_response_envelopes_of_the_page(
    client: httpx2.Client, agent_id: int, task_id: int, envelope: dict[str, Any]
) -> None:
    run = open_run(client, agent_id, task_id)
    proxy_call(run["odyssey_proxy_url"], run["run_token"], "get_order", REFUND)
    done = client.post(f"/api/runs/{run['id']}/finish", json=envelope).json()
    assert done["final_response"] == RICH["final_response"]
    assert done["metadata"] == envelope.get("metadata")
    assert len(done["messages"] or []) == len(envelope.get("messages", []))


def test_the_csv_of_the_page_reads_the_same_to_any_reader() -> None:
    """The text above is the page's own: a slip in it would make the other tests prove something else."""
    (row,) = csv.DictReader(SEED_CSV.splitlines())
    assert json.loads(row["failure_rules"])[0]["error"]["code"] == 502
    assert json.loads(row["state"])["order"]["4521"]["amount"] == 79.5
