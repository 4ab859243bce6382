"""How a thing is (`shipped`, `out of stock`): which of its fields says so."""

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular
from pipelines.core.simulation.behavior import words
from pipelines.core.simulation.behavior.rules import Text, bracketed, dotted, literal, opposite, text
from pipelines.core.simulation.behavior.scope import Scope, Unresolved, link_field, within
from pipelines.core.simulation.behavior.things import (
    Kind,
    Path,
    find_field,
    has_value,
    known_value,
    switch_of,
)
from pipelines.core.simulation.behavior.words import PHRASED_STATES, STATES, snake

OPPOSITES = {
    "closed": "open",
    "offline": "online",
    "inactive": "active",
    "unpaid": "paid",
    "unverified": "verified",
    "unavailable": "available",
    "disabled": "enabled",
    "incomplete": "complete",
    "unshipped": "shipped",
    "invalid": "valid",
}


def state_of(scope: Scope, noun: str | None, word: str, done: bool) -> Text:
    """`the order is shipped`: the status says so, or a switch, another field's value, or the date it was
    done.
    """
    kind = scope.kind_named(noun or None)
    if kind is None:
        raise Unresolved(f"nothing here can be {word}")
    base = scope.base(kind.name)
    found = _worded(kind, base, word, done)
    if found is not None:
        return found
    contrary = OPPOSITES.get(word) or (word.removeprefix("un") if word.startswith("un") else None)
    # Only a yes-or-no field has an opposite: a status that is not open need not be closed.
    if contrary and (other := _by_switch(kind, base, contrary)) is not None:
        return opposite(other)
    if word.startswith("un") and (other := _worded(kind, base, word.removeprefix("un"), True)) is not None:
        return opposite(other)  # unpaid is what was never paid
    linked = _by_linked_moment(scope, kind, base, word)
    if linked is not None:
        return linked
    if word in _WORKED_OUT and kind.fields:
        raise Unresolved(f"nothing says whether a {kind.name} is {word}")
    if (kind.status is not None or not kind.fields) and may_be_a_status(word):
        value = snake(word) if " " in word and kind.fields and _is_snake(kind) else word
        return text(within(base, kind.status or ("status",)), f" == {literal(value)}")
    raise Unresolved(f"nothing says whether a {kind.name} is {word}")


def may_be_a_status(word: str) -> bool:
    """A value that no seeded thing has yet: a participle, a usual state, or written like a value."""
    usual = word in STATES or word in PHRASED_STATES or word.endswith(("ed", "ing", "en"))
    return usual or "_" in word or not word.isalpha()


def _is_snake(kind: Kind) -> bool:
    status = kind.fields.get(kind.status or ())
    return status is None or not any(" " in str(value) for value in status.values)


def _worded(kind: Kind, base: Text, word: str, done: bool) -> Text | None:
    special = _special(kind, base, word)
    if special is not None:
        return special
    ways = [
        way
        for way in (_by_status(kind, base, word), _by_switch(kind, base, word), _by_value(kind, base, word))
        if way is not None
    ][:1]
    moment = _moment_done(kind, word)
    if moment is not None and (done or not ways):
        ways.append(_has_come(kind, base, moment, word))
    return bracketed(ways, " or ") if ways else None


def _has_come(kind: Kind, base: Text, moment: Path, word: str) -> Text:
    """`shipped_at` is there once it happened; `starts_at` is there before, and its day has to come."""
    value = within(base, moment)
    if word in words.parts(moment[-1]):
        return text(value, " not in [null, '']")
    return text("(", value, " and not is_before(now, ", value, "))")


def done_before(kind: Kind, base: Text, spellings: list[str]) -> Text:
    """Whether something was done to a thing before, by any of the marks that doing it leaves."""
    ways: list[Text] = []
    if kind.status is not None or not kind.fields:
        listed = ", ".join(map(literal, spellings))
        ways.append(text(within(base, kind.status or ("status",)), f" in [{listed}]"))
    for word in spellings:
        switch, moment = _by_switch(kind, base, word), _moment_done(kind, word)
        ways += [switch] if switch is not None else []
        ways += [text(within(base, moment), " not in [null, '']")] if moment is not None else []
    if not ways:
        raise Unresolved(f"nothing says whether a {kind.name} was {spellings[0]}")
    return bracketed(list(dict.fromkeys(ways)), " or ")


def _by_status(kind: Kind, base: Text, word: str) -> Text | None:
    status = kind.status
    if status is None or not has_value(kind.fields[status], word):
        return None
    return text(within(base, status), f" == {literal(known_value(kind.fields[status], word))}")


def _by_switch(kind: Kind, base: Text, word: str) -> Text | None:
    switch = switch_of(kind, word)
    return text(within(base, switch), " == true") if switch is not None else None


