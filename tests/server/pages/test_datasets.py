"""Datasets: the list, looking at an upload before it is made, one dataset, one task."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser

from support.browser import check_page, person
from support.played_agents import played, refunds
from support.repository import EXAMPLES
from support.server_process import Api, house_in

EXAMPLE = EXAMPLES / "refund_agent"
HOSTILE = "<script>alert(1)</script><b onmouseover=alert(2)>\"'`"
BROKEN = (
    b"usr,Initial State,notes,failure_rules\n"
    b'Refund 4521,"{""order"": {}}",mine,\n'
    b"Cancel 7,{'order': {}},,\n"
    b'Cancel 8,,,"[{""trigger"": ""after_n_calls"", ""tool"": ""cancel_ordr"", ""n"": 1}]"\n'
)
WRONG_CELL = 'Refund 1,"{broken"\n'


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("datasets") / "house") as house:
        yield house.open()


@pytest.fixture(scope="module")
def agent(api: Api) -> dict[str, Any]:
    body = json.loads((EXAMPLE / "agent.json").read_text())
    body["endpoint_url"] = "http://127.0.0.1:9/dispatch"
    made: dict[str, Any] = api.post("/api/agents", body, 201)
    return made


@pytest.fixture(scope="module")
def example(api: Api, agent: dict[str, Any]) -> dict[str, Any]:
    """The example agent's tasks, as everybody has them."""
    files = {"file": ("Refund tasks.csv", (EXAMPLE / "tasks.csv").read_bytes())}
    answered = api.client.post("/api/datasets", files=files, data={"agent_id": str(agent["id"])})
    assert answered.status_code == 201, answered.text
    made: dict[str, Any] = answered.json()
    return made


class Visit:
    """A browser's requests without a browser."""

    def __init__(self, api: Api, key: str | None = None) -> None:
        self.client = httpx2.Client(base_url=api.url, timeout=60)
        assert self.client.post("/sign-in", data={"key": key or api.key}).status_code == 303
        found = re.search(r'X-Csrf": "([0-9a-f]+)"', self.client.get("/").text)
        assert found is not None
        self.csrf = found[1]

    def reads(self, path: str, status: int = 200) -> str:
        answered = self.client.get(path)
        assert answered.status_code == status, answered.text[:500]
        return answered.text

    def sends(
        self, path: str, file: tuple[str, bytes] | None = None, status: int = 200, **fields: Any
    ) -> httpx2.Response:
        data = {"csrf": self.csrf, **fields}
        files = {"file": file} if file is not None else {"file": ("", b"")}
        answered = self.client.post(path, data=data, files=files)
        assert answered.status_code == status, answered.text[:2000]
        return answered


def sheet_in(page: str) -> str:
    """The table of the file's rows, without the text of the file."""
    return page.partition('class="list tasks sheet"')[2]


@contextmanager
def visiting(api: Api, key: str | None = None) -> Iterator[Visit]:
    visit = Visit(api, key)
    try:
        yield visit
    finally:
        visit.client.close()


@pytest.fixture(scope="module")
def visit(api: Api) -> Iterator[Visit]:
    with visiting(api) as visit:
        yield visit


