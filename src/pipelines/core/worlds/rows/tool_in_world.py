"""One tool and what its arguments mean in a world, and what a theme holds its calls to."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pipelines.core.english.words import joined, tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.tool_facts import ToolFacts
from pipelines.core.text.json_text import Json
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline


class CallLimits(NamedTuple):
    """What calls are held to: arguments that are given, with their values (None: any), and records."""

    arguments: Mapping[str, Json]
    records: Mapping[str, frozenset[str]]  # by type: the ids of which one is named

    def allows(self, kind: str | None, id: str) -> bool:
        return kind is None or kind not in self.records or id in self.records[kind]


NO_LIMITS = CallLimits({}, {})


@dataclass(frozen=True)  # no slots: what is derived is kept on the record
class ToolInWorld:
    """One tool and what its arguments mean in this world, as its plan has it."""

    fact: ToolFacts
    own: TypeOutline | None  # what it is about: what it adds, lists or finds
    types: Mapping[str, TypeOutline]
    ids: Mapping[str, str]  # argument -> the type of which it takes an id
    makes: bool = False

    def id_type(self, one: Argument) -> str | None:
        field = self.field(one) if one.id_noun is None and one.is_scalar else None
        keyed = next((kind.name for kind in self.types.values() if kind.id_field == one.name), None)
        found = self.ids.get(one.name) if field is None else field.refers_to
        return found or (keyed if one.is_scalar else None)

    def field(self, one: Argument) -> FieldOutline | None:
        """The field of what it is about that the argument speaks of: `new_address` too."""
        if self.own is None:
            return None
        words = [word for word in one.words if word not in ("new", "updated", "target")] or list(one.words)
        names = {joined(words), joined((*tokens(self.own.name), *words))}
        return next((each for each in self.own.fields if joined(each.words) in names), None)

    @cached_property
    def target(self) -> Argument | None:
        """The argument that picks what it is about."""
        if self.own is None or self.makes:
            return None
        own = [one for one in self.fact.arguments if one.is_scalar and self.id_type(one) == self.own.name]
        return next((one for one in own if one.is_required), own[0] if own else None)

    @cached_property
    def keys(self) -> tuple[Argument, ...]:
        """Arguments that are fields of what is looked for: `find_member_by_name(first_name, last_name)`."""
        if not self.fact.name.reads() or self.own is None or self.target is not None:
            return ()
        plain = (one for one in self.fact.arguments if one.is_scalar and self.id_type(one) is None)
        return tuple(one for one in plain if self.field(one) is not None)


def tool_in_world(ground: Ground, tool: str) -> ToolInWorld:
    key = ("worlds.asked", tool)
    known: ToolInWorld | None = ground.world.derived.get(key)
    if known is None:
        nouns, types = ground.vocabulary.tools[tool], ground.outline.types
        plan = ground.simulator.plan_of(tool).plan
        listed = _listed(plan.body) if plan is not None and nouns.reads else None
        name = nouns.makes or listed or nouns.about
        ids = {one.argument: one.kind for one in nouns.lookups if one.kind in types}
        own = types.get(name) if name is not None else None
        known = ToolInWorld(ground.facts[tool], own, types, ids, makes=nouns.makes is not None)
        ground.world.derived[key] = known
    return known


def _listed(body: Json) -> str | None:
    """The type that the last step that looks through many is about: fines, once their resident is found."""
    steps = body if isinstance(body, list) else []
    finds = (step.get("find") for step in reversed(steps) if isinstance(step, dict))
    return next((str(one.get("in")) for one in finds if isinstance(one, dict) and one.get("all")), None)
