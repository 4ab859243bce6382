"""A batch as JUnit XML, which every CI shows: a test case per run."""

from typing import Any
from xml.etree import ElementTree


def as_junit(batch: Any, runs: list[Any]) -> str:
    """FAIL is a failure; what did not end or could not be judged an error; the undecided is skipped."""
    suite = ElementTree.Element("testsuite", name=f"odyssey batch {batch['id']}", tests=str(len(runs)))
    tally = {"failure": 0, "error": 0, "skipped": 0}
    for run in runs:
        name = f"task {run['task_id']}, repeat {run['repeat_number']}"
        case = ElementTree.SubElement(suite, "testcase", classname=f"agent.{batch['agent_id']}", name=name)
        found = _outcome(run)
        if found is not None:
            kind, message, text = found
            tally[kind] += 1
            ElementTree.SubElement(case, kind, message=printable(message)).text = printable(text)
    suite.set("failures", str(tally["failure"]))
    suite.set("errors", str(tally["error"]))
    suite.set("skipped", str(tally["skipped"]))
    # Declared here: ElementTree would declare the encoding of the machine's language settings.
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _outcome(run: Any) -> tuple[str, str, str] | None:
    reasoning = (run["judgement"] or {}).get("reasoning", "")
    if run["judge_error"]:
        return "error", "not judged", run["judge_error"]
    if run["error_class"] or run["status"] == "cancelled":
        return "error", run["error_class"] or "cancelled", str((run["error_json"] or {}).get("detail", ""))
    if run["verdict"] == "FAIL":
        return "failure", run["failure_mode"] or "FAIL", reasoning
    if run["verdict"] == "PASS":
        return None
    return "skipped", "undecided: for a person to review", reasoning


def printable(text: str) -> str:
    """XML has no place for control characters, which an agent's words may have; terminals obey them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