def _by_value(kind: Kind, base: Text, word: str) -> Text | None:
    hits = [path for path, one in kind.fields.items() if has_value(one, word)]
    if not hits:
        return None
    first = hits[0]
    return text(within(base, first), f" == {literal(known_value(kind.fields[first], word))}")


def _moment_done(kind: Kind, word: str) -> Path | None:
    """`shipped_at` says that a thing has been shipped."""
    if not word.endswith(("ed", "en", "sent", "paid", "sold")):
        return None
    return next(
        (path for path in kind.dates() if stem(word) in {stem(part) for part in words.parts(path[-1])}),
        None,
    )


def _by_linked_moment(scope: Scope, kind: Kind, base: Text, word: str) -> Text | None:
    """`shipped_at` of an order's shipment says that the order has been shipped. The record that has it is
    named after the doing, or the thing has no state of its own: a customer's `closed_at` is not an order's.
    """
    for other in scope.lexicon.kinds.values():
        moment = _moment_done(other, word) if other is not kind else None
        is_named_so = stem(singular(words.parts(other.name)[-1])).startswith(stem(word))
        if moment is None or not (is_named_so or kind.status is None):
            continue
        if link_field(kind, other.name) is not None and kind.name == scope.kind and scope.in_list is None:
            return text(within(scope.base(other.name), moment), " not in [null, '']")
        back = link_field(other, kind.name)
        if back is not None:
            is_its = text(f"same_id({dotted('other', (back,))}, ", within(base, ("id",)), ")")
            is_done = f"{dotted('other', moment)} not in [null, '']"
            return text(f"any({is_done} for other in entities({literal(other.name)}) if ", is_its, ")")
    return None


def _what_is_left(kind: Kind) -> Path | None:
    """The count that is zero when a thing is sold out: `available_seats`, `remaining`."""
    left = {"available", "remaining", "left", "free"}
    counts = (path for path, one in kind.fields.items() if "number" in one.kinds)
    return next((path for path in counts if left & set(words.parts(path[-1]))), None)


def _by_room(kind: Kind, base: Text) -> Text | None:
    """Full is what holds as many as it has room for: `booked` of `capacity`, a list of `places`."""
    fields = {path: one for path, one in kind.fields.items() if len(path) == 1}
    taken = [
        path for path, one in fields.items() if "number" in one.kinds and _TAKEN & set(words.parts(path[-1]))
    ]
    room = [
        path for path, one in fields.items()
        if "number" in one.kinds and _ROOM & set(words.parts(path[-1])) and path not in taken
    ]  # fmt: skip
    lists = [path for path, one in fields.items() if one.keeps == "list" and not one.of_records]
    if len(room) != 1 or len(taken) > 1 or (not taken and len(lists) != 1):
        return None
    held = (
        text("default(", within(base, taken[0]), ", 0)")
        if taken
        else text("len(", within(base, lists[0]), ")")
    )
    return text(held, " >= ", within(base, room[0]))


_ROOM = frozenset(("capacity", "seats", "max", "size", "limit", "places", "spots", "slots"))
_TAKEN = frozenset(
    ("booked", "enrolled", "taken", "sold", "used", "occupied", "claimed", "registered", "filled")
)

# How these come out is worked out from other fields, so that no status says it unless it is seen to.
_WORKED_OUT = (
    "full",
    "fully booked",
    "sold out",
    "out of stock",
    "in stock",
    "empty",
    "free",
    "overdue",
    "past due",
)


def _special(kind: Kind, base: Text, word: str) -> Text | None:
    if word in ("out of stock", "in stock", "sold out", "full", "fully booked"):
        stock = find_field(kind.fields, "stock") or _what_is_left(kind)
        if stock is None:
            return _by_room(kind, base) if word in ("full", "fully booked", "sold out") else None
        if "boolean" in kind.fields[stock].kinds:
            return text(within(base, stock), f" == {'true' if word == 'in stock' else 'false'}")
        return text("default(", within(base, stock), f", 0) {'>' if word == 'in stock' else '<='} 0")
    if word in ("expired", "overdue", "past due") and not any(
        has_value(one, word) for one in kind.fields.values()
    ):
        ends = [
            path
            for path in kind.dates()
            if set(words.parts(path[-1])) & {"expires", "expiry", "expiration", "due", "expire", "until"}
        ]
        return text("is_before(", within(base, ends[0]), ", now)") if ends else None
    if word == "empty":
        lists = [path for path, one in kind.fields.items() if one.keeps == "list"]
        return text("len(", within(base, lists[0]), ") == 0") if len(lists) == 1 else None
    if word == "free":
        price = find_field(kind.fields, "price")
        return text(within(base, price), " == 0") if price is not None else None
    return None
