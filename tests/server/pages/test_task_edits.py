"""Tasks are added, edited, duplicated, removed and run one at a time on their pages; datasets are renamed and
deleted."""

import html
import re
from collections.abc import Iterator

import pytest
from signed_in import Signed, as_viewer, signed_in, words

from support.played_agents import played, refunds
from support.server_process import REFUND_TASK, Api, eventually, house_in


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("task-edits"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def dataset(api: Api, *rows: dict[str, object]) -> tuple[int, list[int]]:
    body = {"name": "orders", "rows": list(rows) or [REFUND_TASK]}
    made = api.post("/api/datasets", body, 201)
    return made["id"], made["task_ids"]


def fields_of(page: str) -> dict[str, str]:
    areas = re.findall(r'<textarea id="f-(\w+)"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    lines = re.findall(r'<input id="f-(\w+)" name="\w+" type="text" value="([^"]*)"', page)
    return {name: html.unescape(text).strip("\n") for name, text in [*areas, *lines]}


def tasks_of(api: Api, dataset_id: int) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = api.get(f"/api/datasets/{dataset_id}/tasks")["items"]
    return listed


def seed_of(api: Api, task_id: object) -> dict[str, object]:
    seed: dict[str, object] = api.get(f"/api/tasks/{task_id}")["odyssey_seed"]
    return seed


def test_a_task_is_added_with_the_fields_of_an_upload(api: Api, visitor: Signed) -> None:
    dataset_id, _ = dataset(api)
    visitor.text(f"/datasets/{dataset_id}/tasks/new")
    state = '{"order": {"9": {"status": "open"}}}'
    sent = {"user": 'Close order 9, "now"; thanks', "state": state, "tags": '["one", "two"]'}
    done = visitor.post_in_parts(f"/datasets/{dataset_id}/tasks", sent)
    assert done.status_code == 303, words(done.text)
    new = tasks_of(api, dataset_id)[-1]
    assert done.headers["location"] == f"/tasks/{new['id']}"
    assert new["tags"] == ["one", "two"]
    seed = seed_of(api, new["id"])
    assert seed["user_instruction"] == 'Close order 9, "now"; thanks'
    assert seed["initial_state"] == {"order": {"9": {"status": "open"}}}


def test_what_is_wrong_with_a_task_stands_beside_its_fields(api: Api, visitor: Signed) -> None:
    dataset_id, _ = dataset(api)
    sent = {"user": "Close it.", "state": "{", "failure_rules": "[5]"}
    shown = visitor.post_in_parts(f"/datasets/{dataset_id}/tasks", sent)
    assert shown.status_code == 422
    assert {name: fields_of(shown.text)[name] for name in sent} == sent
    assert shown.text.count('aria-invalid="true"') == 2
    assert len(tasks_of(api, dataset_id)) == 1


def test_an_edited_task_keeps_its_oracle_and_its_world(api: Api, visitor: Signed) -> None:
    dataset_id, (task_id,) = dataset(api)
    before = seed_of(api, task_id)
    fields = fields_of(visitor.text(f"/tasks/{task_id}/edit"))
    assert "expected_state" not in fields
    done = visitor.post_in_parts(f"/tasks/{task_id}/edit", fields | {"user": "Refund 4521, please."})
    assert done.status_code == 303, words(done.text)
    (listed,) = tasks_of(api, dataset_id)
    assert listed["id"] != task_id
    assert seed_of(api, listed["id"]) == before | {"user_instruction": "Refund 4521, please."}
    assert "was removed from its dataset" in words(visitor.text(f"/tasks/{task_id}"))
    visitor.text(f"/tasks/{task_id}/edit", 409)


def test_a_duplicate_begins_as_its_task_without_the_id(api: Api, visitor: Signed) -> None:
    dataset_id, (task_id,) = dataset(api, REFUND_TASK | {"id": "one"})
    fields = fields_of(visitor.text(f"/datasets/{dataset_id}/tasks/new?like={task_id}"))
    assert (fields["user"], fields["id"]) == (REFUND_TASK["user"], "")
    assert visitor.post_in_parts(f"/datasets/{dataset_id}/tasks", fields).status_code == 303
    first, second = tasks_of(api, dataset_id)
    assert seed_of(api, first["id"]) == seed_of(api, second["id"]) | {"id": "one"}


