"""A wrong cell of an upload is corrected in the preview: the file stays as it is."""

import html
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from signed_in import Signed, signed_in, words

from support.server_process import Api, house_in

FILE = (
    b"user,state,expected_outcome\n"
    b'Refund 1,"{broken",\n'
    b'Refund 2,"{""order"": {""2"": {""status"": ""paid""}}}",maybe\n'
)
FIXED = {"cell:2:state": '{"order": {"1": {}}}', "cell:3:expected_outcome": "completion"}
LINES = b'{"user": "Refund 1", "state": "{broken"}\n{"user": "Refund 2"}\n'


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("cells")) as house:
        yield house.open()


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def send(visitor: Signed, path: str, name: str, data: bytes, **fields: str) -> httpx2.Response:
    sent = {"csrf": visitor.csrf} | fields
    return visitor.client.post(path, data=sent, files={"file": (name, data)}, headers={"hx-request": "true"})


def cells_of(page: str) -> dict[str, str]:
    found = re.findall(r'name="(cell:[^"]+)"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    return {html.unescape(name): html.unescape(text).strip() for name, text in found}


def tasks_of(api: Api, dataset_id: int) -> list[dict[str, Any]]:
    listed = api.get(f"/api/datasets/{dataset_id}/tasks")["items"]
    return [api.get(f"/api/tasks/{task['id']}")["odyssey_seed"] for task in listed]


def test_wrong_cells_are_fields_and_others_are_not(visitor: Signed) -> None:
    shown = send(visitor, "/datasets/check", "tasks.csv", FILE)
    assert shown.status_code == 422
    assert cells_of(shown.text) == {"cell:2:state": "{broken", "cell:3:expected_outcome": "maybe"}


def test_corrected_cells_are_checked_and_stored_in_place_of_the_file(api: Api, visitor: Signed) -> None:
    one = dict([*FIXED.items()][:1])
    half = send(visitor, "/datasets/check", "tasks.csv", FILE, **one)
    assert half.status_code == 422
    assert "1 problem" in words(half.text)
    assert cells_of(half.text)["cell:2:state"] == '{"order": {"1": {}}}'
    whole = send(visitor, "/datasets/check", "tasks.csv", FILE, **FIXED)
    assert whole.status_code == 200
    assert "2 tasks can be stored" in words(whole.text)
    assert cells_of(whole.text) == FIXED
    made = send(visitor, "/datasets", "tasks.csv", FILE, **FIXED)
    first, second = tasks_of(api, int(made.headers["hx-redirect"].rpartition("/")[2]))
    assert first["initial_state"] == {"order": {"1": {}}}
    assert second["expected_outcome"] == "completion"


def test_a_value_of_a_json_line_is_corrected_too(visitor: Signed) -> None:
    shown = send(visitor, "/datasets/check", "tasks.jsonl", LINES)
    assert [*cells_of(shown.text)] == ["cell:1:state"]
    again = send(visitor, "/datasets/check", "tasks.jsonl", LINES, **{"cell:1:state": '{"order": {}}'})
    assert again.status_code == 200
    assert "2 tasks can be stored" in words(again.text)


def test_a_wrong_cell_far_down_is_shown_and_corrected(api: Api, visitor: Signed) -> None:
    rows = b"".join(b"Refund %d,{}\n" % number for number in range(120))
    data = b"user,state\n" + rows + b"Refund last,{broken\n"
    shown = send(visitor, "/datasets/check", "tasks.csv", data)
    assert [*cells_of(shown.text)] == ["cell:122:state"]
    fixed = {"cell:122:state": '{"order": {}}'}
    assert "121 tasks can be stored" in words(send(visitor, "/datasets/check", "t.csv", data, **fixed).text)


def test_without_scripts_the_text_of_the_file_stays_in_the_form(api: Api, visitor: Signed) -> None:
    sent = {"csrf": visitor.csrf}
    shown = visitor.client.post("/datasets/check", data=sent, files={"file": ("orders.csv", FILE)})
    text = re.search(r'<textarea id="f-text"[^>]*>(.*?)</textarea>', shown.text, re.DOTALL)
    assert text is not None
    fields = {"text": html.unescape(text[1]).lstrip("\n"), "text_name": "orders.csv"} | FIXED
    made = visitor.post_in_parts("/datasets", fields)
    assert made.status_code == 303, words(made.text)
    dataset_id = int(made.headers["location"].rpartition("/")[2])
    assert api.get(f"/api/datasets/{dataset_id}")["name"] == "orders.csv"
    assert len(tasks_of(api, dataset_id)) == 2
