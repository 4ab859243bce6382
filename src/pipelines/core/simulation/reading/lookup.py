"""Reads of one thing: a record by id or by its fields, a part of it, or a value that a service keeps."""

from collections.abc import Mapping, Sequence

from pipelines.core.english.words import article, joined, singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.roles import field_at
from pipelines.core.simulation.domain.shapes import Collection, Field, Singleton, empty_table
from pipelines.core.simulation.domain.tool_names import without_generic
from pipelines.core.simulation.expr.make import (
    ARGS,
    NULL,
    Draft,
    all_of,
    arg,
    call,
    constant,
    each_of,
    entity,
    is_equal,
    is_given,
    listed,
    message,
)
from pipelines.core.simulation.expr.nodes import Call, Compare, Expr, ListOf, Name
from pipelines.core.simulation.reading.asked import asked_collection
from pipelines.core.simulation.reading.filters import condition_of, field_for, only_those
from pipelines.core.simulation.reading.records import noun_of, ownership, source_of
from pipelines.core.simulation.reading.replies import Source, find_path, properties_of, reply
from pipelines.core.simulation.reading.restrictions import restrictions
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    bind,
    dot,
    find_one,
    id_of,
    missing,
    name_for,
    not_found,
    refers,
    refusal,
    require,
)
from pipelines.core.simulation.reading.targets import Subject, best_collection
from pipelines.core.simulation.reading.tool_reading import Reading

_UNTOLD = "whether it is so is not worked out: the reply is the record that is asked about"
_WHOLE = word_set("details detail info information data record id profile")


def read_lookup(reading: Reading) -> Drafted | None:
    """A read of one thing; None when no record, field or value answers to the tool's words."""
    families = (
        *((_by_id,) if reading.names_field else ()),
        _through_link,
        _of_what_is_picked,
        _by_id,
        _by_any_id,
        _by_fields,
        read_service_value,
        _by_unknown_id,
    )
    return next((found for family in families if (found := family(reading)) is not None), None)


def _by_id(reading: Reading) -> Drafted | None:
    found = reading.subject
    if found is None:
        return None
    if is_only_spoken_of(found.collection):
        seeded = [one for one in reading.known.tables.values() if not one.is_empty]
        if found.id_argument.id_noun == ():
            return _by_any_id(reading)
        if seeded:
            # A field that calls a firm `employer` says nothing against its being the company that is asked
            # for; a tool that asks for it by another name does.
            asked = {noun for facts in reading.known.tools.values() for noun in facts.id_nouns}
            free = [one for one in seeded if asked.isdisjoint(one.called)]
            return _by_whoever_has_it(reading, found, free or seeded)
        if reading.output:
            return None  # the world knows no such things at all: what they are like is invented
    bound = bind(found.collection, arg(found.id_argument.name), noun_of(found.collection))
    others = [one for one in reading.arguments if one is not found.id_argument]
    steps = [*bound.steps, *ownership(bound, others, reading)]
    part = part_asked(reading, bound)
    if part is not None and not reading.output:
        value = dot(bound.noun, *part)
        named: Draft = {part[-1]: value} if reading.answers_in_objects else value
        return Drafted(steps=(*steps, {"return": named}), confidence=0.8)
    untold = (_UNTOLD,) if reading.asks_whether() and not reading.output else ()
    sure = 0.4 if untold else 0.95  # what was asked is left out: a guess, and named as one
    return Drafted(steps=(*steps, {"return": _record_reply(reading, bound)}), notes=untold, confidence=sure)


def is_only_spoken_of(collection: Collection) -> bool:
    """Nothing of the kind is seeded, and no tool makes or changes any."""
    is_known = collection.placeholder or collection.fields or not collection.is_empty
    return collection.form == "table" and not is_known


def _by_whoever_has_it(reading: Reading, asked: Subject, types: Sequence[Collection]) -> Drafted:
    """Which of these types is meant is for the id to say, to the letter."""
    id, noun = arg(asked.id_argument.name), noun_of(asked.collection)
    held = ListOf(tuple(entity(one.entity_type, id) for one in types))
    exact = _first_with(id, held, is_given(Name("one")))
    fields = {name: field for one in types for name, field in one.fields.items()}
    source = Source(value=Name(noun), noun=noun, fields=fields, id=id_of(noun))
    steps: tuple[Step, ...] = (
        {"let": {noun: exact}},
        require(is_given(Name(noun)), missing(noun, id)),
        {"return": reply(source, reading.output, reading.arguments)},
    )
    note = f"no type is plainly {article(noun).lower()} {noun}: whichever has the id is taken for one"
    return Drafted(steps=steps, notes=(note,), confidence=0.5)


