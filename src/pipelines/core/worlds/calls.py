"""Calls worth trying on a world: for each tool, arguments with ids that exist and values that make sense."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from pipelines.core.english.words import joined, plural, singular, singulars, tokens, word_set
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.domain.arguments import Argument, part_noun
from pipelines.core.simulation.domain.tool_facts import ToolFacts
from pipelines.core.simulation.rules.rule import ARGS
from pipelines.core.simulation.rules.samples import hints_of
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline, field_from_schema, type_meant
from pipelines.core.worlds.rule_cases import need_of
from pipelines.core.worlds.spoken import about_type, id_type
from pipelines.core.worlds.times import is_moment, starts_of, write_moment
from pipelines.core.worlds.values import Place, scalar
from pipelines.core.worlds.world_outline import types_in

MOST_GAPS = 20  # entities beside whose ids a free one is looked for
MOST_TRIED = 30  # entities per tool: rows want different ones, not all of them
MOST_SEARCHED = 150  # calls more where none of those went through: of twelve by twelve pairs a few may fit
_LATER = word_set("end ends due return until to checkout arrival expires")
_BEGINNINGS = (
    "a first consultation",
    "the yearly check",
    "a follow-up",
    "a short question",
    "a second opinion",
)


class Candidate(NamedTuple):
    tool: str
    arguments: JsonObject
    about: tuple[str, str] | None  # type and id of what is asked about
    variant: str = "plain"  # or: unknown (no such id), stranger (somebody else's), much (other amounts)


@dataclass(frozen=True)  # no slots: what is derived is kept on the record
class Asked:
    """One tool and what its arguments mean in this world."""

    fact: ToolFacts
    own: TypeOutline | None  # what it is about
    types: Mapping[str, TypeOutline]

    def id_type(self, one: Argument) -> str | None:
        return self._id_types.get(one.name)

    @cached_property
    def _id_types(self) -> dict[str, str | None]:
        return {one.name: self._id_type(one) for one in self.fact.arguments}

    def _id_type(self, one: Argument) -> str | None:
        found = id_type(one, self.types, self.fact)
        if found is None and one.is_scalar and self.own is not None and one.id_noun is None:
            field = self.field(one)
            found = field.refers_to if field is not None else None
        return found

    def field(self, one: Argument) -> FieldOutline | None:
        """The field of what it is about that the argument speaks of: `new_address` too."""
        if self.own is None:
            return None
        words = [word for word in one.words if word not in ("new", "updated", "target")] or list(one.words)
        wanted = {joined(words), joined((*tokens(self.own.name), *words))}
        return next((each for each in self.own.fields if joined(each.words) in wanted), None)

    @cached_property
    def target(self) -> Argument | None:
        """The argument that picks what it is about."""
        if self.own is None or self.fact.makes:
            return None
        own = [one for one in self.fact.arguments if one.is_scalar and self.id_type(one) == self.own.name]
        return next((one for one in own if one.is_required), own[0] if own else None)

    @cached_property
    def keys(self) -> tuple[Argument, ...]:
        """Arguments that are fields of what is looked for: `find_member_by_name(first_name, last_name)`."""
        if not self.fact.name.reads() or self.own is None or self.target is not None:
            return ()
        return tuple(
            one
            for one in self.fact.arguments
            if one.is_scalar and self.id_type(one) is None and self.field(one) is not None
        )


def asked_of(ground: Ground, tool: str) -> Asked:
    key = ("worlds.asked", tool)
    known: Asked | None = ground.world.derived.get(key)
    if known is None:
        fact, types = ground.facts[tool], ground.outline.types
        name = about_type(fact, types)
        known = Asked(fact, types.get(name) if name is not None else None, types)
        ground.world.derived[key] = known
    return known


def candidates(ground: Ground, tool: str, draw: Draw, now: str) -> Iterator[Candidate]:
    """As it would be asked; then with an id that nothing has, somebody else's ids, and other amounts."""
    asked = asked_of(ground, tool)
    writer = _Writer(ground, asked, draw, now)
    own = asked.own.name if asked.own is not None else None
    targets = _targets(ground, asked, draw)
    for number, id in enumerate(targets):
        arguments = writer.arguments(id, number)
        if arguments is None:
            return
        about = (own, id) if own is not None and id is not None else None
        yield Candidate(tool, arguments, about)
        for variant, other in writer.variants(arguments, id, number):
            yield Candidate(tool, other, about, variant)
    if asked.target is not None and own is not None:
        for number, id in enumerate(targets[:2]):
            unknown = _unknown_id(ground, own, number)
            arguments = writer.arguments(id, number)
            if arguments is not None and unknown is not None:
                told = writer.as_argument(asked.target, unknown)
                yield Candidate(tool, {**arguments, asked.target.name: told}, (own, unknown), "unknown")


