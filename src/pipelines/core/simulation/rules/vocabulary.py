"""The vocabulary of rules: the types of a world with their fields and values, and the type each tool is
about.

Types come from the world, its schema and the tools. The type of a tool is the one that its plan finds, adds
or lists; without a plan it comes from its arguments and its name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pipelines.core.english.words import joined, singular, singulars, tokens
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.simulation.domain.arguments import ToolLike
from pipelines.core.simulation.domain.fields import Field, status_path
from pipelines.core.simulation.domain.shapes import Collection, Survey
from pipelines.core.simulation.domain.tool_facts import ToolFacts
from pipelines.core.simulation.domain.tool_names import without_generic
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.parse import parse
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.text.json_text import Json, JsonObject

Keys = tuple[str, ...]
Words = tuple[str, ...]
_DEEPEST = 3  # levels of fields inside fields that rules can name
_ID_ENDS = frozenset(("id", "number", "no", "uuid", "key", "code"))
_SESSIONS = frozenset(("session", "currentuser", "caller", "currentsession"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A type of the world."""

    name: str
    fields: Mapping[Keys, Field]  # nested ones too
    nouns: tuple[Words, ...]  # what one is called, in the singular; its own name first
    links: Mapping[Keys, str] = field(default_factory=dict)  # fields that hold an id, and of which type
    status: Keys | None = None  # where it keeps its state
    only_id: str | None = None  # of the one record, where the type has one and stands for a service
    is_single: bool = False  # the world has one record of it
    written: frozenset[str] = frozenset()  # fields that calls may give to its records

    def link_to(self, kind: str) -> Keys | None:
        """The one field that refers to a record of another type."""
        found = [keys for keys, to in self.links.items() if to == kind]
        return found[0] if len(found) == 1 else None


class Lookup(NamedTuple):
    """A record that a call names: by which argument, of which type."""

    argument: str
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolNouns:
    """A tool as rules speak of it."""

    name: str
    verb: str  # `cancel`, of cancel_order
    things: frozenset[Words]  # nouns of its name: (`order`,)
    reads: bool
    arguments: Mapping[str, JsonObject]
    required: frozenset[str]
    output: Mapping[str, JsonObject]  # properties of the reply, or of an element where it is a list
    lookups: tuple[Lookup, ...] = ()
    about: str | None = None  # the type of the record that the call is about
    makes: str | None = None  # the type of which a call adds a record
    lists: str | None = None  # the type of which it answers a list

    def id_argument(self, kind: str) -> str | None:
        """The argument that says which record of a type is meant; None where none does, or two do."""
        found = [one.argument for one in self.lookups if one.kind == kind]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, kw_only=True)  # no slots: what is worked out is kept beside the fields
class Vocabulary:
    tools: Mapping[str, ToolNouns]
    kinds: Mapping[str, Kind]
    flags: frozenset[str] = frozenset()

    def id_argument(self, tool: str, kind: str) -> str | None:
        known = self.tools.get(tool)
        return known.id_argument(kind) if known is not None else None

    @lazy_property
    def by_noun(self) -> Mapping[str, tuple[str, ...]]:
        """Types by what one is called, its words in the singular and run together."""
        found: dict[str, list[str]] = {}
        for kind in self.kinds.values():
            for noun in kind.nouns:
                found.setdefault(joined(noun), []).append(kind.name)
        return {noun: tuple(dict.fromkeys(kinds)) for noun, kinds in found.items()}

    def kind_named(self, words: Iterable[str]) -> str | None:
        """The one type of that name."""
        found = self.by_noun.get(joined(words), ())
        return found[0] if len(found) == 1 else None

    @lazy_property
    def session(self) -> Kind | None:
        """The type whose one record says who calls. Where there are many, `session` is something else."""
        named = (kind for kind in self.kinds.values() if joined(kind.nouns[0]) in _SESSIONS)
        return next((kind for kind in named if kind.is_single), None)


