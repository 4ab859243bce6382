"""What a CI is told of runs that are pending: JUnit, the file of results, the page of a job, the gate."""

import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.gate import gate_code
from pipelines.cli.output.dev_report import Report
from pipelines.cli.output.junit import as_junit
from pipelines.cli.run.run import BatchResult
from pipelines.cli.run.suite_report import as_markdown, as_results, task_cases
from pipelines.core.results.compare_results import compare_results
from pipelines.core.results.compare_results import format_markdown as compared
from pipelines.core.results.gate import ExitCode
from pipelines.core.results.results import read_results
from pipelines.core.task_files.suite_file import SuiteAgent, TaskSuite
from pipelines.core.verdict.verdict import PendingReason, Verdict
from support.sample_verdicts import NOTES, PASSED, UNENFORCED, pending

Row = dict[str, Any]
NO_ORACLE = pending(PendingReason.NO_ORACLE, "No oracle says what completing this task means.")
SUITE = TaskSuite(name="refunds", agent=SuiteAgent(label="desk"), datasets=("tasks.csv",))
SAYS = "A rule of the task was not enforced, and the result depends on it."


def run_of(number: int, verdict: Verdict) -> Row:
    """As the API shows it."""
    return {
        "id": number,
        "task_id": number,
        "task_key": f"k{number}",
        "repeat_number": 1,
        "user_instruction": f"Refund order {number}.",
        "status": "completed",
        "verdict": verdict.verdict.value,
        "failure_mode": None,
        "pending_reason": verdict.pending_reason,
        "unverified": len(verdict.unverified),
        "judgement": verdict.as_json(),
        "judge_error": None,
        "error_class": None,
        "error_json": None,
    }


RUNS = [run_of(1, PASSED), run_of(2, UNENFORCED), run_of(3, NO_ORACLE)]
BATCH = {"id": 7, "agent_id": 1, "repeats": 1}


def finished(runs: list[Row]) -> Any:
    tasks = {run["id"]: {"id": run["id"], "user_instruction": run["user_instruction"]} for run in runs}
    return task_cases(SUITE, [BatchResult(BATCH, runs, was_cancelled=False)], tasks)


def test_junit_skips_what_is_pending_with_its_reason_and_what_to_do() -> None:
    suite = ElementTree.fromstring(as_junit(BATCH, RUNS).encode())
    assert suite.get("skipped") == "2"
    skipped = suite.findall(".//skipped")
    assert skipped[0].get("message") == f"undecided, rule_not_enforced: {SAYS}"
    assert "Reword the rule" in (skipped[0].text or "")
    assert (skipped[1].get("message") or "").startswith("undecided, no_oracle: ")


def test_junit_lists_what_was_not_verified_beside_the_outcome() -> None:
    passed, *_ = ElementTree.fromstring(as_junit(BATCH, RUNS).encode())
    assert [child.tag for child in passed] == ["system-out"]
    assert passed[0].text == f'Not verified (1):\n"{NOTES[0].phrase}": {NOTES[0].why}'


def test_junit_of_the_grader_before_is_as_it_was() -> None:
    before = RUNS[1] | {"pending_reason": None, "judgement": {"reasoning": "Not decided."}}
    (skipped,) = ElementTree.fromstring(as_junit(BATCH, [before]).encode()).findall(".//skipped")
    assert (skipped.get("message"), skipped.text) == ("undecided: for a person to review", "Not decided.")


def test_the_results_have_the_reason_and_are_read_back() -> None:
    text = as_results([finished(RUNS)])
    (suite,) = read_results(text)
    assert [case.pending_reason for case in suite.cases] == [None, "rule_not_enforced", "no_oracle"]
    old = json.loads(text)
    for case in old["suites"][0]["cases"]:
        del case["pending_reason"]  # as files of the release before have it
    assert [case.pending_reason for case in read_results(json.dumps(old))[0].cases] == [None, None, None]


def test_the_page_of_a_job_names_the_reasons_and_what_to_do() -> None:
    told = finished(RUNS)
    assert told.says.startswith("1 of 1 runs pass, 2 undecided. 2 of 3 runs are undecided: ")
    assert "rule_not_enforced (1), no_oracle (1)." in told.says
    assert "Add expected_state" in told.says
    assert "undecided (no\\_oracle)" in as_markdown([told])


def test_a_comparison_says_why_a_task_is_not_compared() -> None:
    before, after = finished([run_of(1, PASSED)]), finished([run_of(1, NO_ORACLE)])
    found = compare_results([before.results], [after.results])
    (change,) = found.as_json()["unknown"]  # type: ignore[misc]
    assert change["after"]["pending_reason"] == "no_oracle"  # type: ignore[index,call-overload]
    assert "undecided (no\\_oracle)" in compared(found)
    assert "- `no_oracle`: The task does not say what completing it means. Add expected_state" in compared(
        found
    )


def test_dev_says_once_what_to_do_and_lists_what_was_not_verified() -> None:
    said = io.StringIO()
    report = Report(Console(file=said, width=80), Server("http://127.0.0.1:9", "k"), {})
    more = {"final_response": None, "soft_warnings": []}
    report._print_end(RUNS[1] | more)
    report._print_end(RUNS[1] | more)
    text = " ".join(said.getvalue().split())
    assert "PENDING rule_not_enforced: Not decided" in text
    assert text.count("what to do: Reword the rule") == 1
    assert text.count(f'not verified: "{NOTES[0].phrase}": {NOTES[0].why}') == 2


def test_the_gate_says_that_pending_runs_decide_it_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate_code(RUNS, 1.0) is ExitCode.UNDECIDED
    assert f"rule_not_enforced: {SAYS} Reword the rule" in " ".join(capsys.readouterr().err.split())
    assert gate_code(RUNS[1:], 1.0) is ExitCode.NOT_MET
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith("No run could be decided, so nothing is proved. 2 of 2 runs are undecided: ")
    assert f"rule_not_enforced: {SAYS} Reword the rule" in told
