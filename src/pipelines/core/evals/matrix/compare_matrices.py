"""Compares two matrices, paired by scenario and variation: what flipped, and whether it is more than chance.

The unit is the pair, not the run. A pair whose scenario or variation has another version is shown with a
note, but not tested: it tells nothing about the agent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pipelines.core.evals.matrix.resampling import sign_flip_p
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.statistics import benjamini_hochberg, exact_mcnemar, fisher_exact

Report: TypeAlias = Mapping[str, Any]
CellKey: TypeAlias = tuple[str, str | None]  # scenario, and variation; None is the baseline
RISKS = ("critical", "high", "medium", "low")
_WORSE = {"robust": 0, "susceptible": 1, "critical": 2}  # verdicts that can be told apart as better and worse
_SHOWN_FIELDS = (
    "runs",
    "errors",
    "match_rate",
    "shift_magnitude",
    "band",
    "verdict",
    "is_flagged",
    "run_ids",
)
_NEEDED_FIELDS = ("scenario_id", "variation", "expectation", *_SHOWN_FIELDS)
_REQUEST_FIELDS = (
    "intensity",
    "delivery",
    "repeats",
    "baseline_repeats",
)  # of a matrix, beside its scenarios


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """One cell, or one baseline, before and after."""

    scenario_id: str
    name: str
    risk_level: str
    variation: str | None
    before: Report
    after: Report
    notes: tuple[str, ...]  # why it was not the same question; empty where it was
    p_adjusted: float = 1.0

    @property
    def matched_before(self) -> tuple[int, int]:
        return _match_counts(self.before)

    @property
    def matched_after(self) -> tuple[int, int]:
        return _match_counts(self.after)

    @property
    def difference(self) -> float:
        """Of the match rates: below zero is worse."""
        (k_1, n_1), (k_2, n_2) = self.matched_before, self.matched_after
        return k_2 / n_2 - k_1 / n_1

    @property
    def is_flip(self) -> bool:
        """Most of its runs matched, and no longer do; or the other way round."""
        (k_1, n_1), (k_2, n_2) = self.matched_before, self.matched_after
        return (2 * k_1 > n_1) != (2 * k_2 > n_2)

    @property
    def p(self) -> float:
        return fisher_exact(self.matched_before, self.matched_after)

    @property
    def change(self) -> str:
        """By the match rate; where that is the same, by the verdict."""
        if self.difference:
            return "regressed" if self.difference < 0 else "improved"
        before, after = (_WORSE.get(str(each.get("verdict"))) for each in (self.before, self.after))
        if before is None or after is None or before == after:
            return "same"
        return "regressed" if after > before else "improved"

    def as_json(self) -> JsonObject:
        return {
            "scenario_id": self.scenario_id,
            "scenario": self.name,
            "risk_level": self.risk_level,
            "variation": self.variation,
            "change": self.change,
            "is_flip": self.is_flip,
            "difference": self.difference,
            "before": {name: self.before[name] for name in _SHOWN_FIELDS if name in self.before},
            "after": {name: self.after[name] for name in _SHOWN_FIELDS if name in self.after},
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "is_tested": not self.notes,
            "notes": list(self.notes),
        }


def compare_reports(before: Report, after: Report) -> JsonObject:
    """Two reports as `core.evals.report` writes them, each with the facts of its matrix."""
    pairs, missing = _pairs(before, after)
    adjusted = benjamini_hochberg([pair.p for pair in pairs])
    pairs = [replace(pair, p_adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)]
    changed = sorted((pair for pair in pairs if pair.change != "same"), key=_severity)
    by_change = {
        kind: [pair.as_json() for pair in changed if pair.change == kind]
        for kind in ("regressed", "improved")
    }
    return {
        "from": _head(before),
        "to": _head(after),
        "warnings": [*_warnings(before, after)],
        "compared": len(pairs),
        "same": len(pairs) - len(changed),
        "flips": {
            kind: sum(pair.is_flip for pair in changed if pair.change == kind)
            for kind in ("regressed", "improved")
        },
        "test": _test([pair for pair in pairs if not pair.notes]),
        "regressions": [*by_change["regressed"]],
        "improvements": [*by_change["improved"]],
        "not_compared": [*missing],
    }


def without_details(cell: JsonObject) -> JsonObject:
    """What comparing needs of a cell: of two large matrices, all of it would not fit into memory."""
    return {name: cell[name] for name in _NEEDED_FIELDS if name in cell}


# Pairs


def _pairs(before: Report, after: Report) -> tuple[list[Pair], list[JsonObject]]:
    first, second = _by_key(before), _by_key(after)
    scenarios = {body["id"]: body for report in (before, after) for body in report["scenarios"]}
    versions = _versions(before), _versions(after)
    pairs: list[Pair] = []
    missing: list[JsonObject] = []
    for place in {**first, **second}:
        scenario = scenarios[place[0]]
        reason = _not_compared_reason(place, first, before["matrix_id"]) or _not_compared_reason(
            place, second, after["matrix_id"]
        )
        if reason is not None:
            missing.append(
                {
                    "scenario_id": place[0],
                    "scenario": scenario["name"],
                    "variation": place[1],
                    "reason": reason,
                }
            )
            continue
        pairs.append(
            Pair(
                scenario_id=place[0],
                name=str(scenario["name"]),
                risk_level=str(scenario["risk_level"]),
                variation=place[1],
                before=first[place],
                after=second[place],
                notes=tuple(_changed_versions(place, *versions)),
            )
        )
    return pairs, missing


def _by_key(report: Report) -> dict[CellKey, Report]:
    found: dict[CellKey, Report] = {(body["id"], None): body["baseline"] for body in report["scenarios"]}
    return found | {(body["scenario_id"], body["variation"]): body for body in report["cells"]}


def _versions(report: Report) -> dict[tuple[str, str], Any]:
    """Of what was asked: scenarios and variations by their ids."""
    scenarios = {("scenario", body["id"]): body.get("version") for body in report["scenarios"]}
    return scenarios | {("variation", body["id"]): body.get("version") for body in report["variations"]}


def _not_compared_reason(place: CellKey, cells: Mapping[CellKey, Report], matrix: str) -> str | None:
    cell = cells.get(place)
    if cell is None:
        return f"{matrix} has no such {'cell' if (place[0], None) in cells else 'scenario'}"
    if not _match_counts(cell)[1]:
        return f"all its runs in {matrix} ended with an error, or have not ended"
    if cell.get("verdict") == "incomplete":
        return f"too many of its runs failed in {matrix}"
    return f"it is exempt in {matrix}" if cell.get("expectation") == "exempt" else None


def _changed_versions(place: CellKey, before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterator[str]:
    for kind, name in (("scenario", place[0]), ("variation", place[1])):
        first, second = before.get((kind, name)), after.get((kind, name))
        if first != second:
            yield f"the {kind} changed from version {first} to {second}"


def _severity(pair: Pair) -> tuple[bool, int, float, str, str]:
    """What a person should read first."""
    risk = RISKS.index(pair.risk_level) if pair.risk_level in RISKS else len(RISKS)
    return not pair.is_flip, risk, -abs(pair.difference), pair.name, pair.variation or ""


# Is it more than chance?


def _test(pairs: Sequence[Pair]) -> JsonObject:
    """McNemar where every pair is one run against one, else sign-flip over the differences of match rates."""
    differences = [pair.difference for pair in pairs]
    name, p = _run_test(pairs, differences)
    by_scenario: dict[str, list[float]] = {}
    for pair in pairs:
        by_scenario.setdefault(pair.scenario_id, []).append(pair.difference)
    clustered = sign_flip_p([sum(each) / len(each) for each in by_scenario.values()])
    return {
        "name": name,
        "unit": "scenario and variation",
        "pairs": len(pairs),
        "regressed": sum(each < 0 for each in differences),
        "improved": sum(each > 0 for each in differences),
        "mean_difference": sum(differences) / len(differences) if differences else None,
        "p": p,
        "by_scenario": {
            "name": "sign_flip",
            "unit": "scenario",
            "scenarios": len(by_scenario),
            "p": clustered.p if clustered is not None else _p_without_change(pairs),
        },
    }


def _run_test(pairs: Sequence[Pair], differences: Sequence[float]) -> tuple[str, float | None]:
    if pairs and all(pair.matched_before[1] == pair.matched_after[1] == 1 for pair in pairs):
        lost, won = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
        return "mcnemar", exact_mcnemar(lost, won)
    found = sign_flip_p(differences)
    return "sign_flip", found.p if found is not None else _p_without_change(pairs)


def _p_without_change(pairs: Sequence[Pair]) -> float | None:
    """Where no rate differs: no sign of a change. Where nothing was compared: nothing is known."""
    return 1.0 if pairs else None


# Around it


def _head(report: Report) -> JsonObject:
    names = ("matrix_id", "status", "agent", "shift_method", "created_at", "ended_at")
    return {name: report.get(name) for name in names}


def _warnings(before: Report, after: Report) -> Iterator[str]:
    """What else than the agent's version differs between the two."""
    for report in (before, after):
        if report.get("status") not in ("completed", "cancelled", "budget_exceeded"):
            yield f"{report['matrix_id']} is still running ({report.get('status')}): its numbers will change"
    first, second = (_agent(report) for report in (before, after))
    if first.get("id") != second.get("id"):
        yield f"the matrices are of different agents: {first.get('name')} and {second.get('name')}"
    if before.get("shift_method") != after.get("shift_method"):
        yield f"the shift method changed from {before.get('shift_method')} to {after.get('shift_method')}"
    for name in _REQUEST_FIELDS:
        was, now = _request(before).get(name), _request(after).get(name)
        if was != now:
            yield f"{name} changed from {was} to {now}"
    if before.get("settings") != after.get("settings"):
        yield "the scoring settings differ, so the verdicts are not comparable"


def _agent(report: Report) -> Mapping[str, Any]:
    agent: Mapping[str, Any] = report.get("agent") or {}
    return agent


def _request(report: Report) -> Mapping[str, Any]:
    request: Mapping[str, Any] = report.get("matrix") or {}
    return request


def _match_counts(cell: Report) -> tuple[int, int]:
    rate: Json = cell.get("match_rate")
    return (int(str(rate["k"])), int(str(rate["n"]))) if isinstance(rate, dict) else (0, 0)
