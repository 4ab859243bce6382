"""A batch as JUnit XML, which every CI shows: a test case per run."""

from typing import Any
from xml.etree import ElementTree

from pipelines.cli.output.verdict_text import cause_in_words, to_do_about, unverified_lines

LONGEST_NAME = 100  # characters of the instruction in the name of a test case


def as_junit(batch: Any, runs: list[Any], classname: str | None = None) -> str:
    """Names stay the same over uploads and batches, so that CI can follow a test case.

    FAIL is a failure; a run that did not end or could not be judged is an error; an undecided run is skipped,
    with its pending reason and what to do about it."""
    suite = ElementTree.Element("testsuite", name=f"odyssey batch {batch['id']}", tests=str(len(runs)))
    tally = {"failure": 0, "error": 0, "skipped": 0}
    for run in runs:
        named = printable(classname or f"agent.{batch['agent_id']}")
        name = case_name(run, has_repeats=batch["repeats"] > 1)
        case = ElementTree.SubElement(suite, "testcase", classname=named, name=name)
        found = _outcome(run)
        if found is not None:
            kind, message, text = found
            tally[kind] += 1
            ElementTree.SubElement(case, kind, message=printable(message)).text = printable(text)
        _add_notes(case, run)
    return whole_suite(suite, failures=tally["failure"], errors=tally["error"], skipped=tally["skipped"])


def whole_suite(suite: ElementTree.Element, **counts: int) -> str:
    for name, count in counts.items():
        suite.set(name, str(count))
    return document(suite)


def document(root: ElementTree.Element) -> str:
    # Declared here: ElementTree would declare the encoding of the machine's language settings.
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_notes(case: ElementTree.Element, run: Any) -> None:
    """Add statements that were not verified; they are not part of the outcome."""
    notes = unverified_lines(run)
    if notes:
        text = "\n".join((f"Not verified ({len(notes)}):", *notes))
        ElementTree.SubElement(case, "system-out").text = printable(text)


def case_name(run: Any, *, has_repeats: bool) -> str:
    """`Refund order #4521 please. [t3f9a1c20b7de] (2)`: instruction, key of the task, repeat."""
    instruction = one_line(run.get("user_instruction") or f"task {run['task_id']}", LONGEST_NAME)
    key = f" [{printable(run['task_key'])}]" if run.get("task_key") else ""
    return instruction + key + (f" ({run['repeat_number']})" if has_repeats else "")


def one_line(text: str, longest: int) -> str:
    """The text without line breaks, cut to `longest` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


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
    cause = cause_in_words(run)
    message = f"undecided, {cause}" if cause else "undecided: for a person to review"
    return "skipped", message, "\n".join(filter(None, (reasoning, to_do_about(run))))


def printable(text: str) -> str:
    """The text without control characters: XML forbids them, and terminals obey them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
