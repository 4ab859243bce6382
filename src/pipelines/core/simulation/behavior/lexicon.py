"""What the words of a rule may stand for: the tools, and the kinds of things in the world with fields and
values.

Looking up, not reading: a word that fits nothing, or more than one thing alike, is not found.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.core.english.inflection import action_nouns
from pipelines.core.english.words import joined, singular
from pipelines.core.english.words import tokens as words_of
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import World
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.simulation.behavior import words
from pipelines.core.simulation.behavior.plan_targets import PlanTargets
from pipelines.core.simulation.behavior.things import (
    Kind,
    Kinds,
    Path,
    ToolLike,
    ToolWords,
)
from pipelines.core.simulation.domain import shapes
from pipelines.core.simulation.domain.references import references_in
from pipelines.core.simulation.domain.tool_names import read_tool_name, without_generic
from pipelines.core.simulation.domain.verbs import READS


@dataclass(frozen=True, kw_only=True, slots=True)
class Lexicon:
    tools: Mapping[str, ToolWords]  # by lower-case name
    kinds: Kinds
    flags: frozenset[str]
    nouns: Mapping[str, str]  # singular words run together -> kind
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (kind, other) -> field with its id
    referring: Mapping[str, str] = field(
        default_factory=dict
    )  # a field's name -> the kind whose ids it holds

    def kind_of(self, noun: str) -> str | None:
        """The kind a noun stands for: `orders`, `customer` where the world has users, `support tickets`."""
        exact = self.nouns.get(joined(words_of(noun)))
        if exact is not None or noun in self.kinds:
            return exact or noun
        last = singular(words_of(noun)[-1]) if words_of(noun) else ""
        if any(not self._is_heard(word) for word in words_of(noun)[:-1]):
            return None  # `negative stock` is not just stock
        for same in words.SAME_NOUNS:
            if last in same:
                known = dict.fromkeys(self.nouns[word] for word in same if word in self.nouns)
                seeded = [kind for kind in known if self.kinds[kind].fields]
                if len(seeded or known) == 1:
                    return next(iter(seeded or known))
        return None

    def _is_heard(self, word: str) -> bool:
        """Whether the tools or the world use the word for things."""
        return singular(word) in self.nouns or any(
            singular(word) in tool.words for tool in self.tools.values()
        )

    def id_argument(self, tool: ToolWords, kind: str) -> str | None:
        """The argument that says which entity of a kind is meant: `product_id` also where the world says
        inventory.
        """
        exact = _id_argument(tool, kind)
        if exact is not None:
            return exact
        last = singular(words_of(kind)[-1]) if words_of(kind) else kind
        for same in words.SAME_NOUNS:
            for noun in same if last in same else ():
                other = self.nouns.get(noun)
                is_seeded = other is not None and bool(self.kinds[other].fields)
                found = None if noun == last or is_seeded else _id_argument(tool, noun)
                if found is not None:
                    return found
        # `backer_id`, where the world's records hold the ids of users under that name.
        by_role = [name for name in tool.arguments if self.referring.get(name) == kind]
        return by_role[0] if len(by_role) == 1 else None


def build_lexicon(
    tools: Sequence[ToolLike],
    world: World,
    ledger_schema: LedgerSchema | None = None,
    targets: Mapping[str, PlanTargets] | None = None,
) -> Lexicon:
    """`targets`: what the plans of some tools change; that is surer than how these are called."""
    surveyed = shapes.survey(world, ledger_schema)
    kinds, inside = _kinds(surveyed), _kinds_inside(surveyed)
    plain = [_tool_words(tool) for tool in tools]
    seeded = tuple(kinds)
    roles = _roles(world, kinds)
    short: dict[str, str] = {}
    for noun in dict.fromkeys(noun for tool in plain for noun in _spoken_nouns(tool)):
        meant = [kind for kind in seeded if noun in map(singular, words_of(kind))]
        if len(meant) == 1:  # `leave` where the world keeps leave requests
            short[joined(words_of(noun))] = meant[0]
        elif noun not in roles and joined(words_of(noun)) not in {joined(words_of(one)) for one in kinds}:
            kinds.setdefault(noun, inside.get(joined(words_of(noun)), Kind(name=noun)))
    nouns = short | _noun_index(kinds)
    by_name = {tool.name.lower(): _with_kind(tool, nouns, kinds) for tool in plain}
    for name, one in (targets or {}).items():
        by_name[name.lower()] = _with_targets(by_name[name.lower()], one, kinds)
    return Lexicon(
        tools=by_name,
        kinds=Kinds(kinds, roles),
        flags=world.flags,
        nouns=nouns,
        links=_links(world),
        referring=_referring(world),
    )


def _links(world: World) -> dict[tuple[str, str], str]:
    """Fields that hold ids of another kind, where only one field does."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in references_in(world):
        if len(one.path) == 1 and not one.in_list and one.share == 1:
            found.setdefault((one.entity_type, one.to), []).append(one.path[0])
    return {pair: names[0] for pair, names in found.items() if len(names) == 1}