def further(ground: Ground, tool: str, draw: Draw, now: str) -> Iterator[Candidate]:
    """The same things with other records beside them: a berth that is free may be one of many."""
    asked = asked_of(ground, tool)
    if not any(one != asked.target and asked.id_type(one) is not None for one in asked.fact.arguments):
        return
    writer = _Writer(ground, asked, draw, now)
    targets = _targets(ground, asked, draw)
    own = asked.own.name if asked.own is not None else None
    for number in range(len(targets), len(targets) + MOST_SEARCHED if targets else 0):
        id = targets[number % len(targets)]
        arguments = writer.arguments(id, number)
        if arguments is not None:
            yield Candidate(tool, arguments, (own, id) if own is not None and id is not None else None)


def _targets(ground: Ground, asked: Asked, draw: Draw) -> list[str | None]:
    """The things to ask about, in an order in which every state comes early."""
    own = asked.own
    records = types_in(ground.state).get(own.name, {}) if own is not None else {}
    if own is None or (asked.target is None and not asked.keys):
        return [None] * (12 if asked.fact.arguments else 1)
    tool = asked.fact.tool.name
    order = draw.shuffled(list(records), f"targets/{tool}")
    status = own.status
    by_state: dict[str, list[str]] = {}
    for id in order:
        by_state.setdefault(str(records[id].get(status.name)) if status is not None else "", []).append(id)
    turns: list[str | None] = []
    while any(by_state.values()):
        turns += [ids.pop(0) for ids in by_state.values() if ids]
    return turns[:MOST_TRIED]


def _unknown_id(ground: Ground, kind: str, number: int) -> str | None:
    """Like the others, and nobody's."""
    ids = types_in(ground.state).get(kind, {})
    # Where the last ones have no gap beside them, a world of many thousands has none worth looking for.
    for id in islice(reversed(ids), MOST_GAPS):
        digits = [at for at, each in enumerate(id) if each.isdigit()]
        for step in range(1, 40):
            if not digits:
                return f"{id}-{number + 7}"
            last = digits[-1]
            other = id[:last] + str((int(id[last]) + step + number) % 10) + id[last + 1 :]
            if other not in ids and ground.opened(now="2000-01-01").ledger.resolve_id(kind, other) is None:
                return other
    return f"{next(reversed(ids))}-{number + 7}" if ids else None


