"""Home: a guide whose commands work, the example by one press, then what ran and what is worth a look."""

import html
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from signed_in import as_viewer, signed_in, words

from pipelines.engine.agents.example_agent import FAILING_TASK
from support.browser import check_page, person
from support.played_agents import played, refunds
from support.ports import free_port
from support.server_process import REFUND_TASK, Api, clean_environment, house_in


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Somebody has run something here."""
    with house_in(tmp_path_factory.mktemp("home") / "house") as house, played(refunds) as agent:
        opened = house.open()
        batch = opened.start_batch(agent.url, REFUND_TASK, REFUND_TASK | {"user": "Refund it.", "id": "two"})
        opened.ended(batch)
        yield opened


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("empty") / "house") as house:
        yield house.open()


def test_the_example_is_made_by_one_press_and_shows_a_pass_and_a_failure(
    browser: Browser, empty: Api
) -> None:
    with person(browser, empty) as visitor:
        page = visitor.opens("/")
        page.get_by_role("button", name="Create the example agent and its tasks").click()
        page.get_by_text("Nothing has run yet.").wait_for()
        start = page.get_by_role("link", name="Run 5 tasks with Example agent")
        assert "/batches/new?agent_id=1&dataset_id=1" in str(start.get_attribute("href"))
    if empty.get("/api/agents/1")["mode"] == "code":  # nothing has to be started for it
        batch = empty.ended(empty.batch_of(1, 1))
        assert batch["counts"]["by_verdict"] == {"FAIL": 1, "PASS": 4}
        (failed,) = empty.runs(batch["id"], verdict="FAIL")
        assert failed["user_instruction"] == FAILING_TASK["user"]


@pytest.mark.slow
def test_the_commands_of_the_guide_work_as_they_stand(tmp_path: Path) -> None:
    """But for the agent's port, which may be taken here."""
    with house_in(tmp_path / ".pipelines") as house:
        api = house.open()
        with signed_in(api) as visitor:
            guide = visitor.text("/")
        found = re.findall(r'<pre id="cmd-(\w+)"[^>]*>(.*?)</pre>', guide)
        commands = {name: html.unescape(text) for name, text in found}
        port = free_port()
        done(commands["make"], tmp_path)
        registration = tmp_path / "my-agent" / "agent.json"
        registration.write_text(registration.read_text().replace("9100", str(port)))
        started = commands["start"].replace("9100", str(port)).replace("uvicorn", "exec uvicorn").rstrip(" &")
        with running(started, tmp_path):
            done(commands["register"], tmp_path)
            assert "4 of 4 judged runs pass" in done(commands["run"], tmp_path)


def done(command: str, folder: Path) -> str:
    ran = subprocess.run(
        command, shell=True, cwd=folder, env=shell(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@contextmanager
def running(command: str, folder: Path) -> Iterator[None]:
    process = subprocess.Popen(
        command, shell=True, cwd=folder, env=shell(), stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def shell() -> dict[str, str]:
    """With the commands of this environment, as after its activation."""
    return clean_environment() | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def test_home_says_what_ran_with_its_interval(api: Api) -> None:
    with signed_in(api) as visitor:
        shown = words(visitor.text("/"))
    assert "Batch 1 Support desk v1 ● completed 100 % 34–100 %, n 2" in shown
    assert "Nothing to review." in shown
    assert "Create the example" not in shown


def test_what_is_worth_a_look_names_the_run(api: Api) -> None:
    with played(lambda dispatch: dispatch.answer_with(200, b"<script>alert(1)</script>")) as agent:
        api.ended(api.start_batch(agent.url, agent={"name": "<b>Broken</b>"}))
    with signed_in(api) as visitor:
        page = visitor.text("/")
    assert "agent_bad_response ended 1 run, most recently run 3" in words(page)
    assert "<b>Broken" not in page


@pytest.mark.parametrize("path", ["/agents/example"])
def test_a_viewer_makes_nothing(empty: Api, path: str) -> None:
    with signed_in(empty, as_viewer(empty)) as visitor:
        assert visitor.post(path).status_code == 403
        assert "Create the example" not in visitor.text("/")


@pytest.mark.slow
def test_home_is_sound_in_both_schemes_and_widths(browser: Browser, api: Api, empty: Api) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, "/", "home")
    with person(browser, empty) as visitor:
        check_page(visitor, "/", "home-empty")