def _first_with(id: Expr, source: Expr, *tests: Expr) -> Expr:
    """The one that has the id to the letter."""
    exact = is_equal(id_of("one"), call("str", id))
    return call("first", each_of(Name("one"), "one", source, all_of(*tests, exact)))


def _through_link(reading: Reading) -> Drafted | None:
    """`guardian_contact(student_id)`: of the student only the guardian is asked for, whom it names."""
    found, wanted = reading.subject, reading.collection
    if found is None or wanted is None or wanted.form != "table" or found.collection.form != "table":
        return None
    same = wanted.entity_type == found.collection.entity_type
    links = [link for link in found.collection.links if link.entity_type == wanted.entity_type]
    if (
        same
        or len(links) != 1
        or any(one.entity_type == found.collection.entity_type for one in wanted.links)
    ):
        return None
    bound = bind(found.collection, arg(found.id_argument.name), noun_of(found.collection))
    part = part_asked(reading, bound)
    if part not in (None, links[0].path) or not _covers_more(reading, wanted, found.collection):
        return None  # `customer_balance(account_id)`: the account has it
    noun = name_for(noun_of(wanted), avoid=(bound.noun,))
    linked = find_one(noun, wanted.entity_type, dot(bound.noun, *links[0].path))
    other = Bound(steps=(), id=id_of(noun), noun=noun, collection=wanted, holder=noun)
    steps = (*bound.steps, linked, {"return": _record_reply(reading, other)})
    return Drafted(steps=steps, confidence=0.75)


def _of_what_is_picked(reading: Reading) -> Drafted | None:
    """`lease_by_unit(unit_id)`, `current_trip(rider_id)`: the one record that refers to what the id picks."""
    found = reading.subject
    if found is None or not found.id_argument.is_required:
        return None
    wanted = reading.collection
    if wanted is None or wanted.is_empty:
        return None
    if reading.name.op == "check" or reading.asks_whether():
        return None
    links = [
        link
        for link in (*wanted.links, *wanted.list_links)
        if link.entity_type == found.collection.entity_type
    ]
    same = wanted.entity_type == found.collection.entity_type
    if same or len(links) != 1 or found.collection.form != "table" or wanted.form != "table":
        return None
    picked = bind(found.collection, arg(found.id_argument.name), noun_of(found.collection))
    if part_asked(reading, picked) is not None or not _covers_more(reading, wanted, found.collection):
        return None
    noun = name_for(noun_of(wanted), avoid=(picked.noun,))
    such = restrictions(reading, wanted, noun, [links[0].path])
    # What a tool is given whose effect is not clear may be what it would keep.
    given = reading.arguments if reading.name.reads() else ()
    others = [one for one in given if one is not found.id_argument and one.is_required]
    asked = [said for one in others if (said := condition_of(one, noun, wanted)) is not None]
    where = all_of(refers(noun, links[0], arg(found.id_argument.name)), *asked, *such)
    searched: Step = {"as": noun, "in": wanted.entity_type, "where": where, "else": not_found(noun)}
    other: Step = {"find": searched}
    bound = Bound(steps=(), id=id_of(noun), noun=noun, collection=wanted, holder=noun)
    steps = (*picked.steps, other, {"return": _found_reply(reading, wanted, bound.noun)})
    return Drafted(steps=steps, notes=only_those(such), confidence=0.8)


def _has(collection: Collection, name: str) -> bool:
    is_own = joined(noun_of_id(name)) in collection.own_names
    return is_own or find_path(collection.fields, name) is not None


def _covers_more(reading: Reading, one: Collection, other: Collection) -> bool:
    """Whether more of what the reply must have is in the one than in the other."""
    names = list(properties_of(reading.output))
    shared = [sum(find_path(each.fields, name) is not None for name in names) for each in (one, other)]
    return not names or shared[0] > shared[1]


def _record_reply(reading: Reading, bound: Bound) -> Draft:
    part = part_asked(reading, bound)
    inner = field_at(bound.collection.fields, part) if part is not None else None
    names = properties_of(reading.output)
    if (
        part is not None
        and inner is not None
        and inner.keeps is None
        and names
        and all(name in inner.parts for name in names)
    ):
        # `emergency_contact(client_id)`: the name that is asked for is that of the contact
        return reply(Source(value=dot(bound.noun, *part), noun=part[-1], fields=inner.parts), reading.output)
    source = source_of(bound.collection, bound.noun, bound.noun, bound.id, tells_done=False)
    return reply(source, reading.output, reading.arguments)


