"""Pages of coding tasks: scenarios, and a run with what it changed and what each scorer said."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from signed_in import Signed, as_viewer, signed_in, words

from support.browser import check_page
from support.browser import person as visiting
from support.server_process import Api, Row, house_in

SCENARIO: Row = {
    "name": "greeting",
    "user_instruction": "greeting.txt should greet the <b>world</b>.",
    "workspace_seed": {"type": "files", "files": {"greeting.txt": "hello\n", "old.txt": "old\n"}},
    "scorers": [
        {"name": "greets", "type": "command", "command": "cat greeting.txt; grep -q world greeting.txt"},
        {"name": "small", "type": "max_diff_lines", "max": 1, "required": False},
    ],
    "test_files": {"/tests/secret.txt": "nobody knows\n"},
}
AGENT = """
import os, pathlib

def run(task_input, *, proxy_url, run_token):
    top = pathlib.Path(os.environ["PIPELINES_WORKSPACE"])
    if "nothing" not in str(task_input):
        (top / "greeting.txt").write_text("hello, <i>world</i>\\n")
        (top / "old.txt").unlink()
        (top / "conftest.py").write_text("x = 1\\n")
    return "Done."
"""


class Coded:
    """A server with a scenario and two runs of it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.scenario = api.post("/api/coding-scenarios", SCENARIO, 201)["id"]
        code = {"source": "paste", "text": AGENT}
        agent = {"name": "Greeter", "mode": "code", "tools_schema": [], "code": code}
        agent_id = api.post("/api/agents", agent, 201)["id"]
        rows = [{"user": text, "scenario_ref": "greeting"} for text in ("Greet.", "Do nothing.")]
        dataset = api.post("/api/datasets", {"name": "greetings", "agent_id": agent_id, "rows": rows}, 201)
        batch = api.batch_of(agent_id, dataset["id"])
        api.ended(batch, 300.0)
        self.changed, self.idle = (run["id"] for run in api.runs(batch))


@pytest.fixture(scope="module")
def coded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coded]:
    with house_in(tmp_path_factory.mktemp("coding") / "house", {}) as house:
        api = house.open()
        found = api.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        yield Coded(api)


@pytest.fixture
def person(coded: Coded) -> Iterator[Signed]:
    with signed_in(coded.api) as signed:
        yield signed


def test_a_run_shows_its_three_results_its_scorers_and_its_change(coded: Coded, person: Signed) -> None:
    page = person.text(f"/runs/{coded.changed}")
    said = words(page)
    assert "Scorers ✓ passed score 0.50" in said
    assert "✕ fail small max diff lines · not required" in said
    assert "hello, <i>world</i>" in said  # what the scorer printed, as text
    assert "<ins>+hello, &lt;i&gt;world&lt;/i&gt;\n</ins>" in page
    assert "<del>-hello\n</del>" in page
    assert "old.txt deleted" in said
    assert "Possible tampering with the grader" in said
    assert "conftest.py" in said
    assert "The agent called no tools" not in said


def test_a_run_that_changed_nothing_says_so(coded: Coded, person: Signed) -> None:
    said = words(person.text(f"/runs/{coded.idle}"))
    assert "The agent changed nothing." in said
    assert "Scorers ✕ did not pass" in said


def test_the_patch_is_a_download(coded: Coded, person: Signed) -> None:
    answer = person.client.get(f"/runs/{coded.changed}/patch")
    assert answer.headers["content-disposition"] == f'attachment; filename="run-{coded.changed}.patch"'
    assert answer.text.startswith("diff --git a/conftest.py b/conftest.py\n")


def test_a_run_is_scored_again_by_what_its_scenario_says_now(coded: Coded, person: Signed) -> None:
    place = f"/api/coding-scenarios/{coded.scenario}"
    other = {"name": "greets", "type": "diff_contains", "text": "goodbye"}
    coded.api.put(place, SCENARIO | {"scorers": [other]})
    assert person.post(f"/runs/{coded.idle}/rescore").status_code == 303
    said = words(person.text(f"/runs/{coded.idle}"))
    assert "Scored again: FAIL, as before." in said
    assert "diff contains" in said
    assert "1 earlier grading" in said
    coded.api.put(place, SCENARIO)


def test_scenarios_are_listed_and_found_by_name(coded: Coded, person: Signed) -> None:
    said = words(person.text("/coding"))
    assert "greeting" in said
    assert "2 files" in said
    assert "greeting.txt should greet the <b>world</b>." in said
    assert "No scenarios match this filter" in words(person.text("/coding?q=nowhere"))


def test_a_scenario_is_made_changed_and_deleted_as_text(coded: Coded, person: Signed) -> None:
    sample = person.text("/coding/new")
    assert "fail_to_pass" in sample
    text = "name: other\nuser_instruction: Do it.\nscorers:\n  - {name: x, type: max_diff_lines, max: 3}\n"
    made = person.post_in_parts("/coding", {"text": text})
    assert made.status_code == 303
    place = made.headers["location"]
    assert "name: other" in person.text(place)
    taken = person.post_in_parts("/coding", {"text": text})
    assert taken.status_code == 409
    assert "already" in taken.text
    wrong = person.post_in_parts(place, {"text": text.replace("max_diff_lines", "max_lines")})
    assert wrong.status_code == 422
    assert "line 4" in words(wrong.text)
    assert "max_lines" in wrong.text  # what was typed is kept
    assert person.post_in_parts(place, {"text": text.replace("max: 3", "max: 4")}).status_code == 303
    assert "max: 4" in person.text(place)
    assert person.post(f"{place}/delete").status_code == 303
    person.text(place, 404)


def test_a_scenario_names_what_only_grading_brings(coded: Coded, person: Signed) -> None:
    said = words(person.text(f"/coding/{coded.scenario}"))
    assert "Files added for grading only /tests/secret.txt" in said
    assert "greets command cat greeting.txt; grep -q world greeting.txt (at most 900 s)" in said


def test_a_viewer_reads_and_changes_nothing(coded: Coded) -> None:
    with signed_in(coded.api, as_viewer(coded.api)) as viewer:
        page = viewer.text(f"/coding/{coded.scenario}")
        assert "<textarea" not in page
        assert "Re-score" not in viewer.text(f"/runs/{coded.changed}")
        assert viewer.post(f"/runs/{coded.changed}/rescore").status_code == 403
        assert viewer.post(f"/coding/{coded.scenario}/delete").status_code == 403
        viewer.text("/coding/new", 403)


def test_pages_of_coding_hold_what_every_page_holds(coded: Coded, browser: Browser) -> None:
    run = f"/runs/{coded.changed}"
    with visiting(browser, coded.api) as visitor:
        check_page(visitor, "/coding", "coding")
        check_page(visitor, f"/coding/{coded.scenario}", "coding-scenario")
        check_page(visitor, run, "coding-run")
