"""One call while its plan runs: names bound so far, entities read and changed, draws of chance.

Changes live on the call's own entities. They reach a draft of the ledger only when a search needs to see
them, and the ledger itself never: `updates` says what the call would change, in the fewest words.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from pipelines.core.ledger.ledger import Add, Attributes, Draft, Ledger, LedgerUpdate, Remove, SetFlag, Update
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.values import (
    MAX_STEPS,
    MISSING,
    SLICE,
    Budget,
    Entity,
    Value,
    entity_of,
    equal,
)
from pipelines.core.text.json_text import JsonObject

# In units of budget, by measure.
ENTITY = 20  # made of attributes
LOOSE = 250  # an id spelled in all its ways
SYNC = 100  # what became of an entity, worked out


@dataclass(kw_only=True, slots=True)
class Place:
    """Where in an entity the value of a name stands, so that it can be changed through the name."""

    entity: Entity
    keys: list[str | int]
    name: str | None


class Call(Budget):
    __slots__ = (
        "_draft",
        "_entities",
        "_flags",
        "_names",
        "_touched",
        "arguments",
        "draws",
        "following",
        "ledger",
        "moment",
        "places",
        "rule",
    )

    def __init__(self, arguments: JsonObject, ledger: Ledger, moment: Moment) -> None:
        self.steps_left = SLICE
        self._kept = MAX_STEPS - SLICE
        self._began = None
        self.arguments = arguments
        self.ledger = ledger
        self.moment = moment
        self.draws = 0
        self.rule: str | None = None  # what the step says that answers the call, for people
        self.places: dict[str, Place] = {}  # by the names that stand for them
        self.following: dict[int, Place] = {}  # of elements whose round is still to come, by identity
        self._entities: dict[tuple[str, str], Entity] = {}
        # Entities and flags in the order in which the call first changed them; True = not yet in the draft.
        self._touched: dict[tuple[str, str] | str, bool] = {}
        self._flags: dict[str, bool] = {}
        self._draft: Draft | None = None
        self._names: dict[str, Value] | None = None

    @property
    def names(self) -> dict[str, Value]:
        """Made when it is first asked for: emitted code keeps most names in variables of its own."""
        if self._names is None:
            now = self.moment.now
            self._names = {"args": self.arguments, "now": now, "today": now[:10]}
        return self._names

    def entity(self, kind: str, id: str) -> Entity | None:
        """The entity as this call sees it; the same object however often it is asked for."""
        known = self._entities.get((kind, id))
        if known is not None:
            return None if known.removed else known
        attrs = self.ledger.get(kind, id)
        if attrs is None:
            return None
        known = self._entities[kind, id] = entity_of(kind, id, attrs, attrs)
        return known

    def resolve(self, kind: str, given: str) -> Entity | None:
        """The entity meant by an id in any spelling."""
        exact = self.entity(kind, given)
        if exact is not None:
            return exact
        id = self.loose_id(kind, given)
        return None if id is None else self.entity(kind, id)

    def loose_id(self, kind: str, given: str) -> str | None:
        """The id that is meant. Of what the run has added, every id is spelled anew each time."""
        ledger = self.world()
        changed = ledger.changed(kind)
        self.spend(LOOSE + 4 * len(given) + 2 * len(changed))
        if changed:
            seeded = ledger.world.entities.get(kind, {})
            self.spend(sum(LOOSE + 8 * len(id) for id in changed if id not in seeded))
        return ledger.resolve_id(kind, given)

    def entities(self, kind: str) -> Iterator[Entity]:
        ledger = self.world()
        self.spend(len(ledger.changed(kind)))
        for id, _ in ledger.entities(kind):
            self.spend(ENTITY)
            found = self.entity(kind, id)
            if found is not None:
                yield found

    def world(self) -> Ledger:
        """The ledger with this call's changes, for searching."""
        if not self._touched:
            return self.ledger
        self._draft = self._draft or self.ledger.draft()
        self.spend(len(self._touched) - len(self._flags))  # flags are few, and not looked for in searches
        for key, is_new in self._touched.items():
            if is_new:
                self._draft.apply(self._sync(self._draft, key))
                self._touched[key] = False
        return self._draft

    def add(self, kind: str, id: str, attrs: Attributes) -> Entity:
        """The caller has checked that no such entity is there."""
        before = self.ledger.get(kind, id)
        entity = self._entities[kind, id] = entity_of(kind, id, attrs, before)
        self.touch(entity)
        return entity

    def remove(self, entity: Entity) -> None:
        entity.removed = True
        self.touch(entity)

    def touch(self, entity: Entity) -> None:
        entity.changed = True
        self._touched[entity.kind, entity.id] = True

    def bind(self, name: str, value: Value, place: Place | None = None) -> None:
        """From now on the name stands for this value, and no longer for any place it stood for before."""
        self.names[name] = value
        if place is not None:
            place.name = name
            self.places[name] = place
        elif self.places:
            self.places.pop(name, None)

    def is_flagged(self, flag: str) -> bool:
        return self._flags[flag] if flag in self._flags else self.ledger.is_flagged(flag)

    def set_flag(self, flag: str, value: bool) -> None:
        self._flags[flag] = value
        self._touched[flag] = True

    def updates(self) -> tuple[LedgerUpdate, ...]:
        """From the ledger as it was to what the call made of it."""
        if not self._touched:
            return ()
        found: list[LedgerUpdate] = []
        for key in self._touched:
            found += self._sync(self.ledger, key)
        return tuple(found)

    def draw(self, purpose: str) -> int:
        """A number of 256 bits that only the seed, the call and the draws before decide."""
        self.draws += 1
        seed = f"{self.moment.seed}\0{self.moment.call_number}\0{self.draws}\0{purpose}"
        return int.from_bytes(hashlib.sha256(seed.encode()).digest())

    def size_of(self, kind: str, attrs: Attributes) -> int:
        """Known from before where the world itself holds the attributes, which then never change."""
        sizes = self.ledger.world.sizes
        known = sizes.get(id(attrs))
        if known is None:
            known = len(orjson.dumps(attrs))
            if not self.ledger.changed(kind):
                sizes[id(attrs)] = known
        return known

    def _sync(self, ledger: Ledger, key: tuple[str, str] | str) -> list[LedgerUpdate]:
        if isinstance(key, str):
            value = self._flags[key]
            return [] if ledger.is_flagged(key) == value else [SetFlag(flag=key, value=value)]
        entity = self._entities[key]
        old = ledger.get(*key)
        self.spend(SYNC + 4 * len(entity))
        if entity.removed:
            return [] if old is None else [Remove(entity_type=key[0], id=key[1])]
        if old is None:
            return [Add(entity_type=key[0], id=key[1], attrs=dict(entity))]
        return _change(entity, old, self)


def _change(entity: Entity, old: Attributes, budget: Budget) -> list[LedgerUpdate]:
    changed = {
        name: value
        for name, value in entity.items()
        if old.get(name, MISSING) is not value and (name not in old or not equal(old[name], value, budget))
    }
    removed = () if old.keys() <= entity.keys() else tuple(name for name in old if name not in entity)
    if not changed and not removed:
        return []
    return [Update(entity_type=entity.kind, id=entity.id, set=changed, unset=removed)]
