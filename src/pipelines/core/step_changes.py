"""What each step of a run changed in its world, old value before new."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pipelines.core.json_text import Json
from pipelines.core.ledger import Add, InvalidUpdate, Ledger, LedgerUpdate, SetFlag, World, update_from_json

ABSENT = object()


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    kind: Literal["added", "changed", "removed", "flag"]
    place: str  # order.4521, order.4521.status, or a flag's name
    old: object = ABSENT  # ABSENT: there was none
    new: object = ABSENT

    @property
    def had(self) -> bool:
        return self.old is not ABSENT

    @property
    def has(self) -> bool:
        return self.new is not ABSENT


class StepChanges:
    """Of one run, whose steps are told in their order. A world that is not known gives no old values."""

    def __init__(self, world: World | None) -> None:
        self._ledger = Ledger(world) if world is not None else None

    def of(self, updates: Iterable[Mapping[str, Json]]) -> list[Change]:
        return [change for body in updates for change in self._one(body)]

    def _one(self, body: Mapping[str, Json]) -> Iterator[Change]:
        try:
            update = update_from_json(body)
            if isinstance(update, SetFlag):
                yield Change(kind="flag", place=update.flag, new=update.value)
                return
            before = self._ledger.get(update.entity_type, update.id) if self._ledger is not None else None
            if self._ledger is not None:
                self._ledger.apply([update])
        except InvalidUpdate:
            self._ledger = None  # the log does not fit the world: from here on only what it says is known
            return
        yield from _changes(update, before)


def _changes(update: LedgerUpdate, before: Mapping[str, Json] | None) -> Iterator[Change]:
    assert not isinstance(update, SetFlag)
    place = f"{update.entity_type}.{update.id}"
    if isinstance(update, Add):
        yield Change(kind="added", place=place, new=update.attrs)
        return
    known = before or {}
    given = getattr(update, "set", None)
    if given is None:
        yield Change(kind="removed", place=place, old=dict(known) if known else ABSENT)
        return
    for name, value in given.items():
        old = known.get(name, ABSENT)
        yield Change(kind="changed", place=f"{place}.{name}", old=old, new=value)
    for name in getattr(update, "unset", ()):
        yield Change(kind="removed", place=f"{place}.{name}", old=known.get(name, ABSENT))
