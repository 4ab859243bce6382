"""What speaks for a noun of the tools meaning a type of the world: ids, references, fields, states, labels.

Entity labels are the author's own; `get_company(company_id)` may well be about a type called `firm`. So every
noun is weighed against every type, by what the data say; the label is one hint among these.
"""

import re
from collections import Counter
from collections.abc import Collection as Collection_
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import ARTICLES, joined, singular, singulars, tokens, word_set
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import Field, find_field, valued_fields
from pipelines.core.simulation.domain.references import LOOKED_AT, Reference, noun_of_id
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.domain.tool_facts import ToolFacts, listed_in, nouns_of

# How much each kind of evidence weighs. An id that is there outweighs any number of shared fields.
OWN_ID = 10.0  # the type's own id field is called so
REFERENCE = 8.0  # fields elsewhere that hold its ids are called so
EXAMPLE = 8.0  # an id of the type stands in the tool's name
LABEL, LABEL_END, LABEL_PART = 6.0, 3.0, 1.0  # the author's label, its last word, some word of it
FIELD = 2.0  # an argument or a property of the reply is a field of the type that the id is of
SHARED = 1.0  # likewise, where no id says that the tool is about a thing of its own: one field is chance
NOT_SHARED = -0.5  # a property that the reply must have is not a field of the type
WORD = 1.0  # a word of the tool's name is
STATE = 1.5  # the verb leads to a state, or sets a switch, that the type knows
_SMALL = ARTICLES | word_set(
    "of for in on at to by with from all any every each some given one who which what"
)
_SAID = 200  # characters of a description in which a thing is named
Words = tuple[frozenset[str], frozenset[str]]  # of a type's fields, and of the values that they have


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    noun: tuple[str, ...]
    entity_type: str
    weight: float
    reason: str
    from_label: bool = False


def all_evidence(
    tables: Mapping[str, Collection],
    world: World,
    references: Sequence[Reference],
    tools: Sequence[ToolFacts],
) -> Iterator[Evidence]:
    seeded = {kind: table for kind, table in tables.items() if not table.is_empty or table.fields}
    keys = {joined(one.noun): one.to for one in references if not one.in_list}
    nouns = {noun for tool in tools for noun in tool.id_nouns}
    yield from _from_ids(seeded, references, tools)
    words = {kind: _words_of(table) for kind, table in seeded.items()}
    for tool in tools:
        yield from _from_fields(tool, seeded, keys, nouns)
        yield from _from_words(tool, words, world, keys)
        yield from _from_verb(tool, seeded)
        yield from _from_reply(tool, seeded)
    yield from _from_labels(tables, tools, references)


def _from_ids(
    tables: Mapping[str, Collection], references: Sequence[Reference], tools: Sequence[ToolFacts]
) -> Iterator[Evidence]:
    nouns = {noun for tool in tools for noun in tool.id_nouns}
    for kind, table in tables.items():
        if table.id_field is not None and tokens(table.id_field) != ("id",):
            noun = noun_of_id(table.id_field)
            yield Evidence(
                noun=noun, entity_type=kind, weight=OWN_ID, reason=f"`{table.id_field}` is its own id"
            )
    for one in references:
        if one.in_list and one.noun not in nouns:
            continue  # `watch_list` is the name of the list, not of what is in it
        reason = f"`{one.entity_type}.{'.'.join(one.path)}` holds its ids"
        yield Evidence(noun=one.noun, entity_type=one.to, weight=REFERENCE * one.share, reason=reason)


def _from_fields(
    tool: ToolFacts,
    tables: Mapping[str, Collection],
    keys: Mapping[str, str],
    asked: Collection_[tuple[str, ...]],
) -> Iterator[Evidence]:
    """Arguments and words of the name that are fields of a type, and of few others."""
    plain = [one.name for one in tool.arguments if one.id_noun is None]
    if tool.name.op not in ("list", "search", "create", "notify"):
        needed = [one.name for one in tool.arguments if one.is_required and one.id_noun is None]
        picks = {name: keys[joined(tokens(name))] for name in needed if joined(tokens(name)) in keys}
        plain = [name for name in plain if name not in picks]
        for name, kind in picks.items() if tool.thing else ():
            reason = f"`{name}` is how others refer to it"
            yield Evidence(noun=tool.thing, entity_type=kind, weight=FIELD, reason=reason)
    words = ["_".join(tool.name.nouns), *tool.name.nouns] if tool.name.nouns else []
    for noun in tool.id_nouns:
        share = 1 / len(tool.id_nouns)
        if not tool.makes and not tool.lists:
            yield from _shared(noun, plain, tables, FIELD * share)
            own = set(noun)
            yield from _shared(noun, [one for one in words if singular(one) not in own], tables, WORD * share)
            # `assign(repair_id, technician_id)`: what is assigned may keep whom it is assigned to.
            others = [one.name for other, one in tool.id_nouns.items() if other != noun]
            yield from _shared(noun, others, tables, FIELD * share)
    if tool.thing and tool.thing not in tool.id_nouns:
        # Ids that are given say little of what is made of them: a loan and a reservation both have a book.
        given = [one.name for one in tool.arguments if one.id_noun is not None]
        for thing in dict.fromkeys((tool.thing, tool.thing[-1:])):
            if thing == tool.thing or thing in asked:  # free_cages is about cages
                yield from _shared(thing, plain, tables, SHARED)
                yield from _shared(thing, given, tables, SHARED / 2)


