"""Types that only the tools speak of: what can be created, though nothing of its kind is in the seeded world.

Over an empty ledger tools still agree with each other: what create_task adds, get_task finds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.core.english.verbs import MADE_BY
from pipelines.core.english.words import is_plural, singular, singulars, tokens
from pipelines.core.simulation.domain.shapes import Collection, Field, Survey, empty_table
from pipelines.core.simulation.domain.tool_facts import ToolFacts
from pipelines.core.simulation.domain.tool_names import ToolName
from pipelines.core.simulation.reading.targets import best_collection, named_thing


def with_spoken_nouns(known: Survey) -> Survey:
    """The survey with an empty table for each noun that the tools treat as a thing of its own."""
    if known.is_closed:
        return known
    tools = tuple(known.tools.values())
    known = _with_promoted(known, [tool.name for tool in tools])
    things = dict.fromkeys(thing for tool in tools for thing in _things(tool, known))
    kinds = dict.fromkeys(type_named(thing, list(things)) for thing in things)
    added = {kind: _table(kind, tools, is_empty=known.is_empty) for kind in kinds if kind not in known.tables}
    return replace(known, tables={**known.tables, **added}, collections=(*known.collections, *added.values()))


def _with_promoted(known: Survey, names: Sequence[ToolName]) -> Survey:
    """Records that a tool creates in a service's empty container become entities of a type of their own."""
    promoted: dict[tuple[str, ...], Collection] = {}
    for name in names:
        if name.op != "create" or name.complement("to", "into"):
            continue
        words = ((MADE_BY[name.verb],),) if name.verb in MADE_BY else ()
        for said in (named_thing(name), *words):
            found = best_collection(said, known) if said else None
            if found is not None and found.owner is not None and found.is_empty and len(found.path) == 1:
                promoted[found.entity_type, *found.path] = _promoted(found, found.owner)
    return replace(
        known, collections=tuple(promoted.get((one.entity_type, *one.path), one) for one in known.collections)
    )


def _promoted(empty: Collection, owner: str) -> Collection:
    return replace(
        empty,
        entity_type="_".join((empty.entity_type, *empty.path)),
        owner=None,
        path=(),
        form="table",
        of_records=True,
        placeholder=(empty.entity_type, owner, empty.path),
    )


def _things(tool: ToolFacts, known: Survey) -> Iterator[tuple[str, ...]]:
    name = tool.name
    thing = singulars(named_thing(name))
    made = MADE_BY.get(name.verb)
    makes_known = made is not None and best_collection((made,), known) is not None
    if not thing or makes_known or best_collection(thing, known) is not None:
        thing = ()
    owns_id = any(
        one.id_noun is not None and one.is_scalar and singulars(one.id_noun)[-1:] in ((), thing[-1:])
        for one in tool.arguments
    )
    # What is only listed, and made by nobody, is one of the types that are there, under another name.
    lists = known.is_empty and bool(name.nouns) and is_plural(name.nouns[-1])
    is_made = name.op in ("create", "notify") or (known.is_empty and name.op in ("list", "search"))
    if thing and (is_made or owns_id or lists):
        yield thing
    if made is not None and not thing and best_collection((made,), known) is None and owns_id:
        yield (made,)


def type_named(thing: tuple[str, ...], things: Sequence[tuple[str, ...]]) -> str:
    """`payment_request`; the last word alone where other tools call the same thing otherwise (`ticket`)."""
    same_head = {other for other in things if other[-1] == thing[-1]}
    return thing[-1] if len(same_head) > 1 else "_".join((*thing[:-1], singular(thing[-1])))


def _table(kind: str, tools: Sequence[ToolFacts], *, is_empty: bool) -> Collection:
    head = tokens(kind)[-1]
    fields: dict[str, Field] = {}
    is_made = is_empty  # in a world that has nothing yet, anything may be there
    for tool in tools:
        makes = tool.name.op in ("create", "notify", "update")
        if makes and singulars(named_thing(tool.name))[-1:] == (head,):
            is_made = True
            for one in tool.arguments:
                if one.id_noun is None or singulars(one.id_noun)[-1:] not in ((), (head,)):
                    fields[one.name] = Field(name=one.name, kinds=frozenset({one.kind}), values=one.values)
    if is_made and any(one.name.op == "transition" and head in singulars(one.name.nouns) for one in tools):
        fields.setdefault("status", Field(name="status", kinds=frozenset({"text"})))
    return empty_table(kind, fields)
