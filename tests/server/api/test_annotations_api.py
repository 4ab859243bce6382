"""People write comments and labels on runs and on their steps, and find runs by them."""

from typing import Any

import pytest

from pipelines.engine.runs.annotate_run import LONGEST_COMMENT, LONGEST_LABEL
from pipelines.wire.names import Role
from support.desk import DrivenRun, House, Org, answered, refused

pytestmark = pytest.mark.anyio
Row = dict[str, Any]


async def ended(org: Org) -> DrivenRun:
    run = await org.run()
    answered(await run.call("get_order", {"order_id": "4521"}), 200)
    answered(await run.finish(final_response="Done."))
    return run


async def write(org: Org, run: DrivenRun, status: int = 201, **body: Any) -> Row:
    response = await org.client.post(f"/api/runs/{run.id}/annotations", json=body)
    written: Row = answered(response, status)
    return written


async def problems_of(org: Org, run: DrivenRun, **body: Any) -> list[Row]:
    response = await org.client.post(f"/api/runs/{run.id}/annotations", json=body)
    found: list[Row] = refused(response, 422, "invalid_request")["details"]
    return found


async def listed(org: Org, **query: Any) -> list[Row]:
    items: list[Row] = answered(await org.client.get("/api/runs", params=query))["items"]
    return items


async def test_comments_and_labels_stay_on_their_run_and_step(org: Org) -> None:
    run = await ended(org)
    comment = await write(org, run, comment=" Looks odd. ", step=1, by="ann")
    assert (comment["kind"], comment["text"], comment["step"], comment["by"]) == (
        *("comment", "Looks odd.", 1),
        "ann",
    )
    label = await write(org, run, label="flaky tool")
    assert label["step"] is None
    items = answered(await org.client.get(f"/api/runs/{run.id}/annotations"))["items"]
    assert items == [comment, label]
    whole = answered(await org.client.get(f"/api/runs/{run.id}"))
    assert whole["annotations"] == items
    exported = (await org.client.get(f"/api/runs/{run.id}/export")).json()
    assert exported["annotations"] == items


async def test_a_label_stands_at_a_place_once_and_comments_may_repeat(org: Org) -> None:
    run = await ended(org)
    first = await write(org, run, label="odd")
    assert await write(org, run, label="odd") == first
    assert (await write(org, run, label="odd", step=1))["id"] != first["id"]
    assert (await write(org, run, comment="odd"))["id"] != (await write(org, run, comment="odd"))["id"]
    assert (await listed(org))[0]["labels"] == ["odd"]
    assert (await listed(org))[0]["comments"] == 2


async def test_runs_are_found_by_label_and_by_whether_somebody_commented(org: Org) -> None:
    labelled, commented, plain = [await ended(org) for _ in range(3)]
    await write(org, labelled, label="odd")
    await write(org, labelled, label="later", step=1)
    await write(org, commented, comment="odd")
    assert [run["id"] for run in await listed(org, run_label="odd")] == [labelled.id]
    assert [run["id"] for run in await listed(org, run_label="later")] == [labelled.id]
    assert await listed(org, run_label="nothing") == []
    assert [run["id"] for run in await listed(org, has_comments="true")] == [commented.id]
    without = {run["id"] for run in await listed(org, has_comments="false")}
    assert without == {labelled.id, plain.id}


async def test_what_is_removed_is_gone(org: Org) -> None:
    run = await ended(org)
    label = await write(org, run, label="odd")
    path = f"/api/runs/{run.id}/annotations/{label['id']}"
    answered(await org.client.delete(path), 204)
    assert (await org.client.delete(path)).status_code == 404
    assert await listed(org, run_label="odd") == []


async def test_what_cannot_be_written_is_refused_with_its_reason(org: Org) -> None:
    run = await ended(org)
    assert "either" in (await problems_of(org, run))[0]["message"]
    assert "either" in (await problems_of(org, run, comment="a", label="b"))[0]["message"]
    assert (await problems_of(org, run, comment="x" * (LONGEST_COMMENT + 1)))[0]["path"] == "/comment"
    assert (await problems_of(org, run, label="x" * (LONGEST_LABEL + 1)))[0]["path"] == "/label"
    assert (await problems_of(org, run, label="a\nb"))[0]["path"] == "/label"
    assert "has no step 99" in (await problems_of(org, run, comment="a", step=99))[0]["message"]
    assert (await problems_of(org, run, comment="a", colour="red"))[0]["path"] == "/colour"


async def test_others_neither_read_nor_write(house: House, org: Org) -> None:
    run = await ended(org)
    label = await write(org, run, label="odd")
    stranger = await house.another_org()
    path = f"/api/runs/{run.id}/annotations"
    assert (await stranger.client.get(path)).status_code == 404
    assert (await stranger.client.post(path, json={"label": "odd"})).status_code == 404
    assert (await stranger.client.delete(f"{path}/{label['id']}")).status_code == 404
    viewer = await org.key_of(Role.VIEWER)
    assert (await viewer.client.post(path, json={"label": "more"})).status_code == 403
    assert (await viewer.client.delete(f"{path}/{label['id']}")).status_code == 403
    assert len(answered(await viewer.client.get(path))["items"]) == 1


async def test_the_verdict_of_a_run_does_not_change_by_what_is_written(org: Org) -> None:
    run = await ended(org)
    before = answered(await org.client.get(f"/api/runs/{run.id}"))
    await write(org, run, comment="wrong!")
    after = answered(await org.client.get(f"/api/runs/{run.id}"))
    assert after | {"annotations": [], "comments": 0} == before
