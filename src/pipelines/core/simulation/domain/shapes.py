"""What the seeded world looks like: kinds of records, where they are kept, and which fields they have.

A world keeps records as entities of a type (a table), inside each entity of a type (an order's items), or
inside the one entity of a type, as a service keeps its state (`{"shop": {"self": {"orders": …}}}`).
A declared ledger schema adds types and fields that no seeded entity shows yet.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from pipelines.core.english.words import is_plural, joined, singular, singulars, tokens
from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import EntityField, EntityType, LedgerSchema
from pipelines.core.simulation.domain.fields import MAX_DEPTH, SAMPLE, Form, fields_of, key_field
from pipelines.core.simulation.domain.fields import Field as Field
from pipelines.core.simulation.domain.fields import find_field as find_field
from pipelines.core.simulation.domain.fields import kind_of as kind_of
from pipelines.core.simulation.domain.references import Reference
from pipelines.core.simulation.domain.tool_facts import ToolFacts
from pipelines.core.text.json_text import JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A field that holds the id of a record of some type, and everything such a record is called."""

    path: tuple[str, ...]
    entity_type: str
    names: frozenset[str]
    in_list: bool = False  # one of many that a list keeps: `pupil_ids`, `items[].product_id`


@dataclass(frozen=True, kw_only=True, slots=True)
class Collection:
    """Somewhere records, or plain values, of one kind are kept."""

    entity_type: str
    owner: str | None  # the id of the one entity that keeps them; None: a table, or inside each entity
    path: tuple[str, ...]  # inside the owner; () for a table
    form: Form
    of_records: bool
    fields: Mapping[str, Field]
    id_field: str | None
    is_empty: bool = False
    is_single: bool = False  # there is one record, and no other
    numeric_ids: bool = False  # as the record itself keeps them
    shows_id: bool = False  # every record repeats its id among its attributes
    found_by_field: bool = False  # the declared id field holds other ids than the keys
    whole_number_keys: bool = False  # all ids are whole numbers, written as text
    # A table that will take over from an empty container of a service: (entity type, id, path) of that.
    placeholder: tuple[str, str, tuple[str, ...]] | None = None
    # What the tools and other fields call such a record, most usual first; the label is only the author's.
    called: tuple[tuple[str, ...], ...] = ()
    links: tuple[Link, ...] = ()  # to records of other types
    list_links: tuple[Link, ...] = ()  # likewise, out of lists
    id_words: frozenset[str] = frozenset()  # what the tools' arguments call its ids: slug, of `episodeSlug`

    @property
    def name(self) -> str:
        if self.path:
            return self.path[-1]
        return "_".join(self.called[0]) if self.called else self.entity_type

    @property
    def words(self) -> tuple[str, ...]:
        return singulars(tokens(self.name))

    @property
    def own_names(self) -> frozenset[str]:
        """Everything one of its records is called, run together: `booking_id` is a reservation's own id."""
        return frozenset((joined(self.words), *map(joined, self.called)))

    def link_to(self, noun: Sequence[str]) -> tuple[str, ...] | None:
        """The one field that refers to what the noun names: `owner`, for the customer of an account."""
        found = [link.path for link in self.links if joined(noun) in link.names]
        return found[0] if len(found) == 1 else None

    def links_to(self, noun: Sequence[str]) -> tuple[Link, ...]:
        """All that may refer to what the noun names, in lists or not."""
        return tuple(link for link in (*self.links, *self.list_links) if joined(noun) in link.names)

    @property
    def in_singleton(self) -> bool:
        return self.owner is not None

    @property
    def in_each(self) -> bool:
        return self.owner is None and bool(self.path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Singleton:
    """The one entity of a type that stands for a service: its session, its counters, its account."""

    entity_type: str
    id: str
    fields: Mapping[str, Field]
    attributes: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """A noun and the type it stands for, on what evidence."""

    noun: tuple[str, ...]
    entity_type: str
    weight: float  # of all the evidence
    reasons: tuple[str, ...]
    is_key: bool = False  # ids of the type are kept under this very name


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """Everything reading needs to know about a world, gathered once."""

    tables: Mapping[str, Collection]
    singletons: tuple[Singleton, ...]
    collections: tuple[Collection, ...]  # tables first, then those inside singletons, then inside entities
    is_closed: bool  # a ledger schema declares the types: no new ones
    is_empty: bool
    states: tuple[str, ...] = ()  # values of status fields anywhere: how this world spells its states
    meanings: tuple[Meaning, ...] = ()  # which noun of the tools means which type, and why
    references: tuple[Reference, ...] = ()  # which fields hold ids of which type
    tools: Mapping[str, ToolFacts] = field(default_factory=dict)  # by name, each taken apart once
    # What words were found to name: the same few are looked up for every tool.
    named: dict[object, Collection | None] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def refers_to(self, words: Sequence[str]) -> str | None:
        """The type whose ids stand in a field or an argument of this name; None when nothing says so."""
        target = joined(words)
        return next(
            (one.entity_type for one in self.meanings if one.is_key and joined(one.noun) == target), None
        )


def survey(world: World, ledger_schema: LedgerSchema | None = None) -> Survey:
    declared = dict(ledger_schema.entities) if ledger_schema else {}
    tables: dict[str, Collection] = {}
    singletons: list[Singleton] = []
    for kind, entities in world.entities.items():
        only = singleton_of(kind, entities)
        if only is not None and kind not in declared:
            singletons.append(only)
        else:
            tables[kind] = _table(kind, entities, declared.pop(kind, None))
    tables |= {kind: _table(kind, {}, extra) for kind, extra in declared.items()}
    inside = [one for single in singletons for one in _kept_in(single.entity_type, single.id, single.fields)]
    nested = [one for table in tables.values() for one in _kept_in(table.entity_type, None, table.fields)]
    shapes = [one.fields for one in (*tables.values(), *inside, *nested)] + [one.fields for one in singletons]
    return Survey(
        tables=tables,
        singletons=tuple(singletons),
        collections=(*tables.values(), *inside, *nested),
        is_closed=ledger_schema is not None,
        is_empty=not world.entities,
        states=tuple(dict.fromkeys(state for fields in shapes for state in _states_in(fields))),
    )


def _states_in(fields: Mapping[str, Field]) -> Iterator[str]:
    for name, one in fields.items():
        if tokens(name)[-1:] in (("status",), ("state",)):
            yield from (value for value in one.values if isinstance(value, str))


def singleton_of(kind: str, entities: Mapping[str, JsonObject]) -> Singleton | None:
    """A type with one entity is a service when the entity's id says so."""
    if len(entities) != 1:
        return None
    (id, attributes), *_ = entities.items()
    fields = _with_counted(fields_of([attributes]))
    named_so = id.lower() in ("self", "main", "default", "state", "singleton", "global", kind.lower())
    if named_so:
        return Singleton(entity_type=kind, id=id, fields=fields, attributes=attributes)
    return None


def _with_counted(fields: dict[str, Field]) -> dict[str, Field]:
    """`cases` beside a `case_counter` keeps cases, whatever else has got into it."""
    counted = {
        singulars(tokens(name))[0] for name in fields if tokens(name)[-1:] in (("counter",), ("count",))
    }
    return {
        name: replace(one, keeps="map", of_records=True, parts={})
        if one.keeps is None and "object" in one.kinds and is_plural(name) and singular(name) in counted
        else one
        for name, one in fields.items()
    }


def empty_table(kind: str, fields: Mapping[str, Field]) -> Collection:
    """A type of which there is nothing yet."""
    return Collection(
        entity_type=kind,
        owner=None,
        path=(),
        form="table",
        of_records=True,
        fields=fields,
        id_field=None,
        is_empty=True,
    )


def _table(kind: str, entities: Mapping[str, JsonObject], declared: EntityType | None) -> Collection:
    sample = list(islice(entities.items(), SAMPLE))
    fields = fields_of([attrs for _, attrs in sample])
    for name, one in (declared.fields if declared else {}).items():
        extra, known = _declared_field(one), fields.get(name)
        fields[name] = extra if known is None else replace(known, values=extra.values or known.values)
    id_field = declared.id_field if declared else key_field(kind, sample, fields)
    own_ids = [attrs.get(id_field) for _, attrs in sample] if id_field is not None else []
    return Collection(
        entity_type=kind,
        owner=None,
        path=(),
        form="table",
        of_records=True,
        fields=fields,
        id_field=id_field,
        is_empty=not entities,
        is_single=len(entities) == 1,
        numeric_ids=_id_is_number(sample, id_field),
        shows_id=bool(own_ids) and None not in own_ids,
        found_by_field=any(
            one is not None and str(one) != id for one, (id, _) in zip(own_ids, sample, strict=False)
        ),
        whole_number_keys=bool(sample) and all(id.isdecimal() and str(int(id)) == id for id, _ in sample),
    )


def _kept_in(
    entity_type: str, owner: str | None, fields: Mapping[str, Field], path: tuple[str, ...] = ()
) -> Iterator[Collection]:
    for name, one in fields.items():
        if one.keeps is not None:
            yield Collection(
                entity_type=entity_type,
                owner=owner,
                path=(*path, name),
                form=one.keeps,
                of_records=one.of_records,
                fields=one.parts if one.of_records else {},
                id_field=one.id_field,
                is_empty=one.is_empty,
                numeric_ids=one.id_field is not None and "number" in one.parts[one.id_field].kinds,
            )
        elif one.parts and len(path) < MAX_DEPTH:
            yield from _kept_in(entity_type, owner, one.parts, (*path, name))


def _id_is_number(sample: list[tuple[str, JsonObject]], id_field: str | None) -> bool:
    return id_field is not None and any(isinstance(attrs.get(id_field), int) for _, attrs in sample)


_DECLARED_KINDS = {"string": "text", "integer": "number", "array": "list"}


def _declared_field(declared: EntityField) -> Field:
    return Field(
        name=declared.name,
        kinds=frozenset({_DECLARED_KINDS.get(declared.type, declared.type)}),
        values=declared.enum or (),
        keeps="list" if declared.type == "array" else None,
        is_empty=declared.type == "array",
    )
