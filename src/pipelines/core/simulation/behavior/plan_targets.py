"""Which types a plan adds records to, and which it changes and what to: what its tool is about, whatever it
is called.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject


class Setting(NamedTuple):
    """A field that calls set, and the expression it is set to."""

    entity_type: str
    path: tuple[str, ...]
    value: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanTargets:
    adds: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    settings: tuple[Setting, ...] = ()

    @property
    def all(self) -> frozenset[str]:
        return self.adds | self.sets


def plan_targets(steps: Json) -> PlanTargets:
    every = [*_steps(steps)]
    found = [step[op] for step in every for op in ("find", "add") if op in step]
    types = {one["as"]: one["in"] for one in found if isinstance(one, dict) and {"as", "in"} <= set(one)}
    adds = {one.get("in") for step in every if isinstance(one := step.get("add"), dict)}
    given = [each for step in every if isinstance(one := step.get("set"), dict) for each in one.items()]
    sets = {types.get(name.partition(".")[0]) for name, _ in given}
    return PlanTargets(adds=_names(adds), sets=_names(sets), settings=tuple(_settings(given, types)))


def _settings(given: Iterable[tuple[str, Json]], types: dict[Json, Json]) -> Iterator[Setting]:
    for target, value in given:
        name, _, path = target.partition(".")
        entity_type = types.get(name)
        if isinstance(entity_type, str) and path:
            yield Setting(entity_type, tuple(path.split(".")), value)


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
