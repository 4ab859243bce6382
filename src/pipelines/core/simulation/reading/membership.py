"""Membership: something is put into a list that a record keeps, or taken out of it (the pupils of a lesson,
the tags of a post, a watchlist).

What is put in and where, the references say (a lesson keeps ids of pupils); which of the two is done, the
verb of the name or of the description, and where both say something they have to agree."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import joined, plural, tokens, without_denial, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Collection, Link
from pipelines.core.simulation.expr.make import Draft, arg, compare, constant, differs, listed
from pipelines.core.simulation.expr.nodes import Expr, Name, Not
from pipelines.core.simulation.reading.records import Thing, change_reply, noun_of, scope_of, stems
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import (
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
    spoken,
)
from pipelines.core.simulation.reading.targets import best_collection
from pipelines.core.simulation.reading.tool_reading import Reading

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
_PLACES = ("to", "from", "in", "into", "on")


def read_membership(reading: Reading) -> Drafted | None:
    """`book_pupil(lesson_id, pupil_id)`, `add_to_wishlist(item)`, `remove_tag(post_id, tag)`."""
    direction = direction_of(reading)
    found = read_listed(reading)
    return found or (_plain_value(reading, direction) if direction is not None else None)


def read_listed(reading: Reading) -> Drafted | None:
    """Only where a record keeps ids of others in a list."""
    direction = direction_of(reading)
    return _referred(reading, direction) if direction is not None else None


def direction_of(reading: Reading) -> str | None:
    """put or take: by the name, by the description; None where neither says so, or one denies the other."""
    name, service = tokens(reading.tool.name), reading.name.service
    name = name[len(service) :] if name[: len(service)] == service else name
    ways = (_way(words) for words in (name, tokens(reading.said.summary.lower())))
    found = {one for one in ways if one is not None}
    return found.pop() if len(found) == 1 else None


def _way(words: Sequence[str]) -> str | None:
    for at, word in enumerate(words[:4]):
        spelled = (word, word.removesuffix("s"), word.removesuffix("es"))
        base = next((one for one in spelled if one in _PUT | _TAKE), word)
        if without_denial(base) in _PUT or (base in _TAKE and base != "take"):
            return "take"
        if base in _PUT | {"take", "move"}:
            behind = {*words[at + 1 :]}
            if behind & _OUT_OF and not behind & {"to", "into"}:
                return "take"
            return None if base == "take" else "put"
    return None


class _Kept(NamedTuple):
    """A record that another one keeps in a list."""

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
    own = (link for one in things for link in one.collection.links)
    has_other = any(link.entity_type in ends.values() for link in own)
    if len(found) > 1 or (has_other and reading.name.verb in _APPOINTS):
        spoken = stems((*tokens(reading.tool.name), *tokens(reading.said.summary)))
        spoken |= stems(word for one in reading.arguments for word in one.words)
        found = [one for one in found if stems(tokens(one.link.path[0])) & spoken]
    return found[0] if len(found) == 1 else None


def _referred(reading: Reading, direction: str) -> Drafted | None:
    scope = scope_of(reading)
    kept = _kept_in(reading, scope.things) if len(scope.things) == 2 else None
    if kept is None or _is_recorded(reading, kept) or _is_removed(reading):
        return None
    held = dot(kept.holder.value, *kept.link.path)
    steps = [*scope.steps, *_changed(kept, held, direction)]
    steps.append({"return": change_reply(reading, kept.holder.bound)})
    done = "gets" if direction == "put" else "loses"
    note = f"`{held}` is the list that {done} the id of the {spoken(kept.member.noun).replace('_', ' ')}"
    return Drafted(steps=tuple(steps), notes=(note,), confidence=0.8)


def _is_recorded(reading: Reading, kept: _Kept) -> bool:
    """Whether there is a type of record for just that: an enrolment has a student and a course."""
    ends = {kept.holder.collection.entity_type, kept.member.collection.entity_type}
    return any(ends <= {link.entity_type for link in table.links} for table in reading.known.tables.values())


def _is_removed(reading: Reading) -> bool:
    """`delete_order(user_id, order_id)` deletes the order; "removes a player from a team" does not."""
    words = {*tokens(reading.tool.name), *tokens(reading.said.summary.lower())}
    return reading.name.verb in _REMOVES and not words & _OUT_OF


def _changed(kept: _Kept, held: Expr, direction: str) -> list[Step]:
    given = arg(kept.member.argument.name)
    is_in = refers(kept.holder.value, kept.link, given)
    if direction == "take":
        rest = listed(Name("one"), "one", held, Not(same_id(Name("one"), given)))
        return [require(is_in, not_found(kept.member.noun, given)), {"set": {held: rest}}]
    complaint = f"The {spoken(kept.member.noun).replace('_', ' ')} is there already"
    return [
        require(Not(is_in), refusal(f"already_in_{kept.holder.noun}", complaint)),
        {"append": {held: given}},
    ]


def _plain_value(reading: Reading, direction: str) -> Drafted | None:
    """A value that is no id of anything, in a list that the name ends in."""
    kept = _plain_list(reading)
    scalars = [one for one in reading.arguments if one.is_scalar and one.is_required]
    into = _holder(reading, kept, scalars[-1]) if kept is not None and scalars else None
    if kept is None or into is None:
        return None
    value, held = arg(scalars[-1].name), dot(name_for(kept.entity_type), *kept.path)
    change: list[Step] = [{"if": compare(value, "not in", held), "then": [{"append": {held: value}}]}]
    if direction == "take":
        rest = listed(Name("one"), "one", held, differs(Name("one"), value))
        missing = not_found(name_for(scalars[-1].words), value)
        change = [require(compare(value, "in", held), missing), {"set": {held: rest}}]
    complement = reading.name.complement(*_PLACES)
    member_words = (
        "_".join(complement) if complement and joined(complement) == joined(kept.words) else kept.name
    )
    answer: Draft = {member_words: held}
    if reading.output:
        source = Source(value=held, noun=noun_of(kept), fields={}, is_list=True)
        answer = reply(source, reading.output, reading.arguments)
    return Drafted(steps=(into, *change, {"return": answer}), confidence=0.8)


def _plain_list(reading: Reading) -> Collection | None:
    """The list of plain values that the name ends in, or that is called by the verb: follow fills
    following, follows or followed."""
    base = reading.name.verb.removeprefix("un")
    by_verb = ((f"{base.removesuffix('e')}ing",), (plural(base),), (participle(base),))
    for words in (reading.name.complement(*_PLACES), reading.name.nouns, reading.thing, *by_verb):
        found = best_collection(words, reading.known, reading.service) if words else None
        if found is not None and not found.of_records and found.form == "list" and found.path:
            return found
    return None


def _holder(reading: Reading, kept: Collection, value: Argument) -> Step | None:
    holder = name_for(kept.entity_type)
    if kept.owner is not None:
        return find_one(holder, kept.entity_type, constant(kept.owner))
    for one in reading.arguments:
        other = best_collection(one.id_noun, reading.known) if one.id_noun and one is not value else None
        if other is not None and other.entity_type == kept.entity_type:
            return find_one(holder, kept.entity_type, arg(one.name))
    return None
