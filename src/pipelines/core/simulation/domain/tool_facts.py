"""Each tool of a set taken apart once: its name, in the light of the others' names, and its arguments."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.core.english.verbs import MADE_BY
from pipelines.core.english.words import is_plural, singular, singulars, tokens
from pipelines.core.simulation.domain.arguments import ENDS, Argument, ToolLike, arguments_of
from pipelines.core.simulation.domain.tool_names import (
    ToolName,
    read_tool_name,
    without_generic,
)
from pipelines.core.simulation.domain.verbs import OP_OF_VERB
from pipelines.core.text.json_text import Json

_FEWEST = 4  # tools that must share a prefix; among fewer it may be what they are about
_SHARE = 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolFacts:
    """A tool as far as it speaks of types."""

    tool: ToolLike
    name: ToolName
    arguments: tuple[Argument, ...]
    id_nouns: Mapping[tuple[str, ...], Argument]

    @property
    def makes(self) -> bool:
        return self.name.op in ("create", "notify")

    @property
    def lists(self) -> bool:
        """`list_documents(matter_no)`: what is listed is not what the id picks."""
        nouns = self.name.nouns
        return self.name.op in ("list", "search", "count") or (bool(nouns) and is_plural(nouns[-1]))

    @property
    def thing(self) -> tuple[str, ...]:
        """The nouns of its name; of what it makes, where the verb says that: book_room makes a booking."""
        product = MADE_BY.get(self.name.verb)
        return (product,) if product is not None else singulars(without_generic(self.name.nouns))


def facts_of(tools: Sequence[ToolLike], keys: Collection[str] = ()) -> tuple[ToolFacts, ...]:
    """`keys`: arguments that are ids though they are not called so."""
    given = [
        tuple(replace(one, is_key=True) if one.name in keys else one for one in arguments_of(tool))
        for tool in tools
    ]
    prefix = _shared_prefix(tools)
    return tuple(_facts(tool, arguments, prefix) for tool, arguments in zip(tools, given, strict=True))


def _facts(tool: ToolLike, arguments: tuple[Argument, ...], prefix: tuple[str, ...]) -> ToolFacts:
    return ToolFacts(
        tool=tool,
        name=read_tool_name(
            tool.name,
            tool.description or "",
            prefix=prefix,
            gives=any(one.is_required and one.id_noun is None and not one.is_credential for one in arguments),
            picks={singular(one.id_noun[-1]) for one in arguments if one.id_noun},
            moves=_moves(arguments),
            hints=tool.annotations,
        ),
        arguments=arguments,
        id_nouns={singulars(one.id_noun): one for one in arguments if one.id_noun},
    )


def _moves(arguments: Sequence[Argument]) -> bool:
    """Two ids, from and to, and a number: so much goes from one to the other."""
    needed = [one for one in arguments if one.is_required]
    ids = [one for one in needed if one.id_noun and one.is_scalar]
    amounts = [one for one in needed if one.kind == "number" and not one.id_noun]
    return len(ids) == 2 and len(amounts) == 1 and all(ENDS & {*one.words} for one in ids)


def nouns_of(tool: ToolFacts) -> Iterator[tuple[str, ...]]:
    yield from tool.id_nouns
    if tool.thing:
        yield tool.thing
    yield from (noun for noun, _ in listed_in(tool.tool.output_schema) if noun)


def listed_in(schema: Mapping[str, Json] | None) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Lists of objects in an output schema: what they are called, and the properties of each object. The list
    that is the whole reply is called nothing."""
    if not schema:
        return
    whole = schema.get("items")
    inner = whole.get("properties") if isinstance(whole, dict) else None
    if isinstance(inner, dict) and inner:
        yield (), list(inner)
    properties = schema.get("properties")
    for name, part in (properties if isinstance(properties, dict) else {}).items():
        items = part.get("items") if isinstance(part, dict) else None
        inner = items.get("properties") if isinstance(items, dict) else None
        if isinstance(inner, dict) and inner:
            yield singulars(tokens(name)), list(inner)


def _shared_prefix(tools: Sequence[ToolLike]) -> tuple[str, ...]:
    """`wms` of wms_item, wms_create_po, …; `api v 2` of api_v2_account_get, …"""
    names = [tokens(tool.name) for tool in tools]
    shared: tuple[str, ...] = ()
    while True:
        nexts = Counter(
            name[len(shared)]
            for name in names
            if name[: len(shared)] == shared and len(name) > len(shared) + 1
        )
        word, count = nexts.most_common(1)[0] if nexts else ("", 0)
        if count < _FEWEST or count < _SHARE * len(tools) or word in OP_OF_VERB:
            return shared
        shared = (*shared, word)
