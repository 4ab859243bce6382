"""Functions that look at the ledger, or draw ids and chance from the run's seed."""

import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.library.numbers import whole_needed
from pipelines.core.simulation.values import Entity, Stopped, Value, id_text, kind_of

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
MAX_TOKEN = 64


def _type(value: Value) -> str:
    if not isinstance(value, str):
        raise Stopped("plan_type", f"an entity type is text, not {kind_of(value)}")
    return value


def _entity(call: Call, kind: Value, id: Value) -> Value:
    text = id_text(id)
    return None if text is None else call.resolve(_type(kind), text)


def _entities(call: Call, kind: Value) -> Value:
    return list(call.entities(_type(kind)))


def _ids(call: Call, kind: Value) -> Value:
    ledger, name = call.world(), _type(kind)
    call.spend(2 * len(ledger.changed(name)))
    found = []
    for id, _ in ledger.entities(name):
        call.spend(3)
        found.append(id)
    return found


def _exists(call: Call, kind: Value, id: Value) -> Value:
    return _entity(call, kind, id) is not None


def _id_of(call: Call, entity: Value) -> Value:
    if not isinstance(entity, Entity):
        raise Stopped("plan_type", f"only an entity has an id in the ledger, not {kind_of(entity)}")
    return entity.id


def _is_flagged(call: Call, flag: Value) -> Value:
    return isinstance(flag, str) and call.is_flagged(flag)


_EARLIER_CALL = 4  # units of budget


def _calls(call: Call, tool: Value) -> Value:
    history = call.moment.history
    if history is None:
        return []
    if history.is_full:
        message = "the run has made more calls than are remembered, so what came before cannot be told"
        raise Stopped("plan_history", message)
    calls = history.calls.get(tool, [])
    call.spend(_EARLIER_CALL * len(calls))
    return [*calls]


_DIGITS = "0123456789"
_NUMBERED_ID = 60  # units of budget: what an id that the run has added says of the next one
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


class _Numbering(NamedTuple):
    """How the ids of a type run on: most of them begin alike and end in a number."""

    size: int
    uuids: int
    prefixes: Counter[str]
    order: dict[str, int]  # in which prefixes were first seen
    highest: dict[str, int]
    width: dict[str, int]  # of numbers with leading zeros
    commonest: tuple[str, int]  # prefix, and how many ids have it

    @classmethod
    def of(cls, ids: Iterable[str]) -> "_Numbering":
        found = cls(0, 0, Counter(), {}, {}, {}, ("", 0))
        size = uuids = 0
        for id in ids:
            size += 1
            uuids += _UUID.fullmatch(id) is not None
            # At most 18 of its digits: past that it is no number that anybody counts on.
            start = max(len(id.rstrip(_DIGITS)), len(id) - 18)
            if start < len(id):
                found.note(id[:start], id[start:])
        commonest = next(iter(found.prefixes.most_common(1)), ("", 0))
        return found._replace(size=size, uuids=uuids, commonest=commonest)

    def note(self, prefix: str, digits: str) -> None:
        self.prefixes[prefix] += 1
        self.order.setdefault(prefix, len(self.order))
        self.highest[prefix] = max(self.highest.get(prefix, 0), int(digits))
        if digits.startswith("0"):
            self.width[prefix] = max(self.width.get(prefix, 1), len(digits))


def _new_id(call: Call, kind: Value) -> Value:
    return next_id(call, _type(kind))


def next_id(call: Call, kind: str) -> str:
    """The next id after the type's own pattern: `o-101`, `o-102` → `o-103`; uuids where it has uuids."""
    ledger = call.world()
    seeded = seeded_numbering(ledger.world, kind)
    changed, known = ledger.changed(kind), ledger.world.entities.get(kind, {})
    call.spend(2 * len(changed) + sum(_NUMBERED_ID for id in changed if id not in known))
    own = _Numbering.of(id for id in changed if id not in known)
    count = seeded.size + own.size
    if count and seeded.uuids + own.uuids == count:
        return _new_uuid(call)
    prefix, shared = _commonest(seeded, own)
    if count and (not shared or shared < min(count, 2)):
        # Ids such as `sara_doe_496` end in numbers without being numbered: no two begin alike.
        prefix = f"{kind}_"
    width = max(seeded.width.get(prefix, 1), own.width.get(prefix, 1))
    number = max(seeded.highest.get(prefix, 0), own.highest.get(prefix, 0)) + 1
    while ledger.get(kind, f"{prefix}{number:0{width}}") is not None:
        call.spend(12)
        number += 1
    return f"{prefix}{number:0{width}}"


def _commonest(seeded: _Numbering, own: _Numbering) -> tuple[str, int]:
    """The prefix that most ids have, and how many; of several the one seen first. Counting all of them anew
    would take as long as the world is large."""
    best, most = seeded.commonest
    for prefix, count in own.prefixes.items():
        shared = count + seeded.prefixes.get(prefix, 0)
        last = len(seeded.order)
        is_earlier = seeded.order.get(prefix, last) < seeded.order.get(best, last)
        if shared > most or (shared == most and is_earlier):
            best, most = prefix, shared
    return best, most


def seeded_numbering(world: World, kind: str) -> _Numbering:
    known = world.derived.get(("numbering", kind))
    if known is None:
        known = world.derived["numbering", kind] = _Numbering.of(world.entities.get(kind, {}))
    return known


def _new_uuid(call: Call) -> str:
    return str(uuid.UUID(int=call.draw("uuid") >> 128, version=4))


def _uuid(call: Call) -> Value:
    return _new_uuid(call)


def _random_int(call: Call, low: Value, high: Value) -> Value:
    first, last = whole_needed(low), whole_needed(high)
    if last < first:
        raise Stopped("plan_number", f"there is no number from {first} to {last}")
    return first + call.draw("int") % (last - first + 1)


def _token(call: Call, length: Value = 16) -> Value:
    size = whole_needed(length)
    if not 1 <= size <= MAX_TOKEN:
        raise Stopped("plan_number", f"a token has 1 to {MAX_TOKEN} characters")
    drawn, written = call.draw("token") << 256 | call.draw("token"), ""
    for _ in range(size):
        drawn, rest = divmod(drawn, len(_ALPHABET))
        written += _ALPHABET[rest]
    return written


ROWS: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    (
        "entity(type, id)",
        "the entity with that id, in any spelling; null for none",
        "entity('order', '#4521').status → 'shipped'",
        _entity,
    ),
    (
        "entities(type)",
        "all entities of a type, in the ledger's order",
        "len(entities('order')) → 2",
        _entities,
    ),
    ("ids(type)", "their ids", "ids('order') → ['4521', '4522']", _ids),
    ("exists(type, id)", "whether there is one", "exists('order', 9) → false", _exists),
    ("id_of(entity)", "its id in the ledger", "id_of(entity('order', '#4521')) → '4521'", _id_of),
    ("is_flagged(flag)", "whether a ledger flag is set", "is_flagged('outage') → false", _is_flagged),
    (
        "calls(tool)",
        "the arguments of the tool's successful calls before this one in the run, oldest first",
        "calls('refund_order') → [{'order_id': '4521'}]",
        _calls,
    ),
    ("new_id(type)", "the next free id after the type's own pattern", "new_id('order') → '4523'", _new_id),
    ("uuid()", "a random-looking id, the same for the same seed and call", "len(uuid()) → 36", _uuid),
    (
        "random_int(low, high)",
        "a whole number of that range, both ends included",
        "random_int(5, 5) → 5",
        _random_int,
    ),
    ("token(length=16)", "random-looking letters and digits", "len(token(8)) → 8", _token),
)
