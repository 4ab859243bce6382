"""What a tool is about: which collection its nouns and ids name, which argument picks the record.

Of two ids the later one is the thing (customer_id, line_id: a line). Where nothing of a kind is seeded, tools
still agree with each other: what create_task adds, get_task finds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pipelines.core.english.stems import stem
from pipelines.core.english.verbs import MADE_BY
from pipelines.core.english.words import is_plural, joined, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import find_field
from pipelines.core.simulation.domain.shapes import Collection, Field, Singleton, Survey, empty_table
from pipelines.core.simulation.domain.tool_facts import ToolFacts
from pipelines.core.simulation.domain.tool_names import ToolName, without_generic

CONTAINER_WORDS = word_set(
    "map list queue index table registry catalog collection set store database db api bot service system "
    "app manager history record entry datum"
)
#: Words for all of some things together, and what each of them may be called (`search_inventory` of items).
_CONTENTS = {
    "inventory": ("item", "product", "sku", "article"),
    "stock": ("item", "product", "sku", "article"),
    "catalog": ("product", "item", "article", "book", "course"),
    "menu": ("dish", "item", "meal"),
    "directory": ("contact", "employee", "person", "user"),
    "roster": ("employee", "member", "player", "person"),
    "fleet": ("vehicle", "car", "truck"),
}
# Than one record that is there.
_LOOKS_FOR_MORE = ("create", "notify", "list", "search", "count", "compute", None)
_LABEL_ONLY = 1.0  # by so much a label counts less than the names that the data give
_OF_A_KEEPER = 6.0  # a record that refers to the others is what is changed, whatever the name stresses
_ENOUGH = 4.0  # a collection is meant when its last word is named, or most of its words


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One record a tool is about: the collection it is in and the argument that picks it."""

    collection: Collection
    id_argument: Argument
    score: float
    is_taken: bool = False  # no name says that the argument is an id


def subject_of(
    name: ToolName, arguments: Sequence[Argument], known: Survey, service: Singleton | None
) -> Subject | None:
    """The record that a read, change or removal is about."""
    found = [
        subject
        for position, argument in enumerate(arguments)
        if (subject := _by_argument(argument, position, name, known, service)) is not None
    ]
    if not found:
        return _by_only_argument(name, arguments, known, service)
    keeper = _OF_A_KEEPER if name.op in ("update", "transition") else _OF_A_KEEPER / 2
    return max(found, key=lambda one: one.score + keeper * _keeps_others(one, found))


def _by_only_argument(
    name: ToolName, arguments: Sequence[Argument], known: Survey, service: Singleton | None
) -> Subject | None:
    """`revoke_user(username)`, `toggle_flag(flag)`: of a thing that the name speaks of, the one argument that
    is none of its fields, whatever it is called, says which."""
    if name.op in _LOOKS_FOR_MORE:
        return None
    collection = best_collection(named_thing(name), known, service)
    if collection is None or collection.form != "table" or collection.is_empty:
        return None
    open_ones = [
        one
        for one in arguments
        if one.is_required
        and one.is_scalar
        and not one.is_measure
        and (one.kind != "number" or collection.whole_number_keys)
        and not one.schema.get("enum")
        and (find_field(collection.fields, one.name) in (None, collection.id_field))
    ]
    if len(open_ones) != 1:
        return None
    return Subject(collection=collection, id_argument=open_ones[0], score=1.0, is_taken=True)


def _keeps_others(subject: Subject, found: Sequence[Subject]) -> bool:
    """`swap_trainer(session_id, trainer_id)` is about the session, which keeps the trainer's id."""
    others = [one.collection.entity_type for one in found if one is not subject]
    own = find_field(subject.collection.fields, subject.id_argument.name)
    if own not in (None, subject.collection.id_field):
        return False  # `assign_manager(employee_id, manager_id)`: the manager is what the employee keeps
    # By the very name of the id where there is one: a department has a head, but an employee a department_id.
    given = {tuple(one.id_argument.words) for one in found if one is not subject}
    if any(tokens(link.path[-1]) in given for one in found for link in one.collection.links):
        return any(tokens(link.path[-1]) in given for link in subject.collection.links)
    linked = {link.entity_type for link in subject.collection.links}
    return any(kind in linked for kind in others)


def _by_argument(
    argument: Argument, position: int, name: ToolName, known: Survey, service: Singleton | None
) -> Subject | None:
    if not argument.is_scalar:
        return None
    noun = argument.id_noun
    key = known.refers_to(argument.words) if argument.is_required else None
    if noun is None and key is None:
        return None
    words = argument.words if noun is None else noun or _thing_of_bare_id(name, known, service)
    keyed = known.tables.get(key) if key is not None else None
    collection = home_of(argument, known) or keyed or best_collection(words, known, service)
    if collection is None or (not collection.of_records and not collection.is_empty):
        return None
    called = collection.called if argument.is_key else ()  # sell_cow(ear_tag) speaks of cows, not of tags
    mentioned = max(_mention(singulars(noun), name) for noun in (words, *called))
    # On a tie the later id wins: (customer_id, line_id) is about the line.
    return Subject(
        collection=collection,
        id_argument=argument,
        score=mentioned + argument.is_required + position * 0.1,
        is_taken=argument.is_key,
    )


