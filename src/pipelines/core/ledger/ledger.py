"""The ledger: a run's world as an initial state plus an append-only log of updates.

`World` is the initial state, immutable and shared by every run seeded with it. `Ledger` is one run's view:
the world under an overlay that holds only what the run changed, so that a call costs the same in a
world of a hundred entities as in one of a million. Who may write, and what, is decided elsewhere.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pipelines.core.text.json_text import Json, JsonObject, dumps, same

Attributes: TypeAlias = JsonObject
_REMOVED = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Add:
    entity_type: str
    id: str
    attrs: Attributes

    def as_json(self) -> JsonObject:
        return {"op": "add", "entity_type": self.entity_type, "id": self.id, "attrs": self.attrs}


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """Whole top-level attributes: a change deep inside one is written as its new value."""

    entity_type: str
    id: str
    set: Attributes = field(default_factory=dict)
    unset: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        head: JsonObject = {"op": "update", "entity_type": self.entity_type, "id": self.id}
        return head | {"set": self.set, "unset": list(self.unset)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Remove:
    entity_type: str
    id: str

    def as_json(self) -> JsonObject:
        return {"op": "remove", "entity_type": self.entity_type, "id": self.id}


@dataclass(frozen=True, kw_only=True, slots=True)
class SetFlag:
    flag: str
    value: bool = True

    def as_json(self) -> JsonObject:
        return {"op": "set_flag", "flag": self.flag, "value": self.value}


LedgerUpdate: TypeAlias = Add | Update | Remove | SetFlag


class InvalidUpdate(ValueError):
    """An update does not fit the world that it is applied to: the log and the world disagree."""


def update_from_json(body: Mapping[str, Json]) -> LedgerUpdate:
    """The reverse of `as_json`, for rows read back from storage and recordings."""
    match body:
        case {"op": "add", "entity_type": str(kind), "id": str(id), "attrs": dict(attrs)}:
            return Add(entity_type=kind, id=id, attrs=attrs)
        case {"op": "update", "entity_type": str(kind), "id": str(id)}:
            changed, removed = body.get("set", {}), body.get("unset", [])
            if isinstance(changed, dict) and isinstance(removed, list):
                return Update(entity_type=kind, id=id, set=changed, unset=tuple(map(str, removed)))
        case {"op": "remove", "entity_type": str(kind), "id": str(id)}:
            return Remove(entity_type=kind, id=id)
        case {"op": "set_flag", "flag": str(flag)}:
            return SetFlag(flag=flag, value=bool(body.get("value", True)))
    raise InvalidUpdate(f"not a ledger update: {body!r}")


class World:
    """An initial state and the indexes over it, built when first asked for and then shared."""

    __slots__ = ("_by_value", "_loose_ids", "derived", "entities", "flags", "sizes")

    def __init__(self, entities: Mapping[str, Mapping[str, Attributes]], flags: Iterable[str] = ()) -> None:
        self.entities = entities
        self.flags = frozenset(flags)
        self._loose_ids: dict[str, dict[str, list[str]]] = {}
        self._by_value: dict[tuple[str, str], dict[Json, list[str]]] = {}
        # What other modules derive once from the state and then share, under keys of their own.
        self.derived: dict[tuple[Hashable, ...], Any] = {}
        # Of attributes as JSON, by their identity: the world keeps them, so that no other value has it.
        self.sizes: dict[int, int] = {}

    @classmethod
    def from_initial_state(cls, state: Mapping[str, Json]) -> "World":
        """`{entity_type: {id: attrs}}`, already checked; `flags: {name: true}` beside them sets flags."""
        entities = {kind: of_kind for kind, of_kind in state.items() if not is_flag_section(kind, of_kind)}
        raised = state.get("flags")
        flags = (
            [name for name, value in raised.items() if value]
            if is_flag_section("flags", raised) and isinstance(raised, dict)
            else []
        )
        return cls(entities, flags)  # type: ignore[arg-type]  # checked by core.seed

    def loose_ids(self, entity_type: str) -> dict[str, list[str]]:
        index = self._loose_ids.get(entity_type)
        if index is None:
            index = {}
            for id in self.entities.get(entity_type, {}):
                for spelling in _spellings(id):
                    index.setdefault(spelling, []).append(id)
            self._loose_ids[entity_type] = index
        return index

    def by_value(self, entity_type: str, name: str) -> dict[Json, list[str]]:
        """Ids of the entities by the scalar value of one top-level attribute."""
        index = self._by_value.get((entity_type, name))
        if index is None:
            index = {}
            for id, attrs in self.entities.get(entity_type, {}).items():
                value = attrs.get(name)
                if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                    index.setdefault(value, []).append(id)
            self._by_value[entity_type, name] = index
        return index


def is_flag_section(kind: str, of_kind: Json) -> bool:
    """`flags` beside the entity types is a set of flags when its values are booleans."""
    if kind != "flags" or not isinstance(of_kind, dict):
        return False
    return all(isinstance(value, bool) for value in of_kind.values())


class Ledger:
    """One run's world. Reads see the run's own changes; entities handed out must not be mutated."""

    __slots__ = ("_changed", "_flags", "world")

    def __init__(self, world: World) -> None:
        self.world = world
        self._changed: dict[str, dict[str, Attributes | None]] = {}
        self._flags: dict[str, bool] = {}

    def get(self, entity_type: str, id: str) -> Attributes | None:
        changed = self._changed.get(entity_type)
        if changed is not None and id in changed:
            return changed[id]
        of_type = self.world.entities.get(entity_type)
        return of_type.get(id) if of_type is not None else None

    def entity_types(self) -> list[str]:
        seeded = self.world.entities
        if self._changed.keys() <= seeded.keys():
            return list(seeded)
        return list(dict.fromkeys([*seeded, *self._changed]))

    def changed(self, entity_type: str) -> Mapping[str, Attributes | None]:
        """What the run has changed of one type: new attributes by id, or None where it was removed."""
        return self._changed.get(entity_type, {})

    def changed_size(self) -> int:
        """Of everything the run has changed, as JSON: what its changes take now, not what they once took."""
        return sum(len(dumps(of_type)) for of_type in self._changed.values())

    def entities(self, entity_type: str) -> Iterator[tuple[str, Attributes]]:
        """In the author's order, the run's own additions last."""
        seeded = self.world.entities.get(entity_type, {})
        changed = self.changed(entity_type)
        if not changed:
            yield from seeded.items()
            return
        for id, attrs in seeded.items():
            current = changed.get(id, _REMOVED) if id in changed else attrs
            if current is not _REMOVED:
                yield id, current
        for id, added in changed.items():
            if added is not _REMOVED and id not in seeded:
                yield id, added

    def count(self, entity_type: str) -> int:
        seeded = self.world.entities.get(entity_type, {})
        changed = self.changed(entity_type).items()
        return len(seeded) + sum((attrs is not _REMOVED) - (id in seeded) for id, attrs in changed)

    def resolve_id(self, entity_type: str, given: Json) -> str | None:
        """The id meant by `4521`, "4521", "#4521" or "o-4521"; None when nothing or more than one fits."""
        if isinstance(given, bool) or not isinstance(given, (str, int)):
            return None
        id = str(given)
        if self.get(entity_type, id) is not None:
            return id
        index, own = self.world.loose_ids(entity_type), _letters(id)
        seeded = self.world.entities.get(entity_type, {})
        changed = self.changed(entity_type).items()
        added = [id for id, attrs in changed if attrs is not _REMOVED and id not in seeded]
        for spelling in _spellings(str(given)):
            found = [hit for hit in index.get(spelling, ()) if self.get(entity_type, hit) is not None]
            found += [hit for hit in added if spelling in _spellings(hit)]
            # Letters may be left out, but not be others: "G-2" is not "L-2".
            found = [hit for hit in found if not own or _letters(hit) in ("", own)]
            if found:
                return found[0] if len(found) == 1 else None
        return None

    def find_by_value(self, entity_type: str, name: str, value: Json) -> list[str]:
        """Ids of the entities whose top-level attribute `name` is this scalar, in ledger order."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return [id for id, attrs in self.entities(entity_type) if attrs.get(name) is value]
        changed = self.changed(entity_type)
        found = [id for id in self.world.by_value(entity_type, name).get(value, ()) if id not in changed]
        own = [id for id, attrs in changed.items() if attrs is not _REMOVED and same(attrs.get(name), value)]
        return found + own

    def is_flagged(self, flag: str) -> bool:
        return self._flags.get(flag, flag in self.world.flags)

    def flags(self) -> list[str]:
        named = dict.fromkeys(sorted(self.world.flags)) | dict.fromkeys(self._flags)
        return [flag for flag in named if self.is_flagged(flag)]

    def apply(self, updates: Iterable[LedgerUpdate]) -> None:
        """Append to the world. The caller checks first (`Draft` does): a log is not applied by halves."""
        for update in updates:
            self._apply_one(update)

    def _apply_one(self, update: LedgerUpdate) -> None:
        if isinstance(update, SetFlag):
            self._flags[update.flag] = update.value
            return
        current = self.get(update.entity_type, update.id)
        if isinstance(update, Add) == (current is not None):
            state = "already exists" if isinstance(update, Add) else "does not exist"
            raise InvalidUpdate(f"{update.entity_type} {update.id!r} {state}")
        changed = self._changed.setdefault(update.entity_type, {})
        if isinstance(update, Update):
            merged = {**(current or {}), **update.set}
            for name in update.unset:
                merged.pop(name, None)
            changed[update.id] = merged
        else:
            changed[update.id] = update.attrs if isinstance(update, Add) else _REMOVED

    def draft(self) -> "Draft":
        return Draft(self)

    def as_state(self) -> JsonObject:
        """The whole world in the shape of `initial_state`."""
        return {kind: dict(self.entities(kind)) for kind in self.entity_types()}


