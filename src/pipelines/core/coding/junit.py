"""Reads from a test runner's JUnit XML which tests passed.

The file is not trusted: its size is limited, and a file with entities (a way to make a small file large) is
refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError, XMLParser

from pipelines.core.coding.scorers import ScorerResult, Status, TestsScorer
from pipelines.core.coding.scoring import result_of

LARGEST_REPORT = 16 * 1024 * 1024
MOST_CASES = 200_000
_NOT_PASSED = ("failure", "error", "skipped")
_SHOWN = 10


class BadReport(ValueError):
    """The report cannot be read; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TestCase:
    __test__ = False

    outcome: str  # passed, failure, error, skipped
    message: str = ""


def read_junit(data: bytes) -> dict[str, TestCase]:
    """Each case under every name that may be meant: `a/test_b.py::test_y`, `a.test_b.TestX::test_y`, and
    `TestX.test_y` as others have it. A name that two cases share counts as the worse of them."""
    if len(data) > LARGEST_REPORT:
        raise BadReport(f"the report is over {LARGEST_REPORT >> 20} MiB")
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise BadReport("the report declares entities")
    found: dict[str, TestCase] = {}
    parser = XMLParser()
    try:
        parser.feed(data)
        root: Element = parser.close()
    except ParseError as error:
        raise BadReport(f"the report is not valid XML: {error}") from None
    for count, element in enumerate(root.iter()):
        if count > 4 * MOST_CASES:
            raise BadReport(f"the report has over {MOST_CASES:,} cases")
        if element.tag.rpartition("}")[2] == "testcase":
            _add(element, found)
    return found


def _add(element: Element, found: dict[str, TestCase]) -> None:
    case = _case(element)
    for name in _names(element):
        known = found.get(name)
        if known is None or known.outcome == "passed":
            found[name] = case


def _case(element: Element) -> TestCase:
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if tag in _NOT_PASSED:
            return TestCase(outcome=tag, message=(child.get("message") or child.text or "")[:500])
    return TestCase(outcome="passed")


def _names(element: Element) -> set[str]:
    name, group, file = (element.get(key) or "" for key in ("name", "classname", "file"))
    names = {name, f"{group}::{name}", f"{group}.{name}"} if group else {name}
    if file:
        names.add(f"{file}::{name}")
    return names


def names_of(test: str) -> tuple[str, ...]:
    """A test as its author names it, and as pytest's own report does."""
    path, *inner = test.split("::")
    if not inner or not path.endswith(".py"):
        return (test,)
    group = ".".join([path.removesuffix(".py").replace("/", "."), *inner[:-1]])
    return (test, f"{group}::{inner[-1]}")


def score_tests(scorer: TestsScorer, cases: Mapping[str, TestCase], output: str = "") -> ScorerResult:
    """Each named test must have been run and passed."""
    missing, failed = [], []
    for test in scorer.tests:
        case = next((cases[name] for name in names_of(test) if name in cases), None) or _worst_case(
            test, cases
        )
        if case is None:
            missing.append(test)
        elif case.outcome != "passed":
            failed.append(f"{test} ({case.outcome})")
    total = len(scorer.tests)
    good = total - len(missing) - len(failed)
    if good == total:
        return result_of(scorer, Status.PASS, f"All {total:,} tests passed.", output=output)
    parts = [*_test_list("failed", failed), *_test_list("not run", missing)]
    reason = f"{good:,} of {total:,} tests passed; {'; '.join(parts)}."
    return result_of(scorer, Status.FAIL, reason, score=good / total, output=output)


def _worst_case(test: str, cases: Mapping[str, TestCase]) -> TestCase | None:
    """Of a file or a class, which stands for all its tests: the worst of them."""
    below = [case for name, case in cases.items() if name.startswith(f"{test}::")]
    return next((case for case in below if case.outcome != "passed"), below[0] if below else None)


def _test_list(what: str, tests: Sequence[str]) -> list[str]:
    if not tests:
        return []
    more = f" and {len(tests) - _SHOWN:,} more" if len(tests) > _SHOWN else ""
    return [f"{what}: {', '.join(test[:200] for test in tests[:_SHOWN])}{more}"]
