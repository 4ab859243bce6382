"""The results of the conformance kit: one finding per rule, and the report of all findings."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .rules import RULES, Rule


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"  # the wrapper breaks the contract
    WARNED = "warned"  # allowed, but the report says what it costs
    SKIPPED = "skipped"  # could not be tried; the reason says what to give the kit
    NOT_OBSERVABLE = "not observable"  # tried, but nothing came back that would show it


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    rule: str
    outcome: Outcome
    found: str  # what was seen, in one sentence

    @property
    def explained(self) -> Rule:
        return RULES[self.rule]

    def as_json(self) -> dict[str, Any]:
        rule = self.explained
        return {
            "rule": self.rule,
            "title": rule.title,
            "outcome": self.outcome.value,
            "found": self.found,
            "why": rule.why,
            "change": rule.change,
        }


def passed(rule: str, found: str) -> Finding:
    return Finding(rule=rule, outcome=Outcome.PASSED, found=found)


def failed(rule: str, found: str) -> Finding:
    return Finding(rule=rule, outcome=Outcome.FAILED, found=found)


def warned(rule: str, found: str) -> Finding:
    return Finding(rule=rule, outcome=Outcome.WARNED, found=found)


def skipped(rule: str, found: str) -> Finding:
    return Finding(rule=rule, outcome=Outcome.SKIPPED, found=found)


def not_observable(rule: str, found: str) -> Finding:
    return Finding(rule=rule, outcome=Outcome.NOT_OBSERVABLE, found=found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """All findings, in the order of the rules.

    >>> Report(findings=(passed("ping.answered", "204"),)).ok
    True
    """

    findings: tuple[Finding, ...]
    dispatches: int = 0  # how many dispatches the wrapper was sent

    @property
    def ok(self) -> bool:
        """Nothing failed. What was skipped or could not be observed is not a failure, and no proof either."""
        return not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """The rules that are broken, for an assertion that names them."""
        return self.of(Outcome.FAILED)

    def of(self, outcome: Outcome) -> tuple[str, ...]:
        return tuple(finding.rule for finding in self.findings if finding.outcome is outcome)

    def as_json(self) -> dict[str, Any]:
        counts = {outcome.value: len(self.of(outcome)) for outcome in Outcome}
        checks = [finding.as_json() for finding in self.findings]
        return {"ok": self.ok, "dispatches": self.dispatches, "counts": counts, "checks": checks}


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    places = {name: place for place, name in enumerate(RULES)}
    return tuple(sorted(findings, key=lambda finding: places[finding.rule]))
