"""Which noun of the tools means which type of the world, settled once from all the evidence."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.core.english.words import joined, singulars, tokens, word_set
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.domain.arguments import ToolLike
from pipelines.core.simulation.domain.evidence import EXAMPLE, Evidence, all_evidence, key_arguments
from pipelines.core.simulation.domain.fields import field_at, find_field
from pipelines.core.simulation.domain.references import Reference, noun_of_id, references_in
from pipelines.core.simulation.domain.shapes import Collection, Link, Meaning, Survey
from pipelines.core.simulation.domain.tool_facts import ToolFacts, facts_of, nouns_of

Noun = tuple[str, ...]

_LONGEST = 120  # characters of a description in which its first object stands
_OBJECT = re.compile(
    r"\s*\w+\s+(?:an?|the)\s+(?:new\s+|existing\s+|single\s+)?(\w+(?:\s\w+)??)"
    r"(?=[.,;]|$|\s(?:by|for|to|from|with|in|into|on|of|at|out|off|up|down|back|as)\b)"
)

_WHICH = word_set("new old other")
ENOUGH = 1.5  # less evidence settles nothing: one shared field is chance
_LEAD = 1.0  # by so much the best type has to be ahead of the next


@dataclass(kw_only=True, slots=True)
class _Weighed:
    """All that speaks for one noun, by type."""

    noun: Noun
    by_type: dict[str, float] = field(default_factory=dict)
    without_label: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def add(self, one: Evidence) -> None:
        if one.reason in self.reasons.get(one.entity_type, ()):
            return  # said by several tools, it is no truer
        self.by_type[one.entity_type] = self.by_type.get(one.entity_type, 0.0) + one.weight
        if not one.from_label:
            before = self.without_label.get(one.entity_type, 0.0)
            self.without_label[one.entity_type] = before + one.weight
        self.reasons.setdefault(one.entity_type, []).append(one.reason)

    def speaks_for(self, kind: str) -> bool:
        """Whether nothing speaks louder for another type."""
        return max(self.by_type.values(), default=0.0) <= max(self.by_type.get(kind, 0.0), 0.0)

    def best(self, enough: float, among: Iterable[str] | None = None) -> str | None:
        known = self.by_type if among is None else {kind: self.by_type.get(kind, 0.0) for kind in among}
        ranked = sorted(known.items(), key=lambda pair: -pair[1])
        if not ranked or ranked[0][1] < enough:
            return None
        next_best = ranked[1][1] if len(ranked) > 1 else 0.0
        return ranked[0][0] if ranked[0][1] - max(next_best, 0.0) >= min(_LEAD, enough) else None


def with_names(known: Survey, world: World, tools: Sequence[ToolLike]) -> Survey:
    """The survey with each table called as the tools call it."""
    facts = facts_of(tools)
    references, weighed, settled = _weighed(known, world, facts)
    unnamed_keys = key_arguments(facts, settled, world, known.tables)
    if unnamed_keys:
        facts = facts_of(tools, unnamed_keys)
        references, weighed, settled = _weighed(known, world, facts, unnamed_keys)
    nouns = [noun for tool in facts for noun in (*tool.id_nouns, tool.thing)]
    by_id = {noun for tool in facts for noun in tool.id_nouns}
    unnamed = {singulars(tokens(name)) for name in unnamed_keys}
    keys = {(one.noun, one.to) for one in references if not one.in_list}
    keys |= {(noun, kind) for noun, kind in settled.items() if _is_own_id(noun, known.tables.get(kind))}
    meanings = tuple(_meaning(weighed.get(noun), noun, kind, keys) for noun, kind in settled.items())
    tables = {
        kind: replace(table, called=_ranked(kind, settled, weighed, nouns, by_id, unnamed))
        for kind, table in known.tables.items()
    }
    tables = {
        kind: replace(
            table,
            links=_links(table, tables, references, in_list=False),
            list_links=_links(table, tables, references, in_list=True),
            id_words=_id_words(kind, facts, settled),
        )
        for kind, table in tables.items()
    }
    inside = [one for one in known.collections if one.form != "table" or one.path or one.owner is not None]
    return replace(
        known,
        tables=tables,
        collections=(*tables.values(), *inside),
        meanings=meanings,
        references=references,
        tools={one.tool.name: one for one in facts},
    )


def _weighed(
    known: Survey, world: World, facts: Sequence[ToolFacts], keys: Mapping[str, str] | None = None
) -> tuple[tuple[Reference, ...], dict[Noun, _Weighed], dict[Noun, str]]:
    """Fields that refer, what speaks for each noun, and which type it means."""
    references = references_in(world, {joined(noun) for tool in facts for noun in tool.id_nouns})
    weighed: dict[Noun, _Weighed] = {}
    reasons_given = (
        Evidence(noun=singulars(tokens(name)), entity_type=kind, weight=EXAMPLE, reason=f"`{name}` picks one")
        for name, kind in (keys or {}).items()
    )
    for one in (*all_evidence(known.tables, world, references, facts), *reasons_given):
        weighed.setdefault(one.noun, _Weighed(noun=one.noun)).add(one)
    return references, weighed, _settled(weighed, known, facts, references)


def _links(
    table: Collection, tables: Mapping[str, Collection], references: Sequence[Reference], *, in_list: bool
) -> tuple[Link, ...]:
    found = []
    for one in references:
        if one.entity_type != table.entity_type or one.to not in tables:
            continue
        if _is_in_list(table, one.path) != in_list or (in_list and not _is_reachable(table, one.path)):
            continue
        names = tables[one.to].own_names | {joined(one.noun)}
        found.append(Link(path=one.path, entity_type=one.to, names=names, in_list=in_list))
    return tuple(found)


def _is_reachable(table: Collection, path: Sequence[str]) -> bool:
    """A list at the top of the record: of ids, or of records with an id."""
    kept = table.fields.get(path[0])
    return kept is not None and kept.keeps == "list" and len(path) <= 1 + kept.of_records


def _id_words(kind: str, tools: Sequence[ToolFacts], settled: Mapping[Noun, str]) -> frozenset[str]:
    return frozenset(
        one.words[-1] for tool in tools for noun, one in tool.id_nouns.items() if settled.get(noun) == kind
    )


def _is_in_list(table: Collection, path: Sequence[str]) -> bool:
    steps = [field_at(table.fields, tuple(path[: at + 1])) for at in range(len(path))]
    return any(one is None or one.keeps is not None for one in steps)


def _settled(
    weighed: Mapping[Noun, _Weighed],
    known: Survey,
    tools: Sequence[ToolFacts],
    references: Sequence[Reference],
) -> dict[Noun, str]:
    settled = {noun: kind for noun, one in weighed.items() if (kind := one.best(ENOUGH)) is not None}
    for noun, kind in _heard(tools, settled, known):
        if noun not in weighed or weighed[noun].speaks_for(kind):
            settled.setdefault(noun, kind)
    for noun, kind in _described(tools, settled, known):
        settled.setdefault(noun, kind)
    settled |= _left_over(weighed, known, tools, settled)
    nouns = {noun for tool in tools for noun in tool.id_nouns}
    of_fields = _words_of_fields(known)
    return {
        noun: kind
        for noun, kind in settled.items()
        if noun in nouns
        or noun[-1] not in of_fields
        or not any(noun[:at] in settled for at in range(len(noun)))
    }  # a shop's name is no shop


def _heard(
    tools: Sequence[ToolFacts], settled: Mapping[Noun, str], known: Survey
) -> Iterator[tuple[Noun, str]]:
    """`cancel_class(session_id)`: a class is what a session id picks, if nothing else says what it is."""
    of_states = {word for state in known.states for word in tokens(state)}
    for tool in tools:
        ids = list(tool.id_nouns)
        kind = settled.get(ids[0]) if len(ids) == 1 else None
        thing = tool.thing
        if kind is None or tool.makes or len(thing) != 1 or thing in settled or tool.lists:
            continue
        if thing[0] in _answered(tool) or thing[0] in of_states:
            continue  # `lending_fee(tool_id)` answers a fee, `put_on_hold(load_id)` leads to a state
        if thing[0] not in _words_of_fields(known):
            yield thing, kind


def _words_of_fields(known: Survey) -> frozenset[str]:
    """What is said of records is not what they are called: the delivery date of an order."""
    names = (name for table in known.tables.values() for name in table.fields)
    return frozenset(word for name in names for word in singulars(tokens(name)))


def _answered(tool: ToolFacts) -> set[str]:
    """Plain values of its reply."""
    declared = (tool.tool.output_schema or {}).get("properties")
    return {
        tokens(name)[-1]
        for name, schema in (declared if isinstance(declared, dict) else {}).items()
        if isinstance(schema, dict) and schema.get("type") in ("number", "integer", "boolean")
    }


def _described(
    tools: Sequence[ToolFacts], settled: Mapping[Noun, str], known: Survey
) -> Iterator[tuple[Noun, str]]:
    """ "Describe a virtual machine" of describe_instance(instance_id): what descriptions call the record that
    the one id picks, or that is made, if they call nothing else so."""
    described: dict[Noun, set[str]] = {}
    for tool in tools:
        ids = [kind for noun in tool.id_nouns if (kind := settled.get(noun)) is not None]
        picked = ids[0] if len(ids) == len(tool.id_nouns) == 1 else None
        kind = settled.get(tool.thing) if tool.makes else picked
        says_nothing = tool.lists or tool.name.op == "notify"  # "Sends a message" to a client
        found = None if says_nothing else _OBJECT.match((tool.tool.description or "")[:_LONGEST])
        if found is not None and kind is not None:
            noun = singulars(tokens(found[1]))[-1:]
            described.setdefault(noun, set()).add(kind)
    answered = {name for tool in tools for name in _answered(tool)}
    answered |= _words_of_fields(known)  # "Returns the yearly rent of a plot"
    for noun, kinds in described.items():
        if len(kinds) == 1 and noun not in settled and noun[0] not in answered:
            yield noun, kinds.pop()


def _free(known: Survey, tools: Sequence[ToolFacts], settled: Mapping[Noun, str]) -> set[str]:
    """Types that no noun of the tools means."""
    spoken = {noun for tool in tools for noun in nouns_of(tool)}
    used_kinds = {kind for noun, kind in settled.items() if noun in spoken}
    return {kind for kind, table in known.tables.items() if kind not in used_kinds and not table.is_empty}


def _open_nouns(known: Survey, tools: Sequence[ToolFacts], settled: Mapping[Noun, str]) -> list[Noun]:
    """Asked for by id, and of no type as yet."""
    kept = {joined(singulars(part.words)) for part in known.collections if part.path}
    named = {noun: one.name for tool in tools for noun, one in tool.id_nouns.items()}
    return [
        noun
        for noun, name in named.items()
        if noun not in settled
        and joined(noun) not in kept
        # `person_by_badge(badge_no)`: people have that, and no badge is kept anywhere.
        and not any(find_field(table.fields, name) for table in known.tables.values())
    ]


def _left_over(
    weighed: Mapping[Noun, _Weighed], known: Survey, tools: Sequence[ToolFacts], settled: Mapping[Noun, str]
) -> dict[Noun, str]:
    """One type that no noun means and one noun, asked for by id, that means no type: they belong together."""
    free = _free(known, tools, settled)
    nouns = {noun for tool in tools for noun in tool.id_nouns}
    of_fields = _words_of_fields(known)
    things = dict.fromkeys(
        tool.thing for tool in tools if tool.thing and not tool.makes and tool.thing[-1] not in of_fields
    )
    open_nouns = _open_nouns(known, tools, settled)
    new_things = {tool.thing for tool in tools if tool.makes}
    unmade = [noun for noun in open_nouns if noun not in new_things]
    if len(free) == 1 and len(unmade) == 1:
        return {unmade[0]: free.pop()}
    found = {
        noun: kind
        for noun in (*open_nouns, *(one for one in things if one not in settled and one not in nouns))
        if noun in weighed and (kind := weighed[noun].best(0.5, free)) is not None
    }
    # `promo`, and what a tool asks of a promo: the shorter one is what it is called.
    plain = {
        noun: kind
        for noun, kind in found.items()
        if not any(noun[at:] in found for at in range(1, len(noun)))
    }
    return {noun: kind for noun, kind in plain.items() if list(plain.values()).count(kind) == 1}


def _is_own_id(noun: Noun, table: Collection | None) -> bool:
    return table is not None and table.id_field is not None and noun_of_id(table.id_field) == noun


def _meaning(one: _Weighed | None, noun: Noun, kind: str, keys: set[tuple[Noun, str]]) -> Meaning:
    reasons = one.reasons.get(kind, []) if one is not None else []
    weight = one.by_type.get(kind, 0.0) if one is not None else 0.0
    reason_list = tuple(dict.fromkeys(reasons)) or ("nothing else fits",)
    return Meaning(
        noun=noun, entity_type=kind, weight=weight, reasons=reason_list, is_key=(noun, kind) in keys
    )


def _ranked(
    kind: str,
    settled: Mapping[Noun, str],
    weighed: Mapping[Noun, _Weighed],
    asked: Sequence[Noun],
    by_id: Container[Noun],
    unnamed: Container[Noun],
) -> tuple[Noun, ...]:
    """What the tools speak of most first; the label has no say, so that it may be any. An ear tag is what a
    cow is known by, not what it is called."""

    def rank(noun: Noun) -> tuple[bool, int, float, Noun]:
        weight = weighed[noun].without_label.get(kind, 0.0) if noun in weighed else 0.0
        return (noun in unnamed, -asked.count(noun), -weight, noun)

    own = [noun for noun, meaning in settled.items() if meaning == kind]
    # `vacant_room` is a room: the longer name says no more of the type, unless its ids are called so.
    plain = [noun for noun in own if not any(noun[at:] in own for at in range(1, len(noun)))]
    longer = [noun for noun in own if noun not in plain and noun in by_id and noun[0] not in _WHICH]
    return (*sorted(plain, key=rank), *sorted(longer, key=rank))
