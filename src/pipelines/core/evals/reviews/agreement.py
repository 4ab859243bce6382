"""Agreement of people who decided on the same items, beyond chance: Cohen's and Fleiss' kappa.

Closed forms and a jackknife: the same numbers on every machine, and no draw of chance.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Annotated, Literal

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.statistics import Interval, wilson
from pipelines.wire.records import Named, Record, Via

#: Below so many items the interval covers most of what kappa can be: the number would only mislead.
CONFIDENCE = 0.95
TOO_FEW_ITEMS = 10
UNDEFINED = "every verdict was the same, so kappa is not defined"
NO_SPREAD = "nobody disagreed, so the interval is taken from Wilson's interval of the agreement"


def _rounded(value: float | None) -> float | None:
    return round(value, 4) if value is not None else None


def _rounded_bounds(interval: Interval | None) -> list[float] | None:
    return [round(bound, 4) for bound in interval] if interval is not None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Kappa(Record):
    """Agreement of several people over several items."""

    method: Literal["cohen", "fleiss"]
    items: int
    observed: Annotated[
        float, Named("observed_agreement"), Via(_rounded)
    ]  # share of pairs of verdicts on the same item that are equal
    expected: Annotated[
        float, Named("expected_agreement"), Via(_rounded)
    ]  # that share if each drew verdicts at random, as often as they were given
    kappa: Annotated[float | None, Via(_rounded)]  # None: not defined
    interval: Annotated[Interval | None, Via(_rounded_bounds)]
    note: str | None = None


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> Kappa:
    """Two people, the same items. The interval is the asymptotic one of Fleiss, Cohen and Everitt (1969)."""
    if not pairs:
        raise ValueError("kappa needs items that both people decided on")
    total = len(pairs)
    cells = {pair: count / total for pair, count in Counter(pairs).items()}
    first = {name: count / total for name, count in Counter(pair[0] for pair in pairs).items()}
    second = {name: count / total for name, count in Counter(pair[1] for pair in pairs).items()}
    observed = sum(share for (one, other), share in cells.items() if one == other)
    expected = sum(share * second.get(name, 0.0) for name, share in first.items())
    if expected >= 1.0:
        return _undefined_kappa("cohen", total, observed, expected)
    kappa = (observed - expected) / (1 - expected)
    spread = 0.0
    for (one, other), share in cells.items():
        if one == other:
            spread += share * (1 - (first[one] + second[one]) * (1 - kappa)) ** 2
        else:
            both = second.get(one, 0.0) + first.get(other, 0.0)
            spread += share * ((1 - kappa) * both) ** 2
    spread -= (kappa - expected * (1 - kappa)) ** 2
    error = sqrt(max(0.0, spread) / total) / (1 - expected)
    return _with_interval("cohen", total, (observed, expected, kappa), error)


def fleiss_kappa(items: Sequence[Sequence[str]]) -> Kappa:
    """Any number of people, not always the same ones; each item has two verdicts or more, as many as it has.

    With the same number on each item this is Fleiss' kappa. The interval is by a jackknife over items.
    """
    if not items or any(len(verdicts) < 2 for verdicts in items):
        raise ValueError("kappa needs items with two verdicts or more")
    counts = [Counter(verdicts) for verdicts in items]
    agreed = [_agreeing_share(count) for count in counts]
    totals = sum(counts, Counter())
    observed, expected = sum(agreed) / len(items), _expected_agreement(totals)
    if expected >= 1.0:
        return _undefined_kappa("fleiss", len(items), observed, expected)
    kappa = (observed - expected) / (1 - expected)
    error = _jackknife_error(counts, agreed, totals)
    return _with_interval("fleiss", len(items), (observed, expected, kappa), error)


def agreement(items: Sequence[Mapping[str, str]]) -> JsonObject:
    """What can be said of items, each as reviewer -> verdict; one with a single verdict says nothing.

    Two people who decided on all of them: Cohen's kappa. Otherwise Fleiss'. Beside it, every pair of people.
    """
    shared = [verdicts for verdicts in items if len(verdicts) >= 2]
    people = sorted({reviewer for verdicts in shared for reviewer in verdicts})
    whole: JsonObject = {"items": len(shared), "reviewers": [*people], "enough": len(shared) >= TOO_FEW_ITEMS}
    if len(shared) < TOO_FEW_ITEMS:
        note = f"too few: {len(shared)} items have several reviewers; kappa is shown from {TOO_FEW_ITEMS} on"
        return whole | {"agreement": None, "pairs": [], "note": note}
    if len(people) == 2:
        overall = cohens_kappa([(verdicts[people[0]], verdicts[people[1]]) for verdicts in shared])
    else:
        overall = fleiss_kappa([list(verdicts.values()) for verdicts in shared])
    pairs = _pairs(shared)
    return whole | {"agreement": overall.as_json(), "pairs": [*pairs], "note": overall.note}


def _pairs(items: Sequence[Mapping[str, str]]) -> list[JsonObject]:
    """Each two people who decided on enough of the same items."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for verdicts in items:
        known = sorted(verdicts)
        for place, one in enumerate(known):
            for other in known[place + 1 :]:
                found.setdefault((one, other), []).append((verdicts[one], verdicts[other]))
    pairs: list[JsonObject] = []
    for people, both in sorted(found.items()):
        if len(both) >= TOO_FEW_ITEMS:
            pairs.append({"reviewers": [*people], **cohens_kappa(both).as_json()})
    return pairs


def _agreeing_share(count: Counter[str]) -> float:
    """The share of an item's pairs of verdicts that are equal."""
    given = count.total()
    return sum(times * (times - 1) for times in count.values()) / (given * (given - 1))


def _expected_agreement(totals: Counter[str]) -> float:
    given = totals.total()
    return sum((times / given) ** 2 for times in totals.values())


def _jackknife_error(
    counts: Sequence[Counter[str]], agreed: Sequence[float], totals: Counter[str]
) -> float | None:
    """How much kappa moves when one item is left out; None where it is then not defined."""
    number = len(counts)
    if number < 2:
        return None
    whole = sum(agreed)
    without = []
    for count, share in zip(counts, agreed, strict=True):
        expected = _expected_agreement(totals - count)
        if expected >= 1.0:
            return None
        without.append(((whole - share) / (number - 1) - expected) / (1 - expected))
    mean = sum(without) / number
    return sqrt((number - 1) / number * sum((each - mean) ** 2 for each in without))


def _with_interval(
    method: Literal["cohen", "fleiss"],
    items: int,
    found: tuple[float, float, float],
    error: float | None,
) -> Kappa:
    observed, expected, kappa = found
    note = None
    if observed == 1.0:
        # Every estimate of the error is 0 here, which would claim that nobody ever will disagree.
        low = wilson(items, items).low
        interval: Interval | None = Interval((low - expected) / (1 - expected), 1.0)
        note = NO_SPREAD
    elif error is None:
        interval, note = None, "too few verdicts differ for an interval"
    else:
        margin = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * error
        interval = Interval(max(-1.0, kappa - margin), min(1.0, kappa + margin))
    return Kappa(
        method=method,
        items=items,
        observed=observed,
        expected=expected,
        kappa=kappa,
        interval=interval,
        note=note,
    )


def _undefined_kappa(
    method: Literal["cohen", "fleiss"], items: int, observed: float, expected: float
) -> Kappa:
    return Kappa(
        method=method,
        items=items,
        observed=observed,
        expected=expected,
        kappa=None,
        interval=None,
        note=UNDEFINED,
    )