def _thing_of_bare_id(name: ToolName, known: Survey, service: Singleton | None) -> tuple[str, ...]:
    """get_price(id) of what? get_plan_of_member(id) of a member."""
    of = name.complement("of")
    return of if of and best_collection(of, known, service) is not None else named_thing(name)


def home_of(argument: Argument, known: Survey) -> Collection | None:
    """Where the things with such ids are defined: kept under those very ids, not merely listed. An order's
    items have item ids too, but an item is at home where it is the key."""
    own = [one for one in known.collections if one.form != "list" and one.id_field == argument.name]
    return own[0] if argument.id_noun and len(own) == 1 else None


def best_collection(
    words: Sequence[str], known: Survey, service: Singleton | None = None
) -> Collection | None:
    """The collection these words name; one of the tool's own service before another's."""
    key = (*words, None, service.entity_type if service is not None else None)
    if key not in known.named:
        known.named[key] = _best_collection(words, known, service)
    return known.named[key]


def _best_collection(words: Sequence[str], known: Survey, service: Singleton | None) -> Collection | None:
    contents = [(word,) for word in _CONTENTS.get(words[-1], ())] if words else []
    for naming in (words, *contents):
        scored = [(likeness(naming, one) + _of_service(one, service), one) for one in known.collections]
        score, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        if score >= _ENOUGH:
            return best
    return None


def named_thing(name: ToolName) -> tuple[str, ...]:
    """`get_room_details` → room; `get_details_of_room` → room."""
    return without_generic(name.nouns) or next(
        (
            without_generic(words)
            for word, words in name.complements
            if word in ("of", "for", "from", "to", "in")
        ),
        (),
    )


def _mention(words: Sequence[str], name: ToolName) -> float:
    """How plainly the tool's name mentions a thing; later words of the name weigh more."""
    nouns = singulars(without_generic(name.nouns))
    if not words:
        return 3.0
    if words[-1] in nouns:
        return 4.0 + nouns.index(words[-1]) * 0.2
    return 2.0 if any(words[-1] in singulars(more) for _, more in name.complements) else 0.0


def _of_service(collection: Collection, service: Singleton | None) -> float:
    if service is None:
        return 0.0
    kind = collection.entity_type
    return 1.0 if kind == service.entity_type or kind.startswith(service.entity_type + "_") else 0.0


def likeness(words: Sequence[str], collection: Collection) -> float:
    """How well words name a collection, by any name it has; the label of one that has others counts less."""
    wanted_words = singulars(words)
    if not wanted_words:
        return 0.0
    if collection.path or not collection.called:
        return _alike(wanted_words, collection, collection.words)
    by_label = _alike(wanted_words, collection, singulars(tokens(collection.entity_type))) - _LABEL_ONLY
    return max(by_label, *(_alike(wanted_words, collection, singulars(noun)) for noun in collection.called))


def _alike(wanted: tuple[str, ...], collection: Collection, full: tuple[str, ...]) -> float:
    """All of a name, or its last word, or part of it."""
    core = tuple(word for word in full if word not in CONTAINER_WORDS) or full
    if joined(wanted) in (joined(full), joined(core)):
        score = 10.0
    elif core[-1] == wanted[-1]:
        shared = len(set(core) & set(wanted))
        score = 7.0 + shared * 0.5 - (len(wanted) - shared) * 0.4 - (len(core) - shared) * 0.1
    elif stem(wanted[-1]) == stem(core[-1]) and len(wanted[-1]) > 4:  # vaccines, of vaccinations
        score = 5.5
    elif wanted[-1] in core:
        score = 4.5
    elif core[-1] in wanted:
        score = 4.0 + wanted.index(core[-1]) * 0.1
    else:
        return 0.0
    # What a world keeps as a table of its own is more likely meant than a part of something.
    return score + (0.5 if collection.form == "table" else 0.3 if collection.in_singleton else 0.0)


def service_of(name: ToolName, description_words: Iterable[str], known: Survey) -> Singleton | None:
    """The service a tool belongs to: named before the verb, or in the description, or the only one."""
    if len(known.singletons) <= 1:
        return known.singletons[0] if known.singletons else None
    words = {stem(word) for word in description_words}

    def score(one: Singleton) -> float:
        own = [word for word in tokens(one.entity_type) if word not in CONTAINER_WORDS]
        named = sum(4 for word in own if word in name.service)
        score_by_words = sum(2 for word in own if stem(word) in words)
        fields = {singular(part) for field in one.fields for part in tokens(field)}
        return named + score_by_words + sum(0.5 for word in singulars(name.nouns) if word in fields)

    best = max(known.singletons, key=score)
    return best if score(best) > 0 else None


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
        for candidate in (named_thing(name), *words):
            found = best_collection(candidate, known) if candidate else None
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
    product = MADE_BY.get(name.verb)
    makes_known = product is not None and best_collection((product,), known) is not None
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
    if product is not None and not thing and best_collection((product,), known) is None and owns_id:
        yield (product,)


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