def part_asked(reading: Reading, bound: Bound) -> tuple[str, ...] | None:
    """`get_order_status(order_id)`: the words after the record's noun name a field of it."""
    own = set(bound.collection.words) | set(tokens(bound.collection.entity_type))
    words = [word for word in reading.name.nouns if singular(word) not in own]
    if not words or words[-1] in _WHOLE:
        return None
    fields = bound.collection.fields
    return find_path(fields, "_".join(words)) or find_path(fields, words[-1])


def _by_any_id(reading: Reading) -> Drafted | None:
    """`get_details_by_id(id)`: nothing says of what, so every table is asked."""
    given = [one for one in reading.arguments if one.id_noun == () and one.is_required]
    tables = [table for table in reading.known.tables.values() if not table.is_empty]
    about = reading.subject
    if len(given) != 1 or not tables or (about is not None and not is_only_spoken_of(about.collection)):
        return None
    id = arg(given[0].name)
    asked = ListOf(tuple(entity(table.entity_type, id) for table in tables))
    candidates, one, found = Name("candidates"), Name("one"), Name("found")
    # An id in another spelling may fit several tables: the one that has it to the letter goes first.
    exact = _first_with(id, candidates)
    failure = refusal("not_found", message("Nothing has the id ", id), 404)
    steps: tuple[Step, ...] = (
        {"let": {"candidates": listed(one, "one", asked, is_given(one))}},
        {"let": {"found": call("default", exact, call("first", candidates))}},
        require(is_given(found), failure),
        {"return": found},
    )
    note = f"nothing says of what `{given[0].name}` is the id: whatever has it is answered"
    return Drafted(steps=steps, notes=(note,), confidence=0.7)


def _by_unknown_id(reading: Reading) -> Drafted | None:
    """An id of something that no type is called, where the tool says nothing else: the data decide."""
    known = reading.known
    given = [
        one
        for one in reading.arguments
        if one.is_required
        and one.is_scalar
        and one.id_noun
        and one.words[-1] in ("id", "uuid", "identifier")  # a country code is of no record
        and best_collection(one.id_noun, known, reading.service) is None
    ]
    seeded = [one for one in known.tables.values() if not one.is_empty]
    if len(given) != 1 or not seeded or reading.subject is not None:
        return None
    spoken = empty_table("_".join(given[0].id_noun or ()), {})
    return _by_whoever_has_it(reading, Subject(collection=spoken, id_argument=given[0], score=0.0), seeded)


def _by_fields(reading: Reading) -> Drafted | None:
    """`find_user_id_by_email(email)`: the one record whose fields are these."""
    collection = asked_collection(reading)
    if collection is None or not collection.of_records or collection.form != "table":
        return None
    given = [one for one in reading.arguments if one.is_required]
    known = [one for one in given if field_for(one, collection) is not None]
    if all(one.is_measure for one in known) or (_may_be_many(reading) and _are_shared(known, collection)):
        return None
    # One unknown field among several leaves enough to find the record by; one alone does not.
    if not known or len(given) - len(known) > 1:
        return None
    noun = noun_of(collection)
    conditions = [said for one in known if (said := condition_of(one, noun, collection))]
    # Plain equality first: that one an index answers.
    conditions.sort(key=lambda one: isinstance(one, Compare) and isinstance(one.first, Call))
    where = all_of(*conditions)
    searched: Step = {"as": noun, "in": collection.entity_type, "where": where, "else": not_found(noun)}
    found: Step = {"find": searched}
    ignored = [one.name for one in given if one not in known]
    return Drafted(
        steps=(found, {"return": _found_reply(reading, collection, noun)}),
        notes=tuple(f"argument `{name}` is not checked: no field answers to it" for name in ignored),
        confidence=0.9 if not ignored else 0.6,
    )


def _may_be_many(reading: Reading) -> bool:
    """Nothing says that it is one: neither a schema, nor `find_user_id_by_email`."""
    return not reading.output and not reading.name.complement("by") and reading.name.nouns[-1:] != ("id",)


def _are_shared(known: Sequence[Argument], collection: Collection) -> bool:
    """`gear_available(kind)`: a kind or a state finds no single one; name and zip may."""
    if len(known) != 1 or known[0].id_noun is not None:
        return False
    path = field_for(known[0], collection)
    field = field_at(collection.fields, path) if path is not None else None
    return field is not None and bool(field.values)


