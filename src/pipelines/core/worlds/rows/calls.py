"""Calls worth trying on a world: for each tool, arguments with ids that exist and values that make sense."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from pipelines.core.english.stems import stem
from pipelines.core.english.words import joined, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument, part_noun
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules.rule import ARGS
from pipelines.core.simulation.rules.samples import hints_of
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline, field_from_schema, type_meant
from pipelines.core.worlds.records.rule_cases import need_of
from pipelines.core.worlds.rows.tool_in_world import NO_LIMITS, CallLimits, ToolInWorld, tool_in_world
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.core.worlds.values.ids import next_ids
from pipelines.core.worlds.values.measures import near
from pipelines.core.worlds.values.patterns import examples_of
from pipelines.core.worlds.values.pools import OCCASIONS, REASONS
from pipelines.core.worlds.values.times import ENDED, LONG_TERM, PAST, starts_of, write_moment
from pipelines.core.worlds.values.values import Place, scalar, text_kind

MOST_LIKE = 20  # ids that one which nobody has is made like
MOST_TRIED = 30  # entities per tool: rows want different ones, not all of them
MOST_SEARCHED = 150  # calls more where none of those went through: of twelve by twelve pairs a few may fit
_LATER = word_set("end ends due return until to checkout arrival expires")


class Candidate(NamedTuple):
    tool: str
    arguments: JsonObject
    about: tuple[str, str] | None  # type and id of what is asked about
    variant: str = "plain"  # or: unknown (no such id), stranger (somebody else's), much (other amounts)


def candidates(
    ground: Ground, tool: str, draw: Draw, now: str, held: CallLimits = NO_LIMITS
) -> Iterator[Candidate]:
    """As it would be asked; then with an id that nothing has, somebody else's ids, and other amounts."""
    request = tool_in_world(ground, tool)
    writer = _Writer(ground, request, draw, now, held)
    own = request.own.name if request.own is not None else None
    targets = _targets(ground, request, draw, held)
    for number, id in enumerate(targets):
        arguments = writer.arguments(id, number)
        if arguments is None:
            return
        about = (own, id) if own is not None and id is not None else None
        yield Candidate(tool, arguments, about)
        for variant, other in writer.variants(arguments, id, number):
            yield Candidate(tool, other, about, variant)
    # A record that nobody has is in no state that a theme could name.
    if request.target is not None and request.own is not None and own is not None and own not in held.records:
        for number, id in enumerate(targets[:2]):
            unknown = _unknown_id(ground, request.own, number, draw)
            arguments = writer.arguments(id, number)
            if arguments is not None and unknown is not None:
                argument = writer.as_argument(request.target, unknown)
                yield Candidate(tool, {**arguments, request.target.name: argument}, (own, unknown), "unknown")


def further(
    ground: Ground, tool: str, draw: Draw, now: str, held: CallLimits = NO_LIMITS
) -> Iterator[Candidate]:
    """The same things with other records beside them: a berth that is free may be one of many."""
    request = tool_in_world(ground, tool)
    if not any(one != request.target and request.id_type(one) is not None for one in request.fact.arguments):
        return
    writer = _Writer(ground, request, draw, now, held)
    targets = _targets(ground, request, draw, held)
    own = request.own.name if request.own is not None else None
    for number in range(len(targets), len(targets) + MOST_SEARCHED if targets else 0):
        id = targets[number % len(targets)]
        arguments = writer.arguments(id, number)
        if arguments is not None:
            yield Candidate(tool, arguments, (own, id) if own is not None and id is not None else None)


def _targets(ground: Ground, asked: ToolInWorld, draw: Draw, held: CallLimits) -> list[str | None]:
    """The things to ask about, in an order in which every state comes early."""
    own = asked.own
    records = types_in(ground.state).get(own.name, {}) if own is not None else {}
    if own is None or (asked.target is None and not asked.keys):
        return [None] * (12 if asked.fact.arguments else 1)
    tool = asked.fact.tool.name
    order = [id for id in draw.shuffled(list(records), f"targets/{tool}") if held.allows(own.name, id)]
    status = own.status
    by_state: dict[str, list[str]] = {}
    for id in order:
        by_state.setdefault(str(records[id].get(status.name)) if status is not None else "", []).append(id)
    turns: list[str | None] = []
    while any(by_state.values()):
        turns += [ids.pop(0) for ids in by_state.values() if ids]
    return turns[:MOST_TRIED]


def _unknown_id(ground: Ground, own: TypeOutline, number: int, draw: Draw) -> str | None:
    """Like the others, and nobody's."""
    known = types_in(ground.state).get(own.name, {})
    last = [*islice(reversed(known), MOST_LIKE)]
    new = (
        (id for id in next_ids(own, last, number + MOST_LIKE, draw) if id not in known) if last else iter(())
    )
    return next(islice(new, number, None), None)


