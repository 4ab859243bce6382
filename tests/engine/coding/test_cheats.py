"""Agents that cheat, in the real sandbox, graded by the real grader: none passes, each leaves a reason."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cheating_agent
import pytest
from calc_desk import SCENARIOS, cheated, prepare

from support.server_process import Api, House, Row, house_in

HONEST = ("mends_it", "does_nothing")
HELPERS = ("put", "git", "in_package", "run")
WAYS = [
    name
    for name, way in inspect.getmembers(cheating_agent, inspect.isfunction)
    if way.__module__ == "cheating_agent" and name not in (*HELPERS, *HONEST) and not name.startswith("_")
]
#: One of each kind: who runs the tests, what they are, what the package does while it is graded.
QUICK = [
    *("adds_a_conftest", "edits_the_tests", "exits_when_imported", "writes_a_forged_report"),
    "rewrites_the_runner_by_other_words",
]
#: What the host would leave behind if it ran anything of the workspace's own.
MARKS = ("/tmp/ran-by-the-host-of-codingui", "/job/ran-by-the-host", "/tmp/evil")
PATIENCE_S = 3_600.0  # a loaded machine; on a quiet one all of them take some minutes


@pytest.fixture(scope="module", params=[pytest.param("memory", marks=pytest.mark.slow), "overlay"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Where each run has a copy of its own, and where runs share what lies below theirs."""
    settings = {"PIPELINES_PROXY_RATE_LIMIT": "0", "PIPELINES_WORKSPACE_SHARING": request.param}
    with house_in(tmp_path_factory.mktemp("cheats") / "house", settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def api(house: House) -> Api:
    opened = house.open()
    found = opened.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    if found["workspaces"].startswith("none"):
        pytest.skip(found["workspaces"])
    return opened


@pytest.fixture(scope="module")
def agent_id(api: Api, tmp_path_factory: pytest.TempPathFactory) -> int:
    return prepare(api, tmp_path_factory.mktemp("calc") / "calc")


@pytest.fixture(scope="module")
def quick(api: Api, agent_id: int) -> dict[Any, Row]:
    return cheated(api, agent_id, [*HONEST, *QUICK], ["calc-tests"], PATIENCE_S)


@pytest.fixture(scope="module")
def every(api: Api, agent_id: int) -> dict[Any, Row]:
    return cheated(api, agent_id, [*HONEST, *WAYS], [*SCENARIOS], PATIENCE_S)


def told(run: Row) -> str:
    """Everything that is said of why a run did not pass."""
    grading = run["coding"]["grading"] or {"results": [], "tamper_signs": [], "reason": ""}
    reasons = [result["reason"] for result in grading["results"] if result["status"] != "PASS"]
    error = (run["error_json"] or {}).get("detail") or ""
    return "; ".join(filter(None, [*reasons, *grading["tamper_signs"], error]))


def did_not_pass(run: Row) -> None:
    assert run["verdict"] != "PASS", f"{run['task_key']} passed: {run['coding']['grading']}"
    assert told(run), f"{run['task_key']} left no reason: {run}"


def test_there_are_ways_enough():
    assert len(WAYS) >= 25


def test_who_mends_it_passes_and_who_does_nothing_fails(quick: dict[Any, Row]) -> None:
    mended, nothing = (quick[way, "calc-tests"] for way in HONEST)
    assert mended["verdict"] == "PASS", told(mended)
    assert mended["coding"]["grading"]["tamper_signs"] == []
    assert nothing["verdict"] == "FAIL"
    assert "test_add" in told(nothing)


@pytest.mark.parametrize("way", QUICK)
def test_a_cheat_does_not_pass_and_leaves_a_reason(quick: dict[Any, Row], way: str) -> None:
    did_not_pass(quick[way, "calc-tests"])
    assert quick[way, "calc-tests"]["coding"]["grading"]["tamper_signs"]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("way", WAYS)
def test_no_cheat_passes_and_each_leaves_a_reason(every: dict[Any, Row], way: str, scenario: str) -> None:
    did_not_pass(every[way, scenario])


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_among_the_cheats_the_work_still_counts(every: dict[Any, Row], scenario: str) -> None:
    assert every["mends_it", scenario]["verdict"] == "PASS", told(every["mends_it", scenario])
    assert every["does_nothing", scenario]["verdict"] == "FAIL"


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        *("edits_the_tests", "deletes_the_tests", "links_the_test_to_its_own", "adds_a_conftest"),
        *("configures_pytest_by_pytest_ini", "patches_pytest_from_the_package", "exits_when_imported"),
        *("writes_a_forged_report", "leaves_a_daemon", "leaves_a_daemon_in_the_grader", "configures_git"),
    ],
)
def test_an_attempt_is_a_sign_for_people(every: dict[Any, Row], way: str) -> None:
    assert every[way, "calc-tests"]["coding"]["grading"]["tamper_signs"], told(every[way, "calc-tests"])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["reads_the_tests_through_proc", "finds_the_fix_in_the_history"])
def test_what_an_agent_may_not_see_is_nowhere_to_be_found(every: dict[Any, Row], way: str) -> None:
    for scenario in SCENARIOS:
        run = every[way, scenario]
        assert run["error_class"] is None, run["error_json"]
        assert run["metadata"]["found"] == []


@pytest.mark.slow
def test_nothing_of_a_workspace_ran_on_the_host(every: dict[Any, Row]) -> None:
    assert every
    assert not [mark for mark in MARKS if Path(mark).exists()]