def _words_of(table: Collection) -> Words:
    """Fields and values of a type, each run together."""
    values = (value for _, value in valued_fields(table.fields) if len(value) < 30)
    fields = (name for name in table.fields if name != table.id_field)
    return frozenset(joined(tokens(one)) for one in fields), frozenset(joined(tokens(one)) for one in values)


def _from_words(
    tool: ToolFacts, words: Mapping[str, Words], world: World, keys: Mapping[str, str]
) -> Iterator[Evidence]:
    """`users_without_mfa`, `overdue_bills`, `refund_policy`: what is said of a thing is a field, a value or
    an id of few types."""
    if not tool.thing or tool.thing in tool.id_nouns or tool.makes:
        return
    named = {*tokens(tool.tool.name)} - {tool.thing[-1]}
    spoken_words = {
        joined((word,)) for word in (*named, *tokens((tool.tool.description or "")[:_SAID])) if len(word) > 2
    }
    for word in sorted(spoken_words - {*tool.thing[-1:]}):
        for at, what in enumerate(("a field", "a value")):
            known = [kind for kind, of_kind in words.items() if word in of_kind[at]]
            for kind in known:
                weight = SHARED / len(known)
                reason = f"`{word}` is {what} of it"
                yield Evidence(noun=tool.thing, entity_type=kind, weight=weight, reason=reason)
    head = next((word for word in tokens((tool.tool.description or "")[:_SAID]) if word not in _SMALL), "")
    if head in keys and tool.name.reads():  # "Owner of a dog": whom `owner` refers to
        reason = f"fields with its ids are called {head}"
        yield Evidence(noun=tool.thing, entity_type=keys[head], weight=FIELD, reason=reason)


def _shared(
    noun: tuple[str, ...], names: Iterable[str], tables: Mapping[str, Collection], weight: float
) -> Iterator[Evidence]:
    for name in dict.fromkeys(names):
        known = [kind for kind, table in tables.items() if _has(table.fields, name)]
        for kind in known:
            reason = f"`{name}` is a field of it"
            yield Evidence(noun=noun, entity_type=kind, weight=weight / len(known), reason=reason)


def _has(fields: Mapping[str, Field], name: str, depth: int = 1) -> bool:
    if find_field(fields, name) is not None:
        return True
    return depth > 0 and any(
        _has(one.parts, name, depth - 1) for one in fields.values() if one.parts and one.keeps is None
    )


def _from_verb(tool: ToolFacts, tables: Mapping[str, Collection]) -> Iterator[Evidence]:
    """`dispute_transaction` is about what is `disputed`, `pause_order` about what may be `paused`."""
    if not tool.id_nouns or tool.name.reads() or not tool.name.verb:
        return
    done = joined((participle(tool.name.verb),))
    known = [kind for kind, table in tables.items() if _knows(table.fields, done)]
    for kind in known:
        for noun in tool.id_nouns:
            weight = STATE / len(known) / len(tool.id_nouns)
            yield Evidence(noun=noun, entity_type=kind, weight=weight, reason=f"it can be {done}")


def _knows(fields: Mapping[str, Field], done: str) -> bool:
    return any(
        joined(tokens(name)) == done
        or any(isinstance(value, str) and joined(tokens(value)) == done for value in one.values)
        or (one.keeps is None and _knows(one.parts, done))
        for name, one in fields.items()
    )


def _from_reply(tool: ToolFacts, tables: Mapping[str, Collection]) -> Iterator[Evidence]:
    """Properties that the reply must have are fields of the thing that is read or listed."""
    schema = tool.tool.output_schema
    for noun, properties in listed_in(schema):
        things = (noun, tool.thing) if tool.thing not in tool.id_nouns else (noun,)
        for thing in filter(None, dict.fromkeys(things)):
            yield from _of_reply(thing, properties, tables, SHARED)
    flat = schema.get("properties") if schema else None
    if not isinstance(flat, dict) or tool.makes:
        return
    for noun in tool.id_nouns:
        yield from _of_reply(noun, flat, tables, FIELD / len(tool.id_nouns))
    if tool.thing and not tool.id_nouns:
        yield from _of_reply(tool.thing, flat, tables, SHARED)