class Draft(Ledger):
    """A ledger over a ledger: everything a call wants to change, visible to the call, not yet to the run.

    Hand `updates` to the ledger's `apply` to make it so; drop the draft and nothing happened.
    """

    __slots__ = ("_under", "updates")

    def __init__(self, under: Ledger) -> None:
        super().__init__(under.world)
        self._under = under
        self.updates: list[LedgerUpdate] = []

    def get(self, entity_type: str, id: str) -> Attributes | None:
        own = self._changed.get(entity_type)
        return own[id] if own is not None and id in own else self._under.get(entity_type, id)

    def entity_types(self) -> list[str]:
        base = self._under.entity_types()
        if self._changed.keys() <= self.world.entities.keys():
            return base
        return list(dict.fromkeys([*base, *self._changed]))

    def changed(self, entity_type: str) -> Mapping[str, Attributes | None]:
        base, own = self._under.changed(entity_type), self._changed.get(entity_type)
        return {**base, **own} if own else base

    def is_flagged(self, flag: str) -> bool:
        return self._flags[flag] if flag in self._flags else self._under.is_flagged(flag)

    def flags(self) -> list[str]:
        named = dict.fromkeys([*self._under.flags(), *self._flags])
        return [flag for flag in named if self.is_flagged(flag)]

    def apply(self, updates: Iterable[LedgerUpdate]) -> None:
        for update in updates:
            self._apply_one(update)
            self.updates.append(update)


