"""How a list comes: how many, in which order, and which things it leaves out."""

from collections.abc import Iterator

from pipelines.core.english.stems import stem
from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.spans import LOOKING, Span
from pipelines.core.simulation.behavior.parts.statement import Reading, Statement, tokens_of
from pipelines.core.simulation.behavior.things import Path, ToolWords

_HIGH = word_set(
    "highest biggest largest greatest most best longest heaviest fullest dearest priciest newest latest "
    "recent youngest strongest descending busiest"
)
_LOW = word_set(
    "lowest smallest cheapest least shortest lightest fewest worst emptiest oldest earliest soonest "
    "ascending alphabetical alphabetically nearest closest"
)
_LATE = word_set("newest latest recent oldest earliest soonest youngest")
_MEASURE = {
    "heaviest": "weight", "lightest": "weight", "cheapest": "price", "dearest": "price", "priciest": "price",
    "longest": "duration", "shortest": "duration", "nearest": "distance", "closest": "distance",
}  # fmt: skip
_PRICES = word_set("price cost rate fee fare rent amount total value")
_CUT = word_set(
    "cut stops stop capped limited limit ends maximum max more than most at up to no never long higher "
    "larger bigger greater only fewer"
)
_OMITTED = word_set("out hidden hides omits omitted skips excluded excludes not never")


def listings(statement: Statement) -> Iterator[Reading]:
    for tools, used in _lists(statement):
        kind = tools[0].kind
        if kind is None:
            continue
        who = m.Who(names=tuple(tool.name for tool in tools), reaches_links=True)
        for found in (_order(statement, kind, who), _cap(statement, kind, who), _kept(statement, kind, who)):
            if found is not None:
                clause, places = found
                around = tokens_of(statement.with_cue(Cue.LISTED, Cue.SORTED, Cue.ALLOW))
                yield Reading(clauses=(clause,), used=used | places | around, tools=tools)


def _lists(statement: Statement) -> Iterator[tuple[tuple[ToolWords, ...], frozenset[int]]]:
    named = [span for span in statement.spans if span.tool is not None and span.tool.reads]
    if named:
        tools = tuple(span.tool for span in named if span.tool is not None)
        yield tools, tokens_of(named)
        return
    before = statement.before or statement.named
    if before and all(tool.reads for tool in before) and not statement.kinds:
        yield before, frozenset()
    if not statement.with_cue(Cue.LISTED, Cue.SORTED):
        return
    for kind in statement.kinds:
        every = statement.words.lexicon.tools.values()
        tools = tuple(tool for tool in every if tool.kind == kind and _is_list(statement, tool))
        if tools:
            yield tools, frozenset()


def _is_list(statement: Statement, tool: ToolWords) -> bool:
    """Whether it looks for several: by its verb, as what asks for a loan is taken for a reader too."""
    is_one = tool.kind is None or statement.words.lexicon.id_argument(tool, tool.kind) is not None
    return tool.reads and not is_one and words_of(tool.name)[0] in LOOKING


def _order(statement: Statement, kind: str, who: m.Who) -> tuple[c.Clause, frozenset[int]] | None:
    known = statement.words.lexicon.kinds[kind]
    if not statement.with_cue(Cue.SORTED) or not known.fields:
        return None
    first = next((span for span in statement.spans if set(span.words) & (_HIGH | _LOW)), None)
    descending = first is not None and bool(set(first.words) & _HIGH)
    used = tokens_of(span for span in statement.spans if set(span.words) & (_HIGH | _LOW))
    if first is None and statement.cursor.lows[-1:] == ["last"]:
        descending = True  # starts with the one created last
    fields = [
        (span, path)
        for span in statement.spans
        for of, path in span.fields
        if of == kind and len(path) == 1 and not span.kinds
    ]
    if not fields:
        fields = [
            (span, path)
            for span in statement.spans
            if not span.is_neutral and not span.kinds
            for path in statement.words.dates_of(kind, span.words)
            if len(path) == 1
        ]
    paths = list(dict.fromkeys(path for _, path in fields))
    if len(paths) > 1:
        told = [
            path
            for span, path in fields
            if "by" in statement.cursor.lows[max(0, span.start - 2) : span.start]
        ]
        after = [
            path
            for span, path in fields
            if any(one.has(Cue.SORTED) and one.end <= span.start for one in statement.spans)
        ]
        paths = told[:1] or after[:1] or paths
    path: Path | None = paths[0] if len(paths) == 1 else None
    if path is None and first is not None:
        path = _by_word(statement, kind, first)
        if path is None and not set(first.words) & _LATE:
            return None
    elif path is None:
        return None
    by = m.Field(path[0]) if path is not None else None
    return c.Order(by, descending, who), used | tokens_of(span for span, one in fields if one == path)