def build_vocabulary(
    tools: Sequence[ToolLike],
    survey: Survey,
    *,
    plans: Mapping[str, Json] | None = None,
    flags: Iterable[str] = (),
) -> Vocabulary:
    """`plans`: the steps of some tools' plans, which are surer than how these are called."""
    kinds = {kind.name: kind for kind in _kinds(survey)}
    plain = Vocabulary(tools={}, kinds=kinds)
    kinds = {name: _with_links(kind, plain) for name, kind in kinds.items()}
    nouns: dict[str, ToolNouns] = {}
    written: dict[str, set[str]] = {name: set() for name in kinds}
    for tool in tools:
        in_plan = _plan_facts((plans or {}).get(tool.name), plain)
        one = nouns[tool.name] = _tool_nouns(tool, survey.tools.get(tool.name), plain, in_plan)
        for kind, field_name in in_plan.writes:
            written[kind].add(field_name)
        for changed in (one.about, one.makes) if not one.reads else ():
            if changed is not None:
                own_ids = {lookup.argument for lookup in one.lookups if lookup.kind == changed}
                written[changed] |= one.arguments.keys() - own_ids  # which the record may keep
    kinds = {name: replace(kind, written=frozenset(written[name])) for name, kind in kinds.items()}
    return Vocabulary(tools=nouns, kinds=kinds, flags=frozenset(flags))


# -- types ---------------------------------------------------------------------------------------------------


def _kinds(survey: Survey) -> Iterator[Kind]:
    names = [*survey.tables, *(one.entity_type for one in survey.singletons)]
    ends = [singular(tokens(name)[-1]) for name in names]
    for name, table in survey.tables.items():
        yield Kind(
            name=name,
            fields=dict(_flat_fields(table.fields)),
            nouns=_nouns(table, is_last_word_its_own=ends.count(singular(tokens(name)[-1])) == 1),
            links={link.path: link.entity_type for link in table.links},
            status=status_path(table.fields),
            is_single=table.is_single,
        )
    for one in survey.singletons:
        words = singulars(tokens(one.entity_type))
        fields = dict(_flat_fields(one.fields))
        yield Kind(name=one.entity_type, fields=fields, nouns=(words,), only_id=one.id, is_single=True)


def _with_links(kind: Kind, world: Vocabulary) -> Kind:
    """What the one record of a service refers to is told by the names of its fields: `user_id`."""
    if kind.only_id is None:
        return kind
    ends = ((keys, tokens(keys[-1])) for keys in kind.fields)
    named = {keys: world.kind_named(words[:-1]) for keys, words in ends if words[-1] in _ID_ENDS}
    return replace(kind, links={keys: to for keys, to in named.items() if to is not None})


def _nouns(table: Collection, *, is_last_word_its_own: bool) -> tuple[Words, ...]:
    words = singulars(tokens(table.entity_type))
    short = (words[-1:],) if is_last_word_its_own else ()  # a support_ticket is also just a ticket
    return tuple(dict.fromkeys((words, *short, *map(singulars, table.called))))


def _flat_fields(fields: Mapping[str, Field], above: Keys = ()) -> Iterator[tuple[Keys, Field]]:
    for name, one in fields.items():
        yield (*above, name), one
        if one.parts and one.keeps is None and len(above) + 1 < _DEEPEST:
            yield from _flat_fields(one.parts, (*above, name))


# -- tools ---------------------------------------------------------------------------------------------------


def _tool_nouns(
    tool: ToolLike, facts: ToolFacts | None, world: Vocabulary, in_plan: "_PlanFacts"
) -> ToolNouns:
    properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
    given = properties if isinstance(properties, dict) else {}
    arguments = {name: one if isinstance(one, dict) else {} for name, one in given.items()}
    thing = without_generic(facts.name.nouns) if facts is not None else tokens(tool.name)[1:]
    named = _kind_named(thing, world)
    lookups = _lookups(arguments, named, world, in_plan)
    about = in_plan.adds or in_plan.found or in_plan.lists or named
    if about is None and len({one.kind for one in lookups}) == 1:
        about = lookups[0].kind
    reads = facts.name.reads() if facts is not None else False
    return ToolNouns(
        name=tool.name,
        verb=facts.name.verb if facts is not None else tokens(tool.name)[0],
        things=frozenset(singulars(thing[at:]) for at in range(len(thing))),
        reads=(reads or in_plan.is_known) and not in_plan.changes,
        arguments=arguments,
        required=frozenset(map(str, required)) if isinstance(required, list) else frozenset(),
        output=_output(tool.output_schema),
        lookups=lookups,
        about=about,
        makes=in_plan.adds,
        lists=in_plan.lists or (about if facts is not None and facts.lists else None),
    )


def _kind_named(thing: Words, world: Vocabulary) -> str | None:
    """By the longest end of the nouns in a tool's name that is a type."""
    tries = (world.kind_named(thing[at:]) for at in range(len(thing)))
    return next((found for found in tries if found is not None), None)


