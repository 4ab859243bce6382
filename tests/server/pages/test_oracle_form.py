"""What counts as right is corrected on its page: checked while somebody types, shown on the stored runs, then
saved, and the runs are judged by it."""

import html
import re
from collections.abc import Iterator

import pytest
from signed_in import Signed, as_viewer, signed_in, words

from support.played_agents import played, refunds
from support.server_process import REFUND_TASK, Api, house_in

WRONG = REFUND_TASK | {"expected_state": {"order.4521.status": "cancelled"}}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("oracle-form"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def failed_run(api: Api) -> tuple[int, int]:
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, WRONG)
        api.ended(batch_id)
    run = api.only_run(batch_id)
    assert run["verdict"] == "FAIL"
    return int(run["id"]), int(run["task_id"])


def fields_of(page: str) -> dict[str, str]:
    areas = re.findall(r'<textarea id="f-(\w+)"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    return {name: html.unescape(text).strip() for name, text in areas}


def shown_in(page: str) -> str:
    found = re.search(r'name="shown" value="(\w+)"', page)
    assert found is not None
    return found[1]


def test_a_broken_reason_leads_to_its_part_of_the_oracle(api: Api, visitor: Signed) -> None:
    run_id, task_id = failed_run(api)
    place = f"/tasks/{task_id}/oracle?run={run_id}"
    assert f'href="{place}#f-expected_state"' in visitor.text(f"/runs/{run_id}")
    page = visitor.text(place)
    assert fields_of(page)["expected_state"] == '{"order.4521.status": "cancelled"}'
    assert "order.4521.status should" in words(page)
    assert f"What run {run_id} did" in words(page)
    taken = visitor.post_in_parts(
        f"/tasks/{task_id}/oracle", fields_of(page) | {"run": str(run_id), "take_expected_state": "yes"}
    )
    assert fields_of(taken.text)["expected_state"] == '{"order.4521.status": "refunded"}'


def test_flips_are_shown_before_anything_is_saved_and_saving_judges_again(api: Api, visitor: Signed) -> None:
    run_id, task_id = failed_run(api)
    path = f"/tasks/{task_id}/oracle"
    sent = {"run": str(run_id), "expected_state": '{"order.4521.status": "refunded"}', "note": "refunds"}
    shown = visitor.post_in_parts(path, sent)
    assert shown.status_code == 200
    assert "1 run of 1 would be judged otherwise" in words(shown.text)
    assert api.get(f"/api/runs/{run_id}")["verdict"] == "FAIL"
    saved = visitor.post_in_parts(path, sent | {"save": "yes", "shown": shown_in(shown.text)})
    assert (saved.status_code, saved.headers["location"]) == (303, f"/runs/{run_id}")
    assert api.get(f"/api/runs/{run_id}")["verdict"] == "PASS"
    newest = api.get(f"/api/tasks/{task_id}/oracles")["items"][0]
    assert (newest["version"], newest["note"]) == (2, "refunds")
    earlier = api.get(f"/api/runs/{run_id}/verdicts")["earlier"]
    assert [each["verdict"] for each in earlier] == ["FAIL"]


def test_what_was_changed_since_it_was_shown_is_shown_again(api: Api, visitor: Signed) -> None:
    _, task_id = failed_run(api)
    path = f"/tasks/{task_id}/oracle"
    sent = {"expected_state": '{"order.4521.status": "refunded"}'}
    shown = visitor.post_in_parts(path, sent)
    other = {"expected_state": '{"order.4521.status": "shipped"}', "save": "yes"}
    again = visitor.post_in_parts(path, other | {"shown": shown_in(shown.text)})
    assert again.status_code == 200
    assert len(api.get(f"/api/tasks/{task_id}/oracles")["items"]) == 1


def test_a_typed_oracle_is_checked_in_place(api: Api, visitor: Signed) -> None:
    _, task_id = failed_run(api)
    path = f"/tasks/{task_id}/oracle/check"
    good = visitor.post_in_parts(path, {"expected_state": '{"order.4521.status": "refunded"}'})
    assert "order.4521.status" in words(good.text)
    bad = visitor.post_in_parts(path, {"expected_state": '{"order": 5}', "expected_calls": "["})
    assert "is not JSON" in words(bad.text)
    both = visitor.post_in_parts(path, {"expected_state": '{"order": 5}', "expected_calls": '["nothing"]'})
    assert "is an entity type" in words(both.text)
    assert len(api.get(f"/api/tasks/{task_id}/oracles")["items"]) == 1


def test_what_is_wrong_stands_beside_its_field(api: Api, visitor: Signed) -> None:
    _, task_id = failed_run(api)
    shown = visitor.post_in_parts(
        f"/tasks/{task_id}/oracle", {"expected_state": '{"order": 5}', "note": "<b>"}
    )
    assert shown.status_code == 422
    assert fields_of(shown.text)["expected_state"] == '{"order": 5}'
    assert "is an entity type" in words(shown.text)
    assert "<b>" not in shown.text.replace("<b></b>", "")


def test_a_viewer_has_no_way_to_the_form(api: Api) -> None:
    run_id, task_id = failed_run(api)
    with signed_in(api, as_viewer(api)) as viewer:
        assert "Correct the oracle" not in viewer.text(f"/runs/{run_id}")
        assert f"/tasks/{task_id}/oracle" not in viewer.text(f"/tasks/{task_id}")
        viewer.text(f"/tasks/{task_id}/oracle", 403)
        assert viewer.post_in_parts(f"/tasks/{task_id}/oracle", {}).status_code == 403
