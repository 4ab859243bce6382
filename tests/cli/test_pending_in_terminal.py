"""Why runs are pending and what was not verified, read in a terminal of 80 columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_results_commands import Look, fits, words_of
from test_run_command import registered

from pipelines.core.verdict.verdict import PendingReason
from support.played_agents import refunds
from support.sample_verdicts import NOTES, PASSED, RULE, UNENFORCED, given_in, pending
from support.server_process import REFUND_TASK, Api, house_in

Row = dict[str, Any]
NO_ORACLE = pending(PendingReason.NO_ORACLE, "No oracle says what completing this task means.")
SAYS = "A rule of the task was not enforced, and the result depends on it."


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, int]]:
    """A batch whose runs were judged by hand: two reasons, a pass with a note, one of the grader before."""
    directory = tmp_path_factory.mktemp("pending") / "house"
    with house_in(directory, {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        api = house.open()
        rows = [REFUND_TASK | {"user": f"Refund order #4521 ({number})."} for number in range(4)]
        with registered(api, refunds) as (_, agent_id):
            batch_id = api.batch_of(int(agent_id), api.dataset(*rows)["id"])
            api.ended(batch_id)
        ids = [run["id"] for run in api.runs(batch_id)]
        given_in(directory, dict(zip(ids, (UNENFORCED, NO_ORACLE, PASSED, None), strict=True)))
        yield api, batch_id


@pytest.fixture
def look(house: tuple[Api, int], tmp_path: Path) -> Look:
    return Look(house[0], tmp_path)


@pytest.fixture
def batch_id(house: tuple[Api, int]) -> int:
    return house[1]


@pytest.fixture
def runs(house: tuple[Api, int]) -> list[int]:
    api, batch_id = house
    return [run["id"] for run in api.runs(batch_id)]


def test_a_run_begins_with_its_verdict_the_reason_and_a_sentence(look: Look, runs: list[int]) -> None:
    out = look("show", str(runs[0]))
    assert fits(out)
    assert out.startswith(f"Run {runs[0]}: PENDING · rule_not_enforced: A rule of the task was not")
    parts = [
        f"Run {runs[0]}: PENDING · rule_not_enforced: {SAYS}",
        f'The rule "{RULE}" was not enforced',
        "What to do: Reword the rule",
        "Not verified (3)",
        f'"{NOTES[0].phrase}": {NOTES[0].why}',
        f'"{NOTES[2].phrase}": {NOTES[2].why} (turn 2)',
        "Request",
        "What happened",
    ]
    places = [words_of(out).index(part) for part in parts]
    assert places == sorted(places)


def test_notes_beside_a_pass_are_listed_and_nothing_is_to_be_done(look: Look, runs: list[int]) -> None:
    out = look("show", str(runs[2]))
    assert out.startswith(f"Run {runs[2]}: PASS\n")
    assert "Not verified (1)" in out
    assert "What to do" not in out


def test_a_verdict_of_the_grader_before_is_shown_as_it_was(look: Look, runs: list[int]) -> None:
    out = look("show", str(runs[3]))
    assert out.startswith(f"Run {runs[3]}: PENDING\n")
    assert "Verdict: PENDING (judge: embedded v19" in out
    assert "Not verified" not in out


def test_a_batch_is_counted_by_reason_with_what_to_do_about_each(look: Look, batch_id: int) -> None:
    out = look("show", f"batch:{batch_id}")
    assert fits(out)
    whole = words_of(out)
    assert "3 PENDING rule_not_enforced 1, no_oracle 1" in whole
    assert f"rule_not_enforced: {SAYS} Reword the rule" in whole
    assert "no_oracle: The task does not say what completing it means. Add expected_state" in whole
    listed = f"pipelines ls runs --batch {batch_id} --unverified"
    assert f"2 of 4 runs have statements that were not verified: {listed}" in whole


def test_lists_say_the_reason_and_are_narrowed_down_by_it(look: Look, batch_id: int, runs: list[int]) -> None:
    of_batch = ("ls", "runs", "--batch", str(batch_id))
    out = look(*of_batch)
    assert fits(out)
    whole = words_of(out)
    assert f"rule_not_enforced: {SAYS}" in whole
    assert "3 PENDING (rule_not_enforced 1, no_oracle 1), 1 PASS" in whole
    assert "2 with statements that were not verified" in whole
    found = look.json(*of_batch, "--pending-reason", "no_oracle")
    assert [run["id"] for run in found] == [runs[1]]
    assert {run["id"] for run in look.json(*of_batch, "--unverified")} == {runs[0], runs[2]}
    assert "filters runs" in look("ls", "batches", "--unverified", code=2)


def test_what_waits_for_a_person_is_listed_with_its_reason(look: Look, batch_id: int) -> None:
    out = words_of(look("review", "--batch", str(batch_id)))
    assert "3 runs wait for a person" in out
    assert f"rule_not_enforced: {SAYS}" in out.partition("Run ")[0]


def test_the_counts_of_a_batch_are_in_its_json(look: Look, batch_id: int) -> None:
    summary = look.json("show", f"batch:{batch_id}")["batch"]["summary"]
    assert summary["pending_reasons"] == {"rule_not_enforced": 1, "no_oracle": 1}
    assert summary["unverified"] == 2


def test_an_export_has_the_reason_and_the_number_of_notes(house: tuple[Api, int]) -> None:
    api, batch_id = house
    table = api.client.get(f"/api/batches/{batch_id}/export", params={"format": "csv"}).text.splitlines()
    head, first = (line.split(",") for line in table[:2])
    told = dict(zip(head, first, strict=False))
    assert (told["pending_reason"], told["unverified"]) == ("rule_not_enforced", "3")
    (run, *_) = api.get(f"/api/batches/{batch_id}/export")["items"]
    assert (run["pending_reason"], run["unverified"]) == ("rule_not_enforced", 3)
