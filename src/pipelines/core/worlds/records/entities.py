"""Records of an outline: ids first, so that references hold whichever way they point; then values, moments in
causal order, sums and lists of who refers to whom."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations

from pipelines.core.english.words import singular, tokens
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.outline import FieldOutline, Outline, TypeOutline
from pipelines.core.worlds.values.pools import GOODS_OF
from pipelines.core.worlds.values.sums import lines_of, sums_of
from pipelines.core.worlds.values.times import Clock, rank_of
from pipelines.core.worlds.values.values import Place, scalar

MOST_LINES = 4
#: Only said of a record that has come to it: the reason for a cancellation, its refund.
_AFTERMATH = ("cancel", "cancellation", "refund", "return", "rejection", "resolution", "closing", "exchange")


class Builder:
    """Makes records of one world. `ids` are all there are, those of records that are not made here too."""

    def __init__(self, outline: Outline, ids: Mapping[str, Sequence[str]], draw: Draw, now: str) -> None:
        self.outline = outline
        self.ids = ids
        self.clock = Clock(now, draw)
        self._draw = draw
        self._turns: dict[tuple[str, int], list[int]] = {}
        self._born: dict[tuple[str, str], datetime] = {}
        self._made: dict[str, dict[str, JsonObject]] = {}

    def know(self, state: Mapping[str, dict[str, JsonObject]]) -> None:
        """Records that are there already, for new ones that refer to them."""
        self._made = {name: dict(records) for name, records in state.items()}

    def state(self) -> JsonObject:
        """Every record of every type, in the outline's order."""
        records: dict[str, dict[str, JsonObject]] = {}
        for name in _in_order(self.outline.types):
            own = self.outline.types[name]
            records[name] = self._made[name] = {
                id: self.record(own, number, id) for number, id in enumerate(self.ids[name])
            }
        self.fill_back(records)
        self.add_up(records)
        return {name: records[name] for name in self.outline.types}  # type: ignore[misc]  # dicts are invariant

    def record(
        self, own: TypeOutline, number: int, id: str, given: Mapping[str, Json] | None = None
    ) -> JsonObject:
        """One record; what is `given` stands, and the rest follows from it."""
        place = Place(own, number, f"{own.name}/{number}")
        attributes: JsonObject = {one.name: None for one in own.fields}
        for one in own.fields:
            if given is not None and one.name in given:
                attributes[one.name] = given[one.name]
            elif one.name == own.id_field:
                attributes[one.name] = one.kept(id)
            elif one.refers_to is not None or not one.is_moment:
                attributes[one.name] = self._value(one, place)
        for name in given or {}:
            attributes.setdefault(name, (given or {})[name])
        self._agree(own, attributes, given or {})
        self._without_aftermath(own, attributes)
        self._with_moments(own, place, id, attributes, given or {})
        return attributes

    # -- values

    def _value(self, one: FieldOutline, place: Place) -> Json:
        if one.refers_to is not None:
            return self._reference(one, place)
        if one.values and len(one.values) > 1:
            return one.values[self._turn(place, one.name) % len(one.values)]
        if one.kind == "boolean":
            return self._turn(place, one.name) % 2 == 0
        if one.kind == "object":
            return self._object(one, place)
        if one.kind == "list":
            return self._list(one, place)
        return scalar(one, place, self._draw)

    def _turn(self, place: Place, name: str) -> int:
        """The record's place in a shuffled order of all its like: values taken by it are spread evenly."""
        count = len(self.ids[place.own.name])
        key = (f"{place.own.name}/{name}", count)
        order = self._turns.get(key)
        if order is None:
            order = self._turns[key] = self._draw.shuffled(range(count), f"turn/{key[0]}")
        return order[place.number] if place.number < count else place.number

    def _reference(self, one: FieldOutline, place: Place) -> Json:
        ids = self.ids.get(one.refers_to or "", ())
        if one.kind == "list":
            return [] if self._is_back(one, place.own) else self._some(ids, place.of(one.name))
        if not ids:
            return None
        if one.refers_to == place.own.name:  # a tree: the first has nothing above it
            above = self._draw.below(place.number, place.of(one.name)) if place.number else None
            return None if above is None else one.kept(ids[above])
        ids = self._in_role(one, ids)
        # The last owner has nothing, where there are enough: somebody who is nobody's customer.
        owners = len(ids) - 1 if len(ids) > 3 and len(self.ids[place.own.name]) >= len(ids) else len(ids)
        return one.kept(ids[self._turn(place, one.name) % owners])

    def _in_role(self, one: FieldOutline, ids: Sequence[str]) -> Sequence[str]:
        """`seller_id`: of the users those whose role is seller, where a field of theirs says so."""
        target = self.outline.types[one.refers_to or ""]
        records = self._made.get(target.name, {})
        role = next((each for each in target.fields if one.role in each.values), None)
        return [id for id in ids if role and records.get(id, {}).get(role.name) == one.role] or ids

    def _some(self, ids: Sequence[str], here: str) -> list[Json]:
        count = min(len(ids), 1 + self._draw.below(3, here))
        return list(self._draw.shuffled(ids[:50], here)[:count])

    def _is_back(self, one: FieldOutline, own: TypeOutline) -> bool:
        other = self.outline.types.get(one.refers_to or "")
        return other is not None and any(each.refers_to == own.name for each in other.references)

    def _object(self, one: FieldOutline, place: Place) -> Json:
        if one.parts:
            return {part.name: self._part(part, place, one.name) for part in one.parts}
        names = {"address": ("street", "city", "zip"), "name": ("first_name", "last_name")}
        texts = (FieldOutline(name=name, kind="text") for name in names.get(one.words[-1], ()))
        return {text.name: scalar(text, place, self._draw) for text in texts}

    def _part(self, part: FieldOutline, place: Place, above: str) -> Json:
        inner = place._replace(name=f"{place.name}/{above}")
        if part.refers_to is not None:
            ids = self.ids.get(part.refers_to, ())
            return part.kept(self._draw.pick(ids, inner.of(part.name))) if ids else None
        if part.kind == "object":
            return self._object(part, inner)
        if part.kind == "list":
            return self._list(part, inner)
        if part.is_moment:
            share = self._draw.unit(inner.of(part.name))
            return self.clock._written(part, self.clock.base(inner.of(part.name), share, None))
        return scalar(part, inner, self._draw)

    def _list(self, one: FieldOutline, place: Place) -> list[Json]:
        here = place.of(one.name)
        if not one.parts:
            each = FieldOutline(name=singular(one.name), kind="text", description=one.description)
            places = (
                place._replace(name=f"{place.name}/{at}") for at in range(1 + self._draw.below(2, here))
            )
            return list(dict.fromkeys(scalar(each, at, self._draw) for at in places))
        count = 1 + self._draw.below(MOST_LINES, here)
        linked = next((part for part in one.parts if part.refers_to is not None), None)
        ids = self.ids.get(linked.refers_to or "", ()) if linked is not None else ()
        chosen = self._draw.shuffled(range(len(ids))[:200], here)[:count]
        return [self._line(one, place, at, linked, ids[chosen[at]] if at < len(chosen) else None) for at in
                range(min(count, len(chosen)) if ids else count)]  # fmt: skip

    def _line(
        self, one: FieldOutline, place: Place, at: int, linked: FieldOutline | None, id: str | None
    ) -> JsonObject:
        of = self._made.get(linked.refers_to or "", {}).get(id or "") if linked is not None else None
        line: JsonObject = {}
        for part in one.parts:
            if linked is not None and part.name == linked.name:
                line[part.name] = part.kept(id) if id is not None else None
            elif of is not None and (same := _same_field(of, part)) is not None:
                line[part.name] = of[same]
            elif part.kind == "text" and part.words[-1] in ("description", "name", "item"):
                line[part.name] = self._draw.pick(GOODS_OF, place.of(f"{one.name}/{at}/{part.name}"))
            else:
                line[part.name] = self._part(part, place, f"{one.name}/{at}")
        return line

    # -- what depends on the rest of the record

    def _agree(self, own: TypeOutline, attributes: JsonObject, given: Mapping[str, Json]) -> None:
        """An invoice's owner is the owner of the pet whose visit it is for."""
        links = own.references
        for one in links:
            if one.name in given or one.refers_to == own.name:
                continue
            for other in links:
                if other.name == one.name or other.refers_to in (one.refers_to, own.name):
                    continue
                known = self._followed(other.refers_to or "", str(attributes[other.name]), one, 2)
                if known is not None:
                    attributes[one.name] = one.kept(known)
                    break
        # Nobody buys from themselves: of two that are not the same by name, the second is another.
        for one, other in combinations(links, 2):
            same = attributes[one.name] is not None and attributes[one.name] == attributes[other.name]
            ids = self._in_role(other, self.ids.get(other.refers_to or "", ()))
            if same and one.refers_to == other.refers_to and other.name not in given and len(ids) > 1:
                at = ids.index(str(attributes[one.name])) if str(attributes[one.name]) in ids else 0
                attributes[other.name] = other.kept(ids[(at + 1) % len(ids)])

    def _followed(self, kind: str, id: str, wanted: FieldOutline, steps: int) -> str | None:
        """The id of the wanted type, in the wanted role, that a record leads to."""
        record = self._made.get(kind, {}).get(id)
        if record is None or steps == 0:
            return None
        for one in self.outline.types[kind].references:
            value = record.get(one.name)
            if value is not None and one.refers_to == wanted.refers_to and one.role in (wanted.role, ""):
                return str(value)
            if value is not None and one.refers_to is not None and one.refers_to != kind:
                further = self._followed(one.refers_to, str(value), wanted, steps - 1)
                if further is not None:
                    return further
        return None

    def _without_aftermath(self, own: TypeOutline, attributes: JsonObject) -> None:
        """`cancel_reason` of an order that is not cancelled says nothing."""
        status = own.status
        if status is None:
            return
        state = "".join(tokens(str(attributes.get(status.name))))
        for one in own.fields:
            is_of_it = len(one.words) > 1 and one.words[0] in _AFTERMATH and one.kind != "boolean"
            if is_of_it and one.refers_to is None and not state.startswith(one.words[0][:6]):
                attributes[one.name] = None

    def _with_moments(
        self, own: TypeOutline, place: Place, id: str, attributes: JsonObject, given: Mapping[str, Json]
    ) -> None:
        moments = own.moments
        if not moments and not own.references:
            return
        named = ((one.refers_to or "", str(attributes.get(one.name))) for one in own.references)
        after = max((self._born[one] for one in named if one in self._born), default=None)
        count = max(len(self.ids.get(own.name, ())), place.number + 1)
        base = self.clock.base(place.name, (self._turn(place, "\0age") + 0.5) / count, after)
        if any(rank_of(one.name) is not None for one in moments):
            self._born[own.name, id] = base
        for name, value in self.clock.moments(own, place.name, base, attributes).items():
            if name not in given:
                attributes[name] = value

    # -- what depends on other records

    def fill_back(self, made: Mapping[str, dict[str, JsonObject]]) -> None:
        """`orders` of a customer: those that are hers."""
        for own in self.outline.types.values():
            for one in own.fields:
                if one.kind != "list" or one.refers_to is None or not self._is_back(one, own):
                    continue
                other = self.outline.types[one.refers_to]
                link = next(each.name for each in other.references if each.refers_to == own.name)
                found: dict[str, list[Json]] = {}
                for id, record in made.get(other.name, {}).items():
                    found.setdefault(str(record.get(link)), []).append(id)
                for id, record in made.get(own.name, {}).items():
                    record[one.name] = found.get(id, [])

    def add_up(self, made: Mapping[str, dict[str, JsonObject]]) -> None:
        for name, records in made.items():
            for rule in sums_of(self.outline.types[name], self.outline.types):
                linked = _by_link(made, rule.lines, rule.link) if rule.link is not None else None
                for id, record in records.items():
                    lines = linked.get(id, []) if linked is not None else lines_of(rule, id, record, {})
                    total = rule.of(record, lines)
                    if total is not None and lines:
                        field = self.outline.types[name].field(rule.total)
                        is_whole = field is not None and field.kind == "whole"
                        record[rule.total] = round(total) if is_whole else total


def _by_link(made: Mapping[str, dict[str, JsonObject]], kind: str, link: str | None) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for record in made.get(kind, {}).values():
        found.setdefault(str(record.get(link or "")), []).append(record)
    return found


def _same_field(record: JsonObject, part: FieldOutline) -> str | None:
    """`unit_price` of a line is the product's `price`."""
    if part.name in record and not isinstance(record[part.name], list | dict):
        return part.name
    last = part.words[-1]
    near = [name for name in record if tokens(name)[-1] == last in ("price", "name", "rate", "title")]
    return near[0] if len(near) == 1 else None


def _in_order(types: Mapping[str, TypeOutline]) -> Iterator[str]:
    """What is referred to first; in a circle, as declared."""
    done: set[str] = set()
    waiting = list(types)
    while waiting:
        free = (name for name in waiting if {*_needs(types[name], types)} <= {*done, name})
        name = next(free, waiting[0])
        waiting.remove(name)
        done.add(name)
        yield name


def _needs(own: TypeOutline, types: Mapping[str, TypeOutline]) -> Iterator[str]:
    for one in own.fields:
        if one.refers_to in types and one.kind != "list":
            yield one.refers_to or ""
        for part in one.parts:
            if part.refers_to in types:
                yield part.refers_to or ""
