"""How arguments narrow a search: equality, ranges, words to look for, how many and in what order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines.core.english.stems import stem
from pipelines.core.english.words import joined, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.roles import field_at, states_of, status_path
from pipelines.core.simulation.domain.shapes import Collection, Field, Link, find_field
from pipelines.core.simulation.expr.make import (
    TRUE,
    any_of,
    arg,
    arithmetic,
    call,
    compare,
    constant,
    differs,
    each_of,
    is_equal,
    is_null,
)
from pipelines.core.simulation.expr.nodes import ComparisonSign, Conditional, Constant, Expr, Name, Not, Or
from pipelines.core.simulation.reading.comparisons import held_against
from pipelines.core.simulation.reading.dated import date_condition, is_range
from pipelines.core.simulation.reading.replies import find_path
from pipelines.core.simulation.reading.steps import dot, refers

_LIMITS = word_set(
    "limit maxresults maxresult topk topn top size pagesize perpage count n numresult maxitem maxcount first"
)
_OFFSETS = word_set("offset skip start startindex")
_QUERIES = word_set(
    "query q keyword search term text phrase searchterm searchquery searchtext pattern string content word"
)
_SORTS = word_set("sort sortby orderby sortfield sortkey")
_DIRECTIONS = word_set("order sortorder direction sortdirection ascending descending desc asc reverse")
_LEAST = word_set("min minimum after since from start gte gt above over least lower earliest begin")
_MOST = word_set("max maximum before until to end lte lt below under most upper latest cheaper")
# Words that people write in any case; ids, codes and addresses are compared as they are, by an index.
_WRITTEN_FREELY = word_set(
    "name title city country state brand category genre author color colour type kind region location "
    "label department sector subject status material style model make company street language"
)
_TIMES = word_set("date time at on day timestamp datetime created")
_FRAGMENTS = word_set("name title text label subject")
_PARTLY = word_set("part fragment partial contains containing matching search substring find")
_SWITCHING = word_set("only include including with show just also all")
_INCLUDING = word_set("include including with also show")
_EDGES = word_set("than or equal inclusive exclusive date time")


@dataclass(frozen=True, kw_only=True, slots=True)
class Narrowing:
    """A search in the terms of a plan."""

    conditions: tuple[Expr, ...] = ()
    sort: Expr | None = None  # the field to sort by
    order: str | None = None  # the field by which the words say that they come: `-downloads`
    limit: Expr | None = None
    offset: Expr | None = None
    ignored: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()  # what narrows the search though no argument or no name says so

    def notes(self) -> tuple[str, ...]:
        unread = (
            f"argument `{name}` does not narrow the search: no field answers to it" for name in self.ignored
        )
        return (*self.assumed, *unread)


def only_those(conditions: Iterable[Expr]) -> tuple[str, ...]:
    """Conditions that no argument gives: each is named wherever the reply is."""
    told = "read from the words of its name and description"
    return tuple(f"only records with `{condition}` count: {told}" for condition in conditions)


def narrowing(
    each: str, collection: Collection, arguments: Sequence[Argument], said: Sequence[Sequence[str]] = ((), ())
) -> Narrowing:
    """What the arguments ask of records called `each`; `said` are the words of name and description."""
    conditions: list[Expr] = []
    bounds = is_range(arguments)
    sort: Expr | None = None
    limit: Expr | None = None
    offset: Expr | None = None
    descending: str | None = None
    ignored: list[str] = []
    assumed: list[str] = []
    for argument in arguments:
        word = joined(argument.words)
        dated = date_condition(argument, collection, each, said) if bounds else None
        told = held_against(argument, collection, each, said) if argument.kind == "number" else None
        edge = _edge(argument, collection, each) if field_for(argument, collection) is None else None
        condition = dated or edge or told or _searched(argument, each, collection, said)
        if word in _LIMITS and argument.kind == "number" and field_for(argument, collection) is None:
            limit = arg(argument.name)
            if argument.default is not None:
                limit = call("default", limit, constant(argument.default))
        elif word in _OFFSETS and argument.kind == "number":
            offset = arg(argument.name)
        elif word in _SORTS:
            sort = arg(argument.name)
        elif condition is not None:
            # A switch that lets all through says itself what it does where it is left out.
            is_plain = argument.is_required or (argument.kind == "boolean" and isinstance(condition, Or))
            conditions.append(condition if is_plain else _if_given(argument, condition))
            if dated or (told and not edge) or condition_of(argument, each, collection) is None:
                assumed.append(f"`{argument.name}` is taken for `{condition}`, by the words around it")
        elif word in _DIRECTIONS:
            descending = argument.name
        elif (held := held_against(argument, collection, each, said)) is not None:
            conditions.append(held if argument.is_required else _if_given(argument, held))
            assumed.append(f"`{argument.name}` is taken for `{held}`, by the words around it")
        else:
            ignored.append(argument.name)
    if sort is not None and descending is not None:
        is_down = call("contains", call("str", arg(descending)), Constant("desc"))
        sort = Conditional(is_down, arithmetic(Constant("-"), "+", sort), sort)
    return Narrowing(
        conditions=tuple(conditions),
        sort=sort,
        limit=limit,
        offset=offset,
        ignored=tuple(ignored),
        assumed=tuple(assumed),
    )


def _searched(
    argument: Argument, each: str, collection: Collection, said: Sequence[Sequence[str]]
) -> Expr | None:
    if argument.kind == "boolean":
        return _only_such(argument, each, collection)
    found = condition_of(argument, each, collection, said)
    path = field_for(argument, collection)
    is_partial = bool(_PARTLY & {word for words in said for word in words})
    if path is not None and argument.kind == "text" and argument.words[-1] in _FRAGMENTS and is_partial:
        return call("contains", _in_small(dot(each, *path)), call("lower", arg(argument.name)))
    return found or date_condition(argument, collection, each, said)


def _in_small(value: Expr) -> Expr:
    return call("lower", call("str", value))


def _only_such(argument: Argument, each: str, collection: Collection) -> Expr | None:
    """`unpaid_only`, `include_returned`: a switch that lets only some of the records through, or all."""
    path = field_for(argument, collection)
    if path is not None:
        return is_equal(dot(each, *path), arg(argument.name))
    words = [word for word in argument.words if word not in _SWITCHING | {"in", "is", "has"}]
    test = _such(words, each, collection)
    if test is None:
        return None
    given = arg(argument.name)
    if {*argument.words} & _INCLUDING:
        return any_of(is_equal(given, TRUE), Not(test))
    only = {*argument.words} & _SWITCHING
    return any_of(differs(given, TRUE), test) if only else is_equal(test, given)


def _such(words: Sequence[str], each: str, collection: Collection) -> Expr | None:
    """A state, a switch, or that there is some of it (`in_stock`)."""
    status = status_path(collection.fields)
    states = states_of(collection.fields, status) if status is not None else ()
    such = next((one for one in states if joined(tokens(one)) in map(joined, zip(words, strict=True))), None)
    if such is not None and status is not None:
        return is_equal(dot(each, *status), constant(such))
    switch = find_field(collection.fields, "_".join(words)) if words else None
    if switch is not None and "boolean" in collection.fields[switch].kinds:
        return is_equal(dot(each, switch), TRUE)
    spoken = {stem(word) for word in words}
    numbers = [
        name
        for name, one in collection.fields.items()
        if "number" in one.kinds and spoken and spoken <= {stem(part) for part in tokens(name)}
    ]
    return compare(dot(each, numbers[0]), ">", Constant(0)) if len(numbers) == 1 else None


def condition_of(
    argument: Argument, each: str, collection: Collection, said: Sequence[Sequence[str]] = ()
) -> Expr | None:
    """The condition one argument puts on a record; None where it names nothing of it."""
    name = arg(argument.name)
    links = _links_meant(argument, collection, said)
    if links:
        return any_of(*(refers(each, link, name) for link in links))
    path = field_for(argument, collection)
    if path is not None:
        return _equal(dot(each, *path), name, argument, field_at(collection.fields, path))
    edge = _edge(argument, collection, each)
    if edge is not None:
        return edge
    word = joined(argument.words)
    if argument.kind in ("text", "any") and (
        word in _QUERIES or argument.words[-1:] in (("query",), ("keyword",))
    ):
        test = compare(Name("word"), "in", _in_small(dot(each)))
        return call("all", each_of(test, "word", call("words", name)))
    return None


def _links_meant(
    argument: Argument, collection: Collection, said: Sequence[Sequence[str]]
) -> tuple[Link, ...]:
    """Where a list of ids may be what is meant, or one of several fields: what is spoken of, else any."""
    if not argument.is_scalar or find_field(collection.fields, argument.name) is not None:
        return ()
    links = collection.links_to(noun_of_id(argument.name))
    if len(links) < 2 and not any(link.in_list for link in links):
        return ()
    spoken = {stem(singular(word)) for words in (argument.words, *said) for word in words}
    named = tuple(link for link in links if spoken & {stem(singular(word)) for word in tokens(link.path[0])})
    return named or links


def field_for(argument: Argument, collection: Collection) -> tuple[str, ...] | None:
    """The field an argument is about: its own name, or that without the noun or a `new_`."""
    spellings = _spellings(argument, collection)
    for words in spellings:
        path = find_path(collection.fields, "_".join(words))
        if path is not None:
            return path
    if words := _behind_new(argument):
        ending = [name for name in collection.fields if tokens(name)[-len(words) :] == words]
        if len(ending) == 1:
            return (ending[0],)  # new_salary is for base_salary
    linked = (collection.link_to(noun_of_id("_".join(words))) for words in spellings)
    kept = [
        name
        for name, one in collection.fields.items()
        if one.keeps == "list" and not one.of_records and singular(tokens(name)[-1]) == argument.words[-1]
    ]
    listed = (kept[0],) if len(kept) == 1 and argument.id_noun is None else None  # brand, of `fits_brands`
    return next((path for path in linked if path is not None), listed)


def _behind_new(argument: Argument) -> tuple[str, ...]:
    return argument.words[1:] if argument.words[0] in ("new", "updated") else ()


def _spellings(argument: Argument, collection: Collection) -> list[tuple[str, ...]]:
    words = argument.words
    spellings = [words]
    nouns = set(collection.words)
    if words and words[0] in (
        "new",
        "updated",
        "target",
        "desired",
        "filter",
        "by",
        "with",
        "is",
        "set",
        "to",
    ):
        spellings.append(words[1:])
    if len(words) > 1 and words[-1] in ("filter", "name", "value", "type") and words[-1] != "name":
        spellings.append(words[:-1])
    spellings += [
        spelling[1:] for spelling in spellings if len(spelling) > 1 and singular(spelling[0]) in nouns
    ]
    if words[-1:] == ("ids",) or argument.kind == "list":
        spellings.append((*words[:-1], singular(words[-1])))
    return [spelling for spelling in spellings if spelling]


def _equal(field: Expr, given: Expr, argument: Argument, shape: Field | None) -> Expr:
    holds_list = shape is not None and shape.keeps is not None
    if holds_list and argument.kind != "list":
        is_list = shape is not None and shape.keeps == "list"
        return call("contains", field, given) if is_list else compare(given, "in", field)
    if argument.kind == "list":
        one_by_one = each_of(compare(Name("one"), "in", field), "one", given)
        return call("all", one_by_one) if holds_list else compare(field, "in", given)
    is_text = shape is None or "text" in shape.kinds
    if argument.kind == "text" and is_text and argument.words[-1] in _WRITTEN_FREELY:
        return is_equal(_in_small(field), call("lower", given))
    return is_equal(field, given)


def _if_given(argument: Argument, condition: Expr) -> Expr:
    given = arg(argument.name)
    is_text = argument.kind == "text" and argument.default is None
    blank = compare(given, "in", constant([None, "", "None"])) if is_text else is_null(given)
    return any_of(blank, condition)


def _edge(argument: Argument, collection: Collection, each: str) -> Expr | None:
    """`min_price`, `price_lte`, `created_after`, `start_date`: a bound on a field."""
    words = argument.words
    if argument.kind not in ("number", "text", "any") or len(words) < 2:
        return None
    edges: tuple[tuple[frozenset[str], ComparisonSign], ...] = ((_LEAST, ">="), (_MOST, "<="))
    for edge_words, sign in edges:
        rest = tuple(word for word in words if word not in edge_words and word not in _EDGES)
        if len(rest) == len(words) or not any(word in edge_words for word in words):
            continue
        path = _bounded_field(words, rest, collection.fields)
        if path is not None:
            return compare(dot(each, *path), sign, arg(argument.name))
    return None


def _bounded_field(
    words: Sequence[str], rest: Sequence[str], fields: Mapping[str, Field]
) -> tuple[str, ...] | None:
    if rest:
        found = find_path(fields, "_".join(rest))
        if found is not None:
            return found
        within = [
            name for name, one in fields.items() if "number" in one.kinds and {*rest} <= {*tokens(name)}
        ]
        if len(within) == 1:  # min_amount is about amount_claimed
            return (within[0],)
        # `created_after` is about created_at; `start_date` about the one field that is a time.
        return next(
            ((name,) for name in fields if singulars(rest) == singulars(tokens(name)[: len(rest)])), None
        )
    times = [name for name in fields if set(tokens(name)) & _TIMES]
    asks_time = bool(set(words) & _TIMES) or any(
        word in ("after", "before", "since", "until") for word in words
    )
    return (times[0],) if asks_time and times else None