def _by_word(statement: Statement, kind: str, span: Span) -> Path | None:
    known = statement.words.lexicon.kinds[kind]
    if set(span.words) & _LATE:
        dates = known.dates()
        return dates[0] if len(dates) == 1 and len(dates[0]) == 1 else None
    word = next((word for word in span.words if word in _MEASURE), None)
    if word is None:
        return None
    wanted = _PRICES if _MEASURE[word] == "price" else {_MEASURE[word]}
    hits = [
        path
        for path, one in known.fields.items()
        if len(path) == 1
        and "number" in one.kinds
        and {stem(part) for part in words_of(path[0])} & {stem(one) for one in wanted}
    ]
    return hits[0] if len(hits) == 1 else None


def _cap(statement: Statement, kind: str, who: m.Who) -> tuple[c.Clause, frozenset[int]] | None:
    numbers = [span for span in statement.spans if span.quantity is not None and span.words != ("one",)]
    if len(numbers) != 1 or numbers[0].quantity is None or numbers[0].quantity.unit:
        return None
    if any(of == kind for span in statement.spans for of, _ in span.states) or statement.with_cue(Cue.SORTED):
        return None
    around = [
        span for span in statement.spans if set(span.words) & _CUT or span.has(Cue.FORBID, Cue.NONE, Cue.NOT)
    ]
    if not around:
        return None
    limit = next(
        ((span, name) for span in statement.spans for of, name in span.arguments if of in who.names), None
    )
    used = tokens_of([*numbers, *around])
    if limit is None or not _is_left_out(statement, limit[0]):
        return c.Cap(int(numbers[0].quantity.number), who=who), used
    used |= tokens_of([limit[0], *statement.with_cue(Cue.ABSENT, Cue.WHEN, Cue.UNLESS, Cue.BECOME)])
    return c.Cap(int(numbers[0].quantity.number), unless=m.Field(limit[1]), who=who), used


def _is_left_out(statement: Statement, limit: Span) -> bool:
    """`when the caller does not set a limit`."""
    lead = [*statement.before_span(limit)][:4]
    is_denied = any(span.has(Cue.NOT, Cue.NONE, Cue.WITHOUT, Cue.ABSENT) for span in lead)
    return is_denied and any(span.has(Cue.WHEN, Cue.UNLESS, Cue.WITHOUT) for span in statement.spans)


def _kept(statement: Statement, kind: str, who: m.Who) -> tuple[c.Clause, frozenset[int]] | None:
    states = [(span, so) for span in statement.spans for of, so in span.states if of == kind]
    if (
        not states
        or statement.with_cue(Cue.MUST, Cue.UNLESS)
        or any(span.quantity for span in statement.spans)
    ):
        return None
    parts = tuple(so for _, so in states)
    so = parts[0] if len(parts) == 1 else m.Any_(parts)
    left_out = [
        span
        for span in statement.spans
        if set(span.words) & _OMITTED or span.has(Cue.NOT, Cue.NONE, Cue.FORBID)
    ]
    only = statement.with_cue(Cue.ONLY)
    used = tokens_of([span for span, _ in states] + left_out + only + statement.with_cue(Cue.WHEN))
    used |= tokens_of(span for span in statement.spans if any(of == kind for of, _ in span.fields))
    if only and not left_out:
        return c.Keep(so, kind, who), used
    if left_out and not only:
        return c.Keep(m.negated(so), kind, who), used
    return None
