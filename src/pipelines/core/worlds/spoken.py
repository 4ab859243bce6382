"""Types and fields that only the tools speak of: a world for an agent without a ledger schema."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pipelines.core.english.words import joined, plural, singular, singulars, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.ledger import World
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.tool_facts import ToolFacts, facts_of
from pipelines.core.simulation.domain.verbs import ARITHMETIC, OP_OF_VERB
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.tools_schema import Tool
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
_WITH_STOCK = word_set("product item sku article part book ingredient")
#: What is somebody's, also where no tool says whose.
_OWNED = word_set(
    "order account card loan ticket reservation booking subscription invoice payment refund claim policy "
    "appointment cart purchase return delivery shipment case complaint membership transaction transfer quote "
    "contract certificate rental lease prescription method application incident enrollment registration pet"
)
MOST_TYPES = 100


def spoken_types(tools: Sequence[Tool], behavior: str | None) -> dict[str, TypeOutline]:
    facts = [one for one in facts_of(tools) if not _is_arithmetic(one.tool.name)]
    names = list(_type_names([tool for tool in tools if not _is_arithmetic(tool.name)], facts))[:MOST_TYPES]
    types = Kinds({name: _bare(name) for name in names})
    is_camel = any(
        any(map(str.isupper, one.name[1:])) and "_" not in one.name
        for fact in facts
        for one in fact.arguments
    )
    # Which argument picks a thing is known of all before any tool is asked what it is about.
    keyed = Kinds(
        {name: replace(one, id_field=_id_name(one, types, facts, is_camel)) for name, one in types.items()}
    )
    return {name: _filled(one, keyed, facts, behavior or "", is_camel) for name, one in keyed.items()}


def _bare(name: str) -> TypeOutline:
    nouns = frozenset({joined(tokens(name))})
    return TypeOutline(name=name, id_field=None, fields=(), nouns=nouns, is_person=is_person(name))


def _is_arithmetic(name: str) -> bool:
    return all(word in ARITHMETIC for word in tokens(name))


def _type_names(tools: Sequence[Tool], facts: Sequence[ToolFacts]) -> Iterator[str]:
    """What the survey of an empty world has a table for, and what ids are asked for beside that."""
    known = survey_for(tools, world=World({}))
    asked = Counter(noun for one in facts for noun in one.id_nouns)
    heads = {noun[-1] for noun in asked}
    # `users_get(id)`: the id of what the name speaks of.
    heads |= {
        one.thing[-1] for one in facts if one.thing and any(each.id_noun == () for each in one.arguments)
    }
    found: dict[str, None] = {}
    for name in known.tables:
        last = singular(tokens(name)[-1])
        is_verb = last in OP_OF_VERB and len(tokens(name)) > 1  # user_update
        if last not in _NO_THINGS and not is_verb and (last in heads or _is_made_or_listed(last, facts)):
            found[name] = None
    taken = {singular(tokens(name)[-1]) for name in found}
    for noun in asked:
        if noun[-1] not in taken and noun[-1] not in _NO_THINGS and noun[-1] not in ROLES:
            found["_".join(noun)] = None
            taken.add(noun[-1])
    people = [name for name in found if is_person(name)]
    roles = [noun for noun in asked if noun[-1] in ROLES and noun[-1] not in taken]
    if not people and roles:
        found[roles[0][-1]] = None
    yield from found


def _nouns(fact: ToolFacts) -> tuple[str, ...]:
    """The thing that the name speaks of; `users_update` is about a user."""
    return tuple(word for word in fact.thing if word not in OP_OF_VERB)[-1:] or fact.thing[-1:]


def _is_made_or_listed(last: str, facts: Sequence[ToolFacts]) -> bool:
    return any(
        one.thing[-1:] == (last,)
        and one.name.op in ("create", "list", "search", "notify")
        and one.name.sureness >= 0.5
        for one in facts
    )


# -- the fields of one type


def _filled(
    own: TypeOutline,
    types: Mapping[str, TypeOutline],
    facts: Sequence[ToolFacts],
    behavior: str,
    is_camel: bool,
) -> TypeOutline:
    id_field = own.id_field or "id"
    found: dict[str, FieldOutline] = {}

    def add(one: FieldOutline) -> None:
        same = next((name for name in found if joined(tokens(name)) == joined(tokens(one.name))), None)
        if same is None:
            found[one.name] = one
        else:
            found[same] = _richer(found[same], one)

    add(FieldOutline(name=id_field, kind=_id_kind(own, types, facts), schema=id_schema(own, types, facts)))
    for one in said_fields(own, types, facts):
        add(one)
    for one in _kept_lists(own, types, facts, is_camel):
        add(one)
    for one in _usual_fields(own, types, facts, behavior, found, is_camel):
        add(one)
    return replace(own, id_field=id_field, fields=tuple(found.values()))


def _richer(known: FieldOutline, other: FieldOutline) -> FieldOutline:
    """What two tools say of one field: the narrower of each."""
    return replace(
        known,
        values=known.values or other.values,
        schema={**(other.schema or {}), **(known.schema or {})},
        description=known.description or other.description,
        parts=known.parts or other.parts,
    )


def _own_id_arguments(
    own: TypeOutline, types: Mapping[str, TypeOutline], facts: Sequence[ToolFacts]
) -> Iterator[tuple[ToolFacts, Argument]]:
    for fact in facts:
        for argument in fact.arguments:
            if argument.kind in ("text", "number", "any") and is_id_of(argument, own.name, types, fact):
                yield fact, argument


def is_id_of(argument: Argument, kind: str, types: Mapping[str, TypeOutline], fact: ToolFacts) -> bool:
    return id_type(argument, types, fact) == kind


def _id_name(
    own: TypeOutline, types: Mapping[str, TypeOutline], facts: Sequence[ToolFacts], is_camel: bool
) -> str:
    plain = [
        one.name
        for _, one in _own_id_arguments(own, types, facts)
        if len(tokens(one.name)) <= len(tokens(own.name)) + 1
    ]
    if plain:
        return Counter(plain).most_common(1)[0][0]
    for fact in facts:
        key = next((one.name for one in fact.arguments if one.is_required and one.words[-1] in _KEYS), None)
        if key is not None and own.last in fact.thing:
            return key
    return named_like((*tokens(own.name), "id"), is_camel)


#: What a thing is picked by where it has no id: a stock's symbol.
_KEYS = word_set("symbol sku ticker isbn slug handle code vin plate barcode upc")


def named_like(words: Iterable[str], is_camel: bool) -> str:
    first, *rest = words
    return first + "".join(map(str.capitalize, rest)) if is_camel else "_".join((first, *rest))


def _id_kind(own: TypeOutline, types: Mapping[str, TypeOutline], facts: Sequence[ToolFacts]) -> FieldKind:
    kinds = [one.schema.get("type") for _, one in _own_id_arguments(own, types, facts)]
    return "whole" if "integer" in kinds and "string" not in kinds else "text"


def id_schema(
    own: TypeOutline, types: Mapping[str, TypeOutline], facts: Sequence[ToolFacts]
) -> dict[str, Json]:
    """Pattern, format and examples of all arguments that take such an id."""
    merged: dict[str, Json] = {}
    for fact, one in _own_id_arguments(own, types, facts):
        for key in ("pattern", "format", "minLength", "maxLength", "examples", "description"):
            if one.schema.get(key) and key not in merged:
                merged[key] = one.schema[key]
        if "description" not in merged and len(fact.id_nouns) == 1 and fact.tool.description:
            merged["told"] = fact.tool.description
    return merged


def said_fields(
    own: TypeOutline, types: Mapping[str, TypeOutline], facts: Sequence[ToolFacts]
) -> Iterator[FieldOutline]:
    """Replies of tools that read one, then what is given to make, change or find one."""
    for fact in facts:
        if fact.name.reads() and _is_about(fact, own, types):
            yield from _shown_fields(fact.tool.output_schema or {}, own, types)
    for fact in facts:
        if not _is_about(fact, own, types):
            continue
        for argument in fact.arguments:
            if _is_field(fact, argument, own, types):
                yield field_from_schema(
                    argument.name,
                    {**argument.schema, **({"enum": list(argument.values)} if argument.values else {})},
                )


def _shown_fields(
    schema: Mapping[str, Json], own: TypeOutline, types: Mapping[str, TypeOutline]
) -> Iterator[FieldOutline]:
    """Of the record that a reply is, or of those that it lists."""
    shown = field_from_schema("", dict(schema))
    listed = [
        one
        for one in shown.parts
        if one.kind == "list"
        and one.parts
        and type_meant(f"{'_'.join(singulars(one.words))}_id", types) == own.name
    ]
    if listed:
        yield from (part for one in listed for part in one.parts)
    elif shown.kind == "list" or len(shown.parts) > 1:
        yield from (one for one in shown.parts if one.words[-1] not in _OF_REPLIES)


_OF_REPLIES = word_set("success ok count total_count page error errors message_text next cursor")


def _is_about(fact: ToolFacts, own: TypeOutline, types: Mapping[str, TypeOutline]) -> bool:
    """The tool reads, makes or changes such a thing."""
    return about_type(fact, types) == own.name


def about_type(fact: ToolFacts, types: Mapping[str, TypeOutline]) -> str | None:
    """What is changed is what the first id picks (`modify_order_items(order_id, …)`); what is read or made is
    the last thing that the name speaks of: `list_member_accounts`."""
    if not isinstance(types, Kinds):
        return _about(fact, types)
    name = fact.tool.name
    if name not in types.about:
        types.about[name] = _about(fact, types)
    return types.about[name]


def _about(fact: ToolFacts, types: Mapping[str, TypeOutline]) -> str | None:
    picked = [kind for one in fact.arguments if one.is_scalar and (kind := id_type(one, types, fact))]
    if fact.name.op not in ("create", "notify", "list", "search", "get", "check", "count") and picked:
        return picked[0]
    thing = fact.thing
    for end in range(len(thing), 0, -1):
        for at in range(end):
            meant = type_meant(f"{'_'.join(thing[at:end])}_id", types)
            if meant is not None:
                return meant
    return picked[0] if picked and not fact.makes else None


def id_type(argument: Argument, types: Mapping[str, TypeOutline], fact: ToolFacts) -> str | None:
    """The type of which the argument takes an id."""
    if argument.id_noun == ():
        return type_meant(f"{'_'.join(fact.thing)}_id", types) if fact.thing else None
    if argument.id_noun is not None:
        return type_meant(argument.name, types)
    keyed = [one.name for one in types.values() if one.id_field == argument.name]
    return keyed[0] if len(keyed) == 1 else None


def _is_field(
    fact: ToolFacts, argument: Argument, own: TypeOutline, types: Mapping[str, TypeOutline]
) -> bool:
    if argument.is_credential or is_id_of(argument, own.name, types, fact):
        return False
    words = argument.words
    if fact.name.reads() and (words[0] in _NOT_KEPT or words[-1] in _OF_QUERIES):
        return False
    if fact.name.op in ("create", "notify"):
        return True
    is_id = argument.id_noun is not None
    if fact.name.op == "update":
        return argument.kind != "list" and argument.name not in ("updates", "changes", "fields", "patch")
    if fact.name.op in ("list", "search"):
        return argument.kind in ("text", "number", "boolean")
    if fact.name.op == "get":
        return is_id and len(fact.id_nouns) == 1 and fact.thing[-1:] == (singular(tokens(own.name)[-1]),)
    return False


_OF_QUERIES = word_set("limit offset page query keyword")
_NOT_KEPT = word_set("min max from to before after since until sort order limit start end by new")


def _kept_lists(
    own: TypeOutline, types: Mapping[str, TypeOutline], facts: Sequence[ToolFacts], is_camel: bool
) -> Iterator[FieldOutline]:
    """`return_order_items(order_id, item_ids)`: an order keeps items."""
    for fact in facts if not own.is_person else ():
        for one in fact.arguments:
            other = type_meant(one.name, types) if one.kind == "list" and one.words[-1] == "ids" else None
            if other is None or other == own.name or fact.name.reads() or not _is_about(fact, own, types):
                continue
            parts = (
                FieldOutline(name=named_like((*tokens(other), "id"), is_camel), kind="text"),
                FieldOutline(name="name", kind="text"),
                FieldOutline(name="price", kind="number"),
            )
            yield FieldOutline(name=plural(other), kind="list", parts=parts)


def _usual_fields(
    own: TypeOutline,
    types: Mapping[str, TypeOutline],
    facts: Sequence[ToolFacts],
    behavior: str,
    found: Mapping[str, FieldOutline],
    is_camel: bool,
) -> Iterator[FieldOutline]:
    """What such a record has though no schema says so: what texts speak of, a state where verbs lead to one,
    whose it is, a name."""
    known = {joined(tokens(name)) for name in found}
    texts = [behavior, *(one.tool.description for one in facts if _is_about(one, own, types))]
    for word in sorted({word for text in texts for word in _spoken_of(own, text or "")}):
        taken = word in known or any(tokens(name)[-1] == word for name in found)
        if not taken:
            yield _usual(word)
    moved = [one for one in facts if one.name.op == "transition" and _is_about(one, own, types)]
    has_status = any(
        tokens(name)[-1] == "status" or (name == "state" and "city" not in found) for name in found
    )
    if moved and not has_status:
        yield _usual("status")
    if any(one.name.op in ("transfer", "fund", "withdraw") and _takes(one, own, types) for one in facts):
        yield _usual("balance")
    yield from _owner(own, types, found, is_camel)
    yield from _described(own, found, is_camel)


def _takes(fact: ToolFacts, own: TypeOutline, types: Mapping[str, TypeOutline]) -> bool:
    return any(is_id_of(one, own.name, types, fact) for one in fact.arguments)


def _spoken_of(own: TypeOutline, text: str) -> Iterator[str]:
    """`the account's balance`, `balance of the source account`, `an account with its balance and status`."""
    words = tokens(text.replace("'s", " 's "))
    last = singular(tokens(own.name)[-1])
    for at, word in enumerate(words):
        if singular(word) != last:
            continue
        after = list(words[at + 1 : at + 7])
        if after[:1] == ["s"] and after[1:2] and after[1] in _USUAL:
            yield after[1]
        if after[:1] == ["with"] and after[1:2] in (["its"], ["their"], ["the"]):
            yield from (each for each in after if each in _USUAL)
        before = list(words[max(0, at - 4) : at])
        if "of" in before:
            named = words[max(0, at - len(before) + before.index("of") - 1)]
            if named in _USUAL:
                yield named


#: What texts may say of a record that no schema has.
_USUAL: Mapping[str, FieldKind] = {
    "total": "number", "subtotal": "number", "amount": "number", "quantity": "whole", "price": "number",
    "balance": "number", "stock": "whole", "status": "text", "reason": "text", "email": "text",
    "tier": "text", "role": "text",
}  # fmt: skip


def _usual(word: str) -> FieldOutline:
    return FieldOutline(name=word, kind=_USUAL[word])


def _owner(
    own: TypeOutline, types: Mapping[str, TypeOutline], found: Mapping[str, FieldOutline], is_camel: bool
) -> Iterator[FieldOutline]:
    people = [one for one in types.values() if one.is_person]
    if own.last not in _OWNED or len(people) != 1:
        return
    if not any(type_meant(name, types) == people[0].name for name in found):
        yield FieldOutline(name=named_like((*tokens(people[0].name), "id"), is_camel), kind="text")


def _described(own: TypeOutline, found: Mapping[str, FieldOutline], is_camel: bool) -> Iterator[FieldOutline]:
    names = {tokens(name)[-1] for name in found}
    if own.is_person:
        if not names & {"name", "username"}:
            yield FieldOutline(name="name", kind="text")
        if "email" not in names:
            yield FieldOutline(name="email", kind="text")
        return
    if own.last not in _OWNED and not names & {"name", "title", "model", "subject", "description"}:
        yield FieldOutline(name="name", kind="text")
    if own.last in _WITH_STOCK:
        yield from (_usual(word) for word in ("price", "stock") if word not in names)
    elif own.last == "stock" and "price" not in names:
        yield _usual("price")
    elif not any(tokens(name)[-1] in ("at", "on", "date") for name in found) and len(found) > 1:
        yield FieldOutline(name=named_like(("created", "at"), is_camel), kind="text")