def _roles(world: World, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    """`creator` for whom creator_id holds the id of, where nothing else is called so."""
    found: dict[str, Kind] = {}
    own = {joined(words_of(name)) for name in kinds} | {singular(words_of(name)[-1]) for name in kinds}
    for name, kind in _referring(world).items():
        said = words_of(name)
        noun = "_".join(said[:-1])
        if said[-1:] == ("id",) and noun and joined(said[:-1]) not in own and kind in kinds:
            found[noun] = Kind(name=noun, fields=kinds[kind].fields, role=name, of=kind)
    return found


def _referring(world: World) -> dict[str, str]:
    """Names of fields that hold the ids of one kind wherever they stand."""
    found: dict[str, set[str]] = {}
    for one in references_in(world):
        if len(one.path) == 1 and not one.in_list and one.share == 1:
            found.setdefault(one.path[0], set()).add(one.to)
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


def _id_argument(tool: ToolWords, kind: str) -> str | None:
    noun = joined(words_of(kind))
    last = singular(words_of(kind)[-1]) if words_of(kind) else kind
    for name, schema in tool.arguments.items():
        parts = words_of(name)
        stemmed = joined(part for part in parts if part not in ("id", "number", "uuid", "key", "code"))
        if parts and parts[-1] in ("id", "number", "uuid", "key", "code") and stemmed in (noun, last):
            return name
        if schema.get("type") in (None, "string", "integer") and joined(parts) == noun:
            return name
    if tool.kind == kind and "id" in tool.arguments:
        return "id"
    return None


def _kinds(survey: shapes.Survey) -> dict[str, Kind]:
    kinds = {name: Kind(name=name, fields=dict(_flat(table.fields))) for name, table in survey.tables.items()}
    for one in survey.singletons:
        kinds[one.entity_type] = Kind(name=one.entity_type, fields=dict(_flat(one.fields)), only_id=one.id)
    return kinds


def _kinds_inside(survey: shapes.Survey) -> dict[str, Kind]:
    """Records kept inside others, by what one is called, where only one place keeps such."""
    found: dict[str, list[Kind]] = {}
    for one in survey.collections:
        if one.in_each and one.of_records and one.fields:
            kind = Kind(name=singular(one.name), fields=dict(_flat(one.fields)), is_inside=True)
            found.setdefault(joined(words_of(one.name)), []).append(kind)
    return {name: kinds[0] for name, kinds in found.items() if len(kinds) == 1}


def _flat(fields: Mapping[str, shapes.Field], above: Path = ()) -> Iterator[tuple[Path, shapes.Field]]:
    for name, one in fields.items():
        yield (*above, name), one
        if one.parts and one.keeps is None and len(above) < 2:
            yield from _flat(one.parts, (*above, name))


def _tool_words(tool: ToolLike) -> ToolWords:
    read = read_tool_name(tool.name, tool.description or "")
    properties = tool.input_schema.get("properties")
    required = tool.input_schema.get("required")
    return ToolWords(
        name=tool.name,
        verb=read.verb,
        words=frozenset(singular(word) for word in words_of(tool.name)),
        reads=read.op in READS,
        creates=read.op == "create",
        arguments={
            n: s if isinstance(s, dict) else {}
            for n, s in (properties if isinstance(properties, dict) else {}).items()
        },
        required=frozenset(map(str, required)) if isinstance(required, list) else frozenset(),
        output=_output_properties(tool.output_schema),
        described=tuple(re.findall(r"[a-z_]+|[.,:;]", (tool.description or "").lower())),
    )


def _output_properties(schema: Json, depth: int = 0) -> dict[str, JsonObject]:
    if not isinstance(schema, dict) or depth > 2:
        return {}
    if "items" in schema:
        return _output_properties(schema["items"], depth + 1)
    properties = schema.get("properties")
    found = (
        {n: s for n, s in properties.items() if isinstance(s, dict)} if isinstance(properties, dict) else {}
    )
    for one in list(found.values()):
        if "items" in one:
            found = _output_properties(one, depth + 1) | found
    return found


def _spoken_nouns(tool: ToolWords) -> Iterator[str]:
    """Things the tools speak of although the world may hold none yet."""
    for name in tool.arguments:
        parts = words_of(name)
        if len(parts) > 1 and parts[-1] in ("id", "ids"):
            yield "_".join(parts[:-1])
    read = read_tool_name(tool.name)
    nouns = without_generic(read.nouns) or without_generic(
        word for _, rest in read.complements for word in rest
    )
    if nouns:
        yield singular(nouns[-1])


def _noun_index(kinds: Mapping[str, Kind]) -> dict[str, str]:
    index: dict[str, str] = {}
    for name in kinds:
        index.setdefault(joined(words_of(name)), name)
    for name, kind in kinds.items():
        if kind.fields and words_of(name):  # `support_ticket` is also just a ticket
            index.setdefault(singular(words_of(name)[-1]), name)
    return index


def _with_kind(tool: ToolWords, nouns: Mapping[str, str], kinds: Mapping[str, Kind]) -> ToolWords:
    kind = _kind_of_tool(tool, nouns, kinds)
    return replace(tool, kind=kind, makes=_made_by(replace(tool, kind=kind), nouns, kinds))


def _with_targets(tool: ToolWords, targets: PlanTargets, kinds: Mapping[str, Kind]) -> ToolWords:
    """`register_for_exam` makes registrations, `check_out_dog` is about stays: by what the plan changes."""
    known = kinds.get(tool.kind or "")
    is_seeded = known is not None and bool(known.fields)
    is_given = known is not None and _id_argument(tool, known.name) is not None
    # What no record is kept of (a payment) may still be what the tool is for.
    changed = (targets.sets or targets.adds) if is_seeded else targets.adds
    if not changed:
        return replace(tool, reads=tool.reads and not targets.all)
    kind = (
        next(iter(changed))
        if tool.kind not in targets.all and not is_given and len(changed) == 1
        else tool.kind
    )
    makes = next(iter(targets.adds)) if len(targets.adds) == 1 else tool.makes if targets.adds else None
    called = tool.makes if tool.makes != makes else None
    creates = tool.creates and bool(targets.adds)
    return replace(tool, reads=False, kind=kind, makes=makes, called=called, creates=creates)


def _made_by(tool: ToolWords, nouns: Mapping[str, str], kinds: Mapping[str, Kind]) -> str | None:
    """What each call adds one of: what a tool that creates is about, what its description calls new, else the
    one kind that keeps all the ids it is given.
    """
    if tool.reads:
        return None
    if tool.creates and tool.kind and _id_argument(tool, tool.kind) is None:
        return tool.kind
    said = tool.described
    for at, word in enumerate(said[:-1]):
        is_new = word == "new" or (word in ("a", "an") and at and said[at - 1] in _CREATING)
        for noun in (said[at + 1 : at + 3], said[at + 1 : at + 2]) if is_new else ():
            kind = nouns.get(joined(noun))
            if kind and kinds[kind].fields and _id_argument(tool, kind) is None:
                return kind
    ids = [name for name in tool.arguments if words_of(name)[-1:] == ("id",)]
    keeping = [
        name for name, kind in kinds.items()
        if len(ids) > 1 and all((one,) in kind.fields for one in ids) and _id_argument(tool, name) is None
    ]  # fmt: skip
    plain = [name for name in tool.arguments if name not in ids]
    fitting = [name for name in keeping if plain and any((one,) in kinds[name].fields for one in plain)]
    if not plain:  # apply(candidate_id, job_id), where the world keeps applications
        nouns_of = action_nouns(tool.verb) | {tool.verb}
        fitting = [name for name in keeping if singular(words_of(name)[-1]) in nouns_of | set(said)]
    return fitting[0] if len(fitting) == 1 else None


_CREATING = ("creates", "create", "starts", "start", "adds", "add", "opens", "open", "records", "record")


def _kind_of_tool(tool: ToolWords, nouns: Mapping[str, str], kinds: Mapping[str, Kind]) -> str | None:
    """What a tool is about: the last noun of its name that the world holds, else the thing whose id it
    takes.
    """
    read = read_tool_name(tool.name)
    named = without_generic(read.nouns) or without_generic(
        word for _, rest in read.complements for word in rest
    )
    spoken = [nouns[joined(named[at:])] for at in range(len(named)) if joined(named[at:]) in nouns]
    spoken += [nouns[singular(word)] for word in reversed(named) if singular(word) in nouns]
    seeded = [kind for kind in spoken if kinds[kind].fields]
    if seeded or tool.creates:
        return next(iter([*seeded, *spoken]), None)
    same = [_same_kind(singular(word), nouns, kinds) for word in reversed(named)]
    taken = {name: _id_argument(tool, name) for name, kind in kinds.items() if kind.fields}
    order = {name: at for at, name in enumerate(tool.arguments)}
    by_id = sorted((name for name, one in taken.items() if one), key=lambda name: order[taken[name] or ""])
    return next((kind for kind in [*same, *by_id, *spoken] if kind is not None), None)


def _same_kind(noun: str, nouns: Mapping[str, str], kinds: Mapping[str, Kind]) -> str | None:
    for same in words.SAME_NOUNS:
        if noun in same:
            found = [nouns[word] for word in same if word in nouns and kinds[nouns[word]].fields]
            if found:
                return found[0]
    return None