def _lookups(
    arguments: Mapping[str, JsonObject], named: str | None, world: Vocabulary, plan: "_PlanFacts"
) -> tuple[Lookup, ...]:
    """What the plan looks up by an argument; then what arguments are called."""
    found = dict(plan.lookups)
    for name in arguments:
        words = tokens(name)
        if name not in found:
            is_id = words[-1] in _ID_ENDS
            kind = named if is_id and len(words) == 1 else world.kind_named(words[:-1] if is_id else words)
            if kind is not None:
                found[name] = kind
    return tuple(Lookup(name, kind) for name, kind in found.items())


def _output(schema: Mapping[str, Json] | None, depth: int = 0) -> dict[str, JsonObject]:
    items = (schema or {}).get("items")
    if isinstance(items, dict):
        return _output(items, depth + 1) if depth < _DEEPEST else {}
    properties = (schema or {}).get("properties")
    own = properties.items() if isinstance(properties, dict) else ()
    found = {name: one for name, one in own if isinstance(one, dict)}
    for one in [*found.values()] if depth < _DEEPEST else ():
        if "items" in one:
            found = _output(one, depth + 1) | found
    return found


# -- plans ---------------------------------------------------------------------------------------------------


class _PlanFacts(NamedTuple):
    """What a plan looks up, adds, lists and changes."""

    is_known: bool  # there is one
    lookups: Mapping[str, str]  # argument -> type
    found: str | None  # the type of the first record that is found at its top level
    adds: str | None
    lists: str | None
    changes: bool
    writes: frozenset[tuple[str, str]]  # types, and fields of theirs


_CHANGES = frozenset(("set", "unset", "append", "add", "remove", "flag", "unflag"))


def _plan_facts(plan: Json, world: Vocabulary) -> _PlanFacts:
    steps = plan.get("steps") if isinstance(plan, dict) else plan
    whole = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    every = [*_every_step(whole)]
    finds = [one for step in whole if isinstance(one := step.get("find"), dict)]
    ones = [one for one in finds if "id" in one and not one.get("all")]
    lookups = {name: kind for one in ones if (name := _argument(one["id"])) and (kind := _type(one, world))}
    adds = [
        kind for step in whole if isinstance(one := step.get("add"), dict) and (kind := _type(one, world))
    ]
    lists = [kind for one in finds if one.get("all") and (kind := _type(one, world))]
    changes = any(_CHANGES & step.keys() for step in every)
    return _PlanFacts(
        is_known=plan is not None,
        lookups=lookups,
        found=next((kind for one in ones if (kind := _type(one, world))), None),
        adds=adds[0] if len({*adds}) == 1 else None,
        lists=lists[0] if lists and not ones and not changes else None,
        changes=changes,
        writes=frozenset(_writes(every, world)),
    )


def _every_step(steps: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Each step, also those within others."""
    for step in steps:
        yield step
        blocks = (step.get(key) for key in ("then", "else", "do"))
        for block in (one for one in blocks if isinstance(one, list)):
            yield from _every_step(one for one in block if isinstance(one, dict))


def _writes(steps: Sequence[JsonObject], world: Vocabulary) -> Iterator[tuple[str, str]]:
    bound = [one for step in steps for verb in ("find", "add") if isinstance(one := step.get(verb), dict)]
    types = {one.get("as"): kind for one in bound if (kind := _type(one, world))}
    for step in steps:
        match step.get("set"):
            case dict() as targets:
                paths = [path for target in targets if (path := _path(target)) is not None and path.keys]
                yield from ((types[path.root], path.keys[0]) for path in paths if path.root in types)
        match step.get("add"):
            case {"in": str(kind), "attrs": dict() as attrs} if kind in world.kinds:
                yield from ((kind, name) for name in attrs)


def _type(spec: JsonObject, world: Vocabulary) -> str | None:
    kind = spec.get("in")
    return kind if isinstance(kind, str) and kind in world.kinds else None


def _argument(id: Json) -> str | None:
    """The argument that an id is, where it is nothing else."""
    path = _path(id)
    return path.keys[0] if path is not None and path.root == "args" and len(path.keys) == 1 else None


def _path(text: Json) -> n.Path | None:
    try:
        return n.path_of(parse(text)) if isinstance(text, str) else None
    except BadExpression:
        return None