class _Writer:
    """Values for the arguments of one tool."""

    def __init__(self, ground: Ground, asked: ToolInWorld, draw: Draw, now: str, held: CallLimits) -> None:
        self._asked = asked
        self._held = held
        self._draw = draw
        self._now = datetime.fromisoformat(now).replace(tzinfo=None, microsecond=0)
        self._state = types_in(ground.state)
        stays = asked.own is not None and "arrival" in starts_of(asked.own)
        self._later = _LATER - {"arrival"} | {"departure"} if stays else _LATER
        # Where no name says which of several moments is the later one, the last is.
        moments = [one for one in asked.fact.arguments if field_from_schema(one.name, one.schema).is_moment]
        is_said = any(not self._later.isdisjoint(one.words) for one in moments)
        self._last = moments[-1].words if len(moments) > 1 and not is_said else None
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
        if held := [one for one in optional if one.name in self._held.arguments]:
            return [*required, *held]
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
        request = self._asked
        place = f"{request.fact.tool.name}/{number}/{one.name}"
        kind = request.id_type(one)
        if one == request.target and id is not None:
            return self.as_argument(one, id)
        if self._held.arguments.get(one.name) is not None:
            return self._held.arguments[one.name]
        if one.values:
            return self._option(one, record, number)
        if kind is not None and one.is_scalar:
            return self._id(one, kind, record, so_far, place)
        if one in request.keys:
            field = request.field(one)
            return record.get(field.name) if field is not None else None
        if one.kind == "list":
            return self._list(one, record, place)
        if one.kind == "object":
            return self._object(one, record, place)
        return self._scalar(one, record, place, so_far)

    def as_argument(self, one: Argument, id: str) -> Json:
        return field_from_schema(one.name, one.schema).kept(id)

    def _option(self, one: Argument, record: JsonObject, number: int) -> Json:
        field = self._asked.field(one)
        current = record.get(field.name) if field is not None else None
        is_change = not self._asked.fact.name.reads()
        options = [value for value in one.values if not is_change or value != current]
        return options[number % len(options)] if options else None

    def _id(self, one: Argument, kind: str, record: JsonObject, so_far: JsonObject, place: str) -> Json:
        """The thing's own link, else some record of the type, in that role, that is not named yet."""
        linked = self._linked(kind, record)
        if linked is not None and not self._changes_link(kind):
            return self.as_argument(one, linked) if self._held.allows(kind, linked) else None
        ids = [each for each in self._state.get(kind, {}) if each not in map(str, so_far.values())]
        ids = [each for each in ids if self._held.allows(kind, each)]
        ids = [each for each in ids if each != linked]
        role = next(
            (each for each in self._asked.types[kind].fields if (one.id_noun or ("",))[-1] in each.values),
            None,
        )
        if role is not None:
            ids = [id for id in ids if self._state[kind][id].get(role.name) == (one.id_noun or ())[-1]] or ids
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
        """Of what the record keeps under that name, the first; else some of the things that are there."""
        noun = part_noun(one)
        lists = (name for name in record if noun and singular(tokens(name)[-1]) == noun)
        kept = next((value for name in lists if isinstance(value := record[name], list) and value), None)
        first = kept[0] if kept else None
        if isinstance(first, dict) and one.words[-1] == "ids":
            return [value for key, value in first.items() if {"id", noun} <= {*singulars(tokens(key))}][
                :1
            ] or None
        if first is not None and not isinstance(first, dict):
            return [first]
        values = self._nested(field_from_schema(one.name, one.schema), place)
        return values or None

    def _object(self, one: Argument, record: JsonObject, place: str) -> Json:
        property_field = field_from_schema(one.name, one.schema)
        if property_field.parts:
            return self._nested(property_field, place)
        own = self._asked.own
        if own is None or one.words[-1] not in ("updates", "changes", "fields", "patch", "values"):
            return None
        fixed = (own.field(own.id_field), own.status, *own.references, *own.moments)
        plain = [
            each for each in own.fields if each.kind in ("text", "whole", "number") and each not in fixed
        ]
        free = [each for each in plain if each.name in record]
        field = self._draw.pick(free, place) if free else None
        return {field.name: self._other(field, record.get(field.name), place)} if field is not None else None

    def _nested(self, field: FieldOutline, place: str, depth: int = 0) -> Json:
        """Of a list or an object that is given: ids in it are those of things that are there."""
        ids = list(self._state.get(type_meant(field.name, self._asked.types) or "", {}))
        if ids and not field.values and not field.parts and field.kind != "object":
            picked = self._draw.shuffled(ids, place)
            return list(picked[:2]) if field.kind == "list" else field.kept(picked[0])
        if field.is_moment:
            return self._moment(field, place, None)
        if field.kind == "list" and not field.parts:
            items = field_from_schema(singular(field.name), field.said("items"))
            many = (scalar(items, self._place(at), self._draw) for at in range(2))
            return list(dict.fromkeys(many)) if items.kind in ("text", "whole", "number") else []
        if field.kind in ("list", "object"):
            named = field.said("required")
            inner: JsonObject = {
                each.name: self._nested(each, f"{place}/{each.name}", depth + 1)
                for each in field.parts
                if depth < 3 and (not isinstance(named, list) or each.name in named)
            }
            return [inner] if field.kind == "list" else inner
        return scalar(field, self._place(self._draw.below(300, place)), self._draw)

    def _scalar(self, one: Argument, record: JsonObject, place: str, so_far: JsonObject) -> Json:
        field = field_from_schema(one.name, {**one.schema, "type": one.schema.get("type") or "string"})
        own, current, seen = self._kept(one, record, so_far)
        if field.is_moment or (own is not None and own.is_moment):
            return self._moment(own if own is not None and own.is_moment else field, place, current)
        is_reason = field.kind == "text" and text_kind(field) == "reason"
        if is_reason and not field.values and not examples_of(field):
            return self._draw.pick(REASONS if self._undoes else OCCASIONS, place)
        if one.kind == "number":
            return self._amount(field, current, record, seen, place)
        if self._asked.fact.name.reads() and seen:
            return self._draw.pick(seen, place)
        if own is not None and own.kind == field.kind:
            field = replace(own, schema={**(own.schema or {}), **(field.schema or {})})
        return self._other(field, current, place)

    def _kept(
        self, one: Argument, record: JsonObject, so_far: JsonObject
    ) -> tuple[FieldOutline | None, Json, list[Json]]:
        """The field that keeps such a value, the value of what the call is about, and all there are."""
        own = self._asked.field(one)
        if own is not None and record.get(own.name) is not None:
            return own, record[own.name], []
        alike = [
            (kind, each)
            for kind in self._asked.types.values()
            for each in kind.fields
            if joined(each.words) == joined(one.words) and each.name != kind.id_field
        ]
        named = {self._asked.id_type(each): so_far.get(each.name) for each in self._asked.fact.arguments}
        for kind, field in alike:
            about = self._state.get(kind.name, {}).get(str(named.get(kind.name)), {})
            if about.get(field.name) is not None:
                return own or field, about[field.name], []
        seen = [value for kind, field in alike for value in self._seen(kind, field)]
        return own or (alike[0][1] if alike else None), None, seen

    def _seen(self, own: TypeOutline | None, field: FieldOutline) -> list[Json]:
        records = self._state.get(own.name, {}).values() if own is not None else ()
        return [value for each in records if (value := each.get(field.name)) not in (None, "")]

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

    def _amount(
        self, field: FieldOutline, current: Json, record: JsonObject, seen: Sequence[Json], place: str
    ) -> Json:
        """Of the magnitude of what is kept under that name."""
        if current is None and field.words[-1] in ("amount", "sum", "value"):
            whole = self._whole_of(record)
            part = max(1, int(whole * self._draw.between(10, 50, place) / 100))
            if whole > 0:
                return part if field.kind == "whole" else float(part)
        known = [each for each in (current, *seen) if isinstance(each, int | float) and each]
        if not known or field.values:
            return self._other(field, current, place)
        base = known[0] if current is not None else self._draw.pick(known, place)
        return near(field, base, self._draw.pick((0.8, 0.9, 1.1, 1.25), f"{place}/share"), self._thing)

    @property
    def _undoes(self) -> bool:
        """Cancel, reject, delete: what is made or changed has other reasons."""
        name = self._asked.fact.name
        return name.op == "delete" or stem(name.verb) in set(map(stem, ENDED))

    def _whole_of(self, record: JsonObject) -> float:
        """What an amount is a part of: the number that the tool's name speaks of, else a balance, a total."""
        numbers = {
            tokens(name): each
            for name, each in record.items()
            if isinstance(each, int | float) and not isinstance(each, bool)
        }
        spoken = {*tokens(self._asked.fact.tool.name)}
        named = (each for words, each in numbers.items() if spoken >= {*words} - {self._thing})
        usual = (each for end in ("balance", "total") for words, each in numbers.items() if end in words)
        return next(named, None) or next(usual, 0)

    @property
    def _thing(self) -> str:
        return self._asked.own.last if self._asked.own is not None else ""

    def _moment(self, field: FieldOutline, place: str, current: Json) -> Json:
        # One draw for all moments of a call, so that what ends does so after it starts.
        days = self._draw.between(3, 20, place.rpartition("/")[0])
        is_later = not self._later.isdisjoint(field.words) or field.words == self._last
        if self._asked.fact.name.reads() or not PAST.isdisjoint(field.words):
            days = 0 if is_later else -90 if self._asked.fact.name.reads() else -days
        known = moment_of(current) if isinstance(current, str) else None
        # What is moved moves on from where it was, if that is still to come.
        since = max(self._now, known.at.replace(tzinfo=None)) if known is not None else self._now
        at = (since + timedelta(days=days)).replace(hour=9 + days % 8, minute=30, second=0)
        written = write_moment(field, at)
        if is_later and not self._asked.fact.name.reads():
            is_day = isinstance(written, str) and len(written) <= 10
            longer = timedelta(days=365 if self._thing in LONG_TERM else 9)
            written = write_moment(field, at + (longer if is_day else timedelta(hours=2)))
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
        kept = ("balance", "stock", "limit", "total")
        owned = [each for name, each in record.items() if tokens(name)[-1] in kept]
        over = [each + 50 for each in owned if isinstance(each, int | float) and not isinstance(each, bool)]
        return [round(each, 2) if isinstance(value, float) else int(each) for each in (*near, *over)]
