"""An output against the expected behaviour: whether it matches, and how much of it does."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import DIGITS
from pipelines.core.matchers.matching import CannotMatch, Leaf, Missing, leaves, matches, with_today
from pipelines.core.text.json_text import JsonObject, pointer
from pipelines.wire.records import Record


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchScore(Record, component="Match"):
    """Whether an output holds what was expected."""

    matched: bool  # every leaf holds, and nothing prohibited does
    score: float  # weighted share of the leaves that hold: shown, never counted
    missed: tuple[JsonObject, ...]  # {path, expected, actual}, without `actual` where there is none
    prohibited: Annotated[tuple[int, ...], "places in `prohibited`"]
    problem: str | None = None  # why there is no telling; then it is not matched


def match_score(contract: Contract, observed: Observed) -> MatchScore:
    """Refusals, broken JSON and silence match nothing, not even `{"$exists": false}`."""
    answer = observed.answer
    if answer is None:
        missed = tuple({"path": leaf.pointer, "expected": leaf.expected} for leaf in contract.leaves)
        return MatchScore(matched=False, score=0.0, missed=missed, prohibited=())
    try:
        held = list(leaves(contract.asked, answer, exact=contract.match_mode == "exact"))
        never = [with_today(body, contract.today) for body in contract.prohibited]
        forbidden = tuple(at for at, body in enumerate(never) if matches(body, answer))
    except CannotMatch as error:
        return MatchScore(matched=False, score=0.0, missed=(), prohibited=(), problem=str(error))
    missed = tuple(_mismatch_as_json(leaf) for leaf in held if not leaf.holds)
    return MatchScore(
        matched=not missed and not forbidden,
        score=_score(contract, held),
        missed=missed,
        prohibited=forbidden,
    )


def _score(contract: Contract, held: list[Leaf]) -> float:
    weights = {leaf.path: leaf.weight for leaf in contract.leaves}
    extra = sum(leaf.path not in weights for leaf in held)  # keys that `exact` does not allow
    share = sum(weights.get(leaf.path, 0.0) for leaf in held if leaf.holds)
    return round(min(1.0, share) * len(weights) / (len(weights) + extra), DIGITS)


def _mismatch_as_json(leaf: Leaf) -> JsonObject:
    body: JsonObject = {"path": pointer(leaf.path), "expected": leaf.expected}
    return body if isinstance(leaf.actual, Missing) else {**body, "actual": leaf.actual}
