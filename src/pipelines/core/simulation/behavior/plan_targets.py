"""Which types a plan adds records to and which it changes: what its tool is about, whatever it is called."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.json_text import Json, JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanTargets:
    adds: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        return self.adds | self.sets


def plan_targets(steps: Json) -> PlanTargets:
    every = [*_steps(steps)]
    found = [step[op] for step in every for op in ("find", "add") if op in step]
    types = {one["as"]: one["in"] for one in found if isinstance(one, dict) and {"as", "in"} <= set(one)}
    adds = {one.get("in") for step in every if isinstance(one := step.get("add"), dict)}
    written = [name for step in every if isinstance(one := step.get("set"), dict) for name in one]
    sets = {types.get(name.partition(".")[0]) for name in written}
    return PlanTargets(adds=_names(adds), sets=_names(sets))


def _steps(body: Json) -> Iterator[JsonObject]:
    """Each step, also those within others."""
    if isinstance(body, list):
        for one in body:
            yield from _steps(one)
    elif isinstance(body, dict):
        yield body
        yield from (step for part in body.values() if isinstance(part, list) for step in _steps(part))


def _names(found: set[Json | None]) -> frozenset[str]:
    return frozenset(name for name in found if isinstance(name, str))
