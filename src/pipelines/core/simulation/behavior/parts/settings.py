"""Values that a call does not give: what an argument is by default, and what new things are like."""

from collections.abc import Iterator

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import Reading, Statement, tokens_of
from pipelines.core.simulation.behavior.parts.targets import targets
from pipelines.core.simulation.behavior.reader.vocabulary import number_of
from pipelines.core.simulation.behavior.things import ToolWords

_RULING = (Cue.FORBID, Cue.MUST, Cue.ONLY)
#: What a number is of, where it is not called by its name: `if no length is given`.
_MEASURES = word_set("length duration number amount quantity size value date time")


def defaults(statement: Statement) -> Iterator[Reading]:
    """`insurance defaults to basic`, `Leave out the purpose and it is taken to be exhibition`."""
    cues = statement.with_cue(Cue.DEFAULT, Cue.ABSENT)
    cues += [span for span in statement.with_cue(Cue.NONE, Cue.WITHOUT) if _is_lacking(statement, span)]
    silent = [] if cues else _not_asked(statement)
    if not (cues or silent) or statement.with_cue(*_RULING) or _compares(statement):
        return
    cues += silent
    tools = [tool for tool in statement.words.lexicon.tools.values() if not tool.reads]
    named = [span.tool for span in statement.spans if span.tool is not None]
    spoken = [tool for target in targets(statement) for tool in target.tools]
    for tool in dict.fromkeys(tool.name for tool in (named or (*spoken, *tools))):
        made = _defaults_of(statement, statement.tool(tool))
        if made is not None:
            clauses, used = made
            used |= tokens_of(
                [*cues, *statement.with_cue(Cue.WHEN, Cue.UNLESS, Cue.NOT, Cue.ALLOW, Cue.GIVE)]
            )
            used |= tokens_of(span for span in statement.spans if span.tool is not None)
            yield Reading(clauses=clauses, used=used, tools=(statement.tool(tool),))


def _compares(statement: Statement) -> bool:
    """Whether it bounds a number: then it lays down no single one."""
    places = range(statement.cursor.end)
    return any(
        True for at in places for _, end in statement.cursor.comparison(at) if statement.cursor.quantity(end)
    )


def _not_asked(statement: Statement) -> list[Span]:
    """`Unless the customer picks another method`, `if the request is silent about it`: a clause that says
    that nothing was asked for, of which no word stands for anything but what would be given.
    """
    for span in statement.with_cue(Cue.WHEN, Cue.UNLESS):
        if span.words[0] not in ("if", "when", "where", "unless"):
            continue
        rest = [one for one in statement.spans if one.start >= span.end]
        comma = next((one.start for one in rest if one.words == (",",)), statement.cursor.end)
        clause = [one for one in rest if one.start < comma]
        is_denied = span.has(Cue.UNLESS) or any(
            one.has(Cue.NOT, Cue.NONE) or "silent" in one.words for one in clause
        )
        kept = [one for one in clause if one.fields and not one.arguments]  # not what would be given
        is_plain = not kept and not any(one.states or one.quantity or one.choices for one in clause)
        if is_denied and is_plain and not any(one.deeds and not one.kinds for one in clause):
            return [span, *clause]
    return []


def _is_lacking(statement: Statement, span: Span) -> bool:
    """`no` or `without` before what a call may give."""
    if set(span.words) & {"nobody", "nothing"}:
        return False
    following = next((one for one in statement.spans if one.start >= span.end and not one.is_neutral), None)
    is_measure = statement.cursor.low(span.end) in _MEASURES and "given" in statement.cursor.lows[span.end :]
    return is_measure or (following is not None and bool(following.arguments))


def _defaults_of(statement: Statement, tool: ToolWords) -> tuple[tuple[c.Clause, ...], frozenset[int]] | None:
    optional = [name for name in tool.arguments if name not in tool.required]
    named: dict[str, list[Span]] = {}
    for span in statement.spans:
        for of, name in span.arguments:
            if of == tool.name and name in optional:
                named.setdefault(name, []).append(span)
    made: dict[str, tuple[m.Value, frozenset[int]]] = {}
    for span in statement.spans:
        for name, value in _values(statement, span, tool, optional, named):
            if name in made and made[name][0] != value:
                return None
            made[name] = (value, tokens_of([span, *named.get(name, ())]) | _verb_before(statement, span))
            break
    if not made or any(name not in made for name in named):
        return None
    who = m.Who(names=(tool.name,), reaches_links=True)
    clauses = tuple(c.Default(m.Field(name), m.Literal_(value), who) for name, (value, _) in made.items())
    return clauses, frozenset(place for _, used in made.values() for place in used)


def _is_only_named(statement: Statement, span: Span) -> bool:
    """`If bus_transfer is omitted it is false`: the switch is named there, and what it is said elsewhere."""
    following = next((one for one in statement.spans if one.start >= span.end), None)
    is_told = any(one.words in (("true",), ("false",), ("on",), ("off",)) for one in statement.spans)
    return is_told or (following is not None and following.has(Cue.ABSENT, Cue.DEFAULT))


