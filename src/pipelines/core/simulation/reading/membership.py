"""Putting a value into a plain list and taking it out: watchlists, tags, favourites, members."""

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import joined, plural, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.reading.records import noun_of
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    arg,
    dot,
    find_one,
    find_reference,
    name_for,
    not_found,
    require,
    text,
)
from pipelines.core.simulation.reading.targets import best_collection
from pipelines.core.simulation.reading.tool_reading import Reading

_PUT = word_set(
    "add append insert put follow like subscribe join save include tag favorite favourite pin enroll"
)
_TAKE = word_set("remove delete drop unfollow unlike unsubscribe leave discard exclude untag unpin")


def read_membership(reading: Reading) -> Drafted | None:
    """`add_to_wishlist(item)`, `remove_host_from_allowlist(host)`, `add_tag(post_id, tag)`."""
    verb = reading.name.verb
    if verb not in _PUT and verb not in _TAKE:
        return None
    kept = _plain_list(reading)
    if kept is None:
        return None
    value = _value(reading, kept)
    if value is None:
        return None
    into, holder = _holder(reading, kept, value)
    if into is None:
        return None
    held = dot(holder, *kept.path)
    steps = [into, *_known(reading, value)] if verb in _PUT else [into]
    return Drafted(steps=(*steps, *_change(verb, held, value, reading, kept)), confidence=0.8)


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


def _value(reading: Reading, kept: Collection) -> Argument | None:
    scalars = [one for one in reading.arguments if one.is_scalar and one.is_required]
    return scalars[-1] if scalars else None


def _holder(reading: Reading, kept: Collection, value: Argument) -> tuple[Step | None, str]:
    if kept.owner is not None:
        holder = name_for(kept.entity_type)
        return find_one(holder, kept.entity_type, text(kept.owner)), holder
    holder = name_for(kept.entity_type)
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


def _known(reading: Reading, value: Argument) -> list[Step]:
    """What is put in must exist, where the world has a table of such things."""
    words = value.id_noun or value.words
    table = best_collection(words, reading.known, reading.service) if words else None
    if table is None or table.form != "table" or table.is_empty:
        return []
    return [find_reference(noun_of(table), table.entity_type, arg(value.name))]


def _change(verb: str, held: str, value: Argument, reading: Reading, kept: Collection) -> list[Step]:
    given = arg(value.name)
    if verb in _PUT:
        change: list[Step] = [{"if": f"{given} not in {held}", "then": [{"append": {held: given}}]}]
    else:
        change = [
            require(f"{given} in {held}", not_found(name_for(value.words), given)),
            {"set": {held: f"[one for one in {held} if one != {given}]"}},
        ]
    source = Source(value=held, noun=noun_of(kept), fields={}, is_list=True)
    answer: Json = (
        reply(source, reading.output, reading.arguments)
        if reading.output
        else {_list_name(reading, kept): held}
    )
    return [*change, {"return": answer}]


def _list_name(reading: Reading, kept: Collection) -> str:
    """`watchlist` if that is what the tool's name calls it, else the field's own name."""
    words = reading.name.complement("to", "from", "in", "into", "on")
    return "_".join(words) if words and joined(words) == joined(kept.words) else kept.name
