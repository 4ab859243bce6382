"""How much room there is and how much of it is taken: which two numbers of a record these are, the data say
(one is never more than the other), and words choose where several pairs are so."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.english.formulas import SMALL_WORDS
from pipelines.core.english.polarity import without_denial
from pipelines.core.english.words import singulars, tokens, word_set
from pipelines.core.simulation.domain.regularities import Limit, Referring
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import (
    NULL,
    all_of,
    arithmetic,
    call,
    compare,
    constant,
    entities,
    listed,
)
from pipelines.core.simulation.expr.nodes import Expr, Name
from pipelines.core.simulation.reading.scope import Thing, alike, stems
from pipelines.core.simulation.reading.steps import dot, same_id

_ROOM = word_set("capacity max maximum limit seat place slot quota size allowance spot")
_WORTH = word_set("total worth value budget price amount cost fee")
_USED = word_set("used taken sold enrolled booked stored reserved filled occupied")
_OWED = word_set("owe owes owed balance debt pay payable")
_SPENT = word_set("use used spend spent pay paid redeemed settled")

#: Said of what is not used up.
LEFT = word_set(
    "left remaining remain remains free unsold available spare unused vacant rest outstanding owed owe "
    "owes more still not due"
)


class LimitMeant(NamedTuple):
    most: Expr
    used: Expr


def limit_meant(thing: Thing, said: Sequence[str], *, is_told: bool = False) -> LimitMeant | None:
    """The pair whose words are said, or else the one that is called as such pairs are, unless it has to be
    told: then it counts only where the words speak of room, or of money, as it does."""
    limits = [one for one in thing.collection.limits if not is_told or _is_told(one, thing, said)]
    # What a record keeps itself is meant before what refers to it.
    for group in ([one for one in limits if not one.referring], [one for one in limits if one.referring]):
        scored = [(_score(one, thing, said), one) for one in group]
        best = max((score for score, _ in scored), default=0.0)
        fit = [one for score, one in scored if score == best]
        if best >= 2 and len(fit) == 1:
            return LimitMeant(dot(thing.value, fit[0].most), _taken(fit[0], thing))
    return None


def _taken(limit: Limit, thing: Thing) -> Expr:
    if limit.referring is not None:
        return count_of_referring(limit.referring, thing.id)
    used = dot(thing.value, limit.used)
    return call("len", used) if limit.counts else used


def count_of_referring(such: Referring, id: Expr) -> Expr:
    """How many records refer to what has the id, and are not over."""
    where = same_id(dot("each", *such.path), id)
    if such.status is not None and such.over:
        where = all_of(where, compare(dot("each", such.status), "not in", constant([*such.over])))
    return call("len", listed(Name("each"), "each", entities(such.entity_type), where))


def held_by(collection: Collection) -> Limit | None:
    """The room for records that refer, where the record does not itself keep what is taken of it."""
    own = [one for one in collection.limits if not one.referring]
    thing = Thing(value=Name("each"), id=NULL, collection=collection, called=frozenset())
    found = [one for one in collection.limits if one.referring]
    is_kept = any(_score(one, thing, ()) >= 2 for one in own if found and one.most == found[0].most)
    return found[0] if found and not is_kept else None


def _is_told(limit: Limit, thing: Thing, said: Sequence[str]) -> bool:
    own = (*tokens(limit.most), *tokens(limit.used))
    kind = _ROOM if limit.counts or _ROOM & {*singulars(tokens(limit.most))} else _WORTH | _SPENT | _OWED
    words = [other for word in said for other in (word, without_denial(word)) if other]
    if any(alike(word, part) for word in words for part in own) or kind & {*singulars(words)}:
        return True
    # "what is left on a gift card" speaks of nothing else.
    return all(word in LEFT | SMALL_WORDS or stems((word,)) & thing.called for word in said)


def _score(limit: Limit, thing: Thing, said: Sequence[str]) -> float:
    most, used = tokens(limit.most), tokens(limit.used)
    rooms, uses = (_ROOM, _USED) if limit.counts or _ROOM & {*singulars(most)} else (_WORTH, _SPENT)
    score = 1.0 * any(alike(word, part) for part in most for word in rooms)
    links = (link.path[0] for link in thing.collection.list_links)
    is_link = limit.referring is not None or limit.used in links
    is_used = any(alike(word, part) for part in used for word in uses)
    # Records that a list refers to take up room, whatever it is called; so does the only number there is.
    score += 1.0 * (is_link or is_used or (score > 0 and not limit.counts and _is_only_one(limit, thing)))
    # `prints_allowed` and `prints_made` are of one thing; what is paid is of the one number it is part of.
    others = [one.most for one in thing.collection.limits if one.used == limit.used]
    is_alone = is_used and others == [limit.most]
    score = max(score, 2.0 * (_are_of_one(most, used) or is_alone) * (not limit.counts))
    score += 0.6 * any(alike(word, part) for word in said for part in most)
    score += 0.4 * any(alike(word, part) for word in said for part in used)
    return score + 0.3 * is_link


def _are_of_one(most: Sequence[str], used: Sequence[str]) -> bool:
    """ "max_redemptions" and "redemptions" too; but not a due_date and an amount_due."""
    return stems(most[:1]) == stems(used[:1]) or stems(used) < stems(most)


def _is_only_one(limit: Limit, thing: Thing) -> bool:
    same = [one for one in thing.collection.limits if one.most == limit.most]
    others = [one for one in same if not one.counts or one.referring]  # records that refer say it plainly
    return others == [limit] and bool(_ROOM & {*singulars(tokens(limit.most))})


def what_is_left(things: Sequence[Thing], said: Sequence[str]) -> Expr | None:
    """ "places left", "slots that are not used yet": of what there is, less what is taken."""
    found = (
        [limit for one in things if (limit := limit_meant(one, said, is_told=True)) is not None]
        if LEFT & {*said}
        else []
    )
    return arithmetic(found[0].most, "-", found[0].used) if len(found) == 1 else None


def is_of_using_up(words: Sequence[str]) -> bool:
    return bool((_USED | _SPENT) & {*words})


def is_called_so(thing: Thing, most: str, used: str) -> bool:
    """Whether two numbers are called as room and what is taken of it are."""
    return any(
        _score(one, thing, ()) >= 2
        for one in thing.collection.limits
        if (one.most, one.used, one.counts) == (most, used, False)
    )


def limit_of_counter(thing: Thing, used: str) -> Expr | None:
    """What a number that is kept up to date never exceeds."""
    most = _most_of(thing, used)
    return dot(thing.value, most) if most is not None else None


def _most_of(thing: Thing, used: str) -> str | None:
    found = [one.most for one in thing.collection.limits if one.used == used and not one.counts]
    fit = [most for most in found if is_called_so(thing, most, used)]
    return fit[0] if len(fit) == 1 else None


def room_of(thing: Thing, used: str) -> Expr | None:
    """The room that what is taken is of; money that is paid is not."""
    most = _most_of(thing, used)
    words = (*tokens(thing.noun), *tokens(most)) if most is not None else ()
    return dot(thing.value, most) if most is not None and _ROOM & {*singulars(words)} else None


def limit_of_list(thing: Thing, used: str) -> Expr | None:
    """How many a list can take: the one number that is called so and that no list exceeds."""
    found = [
        one.most
        for one in thing.collection.limits
        if one.counts
        and one.referring is None
        and one.used == used
        and any(alike(word, part) for part in tokens(one.most) for word in _ROOM)
    ]
    return dot(thing.value, found[0]) if len(found) == 1 else None
