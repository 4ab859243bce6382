"""Putting something into a list and taking it out: the pupils of a lesson, the tags of a post, a watchlist.

What is put in and where, the references say (a lesson keeps ids of pupils); which of the two is done, the
verb of the name or of the description, and where both say something they have to agree."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.english.inflection import participle
from pipelines.core.english.polarity import without_denial
from pipelines.core.english.stems import stem
from pipelines.core.english.words import joined, plural, singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Collection, Link
from pipelines.core.simulation.expr.make import Draft, arg, call, compare, constant, differs, listed
from pipelines.core.simulation.expr.nodes import Expr, Name, Not
from pipelines.core.simulation.reading.limits import limit_of_list
from pipelines.core.simulation.reading.records import noun_of
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.scope import Thing, scope_of
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    dot,
    find_one,
    name_for,
    not_found,
    refers,
    refusal,
    require,
    same_id,
)
from pipelines.core.simulation.reading.targets import best_collection
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import change_reply

_PUT = word_set(
    "add append insert put follow like subscribe join save include tag favorite favourite pin enroll enrol "
    "book register assign admit attach sign place invite seat enter"
)
_TAKE = word_set(
    "remove delete drop unfollow unlike unsubscribe leave discard exclude untag unpin take withdraw strike "
    "expel detach release cancel stop"
)
_APPOINTS = word_set("assign set make change give appoint name put replace")  # one alone, where there is one
_OUT_OF = word_set("off out from away")
_REMOVES = word_set("remove delete drop discard cancel withdraw strike")


def read_membership(reading: Reading) -> Drafted | None:
    """`book_pupil(lesson_id, pupil_id)`, `add_to_wishlist(item)`, `remove_tag(post_id, tag)`."""
    direction = direction_of(reading)
    found = read_listed(reading)
    return found or (_plain_value(reading, direction) if direction is not None else None)


def read_listed(reading: Reading) -> Drafted | None:
    """Only where a record keeps ids of others in a list."""
    direction = direction_of(reading)
    return _moved_over(reading) or (_referred(reading, direction) if direction is not None else None)


def direction_of(reading: Reading) -> str | None:
    """put or take: by the name, by the description; None where neither says so, or one denies the other."""
    name = tokens(reading.tool.name)
    service = reading.name.service
    name = name[len(service) :] if name[: len(service)] == service else name
    said = tokens(reading.said.summary.lower())
    found = {one for one in (_way(name), _way(said)) if one is not None}
    return found.pop() if len(found) == 1 else None


def _way(words: Sequence[str]) -> str | None:
    for at, word in enumerate(words[:4]):
        base = _base(word)
        behind = {*words[at + 1 :]}
        denied = without_denial(base)
        if denied in _PUT or (base in _TAKE and base != "take"):
            return "take"
        if base in _PUT | {"take", "move"}:
            return (
                "take"
                if behind & _OUT_OF and not (behind & {"to", "into"})
                else None
                if base == "take"
                else "put"
            )
    return None


def _base(word: str) -> str:
    known = (one for one in (word, word.removesuffix("s"), word.removesuffix("es")) if one in _PUT | _TAKE)
    return next(known, word)


# -- a record that another one keeps in a list


class _Kept(NamedTuple):
    holder: Thing
    member: Thing
    link: Link


def _kept_in(reading: Reading, things: Sequence[Thing]) -> _Kept | None:
    """The one of two records that keeps ids of such as the other is."""
    found = [
        _Kept(holder, member, link)
        for holder in things
        for member in things
        for link in holder.collection.list_links
        if holder is not member and link.entity_type == member.collection.entity_type and len(link.path) == 1
        # A pet that has an owner_id changes that: the owner's list of pets is only the other side of it.
        if all(one.entity_type != holder.collection.entity_type for one in member.collection.links)
    ]
    ends = {one.holder.collection.entity_type: one.member.collection.entity_type for one in found}
    has_other = any(
        link.entity_type == ends.get(one.collection.entity_type)
        for one in things
        for link in one.collection.links
    )
    if len(found) > 1 or (has_other and reading.name.verb in _APPOINTS):
        spoken = {
            stem(singular(word)) for word in (*tokens(reading.tool.name), *tokens(reading.said.summary))
        }
        spoken |= {stem(singular(word)) for one in reading.arguments for word in one.words}
        found = [one for one in found if {stem(singular(part)) for part in tokens(one.link.path[0])} & spoken]
    return found[0] if len(found) == 1 else None


def _is_recorded(reading: Reading, kept: _Kept) -> bool:
    """Whether there is a type of record for just that: an enrolment has a student and a course."""
    ends = {kept.holder.collection.entity_type, kept.member.collection.entity_type}
    return any(ends <= {link.entity_type for link in table.links} for table in reading.known.tables.values())


def _referred(reading: Reading, direction: str) -> Drafted | None:
    scope = scope_of(reading)
    kept = _kept_in(reading, scope.things) if len(scope.things) == 2 else None
    if kept is None or _is_recorded(reading, kept) or _is_removed(reading):
        return None
    held = dot(kept.holder.value, *kept.link.path)
    steps = [*scope.steps, *_changed(kept, held, direction)]
    steps.append({"return": change_reply(reading, _bound(kept.holder))})
    done = "gets" if direction == "put" else "loses"
    note = f"`{held}` is the list that {done} the id of the {kept.member.noun.replace('_', ' ')}"
    return Drafted(steps=tuple(steps), notes=(note,), confidence=0.8)


def _is_removed(reading: Reading) -> bool:
    """`delete_order(user_id, order_id)` deletes the order; "removes a player from a team" does not."""
    words = {*tokens(reading.tool.name), *tokens(reading.said.summary.lower())}
    return reading.name.verb in _REMOVES and not words & _OUT_OF


def _bound(thing: Thing) -> Bound:
    return Bound(steps=(), noun=thing.noun, id=thing.id, collection=thing.collection, holder=thing.noun)


def _changed(kept: _Kept, held: Expr, direction: str) -> list[Step]:
    given = arg(kept.member.argument.name) if kept.member.argument is not None else kept.member.id
    is_in = refers(kept.holder.value, kept.link, given)
    shown = kept.holder.noun.replace("_", " ")
    one = Name("one")
    if direction == "take":
        missing = not_found(kept.member.noun, given)
        return [
            require(is_in, missing),
            {"set": {held: listed(one, "one", held, Not(same_id(one, given)))}},
        ]
    already = refusal(
        f"already_in_{kept.holder.noun}", f"The {kept.member.noun.replace('_', ' ')} is there already"
    )
    steps = [require(Not(is_in), already)]
    most = limit_of_list(kept.holder, kept.link.path[0])
    if most is not None:
        full = refusal(f"{kept.holder.noun}_full", f"The {shown} is full")
        steps.append(require(compare(call("len", held), "<", most), full))
    return [*steps, {"append": {held: given}}]


def _moved_over(reading: Reading) -> Drafted | None:
    """`move_pupil(pupil_id, from_lesson_id, to_lesson_id)`: out of one list, into the other."""
    scope = scope_of(reading)
    ends = [one for one in scope.things if one.argument and {"from", "to"} & {*one.argument.words}]
    rest = [one for one in scope.things if one not in ends]
    if len(ends) != 2 or len(rest) != 1 or ends[0].collection != ends[1].collection:
        return None
    ends.sort(key=lambda one: "to" in (one.argument.words if one.argument else ()))
    left, entered = (_kept_in(reading, (one, rest[0])) for one in ends)
    if left is None or entered is None:
        return None
    steps = [
        *scope.steps,
        *_changed(left, dot(left.holder.value, *left.link.path), "take"),
        *_changed(entered, dot(entered.holder.value, *entered.link.path), "put"),
        {"return": change_reply(reading, _bound(entered.holder))},
    ]
    note = f"the id goes from one list of {left.link.path[0]} into the other"
    return Drafted(steps=tuple(steps), notes=(note,), confidence=0.8)


# -- a plain value


def _plain_value(reading: Reading, direction: str) -> Drafted | None:
    kept = _plain_list(reading)
    scalars = [one for one in reading.arguments if one.is_scalar and one.is_required]
    if kept is None or not scalars:
        return None
    value = scalars[-1]
    into, holder = _holder(reading, kept, value)
    if into is None:
        return None
    held = dot(holder, *kept.path)
    return Drafted(steps=(into, *_value_changed(direction, held, value, reading, kept)), confidence=0.8)


def _plain_list(reading: Reading) -> Collection | None:
    """The list of plain values that the name ends in, before or after its preposition."""
    named = reading.name.complement("to", "from", "in", "into", "on")
    for words in (named, reading.name.nouns, reading.thing, *_named_by_verb(reading.name.verb)):
        found = best_collection(words, reading.known, reading.service) if words else None
        if found is not None and not found.of_records and found.form == "list" and found.path:
            return found
    return None


def _named_by_verb(verb: str) -> list[tuple[str, ...]]:
    """follow_user fills a list called following, follows or followed."""
    base = verb.removeprefix("un")
    stem_ = base[:-1] if base.endswith("e") else base
    return [(f"{stem_}ing",), (plural(base),), (participle(base),)]


def _holder(reading: Reading, kept: Collection, value: Argument) -> tuple[Step | None, str]:
    holder = name_for(kept.entity_type)
    if kept.owner is not None:
        return find_one(holder, kept.entity_type, constant(kept.owner)), holder
    picks = next(
        (
            one
            for one in reading.arguments
            if one is not value
            and one.id_noun is not None
            and (other := best_collection(one.id_noun, reading.known)) is not None
            and other.entity_type == kept.entity_type
        ),
        None,
    )
    return (find_one(holder, kept.entity_type, arg(picks.name)) if picks else None), holder


def _value_changed(
    direction: str, held: Expr, value: Argument, reading: Reading, kept: Collection
) -> list[Step]:
    given = arg(value.name)
    if direction == "put":
        change: list[Step] = [{"if": compare(given, "not in", held), "then": [{"append": {held: given}}]}]
    else:
        change = [
            require(compare(given, "in", held), not_found(name_for(value.words), given)),
            {"set": {held: listed(Name("one"), "one", held, differs(Name("one"), given))}},
        ]
    source = Source(value=held, noun=noun_of(kept), fields={}, is_list=True)
    answer: Draft = (
        reply(source, reading.output, reading.arguments)
        if reading.output
        else {_list_name(reading, kept): held}
    )
    return [*change, {"return": answer}]


def _list_name(reading: Reading, kept: Collection) -> str:
    """`watchlist` if that is what the tool's name calls it, else the field's own name."""
    words = reading.name.complement("to", "from", "in", "into", "on")
    return "_".join(words) if words and joined(words) == joined(kept.words) else kept.name
