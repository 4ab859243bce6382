"""Types and fields that only the tools speak of: a world for an agent without a ledger schema."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pipelines.core.english.words import joined, singular, singulars, tokens, word_set
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.tool_facts import ToolFacts, facts_of
from pipelines.core.simulation.domain.verbs import ARITHMETIC, OP_OF_VERB
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.text.json_text import Json
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.worlds.outline import (
    ROLES,
    FieldKind,
    FieldOutline,
    Kinds,
    TypeOutline,
    field_from_schema,
    is_person,
    type_meant,
)

#: What is no record, though tools get, list or add it.
_NO_THINGS = word_set(
    "type kind history stats statistic info detail list status value number time date login session price "
    "change watchlist report summary result total count balance money fund rate weather id zip name human "
    "expression"
)
_WITH_STOCK = word_set("product item sku article part ingredient")
#: What is somebody's, also where no tool says whose.
_OWNED = word_set(
    "order account card loan ticket reservation booking subscription invoice payment refund claim policy "
    "appointment cart purchase return delivery shipment case complaint membership transaction transfer quote "
    "contract certificate rental lease prescription method application incident enrollment registration pet"
)
#: What a thing is picked by where it has no id: a stock's symbol.
_KEYS = word_set("symbol sku ticker isbn slug handle code vin plate barcode upc")
_OF_REPLIES = word_set("success ok count total_count page error errors message_text next cursor")
_OF_QUERIES = word_set("limit offset page query keyword")
_NOT_KEPT = word_set("min max from to before after since until sort order limit start end by new")
_USUAL: Mapping[str, FieldKind] = {"price": "number", "balance": "number", "stock": "whole", "status": "text"}
MOST_TYPES = 100


def spoken_types(tools: Sequence[Tool]) -> dict[str, TypeOutline]:
    spoken = [tool for tool in tools if not all(word in ARITHMETIC for word in tokens(tool.name))]
    facts = facts_of(spoken)
    types = Kinds({name: _bare(name) for name in list(_type_names(spoken, facts))[:MOST_TYPES]})
    # Which argument picks a thing is known of all before any tool is asked what it is about.
    first = Spoken(types, facts)
    keyed = Kinds({name: replace(one, id_field=first.id_name(one)) for name, one in types.items()})
    second = Spoken(keyed, facts)
    return {name: second.filled(one) for name, one in keyed.items()}


def _bare(name: str) -> TypeOutline:
    nouns = frozenset({joined(tokens(name))})
    return TypeOutline(name=name, id_field=None, fields=(), nouns=nouns, is_person=is_person(name))


def _type_names(tools: Sequence[Tool], facts: Sequence[ToolFacts]) -> Iterator[str]:
    """What the survey of an empty world has a table for, and what ids are asked for beside that."""
    known = survey_for(tools, world=World({}))
    noun_counts = Counter(noun for one in facts for noun in one.id_nouns)
    heads = {noun[-1] for noun in noun_counts}
    # `users_get(id)`: the id of what the name speaks of.
    heads |= {
        one.thing[-1] for one in facts if one.thing and any(each.id_noun == () for each in one.arguments)
    }
    new_types = {
        one.thing[-1]
        for one in facts
        if one.thing and one.name.op in ("create", "list", "search", "notify") and one.name.sureness >= 0.5
    }
    found: dict[str, None] = {}
    for name in known.tables:
        last = singular(tokens(name)[-1])
        is_verb = last in OP_OF_VERB and len(tokens(name)) > 1  # user_update
        if last not in _NO_THINGS and not is_verb and last in heads | new_types:
            found[name] = None
    used_nouns = {singular(tokens(name)[-1]) for name in found}
    for noun in noun_counts:
        if noun[-1] not in used_nouns and noun[-1] not in _NO_THINGS and noun[-1] not in ROLES:
            found["_".join(noun)] = None
            used_nouns.add(noun[-1])
    roles = [noun for noun in noun_counts if noun[-1] in ROLES and noun[-1] not in used_nouns]
    if roles and not any(is_person(name) for name in found):
        found[roles[0][-1]] = None
    yield from found


def about_type(fact: ToolFacts, types: Mapping[str, TypeOutline]) -> str | None:
    """What is changed is what the first id picks (`modify_order_items(order_id, …)`); what is read or made is
    the last thing that the name speaks of: `list_member_accounts`."""
    picked = [kind for one in fact.arguments if one.is_scalar and (kind := id_type(one, types, fact))]
    if fact.name.op not in ("create", "notify", "list", "search", "get", "check", "count") and picked:
        return picked[0]
    thing = fact.thing
    tries = (
        type_meant(f"{'_'.join(thing[at:end])}_id", types)
        for end in range(len(thing), 0, -1)
        for at in range(end)
    )
    found = next((type_found for type_found in tries if type_found is not None), None)
    return found or (picked[0] if picked and not fact.makes else None)


def id_type(argument: Argument, types: Mapping[str, TypeOutline], fact: ToolFacts) -> str | None:
    """The type of which the argument takes an id."""
    if argument.id_noun == ():
        return type_meant(f"{'_'.join(fact.thing)}_id", types) if fact.thing else None
    if argument.id_noun is not None:
        return type_meant(argument.name, types)
    keyed = [one.name for one in types.values() if one.id_field == argument.name]
    return keyed[0] if len(keyed) == 1 else None


def named_like(words: Iterable[str], is_camel: bool) -> str:
    first, *rest = words
    return first + "".join(map(str.capitalize, rest)) if is_camel else "_".join((first, *rest))


@dataclass(frozen=True)  # no slots: what is derived is kept on the record
class Spoken:
    """What a set of tools says of its types."""

    types: Mapping[str, TypeOutline]
    facts: Sequence[ToolFacts]

    @cached_property
    def is_camel(self) -> bool:
        names = (one.name for fact in self.facts for one in fact.arguments)
        return any(any(map(str.isupper, name[1:])) and "_" not in name for name in names)

    @cached_property
    def _by_type(self) -> Mapping[str | None, list[ToolFacts]]:
        found: dict[str | None, list[ToolFacts]] = {}
        for fact in self.facts:
            found.setdefault(about_type(fact, self.types), []).append(fact)
        return found

    def _about(self, own: TypeOutline) -> list[ToolFacts]:
        return self._by_type.get(own.name, [])

    def _ids_of(self, own: TypeOutline) -> Iterator[tuple[ToolFacts, Argument]]:
        for fact in self.facts:
            for one in fact.arguments:
                is_one = one.kind in ("text", "number", "any")
                if is_one and id_type(one, self.types, fact) == own.name:
                    yield fact, one

    def id_name(self, own: TypeOutline) -> str:
        names = (one.name for _, one in self._ids_of(own))
        plain = [name for name in names if len(tokens(name)) <= len(tokens(own.name)) + 1]
        if plain:
            return Counter(plain).most_common(1)[0][0]
        for fact in self.facts:
            key = next(
                (one.name for one in fact.arguments if one.is_required and one.words[-1] in _KEYS), None
            )
            if key is not None and own.last in fact.thing:
                return key
        return named_like((*tokens(own.name), "id"), self.is_camel)

    def id_schema(self, own: TypeOutline) -> dict[str, Json]:
        """Pattern, format and examples of all arguments that take such an id."""
        merged: dict[str, Json] = {}
        for _, one in self._ids_of(own):
            for key in ("pattern", "format", "minLength", "maxLength", "examples", "description"):
                if one.schema.get(key) and key not in merged:
                    merged[key] = one.schema[key]
        return merged

    def filled(self, own: TypeOutline) -> TypeOutline:
        id_field = own.id_field or "id"
        kinds = [one.schema.get("type") for _, one in self._ids_of(own)]
        id_kind: FieldKind = "whole" if "integer" in kinds and "string" not in kinds else "text"
        found: dict[str, FieldOutline] = {}
        key = FieldOutline(name=id_field, kind=id_kind, schema=self.id_schema(own))
        for one in (key, *self.said_fields(own)):
            same = next((name for name in found if joined(tokens(name)) == joined(tokens(one.name))), None)
            found[same or one.name] = one if same is None else _richer(found[same], one)
        for one in self._usual_fields(own, found):
            found.setdefault(one.name, one)
        return replace(own, id_field=id_field, fields=tuple(found.values()))

    def said_fields(self, own: TypeOutline) -> Iterator[FieldOutline]:
        """Replies of tools that read one, then what is given to make, change or find one."""
        about = self._about(own)
        for fact in about:
            if fact.name.reads():
                yield from _shown_fields(fact.tool.output_schema or {}, own, self.types)
        for fact in about:
            for one in fact.arguments:
                if self._is_field(fact, one, own):
                    listed = {"enum": list(one.values)} if one.values else {}
                    yield field_from_schema(one.name, {**one.schema, **listed})

    def _is_field(self, fact: ToolFacts, one: Argument, own: TypeOutline) -> bool:
        words, op = one.words, fact.name.op
        if one.is_credential or id_type(one, self.types, fact) == own.name:
            return False
        if fact.name.reads() and (words[0] in _NOT_KEPT or words[-1] in _OF_QUERIES):
            return False
        if op == "update":
            return one.kind != "list" and one.name not in ("updates", "changes", "fields", "patch")
        if op in ("list", "search"):
            return one.kind in ("text", "number", "boolean")
        if op == "get":
            return one.id_noun is not None and len(fact.id_nouns) == 1 and fact.thing[-1:] == (own.last,)
        return fact.makes

    def _usual_fields(self, own: TypeOutline, found: Mapping[str, FieldOutline]) -> Iterator[FieldOutline]:
        """What such a record has though no schema says so: a state where verbs lead to one, whose it is."""
        last = {tokens(name)[-1] for name in found}
        is_moved = any(one.name.op == "transition" for one in self._about(own))
        if is_moved and "status" not in last and ("state" not in found or "city" in found):
            yield _usual("status")
        paid = {
            fact.tool.name
            for fact, _ in self._ids_of(own)
            if fact.name.op in ("transfer", "fund", "withdraw")
        }
        if paid and "amount" in {
            one.name for fact in self.facts if fact.tool.name in paid for one in fact.arguments
        }:
            yield _usual("balance")
        people = [one.name for one in self.types.values() if one.is_person]
        is_owned = any(type_meant(name, self.types) in people for name in found)
        if own.last in _OWNED and len(people) == 1 and not is_owned:
            yield FieldOutline(name=named_like((*tokens(people[0]), "id"), self.is_camel), kind="text")
        yield from self._described(own, found, last)

    def _described(
        self, own: TypeOutline, found: Mapping[str, FieldOutline], last: set[str]
    ) -> Iterator[FieldOutline]:
        if own.is_person:
            if not last & {"name", "username"}:
                yield FieldOutline(name="name", kind="text")
            if "email" not in last:
                yield FieldOutline(name="email", kind="text")
            return
        if own.last not in _OWNED and not last & {"name", "title", "model", "subject", "description"}:
            yield FieldOutline(name="name", kind="text")
        if own.last in _WITH_STOCK:
            yield from (_usual(word) for word in ("price", "stock") if word not in last)
        elif not last & {"at", "on", "date"} and len(found) > 1:
            yield FieldOutline(name=named_like(("created", "at"), self.is_camel), kind="text")


def _usual(word: str) -> FieldOutline:
    return FieldOutline(name=word, kind=_USUAL[word])


def _richer(known: FieldOutline, other: FieldOutline) -> FieldOutline:
    """What two tools say of one field: the narrower of each."""
    return replace(
        known,
        values=known.values or other.values,
        schema={**(other.schema or {}), **(known.schema or {})},
        description=known.description or other.description,
        parts=known.parts or other.parts,
    )


def _shown_fields(
    schema: Mapping[str, Json], own: TypeOutline, types: Mapping[str, TypeOutline]
) -> Iterator[FieldOutline]:
    """Of the record that a reply is, or of those that it lists."""
    field_shape = field_from_schema("", dict(schema))
    lists = [one for one in field_shape.parts if one.kind == "list" and one.parts]
    listed = [one for one in lists if type_meant(f"{'_'.join(singulars(one.words))}_id", types) == own.name]
    if listed:
        yield from (part for one in listed for part in one.parts)
    elif field_shape.kind == "list" or len(field_shape.parts) > 1:
        yield from (one for one in field_shape.parts if one.words[-1] not in _OF_REPLIES)
