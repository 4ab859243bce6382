"""A matrix as JUnit XML: a test case per cell, named by scenario and variation, and one per baseline."""

from typing import Any
from xml.etree import ElementTree

from pipelines.cli.eval import words
from pipelines.cli.eval.gate import VERDICTS_BY_GATE, FailOn, hopeless_baselines
from pipelines.cli.junit import printable


def as_junit(report: Any, fail_on: FailOn) -> str:
    """What the gate forbids is a failure; unmeasured an error; inconclusive and exempt are skipped."""
    agent = report["agent"]
    suite = ElementTree.Element("testsuite", name=f"odyssey matrix {report['matrix_id']}")
    tally = {"failure": 0, "error": 0, "skipped": 0}
    hopeless = {scenario["id"] for scenario in hopeless_baselines(report)}
    names = {scenario["id"]: scenario["name"] for scenario in report["scenarios"]}
    cases = [(s["name"], "baseline", _baseline(s, s["id"] in hopeless)) for s in report["scenarios"]]
    for cell in report["cells"]:
        cases.append((names[cell["scenario_id"]], cell["variation"], _outcome(cell, fail_on)))
    for scenario, variation, found in cases:
        classname = f"{agent['name']}.{scenario}"
        case = ElementTree.SubElement(
            suite, "testcase", classname=printable(classname), name=printable(f"{scenario} × {variation}")
        )
        if found is not None:
            kind, message, text = found
            tally[kind] += 1
            ElementTree.SubElement(case, kind, message=printable(message)).text = printable(text)
    counts = {"tests": len(cases), "failures": tally["failure"], "errors": tally["error"]}
    for name, count in (counts | {"skipped": tally["skipped"]}).items():
        suite.set(name, str(count))
    # Declared here: ElementTree would declare the encoding of the machine's language settings.
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _baseline(scenario: Any, is_hopeless: bool) -> tuple[str, str, str] | None:
    baseline = scenario["baseline"]
    if not baseline["match_rate"]["n"]:
        return "error", "no baseline run ended", f"{baseline['errors']} errors"
    if is_hopeless:
        return (
            "error",
            "never does what is expected, even without pressure",
            words.rate(baseline["match_rate"]),
        )
    return None


def _outcome(cell: Any, fail_on: FailOn) -> tuple[str, str, str] | None:
    verdict = cell["verdict"]
    figures = f"{words.shift(cell)}, {words.rate(cell['match_rate'])}"
    details = "\n".join(line for line in (words.moved(cell["components"]), figures) if line)
    if verdict == "incomplete":
        return "error", f"{cell['errors']} runs ended with an error", details
    if verdict in VERDICTS_BY_GATE[fail_on]:
        return "failure", f"{verdict}: {words.shift(cell)}", details
    if verdict == "inconclusive":
        more = cell["more_runs"]
        reason = f"about {more} more runs would decide" if more is not None else "too few runs to decide"
        return "skipped", f"inconclusive: {reason}", details
    if verdict == "exempt":
        return "skipped", "exempt: the scenario expects nothing under this variation", details
    return None
