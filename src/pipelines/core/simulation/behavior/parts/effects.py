"""What a call changes beside: a state, a value, a number that goes up or down."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.core.english.stems import stem
from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import Reading, Statement, tokens_of
from pipelines.core.simulation.behavior.parts.targets import Target, targets
from pipelines.core.simulation.behavior.reader.vocabulary import number_of
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.behavior.things import Path, ToolWords, counts

_RULING = (Cue.FORBID, Cue.MUST, Cue.ONLY, Cue.UNLESS, Cue.NOT)
_CHANGING = (Cue.BECOME, Cue.MORE, Cue.LESS, Cue.CLEAR)
_MOVING = word_set("go goes through takes work works")  # it is done then, and not only allowed

#: A change, not yet of any tool, and the places of its words.
Change = tuple[c.Assign | c.Step, frozenset[int]]


def effects(statement: Statement) -> Iterator[Reading]:
    changing = statement.with_cue(*_CHANGING, Cue.GIVE, Cue.DEFAULT)
    changing += [span for span in statement.spans if _brought_to(statement, span) is not None]
    allowing = [span for span in statement.with_cue(Cue.ALLOW) if not set(span.words) & _MOVING]
    if not changing or statement.with_cue(*_RULING) or allowing or statement.is_answered:
        return
    if any(len(span.words) > 1 for span in statement.with_cue(Cue.ABSENT)):
        return  # `when a reward is chosen`: not of what makes one
    set_to = [span for span in statement.spans if span.states and _is_event(statement, span)]
    settings = [*_settings(statement, set_to[0])] if set_to else []
    for target, when in settings if set_to else ((one, None) for one in _events(statement)):
        if len(target.tools) != 1 or target.tools[0].reads:
            continue
        found = _changes(statement, target.tools[0], target.used)
        if found is not None:
            clauses, used = tuple(replace(one, when=one.when or when) for one in found[0]), found[1]
            used |= target.used | tokens_of([*changing, *statement.with_cue(Cue.WHEN, Cue.NEW)])
            yield Reading(clauses=clauses, used=used, tools=target.tools)


def _is_event(statement: Statement, span: Span) -> bool:
    """`when an appointment is set to no_show, …`: what the call asks for, not what comes of it."""
    when = next((one for one in statement.before_span(span) if one.has(Cue.WHEN)), None)
    is_inside = when is not None and "," not in statement.cursor.lows[when.end : span.start]
    return is_inside and statement.is_set_to(span)


def _settings(statement: Statement, span: Span) -> Iterator[tuple[Target, m.Condition]]:
    """The one tool that is given such a state, and that this one is given."""
    for kind, so in span.states:
        given = so.field.name if isinstance(so, m.OneOf) else ""
        tools = [
            tool
            for tool in statement.words.lexicon.tools.values()
            if not tool.reads and tool.kind == kind and given in tool.arguments
        ]
        if isinstance(so, m.OneOf) and len(tools) == 1:
            when = m.OneOf(m.Field(given, None, True), so.values)
            yield Target(tuple(tools), tokens_of([span])), when


def _events(statement: Statement) -> Iterator[Target]:
    """The deed that brings the change about is told first, or after `when`."""
    first = next((span for span in statement.spans if span.deeds and not span.tool), None)
    own = {deed.tool for deed in first.deeds} if first is not None else set()
    is_named = any(span.tool for span in statement.spans)
    for target in targets(statement):
        is_first = bool(own & {tool.name for tool in target.tools})
        if first is None or is_named or not target.used or is_first or _follows_when(statement, target):
            yield target


def _follows_when(statement: Statement, target: Target) -> bool:
    start = min(target.used)
    return any(span.has(Cue.WHEN) and 0 <= start - span.end <= 4 for span in statement.spans)


def _changes(
    statement: Statement, tool: ToolWords, taken: frozenset[int]
) -> tuple[tuple[c.Assign | c.Step, ...], frozenset[int]] | None:
    made: list[c.Assign | c.Step] = []
    used: set[int] = set()
    who = m.Who(names=(tool.name,), reaches_links=True)
    for span in statement.spans:
        if used & set(range(span.start, span.end)) or taken & set(range(span.start, span.end)):
            continue
        for reader in (_stamped, _switched, _state, _cleared, _completed, _step):
            found = reader(statement, span, tool)
            if found is not None:
                clause = replace(found[0], who=who)
                made += [clause] if clause not in made else []  # the donation, and the donation count
                used |= found[1]
                break
    names = [clause.field.name for clause in made if isinstance(clause, (c.Assign, c.Step))]
    if not made or len(set(names)) < len(names):
        return None
    return tuple(made), frozenset(used)


_NOW = (
    "the current time",
    "the current date",
    "the current moment",
    "the present time",
    "the time of the call",
    "today",
    "now",
)


def _stamped(statement: Statement, span: Span, tool: ToolWords) -> Change | None:
    """`closed_at is filled with the current time`."""
    lows = statement.cursor
    now = next(((at, end) for at in range(lows.end) if (end := lows.after(at, *_NOW)) is not None), None)
    dates = [
        (kind, path)
        for kind, path in span.fields
        if path in statement.words.lexicon.kinds[kind].dates() and statement.reaches(tool, kind)
    ]
    own = [one for one in dates if one[0] in (tool.makes, tool.kind)] or dates
    if now is None or len(own) != 1:
        return None
    return c.Assign(statement.words.named(*own[0]), m.Now()), tokens_of([span]) | frozenset(range(*now))


def _switched(statement: Statement, span: Span, tool: ToolWords) -> Change | None:
    """`turns its roaming off`."""
    following = statement.cursor.low(span.end)
    cue = next((one for one in statement.before_span(span) if one.has(*_CHANGING)), None)
    if cue is None or not cue.has(Cue.BECOME) or following not in ("on", "off"):
        return None
    kinds = [
        (kind, path)
        for kind, path in span.fields
        if "boolean" in statement.words.lexicon.kinds[kind].fields[path].kinds
        and statement.reaches(tool, kind)
    ]
    own = [one for one in kinds if one[0] == tool.kind] or kinds
    if len(own) != 1:
        return None
    field = statement.words.named(*own[0])
    return c.Assign(field, m.Literal_(following == "on")), tokens_of([span]) | {span.end}


def _cleared(statement: Statement, span: Span, tool: ToolWords) -> Change | None:
    """`wipes the reason that was noted`, `takes the driver off it`."""
    cue = next((one for one in statement.before_span(span) if one.has(*_CHANGING)), None)
    if cue is None or cue.end < span.start - 1:
        return None
    off = frozenset((span.end,)) if statement.cursor.low(span.end) == "off" else frozenset()
    known = statement.words.lexicon.kinds.get(tool.kind or "")
    if known is None or not (cue.has(Cue.CLEAR) or (off and "takes" in cue.words)):
        return None
    paths = [path for kind, path in span.fields if kind == known.name]
    links = [path for kind in span.kinds if (link := link_field(known, kind)) for path in ((link,),)]
    found = paths or links
    if len(found) != 1:
        return None
    return c.Assign(statement.words.named(known.name, found[0]), None), tokens_of([span]) | off


def _completed(statement: Statement, span: Span, tool: ToolWords) -> Change | None:
    """`Recording a donation completes the appointment`."""
    found = _brought_to(statement, span)
    if found is None or not statement.reaches(tool, found[0].owner or ""):
        return None
    return c.Assign(found[0], m.Literal_(found[1])), tokens_of([span])


def _brought_to(statement: Statement, span: Span) -> tuple[m.Field, m.Value] | None:
    """A verb that is called like a state of the thing it is followed by."""
    following = [one for one in statement.spans if one.start >= span.end and not one.is_neutral][:1]
    is_verb = len(span.words) == 1 and span.words[0].endswith("s") and not span.stands_for_something
    if not is_verb or not following or not following[0].kinds or span.cues:
        return None
    known = statement.words.lexicon.kinds[following[0].kinds[0]]
    values = known.fields[known.status].values if known.status else ()
    fitting = [value for value in values if isinstance(value, str) and stem(value) == stem(span.words[0])]
    hits = list(dict.fromkeys(fitting))
    if known.status is None or len(hits) != 1:
        return None
    return statement.words.named(known.name, known.status), hits[0]


def _state(statement: Statement, span: Span, tool: ToolWords) -> Change | None:
    """A state that something is brought to: it follows the word for the change."""
    cue = next((one for one in statement.before_span(span) if one.has(*_CHANGING)), None)
    if cue is None or not span.states or not cue.has(Cue.BECOME):
        return None
    if statement.cursor.low(span.start - 1) == "from":
        return None
    kinds = [kind for kind, _ in span.states if statement.reaches(tool, kind)]
    near = [kind for one in statement.before_span(span) for kind in one.kinds if kind in kinds]
    kind = next(
        iter(
            [*near, *(k for k in (tool.kind, tool.makes) if k in kinds), *(kinds if len(kinds) == 1 else [])]
        ),
        None,
    )
    so = next((so for of, so in span.states if of == kind), None)
    named = [
        one
        for one in statement.spans
        if kind
        and any(of == kind and path == statement.words.lexicon.kinds[kind].status for of, path in one.fields)
    ]
    match so:
        case m.OneOf(field, (value,)):
            before = [one for one in statement.spans if statement.cursor.low(one.start - 1) == "from"]
            states = [(one, of) for one in before for kind_of, of in one.states if kind_of == kind]
            when = states[0][1] if states else None  # from intake into open: no others
            used = tokens_of([span, *named, *(one for one, _ in states)])
            return c.Assign(field, m.Literal_(value), when), used
        case m.Compare(m.Field() as field, "==", m.Literal_(value)):
            return c.Assign(field, m.Literal_(value)), tokens_of([span])
    return None


def _step(statement: Statement, span: Span, tool: ToolWords) -> Change | None:
    """`raises the balance of the account by the amount paid`, `takes one seat off`."""
    cues = [one for one in statement.spans if one.has(Cue.MORE, Cue.LESS)]
    kinds = [
        (kind, path)
        for kind, path in span.fields
        if _is_number(statement, kind, path) and statement.reaches(tool, kind)
    ]
    if not cues or not kinds:
        return None
    owner = _owner_after(statement, span)
    kinds = [one for one in kinds if one[0] in owner] or kinds
    if any(of == tool.name for of, _ in span.arguments) and not any(kind in owner for kind, _ in kinds):
        return None  # what is given, not what is kept
    exact = [one for one in kinds if set(words_of(one[1][-1])) <= set(span.words)]
    spoken = [one for one in exact or kinds if one[0] in statement.kinds]
    found = spoken or kinds
    if len(found) != 1:
        return None
    kind, path = found[0]
    cue = min(cues, key=lambda one: abs(one.start - span.start))
    others = [
        one
        for one in statement.spans
        if one is not span and one.fields and not one.kinds and not one.states and not one.deeds
        and not _is_count(one)
    ]  # fmt: skip
    if others and not {"to", "from"} & set(statement.cursor.lows[others[0].end : span.start]):
        return None  # adds its price to the balance: only the balance goes up
    by = _amount(statement, span, tool)
    if by is None:
        return None
    amount, places = by
    clause = c.Step(statement.words.named(kind, path), amount, "+" if cue.has(Cue.MORE) else "-")
    return clause, tokens_of([span, cue]) | places


def _owner_after(statement: Statement, span: Span) -> tuple[str, ...]:
    """`the quantity of the batch`, `the batch's quantity`."""
    if statement.cursor.low(span.end) == "of":
        following = [one for one in statement.spans if one.start > span.end and not one.is_neutral][:1]
        return following[0].kinds if following else ()
    before = next((one for one in statement.before_span(span) if one.words != ("'s",)), None)
    return before.kinds if before is not None and statement.cursor.low(span.start - 1) == "'s" else ()


def _is_count(span: Span) -> bool:
    """`the number of units issued`: how many, whatever else has to do with units."""
    return span.words[:2] == ("number", "of")


def _amount(statement: Statement, span: Span, tool: ToolWords) -> tuple[m.Amount, frozenset[int]] | None:
    for one in statement.spans:
        if one.quantity is not None and not one.quantity.is_percent:
            return m.Literal_(number_of(one.quantity.number)), tokens_of([one])
    counted = [one for one in statement.spans if _is_count(one) and one is not span]
    if counted and len(counts(tool)) == 1:
        done = [one for one in statement.spans if one.start == counted[0].end]
        done = [one for one in done if any(deed.tool == tool.name for deed in one.deeds)]  # units issued
        return m.Field(counts(tool)[0], None, True), tokens_of([*counted, *done])
    given = [
        (one, name)
        for one in statement.spans
        for of, name in one.arguments
        if of == tool.name and one is not span and tool.arguments[name].get("type") in ("integer", "number")
    ]
    if given:
        return m.Field(given[0][1], None, True), tokens_of([given[0][0]])
    others = [
        one
        for one in statement.spans
        if one is not span and one.fields and not one.kinds and not one.states and not one.deeds
    ]
    if others:
        kinds = [
            (kind, path)
            for kind, path in others[0].fields
            if _is_number(statement, kind, path) and statement.reaches(tool, kind)
        ]
        own = [one for one in kinds if one[0] == tool.kind] or kinds
        return (
            (statement.words.named(*own[0]), tokens_of(others[:1]))
            if len(own) == 1 and len(others) == 1
            else None
        )
    numbers = [name for name, schema in tool.arguments.items() if schema.get("type") in ("integer", "number")]
    own_words = {part for _, path in span.fields for part in words_of(path[-1])} | _AMOUNTS
    if len(numbers) == 1 and own_words & set(words_of(numbers[0])):
        return m.Field(numbers[0], None, True), frozenset()
    return None


_AMOUNTS = word_set("amount quantity count number units total sum value points qty")


def _is_number(statement: Statement, kind: str, path: Path) -> bool:
    return "number" in statement.words.lexicon.kinds[kind].fields[path].kinds
