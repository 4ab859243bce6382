"""Changes of a world that keep it whole: new records with ids like the others, references that hold, sums and
times that follow. Whatever is not named stays as it is, to the byte."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.changes.wishes import Wish, refused
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, Outline, TypeOutline
from pipelines.core.worlds.records.entities import Builder
from pipelines.core.worlds.records.sides import with_value
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.core.worlds.values.ids import next_ids
from pipelines.core.worlds.values.sums import sums_of
from pipelines.core.worlds.values.times import has_happened, rank_of, said_state, write_moment

State = dict[str, dict[str, JsonObject]]


def add_records(
    ground: Ground, own: TypeOutline, count: int, given: JsonObject, wish: Wish, draw: Draw, now: str
) -> tuple[JsonObject, list[str]]:
    """New ones with these values, and such as they are wished for."""
    state = types_in(ground.state)
    known = state.get(own.name, {})
    new = next_ids(own, list(known), count, draw)
    ids = {name: list(records) for name, records in state.items()} | {own.name: [*known, *new]}
    outline = _with_seen_values(ground.outline, state)
    builder = Builder(outline, {**{name: [] for name in outline.types}, **ids}, draw, now)
    builder.know(state)
    # A new record has the fields that its like have.
    usual = {name for record in known.values() for name in record} | given.keys()
    usual |= {one.name for one in (wish.fields if known else own.fields)}
    added: dict[str, JsonObject] = {}
    for at, id in enumerate(new):
        record = _new_record(builder, own, (len(known) + at, id), given, wish, at)
        added[id] = {name: value for name, value in record.items() if name in usual}
    changed = {**ground.state, own.name: {**known, **added}}
    return _with_back_links(changed, outline, own, added), new  # type: ignore[arg-type]


def _new_record(
    builder: Builder, own: TypeOutline, place: tuple[int, str], given: JsonObject, wish: Wish, at: int
) -> JsonObject:
    """Drawn, then drawn again around what is asked for; sums and moments follow last."""
    outline, (number, id) = builder.outline, place
    totals = {rule.total for rule in sums_of(own, outline.types)}
    later = {one.name for one in own.fields if one.is_moment} | totals
    early = {name: value for name, value in given.items() if name not in later}
    plain = builder.record(outline.types[own.name], number, id, early)
    builder.add_up({own.name: {id: plain}})
    granted = wish.granted(id, plain | given, at)
    requested = {name: value for name, value in granted.items() if name in given or value != plain.get(name)}
    fixed = {one.name for one in wish.fields} | requested.keys()
    early = {name: value for name, value in granted.items() if name in fixed and name not in later}
    record = builder.record(outline.types[own.name], number, id, early)
    builder.add_up({own.name: {id: record}} if not requested.keys() & totals else {})
    for one in own.fields:
        if one.name in later & requested.keys():
            record = with_value(own, outline, record, one, requested[one.name])
    return _not_to_come(own, record, builder.clock.now)


def _with_seen_values(outline: Outline, state: State) -> Outline:
    """Fields of few different texts keep to those: a new record is like the others."""
    types = {}
    for name, own in outline.types.items():
        records = list(state.get(name, {}).values())
        fields = []
        for one in own.fields:
            texts = [value for record in records if isinstance(value := record.get(one.name), str)]
            few = dict.fromkeys(texts)
            is_few = one.kind == "text" and not one.values and one.refers_to is None and not one.is_moment
            if is_few and one.name != own.id_field and len(texts) >= 4 and len(few) <= len(texts) // 2:
                fields.append(replace(one, values=tuple(few), is_closed=False))
            else:
                fields.append(one)
        types[name] = replace(own, fields=tuple(fields))
    return replace(outline, types=types)


def _with_back_links(
    state: JsonObject, outline: Outline, own: TypeOutline, made: Mapping[str, JsonObject]
) -> JsonObject:
    """`orders` of a customer get the new ones that are hers."""
    for link in own.references:
        other = outline.types.get(link.refers_to or "")
        if other is None:
            continue
        backs = [one for one in other.fields if one.kind == "list" and one.refers_to == own.name]
        if not backs:
            continue
        records = dict(types_in(state)[other.name])
        for id, record in made.items():
            owner = str(record.get(link.name))
            if owner in records:
                kept = records[owner].get(backs[0].name)
                listed: list[Json] = [*kept, id] if isinstance(kept, list) else [id]
                records[owner] = {**records[owner], backs[0].name: listed}
        state = {**state, other.name: records}  # type: ignore[dict-item]
    return state


# -- removing


def referred_to(ground: Ground, own: TypeOutline) -> set[str]:
    """Ids of the type that some record refers to, lists of who refers to whom aside."""
    state = types_in(ground.state)
    return {
        str(record.get(link.name))
        for other in ground.outline.types.values()
        for link in other.references
        if link.refers_to == own.name
        for record in state.get(other.name, {}).values()
    }


def remove_records(
    ground: Ground, own: TypeOutline, ids: Sequence[str], *, cascade: bool
) -> tuple[JsonObject, int]:
    """Without them, and how many others went with them. What would refer to nothing stands against it."""
    state = dict(types_in(ground.state))
    removed_ids: dict[str, set[str]] = {own.name: set(ids)}
    waiting = [own.name]
    while waiting:
        kind = waiting.pop()
        for other in ground.outline.types.values():
            for link in other.references:
                if link.refers_to != kind:
                    continue
                lost = {
                    id
                    for id, record in state.get(other.name, {}).items()
                    if str(record.get(link.name)) in removed_ids[kind]
                }
                lost -= removed_ids.get(other.name, set())
                if lost and not cascade:
                    hint = f"remove those first, or say: {'remove … '}and everything that refers to them"
                    raise refused(
                        f"{len(lost)} {other.many} refer to them by {link.name}, such as {sorted(lost)[0]}",
                        hint,
                    )
                if lost:
                    removed_ids.setdefault(other.name, set()).update(lost)
                    waiting.append(other.name)
    remaining_state: JsonObject = dict(ground.state)
    for kind, removed in removed_ids.items():
        remaining_state[kind] = {id: record for id, record in state[kind].items() if id not in removed}
    return _without_listed(remaining_state, ground.outline, removed_ids), sum(
        map(len, removed_ids.values())
    ) - len(ids)


def _without_listed(state: JsonObject, outline: Outline, gone: Mapping[str, set[str]]) -> JsonObject:
    for other in outline.types.values():
        backs = [one for one in other.fields if one.kind == "list" and one.refers_to in gone]
        records = types_in(state).get(other.name, {})
        changed = dict(records)
        for one in backs:
            removed = gone[one.refers_to or ""]
            for id, record in records.items():
                kept = record.get(one.name)
                if isinstance(kept, list) and any(str(each) in removed for each in kept):
                    changed[id] = {
                        **changed[id],
                        one.name: [each for each in kept if str(each) not in removed],
                    }
        if changed != records:
            state = {**state, other.name: changed}  # type: ignore[dict-item]
    return state


# -- other values


def set_values(
    ground: Ground, own: TypeOutline, changed: Mapping[str, Mapping[str, Json]], now: str
) -> JsonObject:
    """Other values by id and field, with what follows from each."""
    records = dict(types_in(ground.state)[own.name])
    for id, values in changed.items():
        for one in own.fields:
            if one.name in values:
                records[id] = _with(ground.outline, own, records[id], one, values[one.name], now)
    state: JsonObject = {**ground.state, own.name: records}  # type: ignore[dict-item]
    names = {name for values in changed.values() for name in values}
    is_relinked = any(one.name in names for one in own.references)
    return _relinked(ground, own, [*changed], state) if is_relinked else state


def _with(
    outline: Outline, own: TypeOutline, record: JsonObject, field: FieldOutline, value: Json, now: str
) -> JsonObject:
    status = own.status
    if status is not None and field.name == status.name:
        return _in_state(own, {**record, field.name: value}, value, now)
    if field.is_moment:
        return {**record, field.name: value}
    return with_value(own, outline, record, field, value)


def _in_state(own: TypeOutline, record: JsonObject, state: Json, now: str) -> JsonObject:
    """Moments that the new state rules out go, the one that it is about comes."""
    changed = dict(record)
    states = own.status.values if own.status is not None and own.status.values else (state,)
    latest = datetime.fromisoformat(now).replace(tzinfo=None)
    for one in own.fields:
        if not one.is_moment or one.name not in record or rank_of(one.name) is None:
            continue
        happened = has_happened(one.name, state, states)
        if happened is False and (said_state(one.name, states) is not None or record[one.name] is None):
            changed[one.name] = None
        elif said_state(one.name, (state,)) == state and record[one.name] is None:
            changed[one.name] = write_moment(one, latest - timedelta(hours=5))
    return changed


def _relinked(ground: Ground, own: TypeOutline, ids: Sequence[str], state: JsonObject) -> JsonObject:
    """Lists of who refers to whom follow a changed reference."""
    removed = _without_listed(state, ground.outline, {own.name: set(ids)})
    records = types_in(state)[own.name]
    return _with_back_links(removed, ground.outline, own, {id: records[id] for id in ids})


def spread_owners(
    ground: Ground, own: TypeOutline, ids: Sequence[str], link: FieldOutline, draw: Draw
) -> JsonObject:
    owners = list(types_in(ground.state)[link.refers_to or ""])
    if not owners:
        raise refused(f"there is nothing that {link.name} could refer to")
    records = dict(types_in(ground.state)[own.name])
    order = draw.shuffled(ids, "owners")
    for at, id in enumerate(order):
        owner = owners[at % len(owners)]
        records[id] = {**records[id], link.name: link.kept(owner)}
    state: JsonObject = {**ground.state, own.name: records}  # type: ignore[dict-item]
    return _relinked(ground, own, ids, state)


def spread_values(
    ground: Ground, own: TypeOutline, ids: Sequence[str], field: FieldOutline, draw: Draw, now: str
) -> JsonObject:
    """Every value alike; who has one that is still wanted keeps it."""
    values: Sequence[Json] = draw.shuffled(field.values or (True, False), "spread")[: len(ids)]
    records = dict(types_in(ground.state)[own.name])
    share, more = divmod(len(ids), len(values)) if values else (0, 0)
    values_by_key = {repr(value): [value] * (share + (at < more)) for at, value in enumerate(values)}
    loose = [id for id in ids if not _taken(values_by_key.get(repr(records[id].get(field.name))))]
    remaining = [value for rest in values_by_key.values() for value in rest]
    for id, value in zip(draw.shuffled(loose, "values"), remaining, strict=True):
        records[id] = _with(ground.outline, own, records[id], field, value, now)
    return {**ground.state, own.name: records}  # type: ignore[dict-item]


def _taken(left: list[Json] | None) -> bool:
    """Whether there was one of them left."""
    if left:
        left.pop()
        return True
    return False


def spread_times(
    ground: Ground, own: TypeOutline, ids: Sequence[str], field: FieldOutline, days: float, now: str
) -> JsonObject:
    """Evenly back from now, in the order in which they stand; a record's other moments move along."""
    records = dict(types_in(ground.state)[own.name])
    latest = datetime.fromisoformat(now).replace(tzinfo=None)
    dated = sorted(ids, key=lambda id: str(records[id].get(field.name) or ""), reverse=True)
    for at, id in enumerate(dated):
        moment = latest - timedelta(days=1 + (days - 1) * at / max(1, len(dated) - 1))
        value = write_moment(field, moment.replace(minute=15, second=0, microsecond=0))
        records[id] = _not_to_come(own, with_value(own, ground.outline, records[id], field, value), latest)
    return {**ground.state, own.name: records}  # type: ignore[dict-item]


def _not_to_come(own: TypeOutline, record: JsonObject, latest: datetime) -> JsonObject:
    changed = dict(record)
    for one in own.fields:
        moment = moment_of(record.get(one.name)) if one.is_moment and rank_of(one.name) is not None else None
        if moment is not None and moment.at.replace(tzinfo=None) > latest:
            changed[one.name] = write_moment(one, latest - timedelta(hours=1))
    return changed
