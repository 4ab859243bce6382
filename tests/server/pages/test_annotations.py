"""People write comments and labels on the page of a run; lists, exports and the report have them."""

import csv
import io
from collections.abc import Iterator

import pytest
from signed_in import Signed, as_viewer, signed_in, words

from support.played_agents import played, refunds
from support.server_process import REFUND_TASK, Api, house_in

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("annotations"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


@pytest.fixture(scope="module")
def batch(api: Api) -> int:
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, REFUND_TASK)
        api.ended(batch_id)
    return batch_id


def test_a_run_and_its_steps_get_comments_and_labels(api: Api, visitor: Signed, batch: int) -> None:
    run_id = api.only_run(batch)["id"]
    path = f"/runs/{run_id}/annotations"
    assert visitor.post(path, {"label": "odd <b>"}).headers["location"] == f"/runs/{run_id}"
    assert visitor.post(path, {"comment": HOSTILE, "step": "1"}).headers["location"] == f"/runs/{run_id}?s=1"
    page = visitor.text(f"/runs/{run_id}")
    assert "1 comment, 1 label" in words(page)
    assert HOSTILE in words(page)
    assert HOSTILE not in page
    assert "1 comment or label" in words(visitor.text(f"/runs/{run_id}/steps/1"))
    listed = visitor.text("/runs?run_label=odd+%3Cb%3E")
    assert f'href="/runs/{run_id}"' in listed
    assert "1 comment" in words(listed)
    assert f'href="/runs/{run_id}"' in visitor.text("/runs?has_comments=yes")
    assert f'href="/runs/{run_id}"' not in visitor.text("/runs?has_comments=no")
    assert f'href="/runs/{run_id}"' not in visitor.text("/runs?run_label=other")
    assert f'href="/runs/{run_id}"' in visitor.text(f"/batches/{batch}?run_label=odd+%3Cb%3E")
    items = api.get(f"/api/runs/{run_id}/annotations")["items"]
    for item in items:
        visitor.post(f"{path}/{item['id']}/remove")
    assert api.get(f"/api/runs/{run_id}/annotations")["items"] == []


def test_exports_and_the_report_have_what_people_wrote(api: Api, visitor: Signed, batch: int) -> None:
    run_id = api.only_run(batch)["id"]
    path = f"/api/runs/{run_id}/annotations"
    api.post(path, {"label": "later"}, 201)
    api.post(path, {"comment": "Ask Bo.", "step": 1, "by": "ann"}, 201)
    api.post(path, {"comment": "All fine.", "by": "bo"}, 201)
    (exported,) = api.get(f"/api/batches/{batch}/export")["items"]
    assert [each["text"] for each in exported["annotations"]] == ["later", "Ask Bo.", "All fine."]
    text = api.client.get(f"/api/batches/{batch}/export", params={"format": "csv"}).text
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["labels"], row["comments"]) == ("later", "step 1, ann: Ask Bo.\nbo: All fine.")
    report = words(api.client.get(f"/api/batches/{batch}/report").text)
    assert "Ask Bo. ann, step 1" in report
    assert "later" in report


def test_a_text_that_is_refused_says_why(visitor: Signed, api: Api, batch: int) -> None:
    run_id = api.only_run(batch)["id"]
    said = visitor.post(f"/runs/{run_id}/annotations", {"label": "x" * 100}, follow_redirects=True)
    assert "at most 60 are allowed" in words(said.text)


def test_a_viewer_reads_and_has_nothing_to_write_with(api: Api, batch: int) -> None:
    run_id = api.only_run(batch)["id"]
    with signed_in(api, as_viewer(api)) as viewer:
        page = viewer.text(f"/runs/{run_id}")
        assert f'action="/runs/{run_id}/annotations"' not in page
        assert "/remove" not in page
        assert viewer.post(f"/runs/{run_id}/annotations", {"label": "x"}).status_code == 403
        assert viewer.post(f"/runs/{run_id}/annotations/1/remove").status_code == 403
