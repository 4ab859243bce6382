"""New records: create, add, book, place, send. What is made is what the name's nouns mean, else what the verb
makes (`reserve_book` makes a reservation), else the one type that has a field for all that must be given."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.core.english.verbs import MADE_BY, VAGUE
from pipelines.core.english.words import article, joined, singular, singulars, tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import find_field
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.shapes import Collection, Field, Singleton, empty_table
from pipelines.core.simulation.expr.make import (
    Draft,
    arg,
    arithmetic,
    call,
    constant,
    is_given,
    listed,
)
from pipelines.core.simulation.expr.nodes import Constant, Expr, Item, Name
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.listing import is_spoken_of
from pipelines.core.simulation.reading.records import counter_for, creation_times, noun_of, source_of
from pipelines.core.simulation.reading.replies import as_expression, properties_of, reply
from pipelines.core.simulation.reading.session import current_user
from pipelines.core.simulation.reading.states import initial_state, status_of
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    dot,
    find_one,
    find_reference,
    id_of,
    name_for,
    refusal,
    require,
)
from pipelines.core.simulation.reading.targets import best_collection
from pipelines.core.simulation.reading.tool_reading import Reading

_OWNERS = ("created_by", "owner", "user", "username", "user_id", "author", "sender", "sender_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Home:
    """Where the new record goes."""

    collection: Collection
    service: Singleton | None  # keeps the collection, or its counters
    counter: str | None  # gives the next id
    counts: tuple[str, ...]  # fields that count such records
    by_fields: bool = False  # found by what is given, not by any name

    @property
    def noun(self) -> str:
        return noun_of(self.collection)

    @property
    def is_table(self) -> bool:
        return self.collection.form == "table"

    @property
    def id_field(self) -> str:
        return self.collection.id_field or "id"

    @property
    def kept_at(self) -> Expr:
        return dot(name_for(self.collection.entity_type), *self.collection.path)


def read_made(reading: Reading) -> Drafted | None:
    """One more of a type that is there; what is not there is made last of all, if nothing else fits."""
    home = _home(reading)
    is_there = home is not None and (not home.collection.is_empty or home.collection.placeholder is not None)
    return read_create(reading) if is_there or reading.known.is_empty else None


def read_recorded(reading: Reading) -> Drafted | None:
    """`mark_attendance(student_id, date, status)`: no student has a date, but records of attendance do. What
    are given are the fields of a type that the tool does not name, so one more of it is made."""
    given = [one for one in reading.arguments if one.is_required]
    found = reading.subject
    if len(given) < 2 or found is None or found.collection.form != "table":
        return None
    if reading.name.op == "update" and all(one.id_noun is not None for one in given):
        return None  # what only refers to others tells nothing that could be recorded
    others = [one for one in given if one is not found.id_argument]
    if all(field_for(one, found.collection) is not None for one in others):
        return None
    into = _with_fields_for(reading, given)
    return read_create(reading, into) if into is not None else None


def read_create(reading: Reading, into: Collection | None = None) -> Drafted | None:
    home = _home(reading) if into is None else replace(_home_in(reading, into), by_fields=True)
    if home is None or (into is None and _is_there_already(reading, home.collection)):
        return None
    if _says_nothing(reading, home):
        return None
    attrs = _attributes(reading, home)
    steps: list[Step] = [*_service_found(reading, home), *_references(reading, home)]
    user = current_user(reading)
    if user is not None and user in attrs.values():  # it belongs to whoever is signed in: somebody must be
        steps.append(require(is_given(user), refusal("not_logged_in", "Nobody is logged in", 401)))
    steps += [*_kept(home, attrs), *_counted(home)]
    steps.append({"return": _reply(reading, home)})
    new = [f"`{name}`" for name in attrs if name not in home.collection.fields]
    is_new = home.collection.is_empty or not home.collection.fields
    return Drafted(
        steps=tuple(steps),
        notes=_notes(home, reading),
        remarks=(f"no {home.noun} has {', '.join(new)} yet: the new one does",) if new and not is_new else (),
        # What is kept of a type that nobody seeded is a guess.
        confidence=0.8 if not home.collection.is_empty else 0.45,
    )


# -- where it goes


def _home(reading: Reading) -> _Home | None:
    thing = reading.thing or (singular(reading.name.verb),)
    table = best_collection(thing, reading.known, reading.service)
    product = MADE_BY.get(reading.name.verb)
    about = reading.subject.collection if reading.subject is not None else None
    if product is not None and (table is None or table.is_empty or table == about):
        thing = (product,)  # reserve_book(book_id) makes a reservation, not a book
        table = best_collection(thing, reading.known, reading.service)
    if table is not None and ((not table.of_records and not table.is_empty) or table.in_each):
        table = None
    if table is None or not _is_likely(reading, table):
        taking = _taking(reading)
        if taking is not None:
            return replace(_home_in(reading, taking), by_fields=not is_spoken_of(reading, taking))
        table = table if table is not None and table.is_empty else None
    if table is None and reading.known.is_closed:
        return None
    return _home_in(reading, table or empty_table(name_for(thing[-1:]), {}))


def _home_in(reading: Reading, collection: Collection) -> _Home:
    kind = collection.entity_type
    own = (one for one in reading.known.singletons if f"{kind}_".startswith(f"{one.entity_type}_"))
    service = next(own, reading.service)  # shop keeps shop_orders
    counted = counter_for(noun_of(collection), service)
    return _Home(
        collection=collection,
        service=service,
        counter=counted[0] if counted and counted[1] else None,
        counts=(counted[0],) if counted and not counted[1] else (),
    )


def _is_likely(reading: Reading, collection: Collection) -> bool:
    """Whether such records have what must be given: `return_book(loan_id)` makes no book."""
    given = [one for one in reading.arguments if one.is_required]
    if collection.is_empty or collection.form != "table":
        return not collection.is_empty
    known = sum(field_for(one, collection) is not None for one in given)
    return not given or known * 2 >= len(given)


def _taking(reading: Reading) -> Collection | None:
    """`onboard(first_name, title, salary)`: the one type that has a field for all that must be given."""
    given = [one for one in reading.arguments if one.is_required]
    # reserve_book makes a reservation, though a loan has a book and a member, too.
    if len(given) < 2 or all(one.id_noun is not None for one in given):
        return None
    return _with_fields_for(reading, given)


def _with_fields_for(reading: Reading, given: Sequence[Argument]) -> Collection | None:
    """The one type that has them all: of several the one whose id the reply tells, or that is spoken of."""
    fit = [table for table in reading.known.tables.values() if _takes(table, given)]
    replied = [*map(noun_of_id, properties_of(reading.output))]
    named_tables = [table for table in fit if any(joined(noun) in table.own_names for noun in replied)]
    spoken = [table for table in named_tables or fit if is_spoken_of(reading, table)]
    into = spoken or named_tables or fit
    return into[0] if len(into) == 1 else None


def _takes(table: Collection, given: Sequence[Argument]) -> bool:
    own = any(joined(noun_of_id(one.name)) in table.own_names for one in given if one.id_noun)
    return not table.is_empty and not own and all(field_for(one, table) is not None for one in given)


def _is_there_already(reading: Reading, collection: Collection) -> bool:
    """`notify_client(client_id, message)` makes no client: the one whose id is given is there."""
    if collection.is_empty or collection.form != "table":
        return False
    own = [one for one in reading.arguments if one.is_required and one.id_noun and one.is_scalar]
    named = [find_field(collection.fields, one.name) for one in own]
    if collection.id_field is not None and collection.id_field in named:
        return False
    # The manager of a new employee is there, and is another one.
    picked = [one for one, name in zip(own, named, strict=True) if name is None]
    homes = (best_collection(one.id_noun or (), reading.known, reading.service) for one in picked)
    return any(home == collection for home in homes)


def _says_nothing(reading: Reading, home: _Home) -> bool:
    """Of a type that nobody seeded: post_adjustment(ref, data), run_night_job(job), `loan_return(loan_id)`
    where there are no loans. Neither the world, the name nor the arguments tell what would be made."""
    if not home.collection.is_empty or home.collection.placeholder is not None:
        return False
    ids = [one for one in reading.arguments if one.id_noun]
    words = tokens(reading.tool.name)[len(reading.name.service) :]
    if not reading.known.is_empty:
        given = (one.id_noun for one in ids if one.is_required and one.is_scalar)
        meanings = [best_collection(noun or (), reading.known, reading.service) for noun in given]
        is_unnamed = (not reading.name.nouns or words[0] in VAGUE) and not ids
        if is_unnamed or any(one is None or one.is_empty for one in meanings):
            return True
    opaque = [one for one in reading.arguments if one.kind == "object" and not one.schema.get("properties")]
    plain = [
        one for one in reading.arguments if one.id_noun is None and one.words[-1] not in ("ref", "reference")
    ]
    return bool(opaque) and all(one in opaque for one in plain)


# -- what it is made of


def _service_found(reading: Reading, home: _Home) -> list[Step]:
    needed = home.counter or home.counts or home.collection.placeholder or home.collection.in_singleton
    if home.service is None or not (needed or current_user(reading)):
        return []
    return [find_one(name_for(home.service.entity_type), home.service.entity_type, constant(home.service.id))]


def _references(reading: Reading, home: _Home) -> list[Step]:
    """Ids of other things in the arguments: they must exist."""
    steps: dict[str, Step] = {}
    kept = {link.path: link.entity_type for link in home.collection.links}
    for argument in reading.arguments:
        if not argument.is_scalar or not argument.is_required:
            continue
        target_type = kept.get(field_for(argument, home.collection) or ())
        noun = argument.id_noun or ()
        named = best_collection(noun, reading.known, reading.service) if noun else None
        other = named or reading.known.tables.get(target_type or "")
        if other is None or other.form != "table" or other.is_empty:
            continue
        # The manager of a new employee is another employee.
        is_own = find_field(home.collection.fields, argument.name) in (None, home.collection.id_field)
        bound = name_for(noun_of(other), avoid=(home.noun,))
        if not (other == home.collection and is_own):
            steps.setdefault(bound, find_reference(bound, other.entity_type, arg(argument.name)))
    return [*steps.values()]


def _attributes(reading: Reading, home: _Home) -> dict[str, Draft]:
    """The record: its id, the arguments under the names the world uses, and what a new record starts with."""
    collection = home.collection
    attrs: dict[str, Draft] = {}
    if home.counter is not None and home.service is not None:
        attrs[home.id_field] = dot(name_for(home.service.entity_type), home.counter)
    elif collection.id_field is not None:
        attrs[home.id_field] = call("int", _new_id(home)) if collection.numeric_ids else _new_id(home)
    for argument in reading.arguments:
        path = field_for(argument, collection)
        name = path[0] if path is not None and len(path) == 1 else argument.name
        if name != collection.id_field:
            attrs[name] = _given(argument)
    started = _beginnings(reading, home)
    return attrs | {name: value for name, value in started.items() if name not in attrs}


def _new_id(home: _Home) -> Expr:
    if home.is_table:
        return call("new_id", constant(home.collection.entity_type))
    kept, id = home.kept_at, dot("one", home.id_field)
    ids = listed(call("int", Name("key")), "key", call("keys", kept))
    ids = ids if home.collection.form == "map" else listed(call("int", id), "one", kept)
    return _one_more(call("default", call("max", ids), Constant(0)))


def _one_more(number: Expr) -> Expr:
    return arithmetic(number, "+", Constant(1))


def _given(argument: Argument) -> Expr:
    """The argument; its declared default where it is left out."""
    otherwise = [] if argument.default is None and argument.kind == "list" else argument.default
    if argument.is_required or otherwise is None:
        return arg(argument.name)
    return call("default", arg(argument.name), constant(otherwise))


def _beginnings(reading: Reading, home: _Home) -> dict[str, Draft]:
    """Status, times and owner of a new record; empty where records have lists, null where all are."""
    collection = home.collection
    started: dict[str, Draft] = {}
    status = status_of(reading, collection) or (("status",) if _has_states(reading, home) else None)
    if status is not None:
        first = constant(initial_state(reading, collection))
        started[status[0]] = dict.fromkeys(status[1:], first) if status[1:] else first
    started |= creation_times(collection.fields)
    user = current_user(reading)
    own = next((name for name in _OWNERS if name in collection.fields), None)
    if user is not None and home.service is reading.service and (own is not None or collection.is_empty):
        started[own or "created_by"] = user
    for name, field in collection.fields.items():
        if field.keeps is not None:
            started[name] = [] if field.keeps == "list" else {}
        elif field.kinds == {"null"}:
            started[name] = None
    return started


def _has_states(reading: Reading, home: _Home) -> bool:
    """Of a type without records: whether other tools of the noun change its state (close_case)."""
    names = (tool.name for tool in reading.known.tools.values())
    is_changed = any(one.op == "transition" and home.noun in singulars(one.nouns) for one in names)
    return is_changed and (home.collection.is_empty or not home.collection.fields)


# -- the steps that keep it


def _kept(home: _Home, attrs: dict[str, Draft]) -> list[Step]:
    """The step that puts the record where it belongs."""
    collection, noun = home.collection, home.noun
    if not home.is_table:
        id = "id" if home.counter is not None else collection.id_field
        if collection.form == "list":
            return [{"let": {noun: attrs}}, {"append": {home.kept_at: Name(noun)}}]
        if id is not None:
            return [{"let": {noun: attrs}}, {"set": {Item(home.kept_at, dot(noun, id)): Name(noun)}}]
        place = Item(home.kept_at, Name("new_key"))
        return [{"let": {"new_key": _new_id(home), noun: attrs}}, {"set": {place: Name(noun)}}]
    added: dict[str, Draft] = {"in": collection.entity_type, "attrs": attrs, "as": noun}
    if home.counter is not None or collection.id_field is not None:
        added["id"] = call("str", as_expression(attrs.get(home.id_field)))
    steps: list[Step] = [{"add": added}]
    if collection.placeholder is not None and home.service is not None:
        kept = dot(name_for(home.service.entity_type), *collection.placeholder[2])
        steps.insert(0, {"unset": [kept]})
    return steps


def _counted(home: _Home) -> list[Step]:
    counters = [*home.counts, *([home.counter] if home.counter else [])]
    if home.service is None or not counters:
        return []
    places = [dot(name_for(home.service.entity_type), name) for name in counters]
    return [{"set": {place: _one_more(place) for place in places}}]


def _reply(reading: Reading, home: _Home) -> Draft:
    id = id_of(home.noun) if home.is_table else dot(home.noun, home.id_field)
    source = source_of(home.collection, home.noun, home.noun, id)
    own = {one.name: Field(name=one.name) for one in reading.arguments}  # fields of the record now
    source = replace(source, fields={**own, **home.collection.fields})
    if reading.output or home.collection.id_field is not None or home.counter or not home.is_table:
        return reply(source, reading.output, reading.arguments)
    return {"id": id, "...": Name(home.noun)}


def _notes(home: _Home, reading: Reading) -> tuple[str, ...]:
    kind = f"{article(home.noun).lower()} {home.noun}"
    if home.by_fields:
        given = ", ".join(f"`{one.name}`" for one in reading.arguments if one.is_required)
        return (f"one more {home.noun} is made: only such records have all of {given}, no name says {kind}",)
    if home.collection.is_empty and home.collection.placeholder is None:
        return (f"nothing like {kind} is in the seeded state: a new type `{home.collection.entity_type}`",)
    return ()