class _Writer:
    """Values for the arguments of one tool."""

    def __init__(self, ground: Ground, asked: Asked, draw: Draw, now: str) -> None:
        self._asked = asked
        self._draw = draw
        self._now = datetime.fromisoformat(now).replace(tzinfo=None, microsecond=0)
        self._state = types_in(ground.state)
        stays = asked.own is not None and "arrival" in starts_of(asked.own)
        self._later = _LATER - {"arrival"} | {"departure"} if stays else _LATER
        self._limits = [
            one
            for rule in ground.rules
            if rule.covers(asked.fact.tool.name) and ARGS in need_of(rule).roots()
            for one in hints_of(need_of(rule), ()).numbers
        ]

    def arguments(self, id: str | None, number: int) -> JsonObject | None:
        """None where something that is required has no value that makes sense."""
        found: JsonObject = {}
        record = self._record(id)
        for one in self._given(number):
            value = self._value(one, id, record, number, found)
            if value is None and one.is_required:
                return None
            if value is not None:
                found[one.name] = value
        return found

    def _record(self, id: str | None) -> JsonObject:
        own = self._asked.own
        return self._state.get(own.name, {}).get(id or "", {}) if own is not None else {}

    def _given(self, number: int) -> list[Argument]:
        """What is required; of filters and changes that are all optional, one in turn."""
        arguments = [one for one in self._asked.fact.arguments if not one.is_credential]
        required = [one for one in arguments if one.is_required]
        optional = [one for one in arguments if not one.is_required and one.kind != "object"]
        op = self._asked.fact.name.op
        if op in ("list", "search") and not required and optional:
            turn = number % (len(optional) + 1)
            return [optional[turn]] if turn < len(optional) else []
        changes = [one for one in required if one != self._asked.target]
        if op == "update" and not changes and optional:
            return [*required, optional[number % len(optional)]]
        return required

    def _value(
        self, one: Argument, id: str | None, record: JsonObject, number: int, so_far: JsonObject
    ) -> Json:
        asked = self._asked
        place = f"{asked.fact.tool.name}/{number}/{one.name}"
        kind = asked.id_type(one)
        if one == asked.target and id is not None:
            return self.as_argument(one, id)
        if one.values:
            return self._option(one, record, number)
        if kind is not None and one.is_scalar:
            return self._id(one, kind, record, so_far, place)
        if one in asked.keys:
            field = asked.field(one)
            return record.get(field.name) if field is not None else None
        if one.kind == "list":
            return self._list(one, record, place)
        if one.kind == "object":
            return self._object(one, record, place)
        return self._scalar(one, record, number, place)

    def as_argument(self, one: Argument, id: str) -> Json:
        return int(id) if one.schema.get("type") == "integer" and id.isdecimal() else id

    def _option(self, one: Argument, record: JsonObject, number: int) -> Json:
        field = self._asked.field(one)
        current = record.get(field.name) if field is not None else None
        is_change = not self._asked.fact.name.reads()
        options = [value for value in one.values if not is_change or value != current]
        return options[number % len(options)] if options else None

    def _id(self, one: Argument, kind: str, record: JsonObject, so_far: JsonObject, place: str) -> Json:
        """The thing's own link, else some record of the type that is not named yet."""
        linked = self._linked(kind, record)
        if linked is not None and not self._changes_link(kind):
            return self.as_argument(one, linked)
        ids = [each for each in self._state.get(kind, {}) if each not in map(str, so_far.values())]
        ids = [each for each in ids if each != linked]
        return self.as_argument(one, self._draw.pick(ids, place)) if ids else None

    def _changes_link(self, kind: str) -> bool:
        """`assign_ticket(ticket_id, agent_id)`: another one than it has."""
        own = self._asked.own
        return self._asked.fact.name.op == "update" and own is not None and kind != own.name

    def _linked(self, kind: str, record: JsonObject) -> str | None:
        own = self._asked.own
        for one in own.references if own is not None else ():
            if one.refers_to == kind and record.get(one.name) is not None:
                return str(record[one.name])
        return None

    def _list(self, one: Argument, record: JsonObject, place: str) -> Json:
        noun = part_noun(one)
        lists = (name for name in record if noun and singular(tokens(name)[-1]) == noun)
        kept = next((record[name] for name in lists if isinstance(record[name], list)), None)
        if isinstance(kept, list) and kept and isinstance(kept[0], dict) and one.words[-1] == "ids":
            named = [key for key in kept[0] if tokens(key)[-1] == "id" and noun in singulars(tokens(key))]
            return [kept[0][named[0]]] if named else None
        if isinstance(kept, list) and kept and not isinstance(kept[0], dict):
            return [kept[0]]
        if one.words[-1] == "ids":
            return None
        items = one.schema.get("items")
        inner = field_from_schema(one.name, items)
        by_type = next(
            (name for name in self._state if plural(singular(tokens(name)[-1])) == one.words[-1]), None
        )
        if inner.kind == "text" and by_type is not None:
            return list(self._draw.shuffled(list(self._state[by_type]), place)[:2])
        if inner.kind in ("whole", "number"):
            return [self._draw.between(2, 90, f"{place}/{at}") for at in range(3)]
        return (
            [scalar(inner, self._place(at), self._draw) for at in range(2)] if inner.kind == "text" else None
        )

    def _object(self, one: Argument, record: JsonObject, place: str) -> Json:
        shown = field_from_schema(one.name, one.schema)
        if shown.parts:
            named = one.schema.get("required")
            return {
                part.name: self._part(part, record, f"{place}/{part.name}")
                for part in shown.parts
                if not isinstance(named, list) or part.name in named
            }
        own = self._asked.own
        if own is None or one.words[-1] not in ("updates", "changes", "fields", "patch", "values"):
            return None
        free = [
            each
            for each in own.fields
            if each.kind in ("text", "whole", "number") and each.refers_to is None and each.name in record
            and each.name != own.id_field and not is_moment(each) and each is not own.status
        ]  # fmt: skip
        if not free:
            return None
        field = self._draw.pick(free, place)
        return {field.name: self._other(field, record.get(field.name), place)}

    def _part(self, part: FieldOutline, record: JsonObject, place: str, depth: int = 0) -> Json:
        """Of an object that is given: ids in it are those of things that are there."""
        kind = type_meant(part.name, self._asked.types) if part.kind in ("text", "whole") else None
        ids = list(self._state.get(kind or "", {}))
        if ids and not part.values:
            id = self._draw.pick(ids, place)
            return int(id) if part.kind == "whole" and id.isdecimal() else id
        if part.parts and depth < 3:
            inner: JsonObject = {
                each.name: self._part(each, record, f"{place}/{each.name}", depth + 1) for each in part.parts
            }
            return [inner] if part.kind == "list" else inner
        if part.is_moment:
            return self._moment(part, place)
        if part.kind in ("object", "list"):
            return {} if part.kind == "object" else []
        return scalar(part, self._place(self._draw.below(300, place)), self._draw)

    def _scalar(self, one: Argument, record: JsonObject, number: int, place: str) -> Json:
        field = field_from_schema(one.name, {**one.schema, "type": one.schema.get("type") or "string"})
        own = self._asked.field(one)
        if is_moment(field) or (own is not None and is_moment(own)):
            return self._moment(own if own is not None and is_moment(own) else field, place)
        if self._asked.fact.makes and field.words[-1] in ("reason", "purpose"):
            return _BEGINNINGS[number % len(_BEGINNINGS)]
        if one.kind == "number":
            return self._amount(field, record, place)
        if own is not None and own.kind == field.kind and not self._asked.fact.name.reads():
            both = replace(own, schema={**(own.schema or {}), **(field.schema or {})})
            return self._other(both, record.get(own.name), place)
        return self._other(field, None, place)

    def _other(self, field: FieldOutline, current: Json, place: str) -> Json:
        """A value like the field's, and not the one that stands there."""
        for at in range(8):
            number = 500 + self._draw.below(300, f"{place}/{at}")
            value = scalar(field, self._place(number), self._draw)
            if value != current and value != "":
                return value
        return None

    def _place(self, number: int) -> Place:
        own = self._asked.own or TypeOutline(name="thing", id_field=None, fields=())
        return Place(own, number, f"{self._asked.fact.tool.name}/{number}")

    def _amount(self, field: FieldOutline, record: JsonObject, place: str) -> Json:
        balance = next((value for name, value in record.items() if tokens(name)[-1] == "balance"), None)
        if isinstance(balance, int | float) and balance > 0 and field.words[-1] in ("amount", "sum", "value"):
            part = max(1, int(balance * self._draw.between(10, 50, place) / 100))
            return part if field.kind == "whole" else float(part)
        value = scalar(field, self._place(self._draw.below(300, place)), self._draw)
        current = record.get(field.name)
        return value if value != current else self._other(field, current, place)

    def _moment(self, field: FieldOutline, place: str) -> Json:
        # One draw for all moments of a call, so that what ends does so after it starts.
        days = self._draw.between(3, 20, place.rpartition("/")[0])
        is_later = not self._later.isdisjoint(field.words)
        if self._asked.fact.name.reads():
            days = 0 if is_later else -90
        at = (self._now + timedelta(days=days)).replace(hour=9 + days % 8, minute=30, second=0)
        written = write_moment(field, at)
        if is_later and not self._asked.fact.name.reads():
            is_day = isinstance(written, str) and len(written) <= 10
            written = write_moment(field, at + (timedelta(days=9) if is_day else timedelta(hours=2)))
        return written

    # -- other arguments than one would give

    def variants(
        self, arguments: JsonObject, id: str | None, number: int
    ) -> Iterator[tuple[str, JsonObject]]:
        if self._asked.fact.name.reads() or number > 8:
            return
        record = self._record(id)
        for one in self._asked.fact.arguments:
            kind = self._asked.id_type(one)
            value = arguments.get(one.name)
            if value is None or one == self._asked.target:
                continue
            if kind is not None and self._linked(kind, record) == str(value):
                others = [each for each in self._state.get(kind, {}) if each != str(value)]
                if others:
                    other = self.as_argument(one, self._draw.pick(others, f"stranger/{one.name}/{number}"))
                    yield "stranger", {**arguments, one.name: other}
            elif isinstance(value, int | float) and not isinstance(value, bool) and kind is None:
                for other in self._amounts(value, record):
                    yield "much", {**arguments, one.name: other}

    def _amounts(self, value: float, record: JsonObject) -> Sequence[int | float]:
        step = 1 if isinstance(value, int) else 0.01
        near = [limit + shift for limit in self._limits for shift in (0, step, -step)]
        owned = [
            each
            for name, each in record.items()
            if tokens(name)[-1] in ("balance", "stock", "limit", "total")
        ]
        over = [each + 50 for each in owned if isinstance(each, int | float) and not isinstance(each, bool)]
        return [round(each, 2) if isinstance(value, float) else int(each) for each in (*near, *over)]
