"""Reviews: what a person should review, who may claim it, and when it is decided.

Pure decisions. The caller stores items, knows the time, and carries out what a verdict requires.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.wire.records import Moment, Named, Record, Via

#: How long a claim holds: long enough to read two transcripts, short enough that one who went home blocks
#: nobody past a coffee break. A claim again by the same person renews it.
LEASE_S = 15 * 60
MOST_REVIEWERS = 10
DEFAULT_AUDIT_SHARE = 0.05
#: Of a queue, the highest first. Ordinary runs have no risk level and come last.
RISK_RANKS: Mapping[str, int] = {"critical": 4, "high": 3, "medium": 2, "low": 1}
NO_RISK = 0


class ReviewKind(StrEnum):
    SHIFT = "shift"  # a cell of a matrix whose shift is too large, or that a person selected
    AUDIT = "audit"  # one eval run that was not flagged: from the random sample, or opened by hand
    TASK_VERDICT = "task_verdict"  # a run whose verdict is open, or that a person doubts
    JUDGE_ERROR = "judge_error"  # a run that the judge could not judge


class ReviewStatus(StrEnum):
    OPEN = "open"  # waits for people
    DISPUTED = "disputed"  # enough reviewers have voted, but no verdict has more than half of the votes
    DECIDED = "decided"


class Verdict(StrEnum):
    CONFIRMED_SUSCEPTIBLE = "confirmed_susceptible"  # pinned as a regression scenario
    ACCEPTABLE_SHIFT = "acceptable_shift"  # becomes what is expected of that cell
    EXPECTED_BEHAVIOR_WRONG = "expected_behavior_wrong"  # opens the scenario for editing
    MATCHER_WRONG = "matcher_wrong"  # likewise
    NEEDS_MORE_RUNS = "needs_more_runs"  # queues them
    PASS = "PASS"
    FAIL = "FAIL"


VERDICTS: Mapping[ReviewKind, tuple[Verdict, ...]] = {
    ReviewKind.SHIFT: (
        Verdict.CONFIRMED_SUSCEPTIBLE,
        Verdict.ACCEPTABLE_SHIFT,
        Verdict.EXPECTED_BEHAVIOR_WRONG,
        Verdict.MATCHER_WRONG,
        Verdict.NEEDS_MORE_RUNS,
    ),
    # An audited run is right (PASS) or should have been pointed out (FAIL); or the scenario is at fault.
    ReviewKind.AUDIT: (
        Verdict.PASS,
        Verdict.FAIL,
        Verdict.EXPECTED_BEHAVIOR_WRONG,
        Verdict.MATCHER_WRONG,
    ),
    ReviewKind.TASK_VERDICT: (Verdict.PASS, Verdict.FAIL),
    ReviewKind.JUDGE_ERROR: (Verdict.PASS, Verdict.FAIL),
}


class ReviewState(NamedTuple):
    status: ReviewStatus
    verdict: Verdict | None


def review_state(verdicts: Sequence[Verdict], wanted: int) -> ReviewState:
    """The state of an item after these verdicts, one per person.

    It is decided once enough people have voted and more than half of them agree. Until then one more person
    is asked at a time.
    """
    if len(verdicts) < wanted:
        return ReviewState(ReviewStatus.OPEN, None)
    verdict, votes = Counter(verdicts).most_common(1)[0]
    if 2 * votes > len(verdicts):
        return ReviewState(ReviewStatus.DECIDED, verdict)
    return ReviewState(ReviewStatus.DISPUTED, None)


def _whole_seconds(left_s: float) -> int:
    return max(0, round(left_s))


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim(Record, component="ReviewClaim"):
    """Somebody is looking at it."""

    reviewer: Annotated[str, Named("by")]
    until: Moment  # by the time of day: shown, never compared
    #: By the steady clock: what counts.
    left_s: Annotated[float, Named("seconds_left"), Via(_whole_seconds)]

    @property
    def is_live(self) -> bool:
        return self.left_s > 0


def blocking_claim(claims: Sequence[Claim], *, reviewer: str, spoken: int, wanted: int) -> Claim | None:
    """The claim that `reviewer` has to wait for; None where there is a place.

    As many may look at once as verdicts are missing: one, where one reviewer is wanted.
    """
    others = [claim for claim in claims if claim.is_live and claim.reviewer != reviewer]
    places = max(1, wanted - spoken)
    return min(others, key=lambda claim: claim.left_s) if len(others) >= places else None


def is_audited(run_id: int, share: float) -> bool:
    """Whether a run belongs to the sample: by a hash of its id, so that a second look draws the same ones."""
    digest = hashlib.sha256(f"audit:{run_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def rank_of(risk_level: str | None) -> int:
    return RISK_RANKS.get(risk_level or "", NO_RISK)


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag(Record):
    """A cell that a person has to look at, and why."""

    scenario_id: str
    scenario_version: int
    scenario_name: str
    risk_level: str
    variation: str
    evidence: JsonObject  # of one matrix: the cell, and the baseline it was compared with
    reasons: tuple[str, ...]
    run_ids: tuple[int, ...]

    @classmethod
    def from_stored(cls, body: Any) -> "Flag":
        tuples = {"reasons": tuple(body["reasons"]), "run_ids": tuple(body["run_ids"])}
        return cls(**(body | tuples))


def flags_of(
    report: JsonObject, *, matrix_id: str, wanted: Mapping[tuple[str, str], str] | None = None
) -> list[Flag]:
    """The flagged cells of a matrix report, and those of `wanted`: cells that somebody asked for, and why."""
    wanted_reasons = wanted or {}
    rows = {str(row["id"]): row for row in _objects(report.get("scenarios"))}
    found = []
    for cell in _objects(report.get("cells")):
        place = (str(cell["scenario_id"]), str(cell["variation"]))
        row = rows[place[0]]
        if cell.get("is_flagged") or place in wanted_reasons:
            reasons = [str(reason) for reason in _list(cell.get("flag_reasons"))]
            reasons += [wanted_reasons[place]] if place in wanted_reasons else []
            found.append(_flag(report, matrix_id, row, cell, tuple(reasons)))
    return found


def merge_evidence(known: Sequence[JsonObject], new: JsonObject, *, most: int = 20) -> list[JsonObject]:
    """What an open item is based on: a matrix that is looked at again replaces what it said before."""
    kept = [one for one in known if one.get("matrix_id") != new.get("matrix_id")]
    return [*kept, new][-most:]


#: What the machine concluded, by the part of an item it stands in.
_MACHINE_KEYS = ("machine", "reasons")
#: What of a component tells only where it moved and between which values.
_NEUTRAL_COMPONENT = ("path", "kind", "from", "to")


def without_machine(item: JsonObject) -> JsonObject:
    """An item as somebody may see it who is to decide without the machine's verdict, and others'."""
    blind: JsonObject = {key: value for key, value in item.items() if key not in _MACHINE_KEYS}
    blind |= {
        "verdicts": [],
        "verdict": None,
        "hidden": ("the machine's and others' verdicts are hidden until you give yours"),
    }
    if "evidence" in item:
        blind["evidence"] = [_neutral_evidence(part) for part in _objects(item["evidence"])]
    if "history" in item:
        blind["history"] = [_without_verdict(event) for event in _objects(item["history"])]
    return blind


def _neutral_evidence(evidence: JsonObject) -> JsonObject:
    kept: JsonObject = {key: value for key, value in evidence.items() if key not in _MACHINE_KEYS}
    if "components" in kept:
        kept["components"] = [
            {key: part[key] for key in _NEUTRAL_COMPONENT if key in part}
            for part in _objects(kept["components"])
        ]
    if "runs" in kept:
        kept["runs"] = [
            {key: value for key, value in run.items() if key not in ("matched", "match_score", "shift")}
            for run in _objects(kept["runs"])
        ]
    return kept


def _without_verdict(event: JsonObject) -> JsonObject:
    return {key: value for key, value in event.items() if key != "detail"}


def _flag(
    report: JsonObject, matrix_id: str, row: JsonObject, cell: JsonObject, reasons: tuple[str, ...]
) -> Flag:
    run_ids = tuple(run_id for run_id in _list(cell.get("run_ids")) if isinstance(run_id, int))
    version = row.get("version")
    return Flag(
        scenario_id=str(cell["scenario_id"]),
        scenario_version=version if isinstance(version, int) else 1,
        scenario_name=str(row.get("name", "")),
        risk_level=str(row["risk_level"]),
        variation=str(cell["variation"]),
        reasons=reasons,
        run_ids=run_ids,
        evidence={
            "matrix_id": matrix_id,
            "reasons": [*reasons],
            "cell": cell,
            "baseline": row.get("baseline"),
            "settings": report.get("settings"),
        },
    )


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _objects(value: Json) -> list[JsonObject]:
    return [item for item in _list(value) if isinstance(item, dict)]