def _verb_before(statement: Statement, span: Span) -> frozenset[int]:
    """`land in fra1`, `we plan three`: whatever the verb, what is done then is done with that value."""
    before = [*statement.before_span(span)]
    if before and before[0].words[0] in ("in", "as", "at", "on", "for", "to", "with", "from"):
        del before[0]
    verb = before[0] if before else None
    if verb is None or verb.cues or verb.is_neutral or verb.kinds or verb.arguments or verb.deeds:
        return frozenset()
    is_told = len(before) > 1 and before[1].words[-1] in ("we", "it", "they")
    return tokens_of([verb]) if is_told or not verb.stands_for_something else frozenset()


def _values(
    statement: Statement, span: Span, tool: ToolWords, optional: list[str], named: dict[str, list[Span]]
) -> Iterator[tuple[str, m.Value]]:
    for of, name, value in span.choices:
        if of == tool.name and name in optional:
            yield name, value
    kept = statement.words.lexicon.kinds.get(tool.makes or tool.kind or "")
    for kind, so in span.states:
        if kept is None or kind != kept.name:
            continue
        if isinstance(so, m.OneOf) and so.field.name in optional:
            yield so.field.name, so.values[0]
        match so:
            case m.Compare(m.Field(name), "==", m.Literal_(bool(is_so))) if name in optional:
                if not _is_only_named(statement, span):
                    lead = statement.cursor.lows[max(0, span.start - 2) : span.start]
                    yield name, is_so != ("not" in lead)
    numbers = [name for name in optional if tool.arguments[name].get("type") in ("integer", "number")]
    if span.quantity is not None:
        unit = span.quantity.unit
        counted = [name for name in numbers if unit and unit in map(singular, words_of(name))]
        fitting = [name for name in numbers if name in named] or counted or numbers
        if len(fitting) == 1:
            yield fitting[0], number_of(span.quantity.number)
    if span.text is not None and len(named) == 1:
        yield next(iter(named)), span.text
    switches = [name for name in named if tool.arguments[name].get("type") == "boolean"]
    if len(switches) == 1 and span.words in (("true",), ("false",), ("on",), ("off",)):
        yield switches[0], span.words[0] in ("true", "on")


def new_things(statement: Statement) -> Iterator[Reading]:
    """`A newly accepted order has the status working, with nothing filled`."""
    cues = statement.with_cue(Cue.NEW)
    if not cues or statement.with_cue(*_RULING, Cue.UNLESS):
        return
    for kind in statement.kinds:
        makers = [tool for tool in statement.words.makers(kind) if not tool.reads]
        if len(makers) != 1:
            continue
        found = _values_of_new(statement, kind, makers[0])
        if found is not None:
            clauses, used = found
            named = tokens_of(
                span for span in statement.spans if span.tool is makers[0] or (span.deeds and not span.states)
            )
            used |= tokens_of([*cues, *statement.with_cue(Cue.BECOME, Cue.GIVE, Cue.DEFAULT)]) | named
            yield Reading(clauses=clauses, used=used, tools=(makers[0],))


def _values_of_new(
    statement: Statement, kind: str, tool: ToolWords
) -> tuple[tuple[c.Clause, ...], frozenset[int]] | None:
    made: dict[str, tuple[m.Value, frozenset[int]]] = {}
    for span in statement.spans:
        so = next((so for of, so in span.states if of == kind), None)
        before = next(statement.before_span(span), None)
        if before is not None and before.has(Cue.NONE, Cue.NOT):
            continue
        if isinstance(so, m.OneOf) and len(so.values) == 1:
            if made.get(so.field.name, (so.values[0],))[0] != so.values[0]:
                return None
            made[so.field.name] = (so.values[0], tokens_of([span]))
        elif isinstance(so, m.Compare) and isinstance(so.left, m.Field) and isinstance(so.right, m.Literal_):
            made[so.left.name] = (so.right.value, tokens_of([span]))
    for span in statement.spans:
        path = next((path for of, path in span.fields if of == kind and len(path) == 1), None)
        if path is None or path[0] in made:
            own = path is not None and made.get(path[0]) is not None and not span.states
            if own and path is not None:
                made[path[0]] = (made[path[0]][0], made[path[0]][1] | tokens_of([span]))
            continue
        is_status = path == statement.words.lexicon.kinds[kind].status
        told = _text_beside(statement, span) if is_status else None
        if told is not None:
            made[path[0]] = (told[0], tokens_of([span]) | told[1])
    if not made:
        return None
    who = m.Who(names=(tool.name,), reaches_links=True)
    clauses: tuple[c.Clause, ...] = tuple(
        c.Default(m.Field(name), m.Literal_(value), who)
        if name in tool.arguments
        else c.Assign(m.Field(name, kind), m.Literal_(value), None, who)
        for name, (value, _) in made.items()
    )
    return clauses, frozenset(place for _, used in made.values() for place in used)


def _text_beside(statement: Statement, span: Span) -> tuple[m.Value, frozenset[int]] | None:
    """A state that no record has yet, as it is written: status ordered."""
    found = [one for one in statement.spans if one.text is not None and 0 <= one.start - span.end <= 2]
    return (found[0].text, tokens_of(found[:1])) if found else None
