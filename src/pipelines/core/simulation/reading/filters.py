"""Which records a read asks for: by arguments (equality, ranges, dates, words, order) and by what name and
description say of them (`unpaid_lots`, "Outages that have not been restored")."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.core.english.stems import stem
from pipelines.core.english.verbs import GOING_ON, LATE, OVER, TELLING, UNTAKEN
from pipelines.core.english.words import (
    NOBODY,
    is_denied,
    is_plural,
    joined,
    singular,
    singulars,
    tokens,
    without_denial,
    word_set,
)
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import field_at, states_of, status_path, valued_fields
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.shapes import Collection, Field, find_field
from pipelines.core.simulation.expr.make import (
    FALSE,
    TODAY,
    all_of,
    any_of,
    arg,
    call,
    compare,
    constant,
    differs,
    each_of,
    is_equal,
    is_given,
    is_in,
    is_null,
)
from pipelines.core.simulation.expr.nodes import Constant, Expr, Name, Slice
from pipelines.core.simulation.reading.replies import find_path
from pipelines.core.simulation.reading.steps import dot, refers
from pipelines.core.simulation.reading.tool_reading import Reading

_LIMITS = word_set("limit maxresult topk topn top size pagesize perpage count n numresult maxitem maxcount")
_OFFSETS = word_set("offset skip start startindex")
_QUERIES = word_set("query q keyword search term text phrase searchterm searchtext pattern content word")
_SORTS = word_set("sort sortby orderby sortfield sortkey")
_LEAST = word_set("min minimum after since from start gte gt above over least lower earliest begin")
_MOST = word_set("max maximum before until to end lte lt below under most upper latest till by")
_EDGES = word_set("than or equal inclusive exclusive date time")
# Words that people write in any case; ids, codes and addresses are compared as they are, by an index.
_WRITTEN_FREELY = word_set(
    "name title city country state brand category genre author color colour type kind region location "
    "label department sector subject status material style model make company street language"
)
_LEADING = word_set("new updated target desired filter by with is set to")
_DATED = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:$|[T ])")
_ASKS_DATE = word_set("today date day when until before after since from to start end time month by on")
_BEGINS = word_set("start begin arrival from date check")


@dataclass(frozen=True, kw_only=True, slots=True)
class Narrowing:
    """A search in the terms of a plan."""

    conditions: tuple[Expr, ...] = ()
    sort: Expr | None = None  # the field to sort by
    limit: Expr | None = None
    offset: Expr | None = None
    ignored: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()  # what narrows the search though no argument or no name says so

    def notes(self) -> tuple[str, ...]:
        unread = (
            f"argument `{one}` does not narrow the search: no field answers to it" for one in self.ignored
        )
        return (*self.assumed, *unread)


def only_those(conditions: Iterable[Expr]) -> tuple[str, ...]:
    """Conditions that no argument gives: each is named wherever the reply is."""
    reason = "read from the words of its name and description"
    return tuple(f"only records with `{condition}` count: {reason}" for condition in conditions)


def narrowing(
    each: str, collection: Collection, arguments: Sequence[Argument], said: Sequence[Sequence[str]] = ((), ())
) -> Narrowing:
    """What the arguments ask of records called `each`; `said` are the words of name and description."""
    conditions: list[Expr] = []
    found: dict[str, Expr] = {}  # sort, limit, offset
    ignored: list[str] = []
    assumed: list[str] = []
    for one in arguments:
        word, own = joined(one.words), field_for(one, collection)
        condition = condition_of(one, each, collection)
        if word in _LIMITS and one.kind == "number" and own is None:
            given = arg(one.name)
            found["limit"] = given if one.default is None else call("default", given, constant(one.default))
        elif word in _OFFSETS and one.kind == "number":
            found["offset"] = arg(one.name)
        elif word in _SORTS:
            found["sort"] = arg(one.name)
        elif (condition is None or _is_bound(one, collection)) and (
            dated := _on_date(one, collection, each, said)
        ) is not None:
            conditions.append(dated if one.is_required else _if_given(one, dated))
            assumed.append(f"`{one.name}` is taken for `{dated}`, by the words around it")
        elif condition is not None:
            conditions.append(condition if one.is_required else _if_given(one, condition))
        else:
            ignored.append(one.name)
    return Narrowing(
        conditions=tuple(conditions),
        sort=found.get("sort"),
        limit=found.get("limit"),
        offset=found.get("offset"),
        ignored=tuple(ignored),
        assumed=tuple(assumed),
    )


def _in_small(value: Expr) -> Expr:
    return call("lower", call("str", value))


def condition_of(argument: Argument, each: str, collection: Collection) -> Expr | None:
    """The condition one argument puts on a record; None where it names nothing of it."""
    given = arg(argument.name)
    links = collection.links_to(noun_of_id(argument.name)) if argument.is_scalar else ()
    own = find_field(collection.fields, argument.name)
    if own is None and (len(links) > 1 or any(link.in_list for link in links)):
        return any_of(*(refers(each, link, given) for link in links))
    path = field_for(argument, collection)
    if path is not None:
        return _equal(dot(each, *path), given, argument, field_at(collection.fields, path))
    edge = _edge(argument, collection, each)
    is_query = joined(argument.words) in _QUERIES or argument.words[-1] in ("query", "keyword")
    if edge is None and argument.kind in ("text", "any") and is_query:
        test = compare(Name("word"), "in", _in_small(dot(each)))
        return call("all", each_of(test, "word", call("words", given)))
    return edge


def field_for(argument: Argument, collection: Collection) -> tuple[str, ...] | None:
    """The field an argument is about: its own name, or that without the noun or a `new_`."""
    spellings = _spellings(argument, collection)
    for words in spellings:
        path = find_path(collection.fields, "_".join(words))
        if path is not None:
            return path
    if (rest := argument.words[1:]) and argument.words[0] in ("new", "updated"):
        ending = [name for name in collection.fields if tokens(name)[-len(rest) :] == rest]
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


def _spellings(argument: Argument, collection: Collection) -> list[tuple[str, ...]]:
    words = argument.words
    spellings = [words]
    if words[0] in _LEADING:
        spellings.append(words[1:])
    if len(words) > 1 and words[-1] in ("filter", "value", "type"):
        spellings.append(words[:-1])
    nouns = {*collection.words}
    spellings += [one[1:] for one in spellings if len(one) > 1 and singular(one[0]) in nouns]
    if words[-1:] == ("ids",) or argument.kind == "list":
        spellings.append((*words[:-1], singular(words[-1])))
    return [spelling for spelling in spellings if spelling]


def _equal(field: Expr, given: Expr, argument: Argument, shape: Field | None) -> Expr:
    holds = shape.keeps if shape is not None else None
    if holds is not None and argument.kind != "list":
        return call("contains", field, given) if holds == "list" else compare(given, "in", field)
    if argument.kind == "list":
        one_by_one = each_of(compare(Name("one"), "in", field), "one", given)
        return call("all", one_by_one) if holds is not None else compare(field, "in", given)
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
    """`min_price`, `price_lte`, `created_after`: a bound on a field that the argument names."""
    words = argument.words
    for edge_words, is_least in ((_LEAST, True), (_MOST, False)):
        rest = tuple(word for word in words if word not in edge_words and word not in _EDGES)
        if len(words) < 2 or not rest or not edge_words & {*words}:
            continue
        path = find_path(collection.fields, "_".join(rest)) or _named_with(rest, collection.fields)
        if path is not None:
            return compare(dot(each, *path), ">=" if is_least else "<=", arg(argument.name))
    return None


def _named_with(rest: Sequence[str], fields: Mapping[str, Field]) -> tuple[str, ...] | None:
    """min_amount is about amount_claimed, created_after about created_at."""
    within = [name for name, one in fields.items() if "number" in one.kinds and {*rest} <= {*tokens(name)}]
    if len(within) == 1:
        return (within[0],)
    begins = (name for name in fields if singulars(rest) == singulars(tokens(name)[: len(rest)]))
    return next(((name,) for name in begins), None)


def _is_bound(argument: Argument, collection: Collection) -> bool:
    """`to_date` beside `from_date`: a bound, unless a field is called so itself."""
    return argument.words[0] in _LEAST | _MOST and argument.name not in collection.fields


def _on_date(
    argument: Argument, collection: Collection, each: str, said: Sequence[Sequence[str]]
) -> Expr | None:
    """`jobs_due_before(date)`, `arrivals_on(day)`: held against the date that the tool speaks of."""
    if argument.kind not in ("text", "any") or not _ASKS_DATE & {*argument.words}:
        return None
    name = _date_field(collection.fields, said)
    if name is None:
        return None
    place, given = dot(each, name), arg(argument.name)
    words = next((one for words in (argument.words, *said) if (one := {*words} & (_LEAST | _MOST))), set())
    if {"before", "prior"} & words:
        return all_of(is_given(place), call("is_before", place, given))
    day = Slice(call("str", place), None, Constant(10))
    other = Slice(call("str", given), None, Constant(10))
    if words & _LEAST and not words & {"on"}:
        return all_of(is_given(place), compare(day, ">=", other))
    if words & _MOST:
        return all_of(is_given(place), compare(day, "<=", other))
    day_text = call("str", given)
    return is_equal(Slice(call("str", place), None, call("len", day_text)), day_text)


def _date_field(fields: Mapping[str, Field], said: Sequence[Sequence[str]]) -> str | None:
    """Of the fields that hold dates, the one that the tool speaks of; else one that something begins with."""
    dated = [
        name for name, one in fields.items() if isinstance(one.example, str) and _DATED.match(one.example)
    ]
    for spoken in said if len(dated) > 1 else ():
        stems = {stem(word) for word in spoken if len(word) > 2}
        fit = [name for name in dated if stems & {stem(part) for part in tokens(name) if len(part) > 2}]
        if len(fit) == 1:
            return fit[0]
    begins = [name for name in dated if _BEGINS & {*tokens(name)}]
    return next(iter(begins or dated), None)


Path = tuple[str, ...]

_ASIDE = word_set("is has was can be are on to for of the a an new")  # of a switch's name, what says little
_PARTS = re.compile(r"[(),;:]|\bbut\b")
_WORDS = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


@dataclass(kw_only=True, slots=True)
class _Found:
    states: dict[Path, dict[str, bool]] = field(default_factory=dict)  # by field and value: whether it is so
    switches: dict[str, bool] = field(default_factory=dict)


def restrictions(
    reading: Reading, collection: Collection, each: str, narrowed: Iterable[Path] = ()
) -> list[Expr]:
    """Conditions on a record called `each`; none on the fields that arguments narrow."""
    word_lists = [tuple(_WORDS.findall(part)) for part in _PARTS.split(reading.said.summary.lower())]
    if word_lists and word_lists[0][:1] and word_lists[0][0].removesuffix("s") in TELLING:
        word_lists[0] = word_lists[0][1:]  # "Returns all loans": they are not returned
    name = tokens(reading.tool.name)
    name = name[1:] if name[0] == reading.name.verb and len(name) > 1 else name
    picked = {singular(one.id_noun[-1]) for one in reading.arguments if one.id_noun}  # "pieces of a glaze"
    given = {word for one in reading.arguments for word in one.words}  # find_permits_by_min_fee(min_fee)
    found = _Found()
    for words in (name, *word_lists):
        aside = picked | given if words is name else picked
        for at in (at for at in range(len(words)) if words[at] not in aside):
            _read_word(found, words, at, collection, is_name=words is name)
    narrowed_by = {*narrowed}
    conditions = [*_written(found, collection, each, narrowed_by)]
    if {*name} & LATE:
        conditions += _past_due(collection, each)
    is_told = found.states or found.switches
    return (
        conditions
        if conditions or is_told
        else [*_in_general((name, *word_lists), collection, each, narrowed_by)]
    )


def stated_in(words: Sequence[str], collection: Collection, each: str) -> list[Expr]:
    """What these words of a name say of a record called `each`: of its states, switches and blanks."""
    found = _Found()
    for at in range(len(words)):
        _read_word(found, words, at, collection, is_name=True)
    return [*_written(found, collection, each, set())]


def _read_word(
    found: _Found, words: Sequence[str], at: int, collection: Collection, *, is_name: bool
) -> None:
    word, base, denied = words[at], without_denial(words[at]), is_denied(words, at)
    own = {noun[-1] for noun in (collection.words, *collection.called)}
    if singular(word) in own or len(word) < 3 or (is_name and is_plural(word)):
        return
    if _is_in_own_name(words, at, collection):
        return  # print orders are not printing
    for word_form, is_so in ((word, not denied), (base, False)):
        place = _state(word_form, collection, is_name=is_name) if word_form is not None else None
        switch = _switch(word_form, words, collection, is_name=is_name) if word_form is not None else None
        if place is not None:
            found.states.setdefault(place[0], {}).setdefault(place[1], is_so)
            return
        if switch is not None:
            found.switches[switch] = is_so
            return


def _state(word: str, collection: Collection, *, is_name: bool) -> tuple[Path, str] | None:
    """The value that a word is: of the state before any other; of a description only a state's."""
    status, state_word = status_path(collection.fields), joined((word,))
    states = states_of(collection.fields, status)
    same = next((one for one in states if joined(tokens(one)) == state_word), None)
    if same is None and len(word) > 4:
        same = next((one for one in states if stem(joined(tokens(one))) == stem(word)), None)
    if status is not None and same is not None:
        return status, same
    values = valued_fields(collection.fields) if is_name else ()
    return next(((path, value) for path, value in values if joined(tokens(value)) == state_word), None)