def seen(html: str) -> str:
    """The words of a page, as somebody reads them."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


# While there is none: the first test of the module, which asks for no dataset


def test_an_empty_installation_says_what_to_do(api: Api) -> None:
    with visiting(api) as visit:
        page = seen(visit.reads("/datasets"))
    assert "No datasets yet" in page
    assert "Upload a CSV" in page


# Looking at an upload


def test_every_problem_is_shown_at_once_and_at_its_cell(visit: Visit, agent: dict[str, Any]) -> None:
    told = visit.sends("/datasets/check", ("tasks.csv", BROKEN), 422, agent_id=str(agent["id"])).text
    words = seen(told)
    assert "the column `user` is missing" in words
    assert "notes is not a column of a task." in words
    assert "JSON needs double quotes" in words
    assert "did you mean `cancel_order`?" in words
    told = sheet_in(told)
    row = told[told.index("Cancel 7") : told.index("Cancel 8")]
    assert 'class="wrong"' in row


def test_a_name_that_was_nearly_right_is_renamed_by_one_click_and_undone_by_another(visit: Visit) -> None:
    told = visit.sends("/datasets/check", ("tasks.csv", BROKEN), 422).text
    assert "Rename to user" in told
    renamed = visit.sends("/datasets/check", ("tasks.csv", BROKEN), 422, rename='["usr", "user"]').text
    assert "the column `user` is missing" not in seen(renamed)
    assert "usr is read as user" in seen(renamed)
    kept = visit.sends(
        "/datasets/check", ("tasks.csv", BROKEN), 422, renamed='["usr", "user"]', leave="notes"
    ).text
    assert "notes is left out" in seen(kept)
    undone = visit.sends(
        "/datasets/check", ("tasks.csv", BROKEN), 422, renamed='["usr", "user"]', unrename="usr"
    ).text
    assert "the column `user` is missing" in seen(undone)


def test_a_column_can_be_switched_off_and_one_that_is_on_must_be_there(visit: Visit, api: Api) -> None:
    file = ("tasks.csv", ("user,state\n" + WRONG_CELL).encode())
    visit.sends("/datasets/check", file, 422)
    told = visit.sends("/datasets/check", file, chosen="yes").text
    assert "1 task can be stored" in seen(told)
    assert "The column `state` is left out." in seen(told)
    missing = visit.sends("/datasets/check", file, 422, chosen="yes", axis=["failure_rules"]).text
    assert "`failure_rules` is switched on" in seen(missing)
    made = visit.sends("/datasets", file, 303, chosen="yes", name="off")
    task = api.get(f"/api{made.headers['location']}/tasks")["items"][0]
    assert "initial_state" not in api.get(f"/api/tasks/{task['id']}")["odyssey_seed"]


def test_a_new_name_switches_its_column_on(visit: Visit) -> None:
    file = ("tasks.csv", b"user,world\nRefund 1,{}\n")
    told = visit.sends("/datasets/check", file, chosen="yes", rename='["world", "state"]').text
    assert "1 task can be stored" in seen(told)
    assert re.search(r'value="state"\s+checked', told)


def test_sentences_are_shown_as_they_are_read_before_anything_is_stored(
    visit: Visit, agent: dict[str, Any]
) -> None:
    world = '{""order"": {""1"": {""status"": ""shipped""}, ""2"": {""status"": ""pending""}}}'
    text = "Shipped orders cannot be cancelled. The moon decides."
    file = ("tasks.csv", f'user,state,behavior\nCancel 1,"{world}",{text}\n'.encode())
    told = seen(visit.sends("/datasets/check", file, agent_id=str(agent["id"])).text)
    assert "read as: cancel_order fails when the order's status is 'shipped'." in told
    assert "The moon decides. reading stopped at" in told


def test_looking_stores_nothing_and_creating_stores_what_was_looked_at(visit: Visit, api: Api) -> None:
    before = len(api.get("/api/datasets")["items"])
    file = ("late refunds.csv", b"usr,state\nRefund 1,{}\nRefund 2,{}\n")
    visit.sends("/datasets/check", file, renamed='["usr", "user"]')
    assert len(api.get("/api/datasets")["items"]) == before
    made = visit.sends("/datasets", file, 303, renamed='["usr", "user"]')
    page = visit.reads(made.headers["location"])
    assert "2 tasks are stored" in seen(page)
    assert "late refunds.csv" in page


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("user,state\nRefund 1,{}", ""),
        ('[{"user": "Refund 1"}]', "read as json"),
        ('{"user": "Refund 1"}\n', "read as jsonl"),
        ('{"rows": [{"user": "Refund 1"}]}', "read as json"),
        ("- user: Refund 1", "read as yaml"),
    ],
)
def test_pasted_text_is_read_as_what_it_is(visit: Visit, text: str, read_as: str) -> None:
    told = seen(visit.sends("/datasets/check", text=text).text)
    assert "1 task can be stored" in told
    assert read_as in told
    assert "Refund 1" in told


def test_a_large_file_is_looked_at_by_a_helper_process_and_then_stored(visit: Visit, api: Api) -> None:
    rows = b"".join(
        b'Refund %d,"{""order"":{""%d"":{""note"":""%s""}}}"\n' % (n, n, b"x" * 3_000) for n in range(400)
    )
    data = b"user,state\n" + rows
    assert len(data) > 1_000_000
    told = seen(visit.sends("/datasets/check", ("large.csv", data)).text)
    assert "400 tasks can be stored" in told
    assert "The first 50 rows" in told
    broken = visit.sends("/datasets/check", ("large.csv", data + WRONG_CELL.encode()), 422).text
    assert 'aria-label="state of row 402"' in broken
    made = visit.sends("/datasets", ("large.csv", data), 303)
    assert api.get(f"/api{made.headers['location']}")["task_count"] == 400


@pytest.mark.parametrize(
    ("file", "fields", "words"),
    [
        (None, {}, "Drop a file here, choose one, or paste its text."),
        (("tasks.csv", b""), {}, "the file is empty"),
        (("tasks.xlsx", b"PK\x03\x04xl/"), {}, "Excel workbook"),
        (("tasks.csv", b"a,b\n1,2\n"), {}, "has no column of a task"),
        (("tasks.jsonl", b"{}\n{broken"), {}, "problems"),
        (("tasks.csv", b"user\nhi\n"), {"agent_id": "987654"}, "There is no agent 987654."),
    ],
)
def test_what_cannot_be_read_is_said_in_place(
    visit: Visit, file: tuple[str, bytes] | None, fields: dict[str, str], words: str
) -> None:
    for path in ("/datasets/check", "/datasets"):
        assert words in seen(visit.sends(path, file, 422, **fields).text)


def test_the_form_keeps_what_was_typed(visit: Visit) -> None:
    told = visit.sends("/datasets", status=422, name="x" * 300, text="user\nRefund 1").text
    assert "x" * 300 in told
    assert "must be text of 1 to 255 characters" in seen(told)
    assert "Refund 1" in told


def test_findings_stand_beside_their_row(visit: Visit, agent: dict[str, Any]) -> None:
    data = b'user,expected_state\nRefund order 1,\n"Refund 2","{""order.2.status"": ""refunded""}"\n'
    told = visit.sends("/datasets/check", ("tasks.csv", data), agent_id=str(agent["id"])).text
    told = sheet_in(told)
    row = seen(told[told.rindex("<tr>", 0, told.index("Refund order 1")) : told.index("Refund 2")])
    assert "nothing says what is right here" in row


def test_hostile_cells_and_names_are_text(visit: Visit, api: Api) -> None:
    rows = [{"user": HOSTILE, "state": {HOSTILE: {HOSTILE: {HOSTILE: HOSTILE}}}, "tags": [HOSTILE]}]
    table = f'user,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\nhi,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n'
    told = [visit.sends("/datasets/check", ("t.csv", table.encode()), 422).text]
    made = api.post("/api/datasets", {"name": HOSTILE, "rows": rows}, 201)
    told += [
        visit.reads(path)
        for path in ("/datasets", f"/datasets/{made['id']}", f"/tasks/{made['task_ids'][0]}")
    ]
    for page in told:
        assert "<script>alert" not in page
        assert "<b onmouseover" not in page
        assert "&lt;script&gt;alert" in page


def test_a_viewer_may_read_and_sees_no_button_that_would_be_refused(
    api: Api, example: dict[str, Any]
) -> None:
    made = api.post("/api/keys", {"name": "guest", "role": "viewer"}, 201)
    with visiting(api, made["api_key"]) as guest:
        assert "/datasets/new" not in guest.reads("/datasets")
        assert "/batches/new" not in guest.reads(f"/datasets/{example['id']}")
        assert "/batches/new" not in guest.reads(f"/tasks/{example['task_ids'][0]}")
        guest.reads("/datasets/new", 403)
        guest.sends("/datasets/check", ("t.csv", b"user\nhi\n"), 403)
        guest.sends("/datasets", ("t.csv", b"user\nhi\n"), 403)


def test_a_form_without_its_token_stores_nothing(visit: Visit, api: Api) -> None:
    before = len(api.get("/api/datasets")["items"])
    answered = visit.client.post("/datasets", files={"file": ("t.csv", b"user\nhi\n")})
    assert answered.status_code == 403
    assert len(api.get("/api/datasets")["items"]) == before


# The list, a dataset, a task


def test_the_list_tells_agent_tasks_columns_and_how_the_last_batch_went(api: Api, visit: Visit) -> None:
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url)
        api.ended(batch_id)
    page = visit.reads("/datasets")
    row = seen(page[page.index(f"/batches/{batch_id}") - 800 : page.index(f"/batches/{batch_id}") + 900])
    assert "expected_state" in row
    assert "100 %" in row
    assert "n 1" in row
    dataset_id = api.batch(batch_id)["dataset_id"]
    assert f"/batches/{batch_id}" in visit.reads(f"/datasets/{dataset_id}")
    task = api.get(f"/api/datasets/{dataset_id}/tasks")["items"][0]
    runs = seen(visit.reads(f"/tasks/{task['id']}"))
    assert "✓ pass" in runs


def test_the_list_is_filtered_by_name_and_agent(
    visit: Visit, example: dict[str, Any], agent: dict[str, Any]
) -> None:
    assert "Refund tasks.csv" in visit.reads("/datasets?words=refund+TASKS")
    assert "No dataset matches these filters" in visit.reads("/datasets?words=100%25_nothing")
    assert "Refund tasks.csv" in visit.reads(f"/datasets?agent_id={agent['id']}")
    assert "No dataset matches these filters" in visit.reads("/datasets?agent_id=99999")


@pytest.mark.parametrize(
    ("query", "some", "not_some"),
    [
        ("words=blue+MUGS", "blue mugs", "Cancel order 7001"),
        ("tag=failure", "Refund order 4600", "blue mugs"),
        ("axis=failure_rules", "Refund order 4600", "blue mugs"),
        ("axis=behavior_instructions", "Cancel my order 7001", "blue mugs"),
        ("axis=scripted_user_turns&oracle=yes", "I would like a refund", "blue mugs"),
        ("words=refund_window_closed", "money back for order 3100", "blue mugs"),
    ],
)
def test_tasks_are_filtered(
    visit: Visit, example: dict[str, Any], query: str, some: str, not_some: str
) -> None:
    page = seen(visit.reads(f"/datasets/{example['id']}?{query}"))
    assert some in page
    assert not_some not in page


def test_no_task_fits(visit: Visit, example: dict[str, Any]) -> None:
    assert "No task matches these filters" in visit.reads(f"/datasets/{example['id']}?oracle=no&axis=state")
    assert "No task matches these filters" in visit.reads(f"/datasets/{example['id']}?words=%25")
    visit.reads("/datasets/987654", 404)
    visit.reads("/tasks/987654", 404)


def test_a_dataset_is_exported_as_a_file_that_makes_it_anew(visit: Visit, example: dict[str, Any]) -> None:
    csv = visit.client.get(f"/datasets/{example['id']}/export?format=csv")
    assert csv.headers["content-disposition"].startswith("attachment")
    assert f"{example['task_count']} tasks can be stored" in seen(
        visit.sends("/datasets/check", ("again.csv", csv.content)).text
    )
    whole = visit.client.get(f"/datasets/{example['id']}/export?format=json").json()
    assert len(whole["rows"]) == example["task_count"]
    assert visit.client.get("/datasets/template.csv?axis=state&axis=nonsense").text == "user,state\r\n"


def task_of(api: Api, example: dict[str, Any], words: str) -> int:
    items = api.get(f"/api/datasets/{example['id']}/tasks")["items"]
    return int(next(item["id"] for item in items if words in item["user_instruction"]))


def test_a_task_is_read_as_sentences_and_tables(visit: Visit, api: Api, example: dict[str, Any]) -> None:
    failing = visit.reads(f"/tasks/{task_of(api, example, 'Refund order 4600')}")
    words = seen(failing)
    assert "On the 1st call of refund_order, answer 502: “Payment processor unavailable”." in words
    assert 'At the end order.4600.status should be "refunded".' in words
    assert "Nothing else changes." in words
    assert re.search(r"<code>4600</code></th><td>shipped</td><td>15</td>", failing)
    assert failing.count('class="call fires"') == 1
    behaving = seen(visit.reads(f"/tasks/{task_of(api, example, 'Cancel order 7001 please')}"))
    assert "✓ enforced cancel_order" in behaving
    assert "read as: cancel_order fails with 409 " in behaving
    assert "✓ passes cancel_order" in behaving
    assert "The agent should refuse" in seen(
        visit.reads(f"/tasks/{task_of(api, example, 'Cancel my order 7001')}")
    )


def test_what_was_not_read_is_said_and_depends_on_whose_tools_read_it(
    visit: Visit, api: Api, agent: dict[str, Any]
) -> None:
    rows = [{"user": "Refund 1", "behavior": "The moon decides on Tuesdays.", "state": {"order": {"1": {}}}}]
    made = api.post("/api/datasets", {"name": "moon", "rows": rows}, 201)
    path = f"/tasks/{made['task_ids'][0]}"
    assert "not read" not in visit.reads(path)
    assert "expected_state nothing says what is right here" in seen(visit.reads(path))
    assert "✕ not read" in seen(visit.reads(f"{path}?agent_id={agent['id']}"))


def test_a_large_world_makes_no_large_page(visit: Visit, api: Api) -> None:
    world = {"order": {str(n): {f"field{f}": "x" * 1_000 for f in range(30)} for n in range(130)}}
    made = api.post("/api/datasets", {"name": "wide", "rows": [{"user": "Refund 1", "state": world}]}, 201)
    page = visit.reads(f"/tasks/{made['task_ids'][0]}")
    assert len(page) < 250_000
    assert "80 more in the downloaded seed." in seen(page)
    seed = visit.client.get(f"/tasks/{made['task_ids'][0]}/seed.json").json()
    assert seed["initial_state"] == world


# In a browser

DROP = """(text) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], "dropped.csv", {type: "text/csv"}));
  for (const kind of ["dragover", "drop"])
    document.querySelector("[data-drop]").dispatchEvent(
      new DragEvent(kind, {dataTransfer: carried, bubbles: true, cancelable: true}));
}"""


def test_a_file_is_dropped_renamed_and_made_a_dataset(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/datasets/new")
        page.evaluate(DROP, "usr,state\nRefund 1,{broken\n")
        page.get_by_role("button", name="Rename to user").click()
        page.get_by_text("usr is read as user").wait_for()
        assert "is not valid JSON" in page.inner_text("td.wrong")
        page.locator("#axis-state").uncheck()
        page.get_by_role("button", name="Create dataset of 1 task").click()
        page.wait_for_url(re.compile(r"/datasets/\d+$"))
        assert "1 task is stored." in page.inner_text("main")
        assert "dropped.csv" in page.inner_text("h1")
        page.get_by_role("link", name="Refund 1").click()
        page.wait_for_url(re.compile(r"/tasks/\d+$"))
        visitor.complaints = [one for one in visitor.complaints if "422" not in one]


@pytest.mark.slow
def test_the_pages_are_sound_in_both_schemes_and_widths(
    browser: Browser, api: Api, example: dict[str, Any]
) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, "/datasets", "datasets")
        check_page(visitor, "/datasets/new", "dataset-new")
        check_page(visitor, f"/datasets/{example['id']}", "dataset")
        check_page(visitor, f"/tasks/{task_of(api, example, 'Refund order 4600')}", "task")
