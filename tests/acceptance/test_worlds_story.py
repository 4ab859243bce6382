"""Generated datasets over real processes: a kill loses no row, and what was proved is what runs show."""

from pathlib import Path
from typing import Any

import pytest

from support.desk import AGENT
from support.played_agents import Dispatch, does_nothing, played
from support.server_process import Api, eventually, house_in

Row = dict[str, Any]
SESSIONS = "/api/seed-sessions"
NOON = "2026-05-01T12:00:00Z"
pytestmark = pytest.mark.slow


def opened(api: Api, agent_id: int, **changes: Any) -> int:
    body = {"agent_id": agent_id, "name": "orders", "rng_seed": 7, "now": NOON} | changes
    session = api.post(SESSIONS, body, 201)
    api.post(f"{SESSIONS}/{session['id']}/continue", status=202)
    return int(session["id"])


def session_of(api: Api, session_id: int) -> Row:
    found: Row = api.get(f"{SESSIONS}/{session_id}")
    return found


def rows_of(api: Api, session_id: int, status: str = "any") -> list[Row]:
    items: list[Row] = []
    cursor: Row = {}
    while True:
        page = api.get(f"{SESSIONS}/{session_id}/rows", status=status, limit=500, **cursor)
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        cursor = {"cursor": page["next_cursor"]}


def told(rows: list[Row]) -> list[tuple[int, str, str]]:
    return [(row["bucket"], row["status"], row["user_instruction"]) for row in rows]


def is_made(api: Api, session_id: int) -> bool:
    return bool(session_of(api, session_id)["status"] == "rows_review")


def test_a_kill_while_rows_are_made_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """However often it is killed, the session comes to the very rows of one that was left alone."""
    wanted = {
        "size": "rich",
        "buckets": [{"name": "everyday requests", "rows": 60}, {"name": "not allowed", "rows": 40}],
    }
    with house_in(tmp_path / "house") as house:
        api = house.open()
        agent_id = api.post("/api/agents", AGENT, 201)["id"]
        session_id = opened(api, agent_id, **wanted)
        kills, seen = 0, told(rows_of(api, session_id))
        while not is_made(api, session_id) and kills < 6:
            house.kill()
            kills += 1
            api = house.open()
            before, seen = seen, told(rows_of(api, session_id))
            assert seen[: len(before)] == before, "what was there stays"
            known = len(seen)
            eventually(
                lambda api=api, known=known: (  # type: ignore[misc]
                    is_made(api, session_id) or len(rows_of(api, session_id)) > known
                ),
                "a part more is stored",
            )
        assert kills, "it was over before it could be killed"
        eventually(lambda: is_made(api, session_id), "all rows are made")
        alone = opened(api, agent_id, **wanted)
        eventually(lambda: is_made(api, alone), "all rows are made")
        rows = told(rows_of(api, session_id))
        assert len(set(rows)) == len(rows)
        assert rows == told(rows_of(api, alone))
        ended = api.post(f"{SESSIONS}/{session_id}/finalize", status=201)
        assert api.get(f"/api/datasets/{ended['dataset_id']}")["task_count"] == ended["counts"]["kept"]


def test_the_reference_calls_pass_every_row_and_doing_nothing_passes_none(tmp_path: Path) -> None:
    rows: dict[str, Row] = {}

    def replays(dispatch: Dispatch) -> None:
        row = rows[dispatch.said]
        for call in row["proof"]["calls"]:
            last = dispatch.call(call["tool"], call["arguments"])
        told = last.body["response"]
        refuses = row["expected_outcome"] == "refusal"
        dispatch.answer(f"I cannot do that: {told['error']['message']}." if refuses else f"Done: {told}")

    with house_in(tmp_path / "house", {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        api = house.open()
        agent_id = api.post("/api/agents", AGENT, 201)["id"]
        session_id = opened(
            api, agent_id, behavior="refund_order only succeeds when the order's status is pending."
        )
        eventually(lambda: is_made(api, session_id), "all rows are made")
        rows |= {row["user_instruction"]: row for row in rows_of(api, session_id, "kept")}
        dataset_id = api.post(f"{SESSIONS}/{session_id}/finalize", status=201)["dataset_id"]
        verdicts = []
        for play in (replays, does_nothing):
            with played(play) as agent:
                api.put(f"/api/agents/{agent_id}", {"endpoint_url": agent.url})
                batch = api.ended(api.batch_of(agent_id, dataset_id))
                verdicts.append(batch["counts"]["by_verdict"])
        # The judge leaves it open whether "already cancelled" explains why a request to cancel is declined.
        already = sum("already" in str(row["proof"]["calls"][-1]["response"]) for row in rows.values())
        expected = {"PASS": len(rows) - already, "PENDING": already}
        assert verdicts[0] == {verdict: count for verdict, count in expected.items() if count}
        assert already <= 2
        assert "PASS" not in verdicts[1], verdicts[1]