def test_a_task_is_removed(api: Api, visitor: Signed) -> None:
    dataset_id, (first, second) = dataset(api, REFUND_TASK, REFUND_TASK)
    assert f'action="/tasks/{first}/remove"' in visitor.text(f"/tasks/{first}")
    assert visitor.post(f"/tasks/{first}/remove").headers["location"] == f"/datasets/{dataset_id}"
    assert [task["id"] for task in tasks_of(api, dataset_id)] == [second]
    assert f"/tasks/{first}/" not in visitor.text(f"/datasets/{dataset_id}")


def test_one_task_runs_alone(api: Api, visitor: Signed) -> None:
    with played(refunds) as agent:
        agent_id = api.agent(agent.url)["id"]
        dataset_id, (_, second) = dataset(api, REFUND_TASK, REFUND_TASK)
        link = f"/batches/new?task_id={second}&amp;dataset_id={dataset_id}"
        assert link in visitor.text(f"/tasks/{second}")
        page = visitor.text(f"/batches/new?task_id={second}&dataset_id={dataset_id}&agent_id={agent_id}")
        assert "Only task 2" in words(page)
        assert "Runs 1 Time" in words(page)
        sent = {"agent_id": agent_id, "dataset_id": dataset_id, "task_id": second, "repeats": "1"}
        place = visitor.post("/batches/new", sent).headers["location"]
        batch_id = int(place.rpartition("/")[2])
        eventually(lambda: api.batch(batch_id)["status"] == "completed", "the batch has ended")
    assert [run["task_id"] for run in api.runs(batch_id)] == [second]


def test_a_batch_goes_on_with_a_task_that_was_removed(api: Api, visitor: Signed) -> None:
    with played(lambda dispatch: dispatch.until_it_hangs_up()) as agent:
        agent_id = api.agent(agent.url)["id"]
        dataset_id, (task_id,) = dataset(api, REFUND_TASK)
        batch_id = api.batch_of(agent_id, dataset_id)
        eventually(lambda: api.runs(batch_id)[0]["status"] == "running", "the run was sent")
        api.post(f"/api/batches/{batch_id}/cancel")
        eventually(lambda: api.batch(batch_id)["status"] == "cancelled", "the batch is cancelled")
        visitor.post(f"/tasks/{task_id}/remove")
        api.post(f"/api/batches/{batch_id}/resume", status=202)
        eventually(lambda: len(api.runs(batch_id)) == 2, "there is a new attempt")
        api.post(f"/api/batches/{batch_id}/cancel")


def test_a_dataset_is_renamed_and_deleted(api: Api, visitor: Signed) -> None:
    dataset_id, _ = dataset(api)
    assert visitor.post(f"/datasets/{dataset_id}/name", {"name": "<refunds>"}).status_code == 303
    page = visitor.text(f"/datasets/{dataset_id}")
    assert "&lt;refunds&gt;" in page
    assert "<refunds>" not in page
    visitor.post(f"/datasets/{dataset_id}/name", {"name": " "})
    assert api.get(f"/api/datasets/{dataset_id}")["name"] == "<refunds>"
    assert visitor.post(f"/datasets/{dataset_id}/delete").headers["location"] == "/datasets"
    visitor.text(f"/datasets/{dataset_id}", 404)


def test_a_viewer_changes_nothing(api: Api) -> None:
    dataset_id, (task_id,) = dataset(api)
    with signed_in(api, as_viewer(api)) as viewer:
        for page in (viewer.text(f"/tasks/{task_id}"), viewer.text(f"/datasets/{dataset_id}")):
            assert "Change</summary>" not in page
            assert "Run this task" not in page
        for path in (f"/tasks/{task_id}/edit", f"/datasets/{dataset_id}/tasks/new"):
            viewer.text(path, 403)
        for path in (
            *(f"/tasks/{task_id}/edit", f"/tasks/{task_id}/remove", f"/datasets/{dataset_id}/tasks"),
            *(f"/datasets/{dataset_id}/name", f"/datasets/{dataset_id}/delete"),
        ):
            assert viewer.post(path).status_code == 403