def fold(world: World, log: Iterable[LedgerUpdate]) -> Ledger:
    """The state after a log: the definition that every cached state must equal."""
    ledger = Ledger(world)
    ledger.apply(log)
    return ledger


def differences(before: JsonObject, after: JsonObject) -> list[LedgerUpdate]:
    """The updates that turn one state (`as_state`) into another; what both share is not mentioned."""
    found: list[LedgerUpdate] = []
    for kind in before | after:
        old, new = _section(before, kind), _section(after, kind)
        for id in old | new:
            if id not in new:
                found.append(Remove(entity_type=kind, id=id))
            elif id not in old:
                found.append(Add(entity_type=kind, id=id, attrs=new[id]))
            elif (change := _change(kind, id, old[id], new[id])) is not None:
                found.append(change)
    return found


def _section(state: JsonObject, kind: str) -> dict[str, Attributes]:
    return state.get(kind, {})  # type: ignore[return-value]  # a state is {type: {id: attrs}}


def _change(kind: str, id: str, old: Attributes, new: Attributes) -> Update | None:
    changed = {name: value for name, value in new.items() if name not in old or not same(old[name], value)}
    removed = tuple(name for name in old if name not in new)
    return Update(entity_type=kind, id=id, set=changed, unset=removed) if changed or removed else None


_NOISE = re.compile(r"[\s#_\-.:/]+")


def _letters(id: str) -> str:
    return "".join(c for c in id.casefold() if c.isalpha())


def _spellings(id: str) -> list[str]:
    """Looser and looser forms of an id: without separators and case, then its digits alone."""
    bare = _NOISE.sub("", id).casefold()
    digits = "".join(c for c in bare if c.isdigit()).lstrip("0")
    trimmed = bare.lstrip("0") or bare
    return list(dict.fromkeys(form for form in (bare, trimmed, f"\0{digits}" if digits else "") if form))