def _of_reply(
    noun: tuple[str, ...], properties: Iterable[str], tables: Mapping[str, Collection], weight: float
) -> Iterator[Evidence]:
    names = [name for name in properties if singulars(noun_of_id(name)) != noun and tokens(name) != ("id",)]
    yield from _shared(noun, names, tables, weight)
    for kind, table in tables.items() if weight == SHARED else ():
        for name in names:
            if not _has(table.fields, name):
                reason = f"it has no `{name}`"
                yield Evidence(noun=noun, entity_type=kind, weight=NOT_SHARED, reason=reason)


def _from_labels(
    tables: Mapping[str, Collection], tools: Sequence[ToolFacts], references: Sequence[Reference]
) -> Iterator[Evidence]:
    spoken = [noun for tool in tools for noun in nouns_of(tool)]
    for noun in dict.fromkeys([*spoken, *(one.noun for one in references)]):
        for kind in tables:
            label = singulars(tokens(kind))
            is_end = noun[-1] == label[-1]
            weight = LABEL if joined(noun) == joined(label) else LABEL_END if is_end else LABEL_PART
            if noun[-1] in label:
                reason = f"the label `{kind}`"
                yield Evidence(noun=noun, entity_type=kind, weight=weight, reason=reason, from_label=True)


_EXAMPLE = re.compile(
    r"(?:\be\.?g\.?,?|\bfor example,?|\bexamples?:|\bsuch as|\blike)\s+[`'\"(]*([\w./:-]*\w)", re.IGNORECASE
)
_PICKING = ("get", "check", "update", "delete", "transition")


def key_arguments(
    tools: Sequence[ToolFacts],
    meant: Mapping[tuple[str, ...], str],
    world: World,
    tables: Mapping[str, Collection],
) -> dict[str, str]:
    """The type that each is a key of. An example tells, or tools of one record of a type that ask for nothing
    else; a field that records have is no key. `meant`: what the nouns of the tools were found to mean."""
    shapes = {kind: {_shape(id) for id in islice(ids, LOOKED_AT)} for kind, ids in world.entities.items()}
    fields = [table.fields for table in tables.values()]
    words_of_key: dict[str, set[str]] = {}
    votes: dict[str, Counter[str]] = {}
    for tool in tools:
        needed = [one for one in tool.arguments if one.is_required and not one.is_credential]
        for one in needed:
            if not _may_be_key(one) or any(find_field(known, one.name) for known in fields):
                continue
            examples = [_shape(example) for example in _examples(one)]
            words_of_key.setdefault(one.name, set()).update(
                kind for example in examples for kind in shapes if example in shapes[kind]
            )
            is_asked_alone = len(needed) == 1 and tool.name.op in _PICKING and not tool.lists
            voted = votes.setdefault(one.name, Counter())
            voted[meant[tool.thing] if is_asked_alone and tool.thing in meant else ""] += 1
    found = {name: _meant_by(name, words_of_key[name], voted, meant) for name, voted in votes.items()}
    return {name: kind for name, kind in found.items() if kind is not None and votes[name].total() > 1}


def _meant_by(
    name: str, told: Collection_[str], votes: Counter[str], meant: Mapping[tuple[str, ...], str]
) -> str | None:
    """What examples say; else, of the types that are picked by it, the one that it is called after
    (`account_tag`), or the one that most are."""
    if told:
        return next(iter(told)) if len(told) == 1 else None
    kinds = {kind: count for kind, count in votes.items() if kind}
    words = singulars(tokens(name))
    named = {meant[noun] for noun in (words, words[:-1]) if noun in meant} & kinds.keys()
    if len(named) == 1:
        return named.pop()
    ranked = sorted(kinds.items(), key=lambda pair: -pair[1])
    is_plain = len(ranked) == 1 or (len(ranked) > 1 and ranked[0][1] >= 2 * ranked[1][1])
    return ranked[0][0] if is_plain else None


def _may_be_key(argument: Argument) -> bool:
    return (
        argument.id_noun is None
        and argument.is_scalar
        and argument.schema.get("type") != "number"
        and not argument.values
    )


def _examples(argument: Argument) -> Iterator[str]:
    yield from _EXAMPLE.findall(argument.description)
    listed = argument.schema.get("examples")
    yield from (str(one) for one in (listed if isinstance(listed, list) else []))


def _shape(id: str) -> str:
    """DE-0342 and DE-77 alike; a plain number or a plain word is like anything."""
    return re.sub(r"\d+", "9", id) if re.search(r"\d", id) and re.search(r"[A-Za-z]", id) else f"={id}"
