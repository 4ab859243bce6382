"""Models from the command line: status, a test, exchanges, a cassette that plays again; budgets of a run."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_results_commands import Look
from test_run_command import Cli

from pipelines.cli.host.model_commands import status_lines
from pipelines.cli.output.exchange_report import cost_lines, estimate_line
from support.played_agents import played, refunds
from support.server_process import REFUND_TASK, Api, house_in

UNDECIDED = {key: value for key, value in REFUND_TASK.items() if key != "expected_state"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    settings = {"PIPELINES_PROXY_RATE_LIMIT": "0", "PIPELINES_MODEL": "refusing:unavailable"}
    with house_in(tmp_path_factory.mktemp("models"), settings) as house:
        yield house.open()


@pytest.fixture
def look(api: Api, tmp_path: Path) -> Look:
    return Look(api, tmp_path)


def test_status_is_a_line_for_each_purpose(look: Look) -> None:
    assert look("models", "status").splitlines() == [
        f"{purpose}: refusing:unavailable (PIPELINES_MODEL), priced"
        for purpose in ("simulator", "judge", "user", "author")
    ]
    assert len(look.json("models", "status")["purposes"]) == 4


def test_a_model_that_gives_nothing_is_an_exit_code_with_the_reason(look: Look) -> None:
    look("models", "test", "--purpose", "user", code=1)
    tried = look.api.post("/api/models/test", {"model": "refusing:auth"})
    assert tried["reason"] == "auth"
    refused = look("models", "test", "--model", "opnai:gpt", code=2)
    assert "did you mean `openai`?" in refused


def test_exchanges_of_a_run_and_a_budget_that_is_refused(look: Look, api: Api) -> None:
    with played(refunds) as agent:
        agent_id = api.agent(agent.url, name="budgeted")["id"]
        dataset_id = api.dataset(UNDECIDED, agent_id=agent_id)["id"]
        batch_id = api.batch_of(agent_id, dataset_id)
        api.ended(batch_id)
        run_id = api.only_run(batch_id)["id"]
        listed = look("exchanges", str(run_id))
        items = api.get(f"/api/runs/{run_id}/exchanges")["items"]
        assert len(listed.splitlines()) >= max(1, len(items))
        cassette = look.directory / "cassette.jsonl"
        look("exchanges", str(run_id), "--cassette", str(cassette))
        lines = [json.loads(line) for line in cassette.read_text().splitlines()]
        assert len(lines) == len(items)
        assert [line["failure"] for line in lines] == [item["failure"] for item in reversed(items)]
        cli, asked = Cli(api, look.directory), ("--agent", str(agent_id), "--dataset", str(dataset_id))
        code, _, said = cli.run(*asked, "--max-cost-usd", "-1")
        assert (code, "more than 0" in said) == (2, True)
        code, _, said = cli.run(*asked, "--max-model-tokens", "100000", "--max-cost-usd", "5")
        assert code != 2, said  # it was taken; the model of this server gives no verdict
    budget = api.get("/api/batches")["items"][0]["budget"]
    assert (budget["max_cost_usd"], budget["max_model_tokens"]) == (5, 100_000)


def test_costs_are_told_by_who_was_asked_and_what_is_not_known_is_not_nothing() -> None:
    judge = {"questions": 3, "replayed": 1, "requests": 4, "tokens": 1_200, "cost_usd": 0.0042, "unpriced": 0}
    local = judge | {"cost_usd": None, "unpriced": 3, "replayed": 0}
    costs = {
        "agent": {"cost_usd": 1.0},
        "judge": judge,
        "simulator": local,
        "user": None,
        "total_usd": 1.0042,
    }
    assert cost_lines(costs) == [
        "models: simulator cost unknown (3 questions, 3 without a price, 1,200 tokens),"
        " judge 0.0042 USD (3 questions, 1 replayed, 1,200 tokens)",
        "cost in all: 1.0042 USD",
    ]
    assert cost_lines({"agent": {"cost_usd": None}, "judge": None, "total_usd": None}) == []


def test_an_estimate_says_only_what_earlier_runs_tell() -> None:
    nothing = {
        "runs": 12,
        "time": {"total_ms": None},
        "agent": {"cost_usd": None},
        "models": {"cost_usd": None, "tokens": None},
    }
    assert estimate_line(nothing) is None
    known = nothing | {"time": {"total_ms": 42_000.0}, "models": {"cost_usd": 0.03, "tokens": 90_000}}
    assert estimate_line(known) == (
        "Estimate for 12 runs, by earlier ones: about 42 s, models 0.0300 USD, 90,000 tokens."
    )


def test_a_missing_extra_is_said_where_a_model_is_named() -> None:
    each = {"purpose": "judge", "model": "openai:x", "named_by": "PIPELINES_MODEL", "key_from": None}
    known = {"is_installed": False, "purposes": [each | {"is_priced": None, "problem": "needs a key"}]}
    assert status_lines(known) == [
        "judge: openai:x (PIPELINES_MODEL), needs a key",
        "The client for models is not installed: pip install 'pipelines-odyssey[models]'",
    ]
