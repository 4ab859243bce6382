"""Whether a run of a benchmark may be called a result: what the machine did beside it, and how steady it was.

Values only; `machine` reads them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# A core that was taken from us for a twentieth of the time moves a ratio by about as much as we want to see.
MOST_TAKEN = 0.05
# The echo is the same code in every round: what its figure moves by, the machine has moved.
MOST_SPREAD = 0.15
# A load generator that uses its whole core measures itself.
MOST_LOAD_CPU = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What was taken from one core during one measurement.

    Foreign time is the kernel's count of ticks minus our own exact times: over a short while it may come out
    below zero, so it is summed first and read afterwards.
    """

    core: str
    seconds: float
    stolen_s: float
    foreign_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """Of one core's time: stolen by the host, and used by processes that are not ours."""

    stolen: float
    foreign: float

    @property
    def taken(self) -> float:
        return self.stolen + self.foreign

    def as_json(self) -> dict[str, float]:
        return {"stolen": round(self.stolen, 4), "foreign": round(self.foreign, 4)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """What speaks against calling a run a result; nothing, where `reasons` is empty."""

    reasons: Sequence[str]
    echo_spread: float | None
    rounds: Sequence[dict[str, Share]]
    overall: dict[str, Share]

    def as_json(self) -> dict[str, Any]:
        return {
            "reasons": list(self.reasons),
            "echo_spread": None if self.echo_spread is None else round(self.echo_spread, 4),
            "rounds": [_cores_as_json(cores) for cores in self.rounds],
            "overall": _cores_as_json(self.overall),
        }


def shares(taken: Iterable[Taken]) -> dict[str, Share]:
    """Per core, over all measurements given."""
    by_core: dict[str, list[Taken]] = {}
    for one in taken:
        by_core.setdefault(one.core, []).append(one)
    return {core: _share(found) for core, found in by_core.items()}


def spread(figures: Sequence[float]) -> float | None:
    """How far the greatest is above the least; None where there is nothing to compare."""
    return max(figures) / min(figures) - 1 if len(figures) > 1 else None


def judged(
    rounds: Sequence[Sequence[Taken]], *, echo: Sequence[float], load_cpu: float, also: Sequence[str] = ()
) -> Noise:
    """The worst round decides: nobody can say which of them the medians come from."""
    by_round = [shares(taken) for taken in rounds]
    echo_spread = spread(echo)
    reasons = [
        f"round {number}: of the {core}'s core {share.stolen:.1%} stolen and {share.foreign:.1%} used by"
        f" others, more than {MOST_TAKEN:.0%}"
        for number, found in enumerate(by_round, start=1)
        for core, share in found.items()
        if share.taken > MOST_TAKEN
    ]
    if echo_spread is None:
        reasons.append("one round only: how steady the machine was is not known")
    elif echo_spread > MOST_SPREAD:
        reasons.append(
            f"the echo's own calls/s at 32 connections, {min(echo):,.0f} to {max(echo):,.0f} between rounds,"
            f" differ by {echo_spread:.1%}, more than {MOST_SPREAD:.0%}"
        )
    if load_cpu > MOST_LOAD_CPU:
        reasons.append(f"the load used {load_cpu:.0%} of its core: it may have been the limit")
    return Noise(
        reasons=[*reasons, *also],
        echo_spread=echo_spread,
        rounds=by_round,
        overall=shares(one for taken in rounds for one in taken),
    )


def _share(taken: Sequence[Taken]) -> Share:
    seconds = sum(one.seconds for one in taken)
    return Share(
        stolen=max(0.0, sum(one.stolen_s for one in taken) / seconds),
        foreign=max(0.0, sum(one.foreign_s for one in taken) / seconds),
    )


def _cores_as_json(cores: dict[str, Share]) -> dict[str, dict[str, float]]:
    return {core: share.as_json() for core, share in cores.items()}
