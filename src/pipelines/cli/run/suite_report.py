"""The results of suites as JSON to compare, as JUnit XML, and as Markdown for a CI job's page."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from xml.etree import ElementTree

from pipelines.cli.eval.gate import VERDICTS_BY_GATE, FailOn, reasons_not_met
from pipelines.cli.eval.junit import as_junit as matrix_junit
from pipelines.cli.eval.run import MatrixResult
from pipelines.cli.gate import not_run_text
from pipelines.cli.output.batch_report import reason_text
from pipelines.cli.output.junit import as_junit as batch_junit
from pipelines.cli.output.junit import document, printable
from pipelines.cli.output.verdict_text import pending_reasons, undecided_text
from pipelines.cli.run.run import BatchResult
from pipelines.core.results.compare_results import escape_cell, outcome_text
from pipelines.core.results.gate import ExitCode, Tally, tally
from pipelines.core.results.results import (
    LONGEST_NAME,
    Case,
    SuiteResults,
    case_keys,
    is_met,
    outcome_of,
    results_as_json,
)
from pipelines.core.task_files.suite_file import EvalSuite, TaskSuite
from pipelines.core.verdict.pending_words import most_basic_reason

WORDS = {0: "passed", 1: "**failed**", 2: "wrong usage", 3: "**could not run**"}
MOST_ROWS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedSuite:
    results: SuiteResults
    says: str  # in one sentence
    junit: tuple[str, ...] = ()  # a document each; none where it could not be run


def task_cases(suite: TaskSuite, ran: Sequence[BatchResult], tasks: Mapping[int, Any]) -> FinishedSuite:
    """The results of a task suite. `tasks` are API records in the order of their files."""
    runs = [run for each in ran for run in each.runs]
    cases = _cases(suite, runs, list(tasks.values()))
    code, says = _gate(suite, runs, cases)
    results = SuiteResults(name=suite.name, agent=suite.agent.label, exit_code=int(code), cases=tuple(cases))
    junit = tuple(
        batch_junit(each.batch, each.runs, f"{suite.agent.label}/{PurePath(dataset).name}")
        for each, dataset in zip(ran, suite.datasets, strict=True)
    )
    return FinishedSuite(results=results, says=says, junit=junit)


def _cases(suite: TaskSuite, runs: Sequence[Any], tasks: Sequence[Any]) -> list[Case]:
    by_task: dict[int, list[Any]] = {}
    for run in runs:
        by_task.setdefault(run["task_id"], []).append(run)
    own = [task.get("task_key") for task in tasks]
    keys = case_keys(str(task["user_instruction"]) for task in tasks)
    cases = []
    for task, key, made_key in zip(tasks, own, keys, strict=True):
        found = by_task[task["id"]]
        counts = tally(found)
        cases.append(
            Case(
                key=key or made_key,
                name=str(task["user_instruction"])[:LONGEST_NAME],
                runs=counts,
                is_met=is_met(counts, suite.min_pass or suite.repeats),
                outcome=outcome_of(counts),
                why=next((reason_text(run) for run in found if run["verdict"] != "PASS"), ""),
                pending_reason=most_basic_reason(run.get("pending_reason") for run in found),
            )
        )
    return cases


def _gate(suite: TaskSuite, runs: list[Any], cases: Sequence[Case]) -> tuple[ExitCode, str]:
    counts = tally(runs)
    counted, what = counts, "runs"
    if suite.min_pass is not None:
        states = Counter(case.is_met for case in cases)
        not_run = len([case for case in cases if case.is_met is None and case.runs.not_run])
        counted = Tally(
            passed=states[True], failed=states[False], undecided=states[None] - not_run, not_run=not_run
        )
        what = "tasks"
    code = counted.exit_code(suite.fail_under)
    passed = f"{counted.passed} of {counted.total - counted.undecided} {what} pass"
    undecided = f", {counted.undecided} undecided" if counted.undecided else ""
    needed = f" (at least {suite.fail_under:.0%} needed)" if suite.fail_under < 1 else ""
    hindered = f" {not_run_text(runs)}" if counts.not_run else ""
    pending = f" {undecided_text(runs)}" if pending_reasons(runs) else ""
    return code, f"{passed}{undecided}{needed}.{hindered}{pending}"


def cell_cases(suite: EvalSuite, ran: MatrixResult) -> FinishedSuite:
    report, fail_on = ran.report, FailOn(suite.fail_on)
    names = {scenario["id"]: scenario["name"] for scenario in report["scenarios"]}
    cases = []
    for cell in report["cells"]:
        rate = cell["match_rate"]
        verdict = cell["verdict"]
        name = f"{names[cell['scenario_id']]} × {cell['variation']}"
        cases.append(
            Case(
                key=name,
                name=name[:LONGEST_NAME],
                runs=Tally(passed=rate["k"], failed=rate["n"] - rate["k"], not_run=cell["errors"]),
                is_met=None if verdict == "incomplete" else verdict not in VERDICTS_BY_GATE[fail_on],
                outcome=verdict,
            )
        )
    reasons = ", ".join(reasons_not_met(report, fail_on))
    results = SuiteResults(
        name=suite.name, agent=suite.agent.label, exit_code=int(ran.code), cases=tuple(cases)
    )
    says = f"{len(cases)} cells: {reasons or f'none is {fail_on}'}."
    return FinishedSuite(results=results, says=says, junit=(matrix_junit(report, fail_on),))


# -- files


def as_results(finished: Sequence[FinishedSuite]) -> str:
    return (
        json.dumps(results_as_json([each.results for each in finished]), ensure_ascii=False, indent=2) + "\n"
    )


def as_junit(finished: Sequence[FinishedSuite]) -> str:
    """One document with all suites, named as in pipelines.yaml; a suite that could not run is an error."""
    root = ElementTree.Element("testsuites")
    for each in finished:
        for text in each.junit:
            suite = ElementTree.fromstring(text.encode())
            suite.set("name", each.results.name)
            root.append(suite)
        if not each.junit:
            suite = ElementTree.Element(
                "testsuite", name=each.results.name, tests="1", failures="0", errors="1"
            )
            case = ElementTree.SubElement(suite, "testcase", classname=each.results.agent, name="the suite")
            ElementTree.SubElement(case, "error", message=printable(each.says))
            root.append(suite)
    return document(root)


def as_markdown(finished: Sequence[FinishedSuite]) -> str:
    lines = ["### Agent tests", "", "| suite | agent | | |", "|---|---|---|---|"]
    for each in finished:
        cells = (
            escape_cell(each.results.name),
            escape_cell(each.results.agent),
            WORDS[each.results.exit_code],
        )
        lines.append(f"| {' | '.join(cells)} | {escape_cell(each.says)} |")
    failing = [
        (each.results.name, case) for each in finished for case in each.results.cases if not case.is_met
    ]
    if failing:
        lines += ["", "| suite | task | outcome | why |", "|---|---|---|---|"]
        for name, case in failing[:MOST_ROWS]:
            lines.append(
                "| " + " | ".join(map(escape_cell, (name, case.name, outcome_text(case), case.why))) + " |"
            )
    if len(failing) > MOST_ROWS:
        lines += ["", f"… and {len(failing) - MOST_ROWS} more"]
    return "\n".join(lines) + "\n\n"