def _is_in_own_name(words: Sequence[str], at: int, collection: Collection) -> bool:
    """Of print orders; but overdue bills are what they are said to be, where some are overdue."""
    values = {joined(tokens(value)) for _, value in valued_fields(collection.fields)}
    plain = singulars(words)
    return joined(words[at : at + 1]) not in values and any(
        plain[begin : begin + len(noun)] == noun
        for noun in map(singulars, collection.called)
        if len(noun) > 1
        for begin in range(max(0, at - len(noun) + 1), at + 1)
    )


def _switch(word: str, words: Sequence[str], collection: Collection, *, is_name: bool) -> str | None:
    """`paid_out` of "not paid out", `mfa`, `open_to_new` of tariffs_open."""
    spoken = {stem(one) for one in words}
    fit = []
    for name, one in collection.fields.items():
        parts = [stem(part) for part in tokens(name) if part not in _ASIDE] or [stem(tokens(name)[-1])]
        if "boolean" in one.kinds and stem(word) in parts and (is_name or spoken.issuperset(parts)):
            fit.append(name)
    return fit[0] if len(fit) == 1 else None


def _written(found: _Found, collection: Collection, each: str, taken: set[Path]) -> Iterator[Expr]:
    for path, values in found.states.items():
        good, place = [value for value, is_so in values.items() if is_so], dot(each, *path)
        if path in taken:
            continue
        if good:
            yield is_equal(place, constant(good[0])) if len(good) == 1 else is_in(place, good)
        else:
            yield from (differs(place, constant(one)) for one in values)
    for name, value in found.switches.items():
        if (name,) not in taken:
            yield is_equal(dot(each, name), constant(value))


