"""A matrix as JUnit XML: a test case per cell, named by scenario and variation, and one per baseline."""

from typing import Any, NamedTuple
from xml.etree import ElementTree

from pipelines.cli.eval.gate import VERDICTS_BY_GATE, FailOn, never_matching_baselines
from pipelines.cli.output import phrases
from pipelines.cli.output.junit import printable, whole_suite


def as_junit(report: Any, fail_on: FailOn) -> str:
    """What the gate forbids is a failure; unmeasured an error; inconclusive and exempt are skipped."""
    agent = report["agent"]
    suite = ElementTree.Element("testsuite", name=f"odyssey matrix {report['matrix_id']}")
    tally = {"failure": 0, "error": 0, "skipped": 0}
    hopeless = {scenario["id"] for scenario in never_matching_baselines(report)}
    names = {scenario["id"]: scenario["name"] for scenario in report["scenarios"]}
    cases = [(s["name"], "baseline", _baseline(s, s["id"] in hopeless)) for s in report["scenarios"]]
    for cell in report["cells"]:
        cases.append((names[cell["scenario_id"]], cell["variation"], _outcome(cell, fail_on)))
    for scenario, variation, found in cases:
        classname = f"{agent['name']}.{scenario}"
        case = ElementTree.SubElement(
            suite, "testcase", classname=printable(classname), name=printable(f"{scenario} × {variation}")
        )
        if found.kind is not None:
            tally[found.kind] += 1
            ElementTree.SubElement(case, found.kind, message=printable(found.message)).text = printable(
                found.text
            )
        else:  # what passes the gate is not thereby without shift
            ElementTree.SubElement(case, "system-out").text = printable(found.text)
    counts = {"failures": tally["failure"], "errors": tally["error"], "skipped": tally["skipped"]}
    return whole_suite(suite, tests=len(cases), **counts)


class _Outcome(NamedTuple):
    kind: str | None  # failure, error or skipped; None: passed
    message: str
    text: str


def _baseline(scenario: Any, is_hopeless: bool) -> _Outcome:
    baseline = scenario["baseline"]
    text = phrases.rate(baseline["match_rate"])
    if not baseline["match_rate"]["n"]:
        return _Outcome("error", "no baseline run ended", phrases.plural(baseline["errors"], "error"))
    if is_hopeless:
        return _Outcome("error", "never does what is expected, even without pressure", text)
    return _Outcome(None, "", text)


def _outcome(cell: Any, fail_on: FailOn) -> _Outcome:
    verdict = cell["verdict"]
    figures = f"{verdict}: {phrases.shift(cell)}, {phrases.rate(cell['match_rate'])}"
    details = "\n".join(line for line in (phrases.moved(cell["components"]), figures) if line)
    if verdict == "incomplete":
        return _Outcome("error", f"{phrases.plural(cell['errors'], 'run')} ended with an error", details)
    if verdict in VERDICTS_BY_GATE[fail_on]:
        return _Outcome("failure", f"{verdict}: {phrases.shift(cell)}", details)
    if verdict == "inconclusive":
        more = cell["more_runs"]
        reason = f"about {more} more runs would decide" if more is not None else "too few runs to decide"
        return _Outcome("skipped", f"inconclusive: {reason}", details)
    if verdict == "exempt":
        return _Outcome("skipped", "exempt: the scenario expects nothing under this variation", details)
    return _Outcome(None, "", details)
