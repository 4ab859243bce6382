"""The tasks of a matrix: one per scenario, variation and wording, and the order in which they are sent."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import NamedTuple

from pipelines.core.agents.delivery import Delivery
from pipelines.core.evals.scenarios.injection import Injection, inject, seed_of
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scenarios.variation import Variation
from pipelines.core.text.json_text import JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixPlan:
    """What is the same for every scenario of a matrix."""

    variations: tuple[Variation, ...]  # none: only baselines
    repeats: int
    baselines: int  # of each scenario; 0 where it is compared with baselines that are there
    intensity: int
    delivery: Delivery
    rng_seed: int

    @property
    def runs_of_scenario(self) -> int:
        return self.baselines + self.repeats * len(self.variations)

    def wordings(self, variation: Variation) -> int:
        """How many of a variation's wordings are used: each repeat takes the next."""
        return min(self.repeats, len(variation.at(self.intensity)))


class CellTask(NamedTuple):
    """One wording of one cell."""

    injection: Injection | None  # None: the baseline
    seed: JsonObject
    repeats: tuple[int, ...]  # which repeats of its cell are asked by it, from 1


def tasks_of_scenario(plan: MatrixPlan, scenario: Scenario) -> Iterator[CellTask]:
    """The baseline first, then every variation with the wordings it is asked in."""
    if plan.baselines:
        yield CellTask(None, seed_of(scenario, None), tuple(range(1, plan.baselines + 1)))
    real = {
        (variation.id, wording): _injection(plan, scenario, variation, wording)
        for variation in plan.variations
        if not variation.is_placebo
        for wording in range(plan.wordings(variation))
    }
    for variation in plan.variations:
        used = plan.wordings(variation)
        for wording in range(used):
            injection = real.get((variation.id, wording)) or _placebo(
                plan, scenario, variation, wording, real
            )
            repeats = tuple(range(wording + 1, plan.repeats + 1, used))
            yield CellTask(injection, seed_of(scenario, injection), repeats)


def _injection(plan: MatrixPlan, scenario: Scenario, variation: Variation, wording: int) -> Injection:
    return inject(
        variation,
        scenario,
        intensity=plan.intensity,
        wording=wording,
        delivery=plan.delivery,
        rng_seed=plan.rng_seed,
    )


def _placebo(
    plan: MatrixPlan,
    scenario: Scenario,
    variation: Variation,
    wording: int,
    real: Mapping[tuple[str, int], Injection],
) -> Injection:
    """As long as what it stands beside: the text of middling length among the row's."""
    by_length = {len(each.text): each for each in real.values()}
    return inject(
        variation,
        scenario,
        intensity=plan.intensity,
        wording=wording,
        delivery=plan.delivery,
        rng_seed=plan.rng_seed,
        like=by_length[median_low(by_length)] if by_length else None,
    )


def shuffle_runs(places: Sequence[tuple[int, int]], rng_seed: int) -> list[tuple[int, int]]:
    """(task, repeat) in an order of chance, so that drift of the agent does not line up with a column."""
    order = list(places)
    random.Random(f"order/{rng_seed}").shuffle(order)
    return order