def _in_general(
    said: Sequence[Sequence[str]], collection: Collection, each: str, taken: set[Path]
) -> Iterator[Expr]:
    """Words that say no field or value of the records, but what is so of such records anywhere."""
    words = {word for phrase in said for word in phrase}
    places = (link.path for link in collection.links)
    links = [p for p in places if (one := field_at(collection.fields, p)) is not None and "null" in one.kinds]
    if words & (UNTAKEN | NOBODY) and len(links) == 1 and links[0] not in taken:
        yield is_null(dot(each, *links[0]))
    elif {*said[0]} & GOING_ON:
        yield from _not_over(collection, each, taken)


def _not_over(collection: Collection, each: str, taken: set[Path]) -> Iterator[Expr]:
    status = status_path(collection.fields)
    over = [one for one in states_of(collection.fields, status) if joined(tokens(one)) in OVER]
    if status is not None and over and status not in taken:
        yield compare(dot(each, *status), "not in", constant([*over]))
        return
    done = [n for n, one in collection.fields.items() if "boolean" in one.kinds and joined(tokens(n)) in OVER]
    if len(done) == 1:
        yield is_equal(dot(each, done[0]), FALSE)


def _past_due(collection: Collection, each: str) -> Iterator[Expr]:
    due = [name for name, one in collection.fields.items() if "due" in tokens(name) and "text" in one.kinds]
    if len(due) == 1:
        place = dot(each, due[0])
        yield all_of(is_given(place), call("is_before", place, TODAY))
        yield from _not_over(collection, each, set())