def _found_reply(reading: Reading, collection: Collection, noun: str) -> Draft:
    if reading.name.nouns[-1:] in (("id",), ("ids",)) and not reading.output:
        value = id_of(noun)
        return {f"{noun}_id": value} if reading.answers_in_objects else value
    bound = Bound(steps=(), id=id_of(noun), noun=noun, collection=collection, holder=noun)
    if not reading.output and not collection.shows_id:
        return {
            collection.id_field or "id": bound.id,
            "...": Name(noun),
        }  # found by something else, it is of no use without its id
    return _record_reply(reading, bound)


def taken_for_id(argument: Argument, noun: str) -> str:
    return f"`{argument.name}` is taken for the id of {article(noun).lower()} {noun}, though not called so"


def read_service_value(reading: Reading) -> Drafted | None:
    """`get_opening_hours()`: an attribute of the service, by its words."""
    found = _service_field(reading)
    if found is None or any(one.is_required for one in reading.arguments):
        return None
    service, path, field = found
    holder = name_for(service.entity_type)
    value: Draft = dot(holder, *path)
    if reading.output:
        source = Source(value=value, noun=path[-1], fields=field.parts, is_list=field.keeps == "list")
        value = reply(source, reading.output, reading.arguments)
    elif "object" not in field.kinds or field.keeps is not None:
        value = {reply_name(reading): value}
    into = find_one(holder, service.entity_type, constant(service.id))
    return Drafted(steps=(into, {"return": value}), confidence=0.8)


def reply_name(reading: Reading) -> str:
    """`get_wishlist` answers {"wishlist": …}: the tool's own words name what it returns."""
    return "_".join(reading.name.nouns) or "result"


def _service_field(reading: Reading) -> tuple[Singleton, tuple[str, ...], Field] | None:
    services = sorted(reading.known.singletons, key=lambda one: one is not reading.service)
    for words in (reading.name.nouns, without_generic(reading.name.nouns)):
        for service in services:
            path = _named_path(service.fields, words)
            field = field_at(service.fields, path) if path is not None else None
            if path is not None and field is not None:
                return service, path, field
    return None


def _named_path(fields: Mapping[str, Field], words: Sequence[str]) -> tuple[str, ...] | None:
    if not words:
        return None
    wanted = joined(words)
    for name, field in fields.items():
        if joined(tokens(name)) == wanted:
            return (name,)
        inner = next((part for part in field.parts if joined(tokens(part)) == wanted), None)
        if field.keeps is None and inner is not None:
            return (name, inner)
    return None


def read_outside(reading: Reading) -> Drafted | None:
    """`get_weather(city)`: what no world keeps is invented in the shape declared, alike for like arguments.

    An id of something that the world has is still not found.
    """
    about = reading.subject
    if about is not None and not is_only_spoken_of(about.collection):
        return None
    if not reading.output:
        return _nothing_known(reading)
    source = Source(value=NULL, noun="result", fields={}, invents_all=True)
    answer = reply(source, reading.output, reading.arguments)
    if answer == source.value:  # no object: the whole of it
        answer = call("invented", constant(dict(reading.output)), constant("result"), ARGS)
    return Drafted(steps=({"return": answer},), notes=(OUTSIDE,), confidence=0.5)


OUTSIDE = "nothing in the seeded state answers: the reply is invented from its schema and the arguments"


def _nothing_known(reading: Reading) -> Drafted | None:
    """Without a schema there is no shape to invent, and nothing is missing either: the answer is empty."""
    if reading.known.is_empty or any(one.id_noun is not None for one in reading.arguments if one.is_required):
        return None
    answer: Draft = [] if reading.wants_many() else {reply_name(reading): None}
    note = f"nothing in the seeded state answers to `{reading.tool.name}`: the reply is empty"
    return Drafted(steps=({"return": answer},), notes=(note,), confidence=0.2)


def refuse(reading: Reading) -> Drafted:
    """Something the world does not know: an honest 404, never an invented record."""
    failure = refusal("not_found", "Nothing of that kind is in this world", 404)
    if not reading.name.reads():
        failure = refusal("not_simulated", f"No declared type answers to {reading.tool.name}", 501)
    elif reading.thing:
        failure = not_found(name_for(reading.thing[-1:]))
    note = f"nothing in the seeded state answers to `{reading.tool.name}`"
    return Drafted(steps=({"fail": failure},), notes=(note,), confidence=0.2)
