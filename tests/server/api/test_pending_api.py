"""Why runs are pending, and what was not verified, as the API tells it: of a run, in lists, of a batch."""

from typing import Any

import pytest

from pipelines.core.verdict.verdict import PendingReason, Verdict
from pipelines.storage.database.connection import Connection
from support.desk import House, Org, answered, every_item, refused
from support.sample_verdicts import NOTES, PASSED, UNENFORCED, give, give_as_of_the_grader_before, pending

pytestmark = pytest.mark.anyio
Row = dict[str, Any]
NO_ORACLE = pending(PendingReason.NO_ORACLE, "No oracle says what completing this task means.")


async def judged(house: House, org: Org, verdict: Verdict | None) -> int:
    """A run with this verdict; None: with one of the grader before."""
    run = await org.run()
    answered(await run.finish(final_response="I looked into it."))

    def store(connection: Connection) -> None:
        if verdict is None:
            give_as_of_the_grader_before(connection, run.id)
        else:
            give(connection, run.id, verdict)

    await house.platform.database.write(store)
    return int(run.id)


async def listed(org: Org, **query: str) -> list[int]:
    return [run["id"] for run in await every_item(org.client, "/api/runs", **query)]


async def test_a_run_says_why_it_is_pending_and_what_was_not_verified(house: House, org: Org) -> None:
    run_id = await judged(house, org, UNENFORCED)
    run = answered(await org.client.get(f"/api/runs/{run_id}"))
    assert (run["verdict"], run["pending_reason"], run["unverified"]) == ("PENDING", "rule_not_enforced", 3)
    assert run["judgement"]["unverified"] == [note.as_json() for note in NOTES]
    verdicts = answered(await org.client.get(f"/api/runs/{run_id}/verdicts"))
    assert verdicts["present"]["pending_reason"] == "rule_not_enforced"


async def test_a_verdict_of_the_grader_before_is_shown_as_it_was(house: House, org: Org) -> None:
    run_id = await judged(house, org, None)
    run = answered(await org.client.get(f"/api/runs/{run_id}"))
    assert (run["verdict"], run["pending_reason"], run["unverified"]) == ("PENDING", None, None)
    assert "unverified" not in run["judgement"]


async def test_runs_are_listed_by_reason_and_by_notes(house: House, org: Org) -> None:
    before, unenforced, no_oracle, passed = [
        await judged(house, org, verdict) for verdict in (None, UNENFORCED, NO_ORACLE, PASSED)
    ]
    assert await listed(org, pending_reason="rule_not_enforced") == [unenforced]
    assert await listed(org, pending_reason="no_oracle") == [no_oracle]
    assert await listed(org, has_unverified="true") == [passed, unenforced]
    assert await listed(org, has_unverified="false") == [no_oracle, before]
    assert await listed(org, has_unverified="true", verdict="PASS") == [passed]
    (run,) = await every_item(org.client, "/api/runs", pending_reason="rule_not_enforced")
    assert (run["pending_reason"], run["unverified"]) == ("rule_not_enforced", 3)


async def test_a_reason_that_there_is_not_is_refused(org: Org) -> None:
    refused(await org.client.get("/api/runs", params={"pending_reason": "tired"}), 422, "invalid_request")


async def test_what_people_decided_stands_beside_the_reason(house: House, org: Org) -> None:
    run_id = await judged(house, org, UNENFORCED)
    done = answered(await org.client.post(f"/api/runs/{run_id}/verdict", json={"verdict": "PASS"}))
    assert (done["verdict"], done["pending_reason"], done["human_verdict"]) == (
        "PENDING",
        "rule_not_enforced",
        "PASS",
    )


async def test_the_queue_of_reviews_says_the_reason(house: House, org: Org) -> None:
    await judged(house, org, UNENFORCED)
    await judged(house, org, None)
    page = answered(await org.client.get("/api/v1/eval/reviews"))
    assert [item["reasons"] for item in page["items"]] == [
        ["rule_not_enforced: A rule of the task was not enforced, and the result depends on it."],
        ["the judge could not decide it"],
    ]


async def test_an_export_names_the_reason(house: House, org: Org) -> None:
    run_id = await judged(house, org, UNENFORCED)
    told = answered(await org.client.get(f"/api/runs/{run_id}/export", params={"format": "atif"}))
    assert told["extra"]["pending_reason"] == "rule_not_enforced"
