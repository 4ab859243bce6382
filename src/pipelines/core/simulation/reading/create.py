"""New records: create, add, book, place, send; and whatever no other family understands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.core.english.verbs import MADE_BY, VAGUE
from pipelines.core.english.words import article, joined, singular, singulars, tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import find_field
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.roles import status_path
from pipelines.core.simulation.domain.shapes import Collection, Field, Singleton, empty_table
from pipelines.core.simulation.expr.make import (
    Draft,
    arg,
    arithmetic,
    call,
    constant,
    entity,
    is_given,
    is_null,
    listed,
    message,
)
from pipelines.core.simulation.expr.nodes import Constant, Expr, Item, Name
from pipelines.core.simulation.reading.asked import is_spoken_of
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.listing import current_user, owner_field
from pipelines.core.simulation.reading.records import noun_of, source_of
from pipelines.core.simulation.reading.replies import properties_of, reply
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
from pipelines.core.simulation.reading.targets import best_collection, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.transition import allowed_values
from pipelines.core.simulation.reading.writing import counter_for, creation_times


@dataclass(frozen=True, kw_only=True, slots=True)
class _Home:
    """Where the new record goes."""

    collection: Collection
    noun: str
    service: Singleton | None  # keeps the collection, or its counters
    counter: str | None  # gives the next id
    counts: tuple[str, ...]  # fields that count such records
    own_id: Expr | None = None  # the caller says which id the new one gets
    by_fields: bool = False  # found by what is given, not by any name


def read_recorded(reading: Reading) -> Drafted | None:
    """`mark_attendance(student_id, date, status)`: no student has a date, but records of attendance do.

    What is given are the fields of a type that the tool does not name, so one more of it is made. What only
    refers to others tells nothing that could be recorded: `update_play(play_id, staff_id)` makes no costume.
    """
    given = [one for one in reading.arguments if one.is_required]
    found = reading.subject
    if len(given) < 2 or found is None or found.collection.form != "table":
        return None
    if reading.name.op == "update" and all(one.id_noun is not None for one in given):
        return None
    others = [one for one in given if one is not found.id_argument]
    if all(field_for(one, found.collection) is not None for one in others):
        return None
    fit = [table for table in reading.known.tables.values() if takes(table, given)]
    told = [table for table in fit if _is_told(reading, table)]
    into = told or fit
    return read_create(reading, into[0], by_fields=True) if len(into) == 1 else None


def takes(table: Collection, given: Sequence[Argument]) -> bool:
    own = any(joined(noun_of_id(one.name)) in table.own_names for one in given if one.id_noun)
    return not table.is_empty and not own and all(field_for(one, table) is not None for one in given)


def _is_told(reading: Reading, table: Collection) -> bool:
    """The reply gives the id of such a record."""
    return any(joined(noun_of_id(name)) in table.own_names for name in properties_of(reading.output))


def read_made(reading: Reading) -> Drafted | None:
    """One more of a type that is there; what is not there is made last of all, if nothing else fits."""
    home = _home(reading)
    is_there = home is not None and (not home.collection.is_empty or home.collection.placeholder is not None)
    return read_create(reading) if is_there or reading.known.is_empty else None


def read_create(
    reading: Reading, into: Collection | None = None, *, by_fields: bool = False
) -> Drafted | None:
    home = _home(reading) if into is None else replace(_home_in(reading, into), by_fields=by_fields)
    if home is None or (into is None and _is_there_already(reading, home.collection)):
        return None
    if _says_nothing(reading, home) or _is_of_unknown(reading, home):
        return None
    references, known = _references(reading, home.collection, home.noun)
    attrs = _attributes(reading, home)
    steps: list[Step] = [*allowed_values(reading.arguments), *_service_found(reading, home), *known]
    steps += _signed_in(reading, attrs)
    steps += _kept(home, attrs)
    steps += _counted(home)
    linked = _linked(home, references)
    steps += linked
    steps.append({"return": _reply(reading, home)})
    # What is kept of a type that nobody seeded is a guess.
    confidence = 0.8 if not home.collection.is_empty else 0.45
    return Drafted(
        steps=tuple(steps),
        notes=(*_notes(home, reading), *((_LISTED.format(home.noun),) if linked else ())),
        remarks=tuple(_new_fields(home, attrs)),
        confidence=confidence,
    )


def _is_there_already(reading: Reading, collection: Collection) -> bool:
    """`notify_client(client_id, message)` makes no client: the one whose id is given is there."""
    if collection.is_empty or collection.form != "table":
        return False
    own = [one for one in reading.arguments if one.is_required and one.id_noun and one.is_scalar]
    named = [find_field(collection.fields, one.name) for one in own]
    if (collection.id_field is not None and collection.id_field in named) or _own_id(reading, collection):
        return False
    # The manager of a new employee is there, and is another one.
    picked = [one for one, name in zip(own, named, strict=True) if name is None]
    homes = (best_collection(one.id_noun or (), reading.known, reading.service) for one in picked)
    return any(home == collection for home in homes)


def _own_id(reading: Reading, collection: Collection) -> Argument | None:
    """`register_cow(ear_tag, name, born)`: the id of the new one, given with most of what such have."""
    if collection.is_empty or collection.form != "table" or reading.name.op != "create":
        return None
    needed = [one for one in reading.arguments if one.is_required]
    fields = {one.name: field_for(one, collection) for one in needed}
    own = [
        one
        for one in needed
        if one.is_scalar
        and one.id_noun
        and find_field(collection.fields, one.name) in (None, collection.id_field)
        and best_collection(one.id_noun, reading.known, reading.service) == collection
    ]
    others = [one for one in needed if one not in own]
    if len(own) != 1 or len(others) < 2 or any(fields[one.name] is None for one in others):
        return None
    status = status_path(collection.fields) or ("",)
    usual = [
        name
        for name, one in collection.fields.items()
        if name not in (collection.id_field, status[0]) and "null" not in one.kinds and one.keeps is None
    ]
    return own[0] if len(others) * 2 >= len(usual) else None


def _says_nothing(reading: Reading, home: _Home) -> bool:
    """post_adjustment(ref, data), run_night_job(job): neither the world, the name nor the arguments tell what
    would be made."""
    if not home.collection.is_empty or home.collection.placeholder is not None:
        return False
    words = tokens(reading.tool.name)[len(reading.name.service) :]
    is_unnamed = not reading.name.nouns or words[0] in VAGUE
    if is_unnamed and not reading.known.is_empty and not any(one.id_noun for one in reading.arguments):
        return True
    opaque = [one for one in reading.arguments if one.kind == "object" and not one.schema.get("properties")]
    plain = [
        one for one in reading.arguments if one.id_noun is None and one.words[-1] not in ("ref", "reference")
    ]
    return bool(opaque) and all(one in opaque for one in plain)


def _is_of_unknown(reading: Reading, home: _Home) -> bool:
    """`loan_return(loan_id)`, where the world has neither returns nor, as far as can be told, loans: what is
    there under another name would be changed, and nothing made."""
    if not home.collection.is_empty or home.collection.placeholder is not None or reading.known.is_empty:
        return False
    given = (one.id_noun for one in reading.arguments if one.is_required and one.is_scalar and one.id_noun)
    meant = (best_collection(noun, reading.known, reading.service) for noun in given)
    return any(one is None or one.is_empty for one in meant)


def _home(reading: Reading) -> _Home | None:
    thing = reading.thing or (singular(reading.name.verb),)
    collection = best_collection(thing, reading.known, reading.service)
    if collection is not None and _own_id(reading, collection) is not None:
        return _home_in(reading, collection)
    if collection is not None and _is_only_about(collection, thing) and _is_given(reading, collection):
        collection = None
    made = MADE_BY.get(reading.name.verb)
    if made is not None and (
        collection is None or collection.is_empty or reading.picks_own() or _is_given(reading, collection)
    ):
        # reserve_book(book_id) makes a reservation, not a book.
        thing = (made,)
        collection = best_collection(thing, reading.known, reading.service)
    if collection is not None and (
        (not collection.of_records and not collection.is_empty) or collection.in_each
    ):
        collection = None
    if collection is None or not _is_likely(reading, collection):
        taking = _taking(reading)
        if taking is not None:
            return replace(_home_in(reading, taking), by_fields=not is_spoken_of(reading, taking))
        collection = collection if collection is not None and collection.is_empty else None
    if collection is None:
        if reading.known.is_closed:
            return None
        collection = empty_table(name_for(thing[-1:]), {})
    return _home_in(reading, collection)


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
    fit = [table for table in reading.known.tables.values() if takes(table, given)]
    told = [table for table in fit if _is_told(reading, table)]
    spoken = [table for table in told or fit if is_spoken_of(reading, table)]
    into = spoken or told or fit
    return into[0] if len(into) == 1 else None


def _home_in(reading: Reading, collection: Collection) -> _Home:
    noun = noun_of(collection)
    service = _keeper(reading, collection)
    counted = counter_for(noun, service)
    own = _own_id(reading, collection)
    return _Home(
        collection=collection,
        noun=noun,
        service=service,
        counter=counted[0] if counted and counted[1] else None,
        counts=(counted[0],) if counted and not counted[1] else (),
        own_id=arg(own.name) if own is not None else None,
    )


def _is_given(reading: Reading, collection: Collection) -> bool:
    """`book_room(room_no, …)`: the room is there already."""
    found = (subject_of(reading.name, [one], reading.known, reading.service) for one in reading.arguments)
    return any(one is not None and one.collection == collection for one in found)


def _is_only_about(collection: Collection, thing: Sequence[str]) -> bool:
    """send_customer_message makes a message: the customer is whom it is about."""
    words, said = singulars(collection.words), singulars(thing)
    return words[-1] in said[:-1] and said[-1] not in words


def _keeper(reading: Reading, collection: Collection) -> Singleton | None:
    """The service whose collection this is, by name: shop keeps shop_orders."""
    for one in reading.known.singletons:
        if collection.entity_type == one.entity_type or collection.entity_type.startswith(
            one.entity_type + "_"
        ):
            return one
    return reading.service


def _service_found(reading: Reading, home: _Home) -> list[Step]:
    user = current_user(reading)
    needed = home.counter or home.counts or home.collection.placeholder or home.collection.in_singleton
    if home.service is None or not (needed or user):
        return []
    return [find_one(name_for(home.service.entity_type), home.service.entity_type, constant(home.service.id))]


def _signed_in(reading: Reading, attrs: dict[str, Draft]) -> list[Step]:
    """Where a record belongs to whoever is signed in, somebody must be."""
    user = current_user(reading)
    if user is None or user[3] not in attrs.values():
        return []
    return [require(is_given(user[3]), refusal("not_logged_in", "Nobody is logged in", 401))]


def _references(
    reading: Reading, collection: Collection, made: str
) -> tuple[list[tuple[str, Collection]], list[Step]]:
    """Ids of other things in the arguments: they must exist."""
    found: list[tuple[str, Collection]] = []
    steps: list[Step] = []
    kept = {link.path: link.entity_type for link in collection.links}
    for argument in reading.arguments:
        if not argument.is_scalar or not argument.is_required:
            continue
        meant = kept.get(field_for(argument, collection) or ())
        if not argument.id_noun and meant is None:
            continue
        named = (
            best_collection(argument.id_noun, reading.known, reading.service) if argument.id_noun else None
        )
        other = named or reading.known.tables.get(meant or "")
        if other is None or other.form != "table" or other.is_empty:
            continue
        # The manager of a new employee is another employee.
        is_own = find_field(collection.fields, argument.name) in (None, collection.id_field)
        if other == collection and is_own:
            continue
        noun = name_for(noun_of(other), avoid=(made,))
        if all(noun != known for known, _ in found):
            found.append((noun, other))
            steps.append(find_reference(noun, other.entity_type, arg(argument.name)))
    return found, steps


def _attributes(reading: Reading, home: _Home) -> dict[str, Draft]:
    """The record: its id, the arguments under the names the world uses, and what a new record starts with."""
    collection = home.collection
    attrs: dict[str, Draft] = {}
    if home.counter is not None and home.service is not None:
        attrs[collection.id_field or "id"] = dot(name_for(home.service.entity_type), home.counter)
    elif collection.id_field is not None:
        attrs[collection.id_field] = call("int", _new_id(home)) if collection.numeric_ids else _new_id(home)
    for argument in reading.arguments:
        name = _field_name(argument, collection)
        if name != collection.id_field and arg(argument.name) != home.own_id:
            attrs[name] = _given(argument)
    attrs |= {name: value for name, value in _beginnings(reading, home).items() if name not in attrs}
    return attrs


def _new_id(home: _Home) -> Expr:
    collection = home.collection
    if home.own_id is not None:
        return home.own_id
    if collection.form == "table":
        return call("new_id", constant(collection.entity_type))
    kept = _kept_at(home)
    ids = (
        listed(call("int", Name("key")), "key", call("keys", kept))
        if collection.form == "map"
        else listed(call("int", dot("one", collection.id_field or "id")), "one", kept)
    )
    return _one_more(call("default", call("max", ids), Constant(0)))


def _one_more(number: Expr) -> Expr:
    return arithmetic(number, "+", Constant(1))


def _given(argument: Argument) -> Expr:
    """The argument; its declared default where it is left out."""
    otherwise = [] if argument.default is None and argument.kind == "list" else argument.default
    if argument.is_required or otherwise is None:
        return arg(argument.name)
    return call("default", arg(argument.name), constant(otherwise))


def _field_name(argument: Argument, collection: Collection) -> str:
    path = field_for(argument, collection)
    return path[0] if path is not None and len(path) == 1 else argument.name


def _beginnings(reading: Reading, home: _Home) -> dict[str, Draft]:
    """Status, times and owner of a new record; empty lists where records have lists."""
    collection = home.collection
    started: dict[str, Draft] = {}
    status = status_of(reading, collection)
    if status is not None or (
        (collection.is_empty or not collection.fields) and _has_states(reading, home.noun)
    ):
        first = constant(initial_state(reading, collection))
        top, *inner = status or ("status",)
        started[top] = dict.fromkeys(inner, first) if inner else first
    started |= creation_times(collection.fields)
    user, own = current_user(reading), owner_field(collection)
    signed_in_here = user is not None and home.service is not None and user[1] == home.service.entity_type
    if user is not None and signed_in_here and (own is not None or collection.is_empty):
        started[own or "created_by"] = user[3]
    started |= _constants(collection.fields)
    return started


def _constants(fields: Mapping[str, Field]) -> dict[str, Draft]:
    """Containers start empty, and what is null or false in every record starts so."""
    found: dict[str, Draft] = {}
    for name, field in fields.items():
        if field.keeps == "list":
            found[name] = []
        elif field.keeps == "map":
            found[name] = {}
        elif field.kinds == {"null"}:
            found[name] = None
    return found


def _has_states(reading: Reading, noun: str) -> bool:
    """Whether other tools of the same noun change its state: close_case, approve_case."""
    names = (tool.name for tool in reading.known.tools.values())
    return any(one.op == "transition" and noun in singulars(one.nouns) for one in names)


def _kept_at(home: _Home) -> Expr:
    return dot(name_for(home.collection.entity_type), *home.collection.path)


def _kept(home: _Home, attrs: dict[str, Draft]) -> list[Step]:
    """The step that puts the record where it belongs."""
    collection, noun = home.collection, home.noun
    if collection.form == "table":
        added: dict[str, Draft] = {"in": collection.entity_type, "attrs": attrs, "as": noun}
        own: Draft = attrs.get(collection.id_field or "id")
        if home.counter is not None or collection.id_field is not None:
            added["id"] = call("str", own)
        steps: list[Step] = [{"add": added}]
        if home.own_id is not None:
            added["id"] = call("str", home.own_id)
            taken = refusal(f"{noun}_exists", message("There is already one with ", home.own_id))
            is_free = is_null(entity(collection.entity_type, home.own_id))
            steps.insert(0, require(is_free, taken))
        if home.collection.placeholder is not None and home.service is not None:
            steps.insert(
                0, {"unset": [dot(name_for(home.service.entity_type), *home.collection.placeholder[2])]}
            )
        return steps
    if collection.form == "list":
        return [{"let": {noun: attrs}}, {"append": {_kept_at(home): Name(noun)}}]
    id = "id" if home.counter is not None else collection.id_field
    if id is not None:
        return [{"let": {noun: attrs}}, {"set": {Item(_kept_at(home), dot(noun, id)): Name(noun)}}]
    kept = Item(_kept_at(home), Name("new_key"))
    return [{"let": {"new_key": _new_id(home), noun: attrs}}, {"set": {kept: Name(noun)}}]


def _counted(home: _Home) -> list[Step]:
    if home.service is None:
        return []
    holder = name_for(home.service.entity_type)
    counters = [*home.counts, *([home.counter] if home.counter else [])]
    places = [dot(holder, name) for name in counters]
    return [{"set": {place: _one_more(place) for place in places}}] if places else []


def _linked(home: _Home, references: Sequence[tuple[str, Collection]]) -> list[Step]:
    """A user that lists its orders' ids gets the new one's."""
    links: dict[Expr, Draft] = {}
    for noun, other in references:
        for name, field in other.fields.items():
            if field.keeps == "list" and not field.of_records and home.noun in singulars(tokens(name)):
                is_table = home.collection.form == "table"
                links[dot(noun, name)] = id_of(home.noun) if is_table else dot(home.noun, "id")
    return [{"append": links}] if links else []


def _reply(reading: Reading, home: _Home) -> Draft:
    is_table = home.collection.form == "table"
    id = id_of(home.noun) if is_table else dot(home.noun, home.collection.id_field or "id")
    source = replace(
        source_of(home.collection, home.noun, home.noun, id), fields=_fields_after(reading, home)
    )
    if reading.output or home.collection.id_field is not None or home.counter is not None or not is_table:
        return reply(source, reading.output, reading.arguments)
    return {"id": id, "...": Name(home.noun)}


def _fields_after(reading: Reading, home: _Home) -> Mapping[str, Field]:
    """The record has its arguments as fields now, even where nothing of its kind was seeded."""
    own = {_field_name(one, home.collection): Field(name=one.name) for one in reading.arguments}
    if status_of(reading, home.collection) is None and _has_states(reading, home.noun):
        own["status"] = Field(name="status")
    return {**own, **home.collection.fields}


def _notes(home: _Home, reading: Reading) -> tuple[str, ...]:
    if home.by_fields:
        kind = f"{article(home.noun).lower()} {home.noun}"
        given = ", ".join(f"`{one.name}`" for one in reading.arguments if one.is_required)
        return (f"one more {home.noun} is made: only such records have all of {given}, no name says {kind}",)
    if home.collection.is_empty and home.collection.placeholder is None:
        kind = f"{article(home.noun).lower()} {home.noun}"
        return (f"nothing like {kind} is in the seeded state: a new type `{home.collection.entity_type}`",)
    return ()


_LISTED = "the id of the new {} is added to what lists such ids"


def _new_fields(home: _Home, attrs: dict[str, Draft]) -> Iterator[str]:
    new = [name for name in attrs if name not in home.collection.fields]
    if new and home.collection.fields and not home.collection.is_empty:
        yield f"no {home.noun} has {', '.join(f'`{name}`' for name in new)} yet: the new one does"
