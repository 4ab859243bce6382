"""What a reply works out, and which values no two records may share, or how often something is done."""

from collections.abc import Iterator

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import (
    Reading,
    Statement,
    modifier_of,
    tokens_of,
)
from pipelines.core.simulation.behavior.parts.targets import targets
from pipelines.core.simulation.behavior.reader.vocabulary import number_of
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind

_SIGNS = {
    "minus": "-",
    "less": "-",
    "times": "*",
    "multiplied": "*",
    "plus": "+",
    "divided": "/",
    "*": "*",
    "+": "+",
}
_EQUALS = word_set(
    "= is equals contains returns reports shows includes gives tells as are which worked equal calculated "
    "computed multiplied by times minus less plus sum"
)


def uniqueness(statement: Statement) -> Iterator[Reading]:
    cues = statement.with_cue(Cue.UNIQUE, Cue.ONCE)
    if not cues or not (statement.with_cue(Cue.UNIQUE) or _is_kept_once(statement)):
        return
    made: list[c.Clause] = []
    tools: list[ToolWords] = []
    used: frozenset[int] = tokens_of(
        [*cues, *statement.with_cue(Cue.FORBID, Cue.MUST, Cue.OWN, Cue.WHEN, Cue.NONE, Cue.NOT, Cue.ALLOW)]
    )
    named = [span for span in statement.spans if span.arguments and not span.kinds]
    for span in named:
        for of, name in span.arguments:
            tool = statement.tool(of)
            kind = statement.words.lexicon.kinds.get(tool.makes or "")
            if tool.reads or kind is None or (name,) not in kind.fields:
                continue
            need = _unique(statement, tool, name)
            if need is None:
                return
            made.append(c.Guard(need, statement.outcome, m.Who(names=(of,), reaches_links=True)))
            tools.append(tool)
            used |= tokens_of([span]) | modifier_of(statement, span)
    two = tokens_of(
        span for span in statement.spans if span.quantity is not None and int(span.quantity.number) in (1, 2)
    )
    if made and len({tool.name for tool in tools}) == len(tools) == 1:
        yield Reading(clauses=tuple(made), used=used | two, tools=tuple(tools))


def _is_kept_once(statement: Statement) -> bool:
    """`No serial number can be in our register twice`: of a value, not of a deed."""
    values = [span for span in statement.spans if span.arguments and not span.kinds]
    deeds = [span for span in statement.spans if span.deeds and not span.kinds and not span.arguments]
    made = {of for span in values for of, _ in span.arguments}
    is_said = any(span.has(Cue.NONE, Cue.FORBID) for span in statement.spans)
    is_only = any("only" in span.words for span in statement.with_cue(Cue.ONCE))
    is_theirs = all(deed.tool in made for span in deeds for deed in span.deeds)
    return len(values) == 1 and (is_said or is_only) and is_theirs


def _unique(statement: Statement, tool: ToolWords, name: str) -> m.Condition | None:
    """Of all records, or `within its account` of those that belong to the same one."""
    made = tool.makes or ""
    others = [kind for kind in statement.kinds if kind != made]
    within = [kind for kind in others if (made, kind) in statement.words.lexicon.links]
    if not others:
        return m.Unique(m.Field(name))
    if len(within) != 1 or len(others) > 1:
        return None
    same = m.Compare(m.Field(name, made), "==", m.Field(name, None, True))
    return m.Counted(within[0], m.Thing(made, same), "<", 1)


def repetitions(statement: Statement) -> Iterator[Reading]:
    cues = statement.with_cue(Cue.ONCE)
    if not cues or {"call", "calls"} & set(statement.cursor.lows):
        return
    for target in targets(statement):
        if not target.used or len(target.tools) != 1 or target.tools[0].reads:
            continue
        kinds = [kind for kind in statement.kinds if kind != target.tools[0].makes]
        tool = target.tools[0]
        if any(
            span.states for span in statement.spans if not target.used & tokens_of([span]) and not span.deeds
        ):
            return
        per = tuple(kinds) if len(kinds) > 1 and tool.makes else ()
        who = m.Who(names=(tool.name,), noun=kinds[0] if kinds else None, reaches_links=True)
        used = target.used | tokens_of(
            [*cues, *statement.with_cue(Cue.FORBID, Cue.ONLY, Cue.ALLOW, Cue.NONE, Cue.WHEN)]
        )
        used |= tokens_of(
            span for span in statement.spans if any(deed.tool == tool.name for deed in span.deeds)
        )
        twice = any("twice" in span.words for span in cues)
        clause: c.Clause = (
            c.Rarely(2, statement.outcome, who) if twice else c.Once(statement.outcome, per, who)
        )
        yield Reading(clauses=(clause,), used=used, tools=target.tools)


def unknown_things(statement: Statement) -> Iterator[Reading]:
    """`If the card id is unknown, get_card answers 404`."""
    lows = statement.cursor.lows
    said = [
        at
        for at, low in enumerate(lows)
        if low in ("unknown", "nonexistent")
        or lows[at : at + 2] in (["not", "exist"], ["no", "such"], ["not", "found"], ["not", "known"])
    ]
    if not said or not isinstance(statement.outcome, m.Fail):
        return
    named = tuple(span.tool for span in statement.spans if span.tool is not None)
    called = [span.words[:-1] for span in statement.spans if span.words[-1] == "id" and len(span.words) > 1]
    kinds = [*statement.kinds, *(kind for said in called for kind in statement.words.kinds_named(said))]
    for kind in kinds[:1]:
        who = (
            m.Who(names=tuple(tool.name for tool in named), reaches_links=True)
            if named
            else m.Who(everyone=True)
        )
        used = frozenset(place for at in said for place in (at, at + 1)) | tokens_of(
            span for span in statement.spans if span.tool
        )
        used |= tokens_of(
            [
                *statement.with_cue(Cue.WHEN, Cue.NOT, Cue.NONE),
                *(one for one in statement.spans if one.words[-1:] == ("id",)),
            ]
        )
        yield Reading(clauses=(c.Unknown(kind, statement.outcome, who),), used=used, tools=named)


def formulas(statement: Statement) -> Iterator[Reading]:
    """`get_case reports hours_left, which is the hours budget minus the hours logged`."""
    signs = [(at, _SIGNS[low]) for at, low in enumerate(statement.cursor.lows) if low in _SIGNS]
    signs = signs or [
        (at, "*")
        for at, low in enumerate(statement.cursor.lows)
        if low == "per" or statement.cursor.after(at, "for every", "for each")
    ]
    if not signs and "sum" in statement.cursor.lows:
        yield from _summed(statement)
    if len(signs) != 1:
        return
    at, sign = signs[0]
    named = [span.tool for span in statement.spans if span.tool is not None]
    for tool in named or _lookups(statement):
        found = _formula(statement, tool, at, sign)
        if found is not None:
            clause, used = found
            used |= tokens_of(span for span in statement.spans if span.tool is not None)
            used |= tokens_of(statement.with_cue(Cue.LISTED, Cue.ALLOW, Cue.BECOME))
            used |= tokens_of(span for span in statement.spans if set(span.words) <= _EQUALS)
            yield Reading(clauses=(clause,), used=used, tools=(tool,))


def _summed(statement: Statement) -> Iterator[Reading]:
    """`The total is the sum of reading, listening and writing`."""
    at = statement.cursor.lows.index("sum")
    for tool in [span.tool for span in statement.spans if span.tool is not None] or _lookups(statement):
        parts = [
            (span, path)
            for span in statement.spans
            for kind, path in span.fields
            if kind == tool.kind and span.start > at
        ]
        name = _result(statement, tool, tokens_of(span for span, _ in parts))
        if len(parts) < 2 or name is None or (name[1] and min(name[1]) > at):
            continue
        total: m.Amount = statement.words.named(tool.kind or "", parts[0][1])
        for _, path in parts[1:]:
            total = m.Sum("+", (total, statement.words.named(tool.kind or "", path)))
        who = m.Who(names=(tool.name,), reaches_links=True)
        used = tokens_of(span for span, _ in parts) | name[1]
        used |= tokens_of(span for span in statement.spans if set(span.words) <= _EQUALS or span.tool)
        yield Reading(clauses=(c.Compute(m.Field(name[0]), total, None, who),), used=used, tools=(tool,))


def _lookups(statement: Statement) -> list[ToolWords]:
    lexicon = statement.words.lexicon
    return [
        tool
        for tool in lexicon.tools.values()
        for kind in statement.kinds
        if tool.kind == kind
        and (tool.creates or (tool.reads and lexicon.id_argument(tool, kind) is not None))
    ]


def _formula(
    statement: Statement, tool: ToolWords, at: int, sign: str
) -> tuple[c.Clause, frozenset[int]] | None:
    left = _operand(statement, tool, [span for span in statement.spans if span.end <= at][::-1])
    right = _operand(statement, tool, [span for span in statement.spans if span.start > at])
    if left is None or right is None:
        return None
    name = _result(statement, tool, left[1] | right[1])
    if name is None:
        return None
    used = left[1] | right[1] | name[1] | {at}
    who = m.Who(names=(tool.name,), reaches_links=True)
    return c.Compute(m.Field(name[0]), m.Sum(sign, (left[0], right[0])), None, who), used


def _operand(
    statement: Statement, tool: ToolWords, found: list[Span]
) -> tuple[m.Amount, frozenset[int]] | None:
    for span in found:
        if span.quantity is not None:
            return m.Literal_(number_of(span.quantity.number)), tokens_of([span])
        kinds = [kind for kind, _ in span.fields if statement.reaches(tool, kind)]
        if kinds:
            kind = tool.kind if tool.kind in kinds else kinds[0]
            path = next(path for of, path in span.fields if of == kind)
            return statement.words.named(kind, path), tokens_of([span])
        given = [name for of, name in span.arguments if of == tool.name]
        if given:
            return m.Field(given[0], None, True), tokens_of([span])
        if not span.is_neutral and not span.kinds and not span.cues:
            return None
    return None


def _result(
    statement: Statement, tool: ToolWords, taken: frozenset[int]
) -> tuple[str, frozenset[int]] | None:
    """What is worked out: a name as it is written, else a field of what the tool is about."""
    for at, token in enumerate(statement.tokens):
        is_name = token.kind is TokenKind.NAME and token.low not in statement.words.lexicon.tools
        if is_name and at not in taken:
            return token.text, frozenset((at,))
    for span in statement.spans:
        path = next((path for of, path in span.fields if of == tool.kind), None)
        if path is not None and not taken & tokens_of([span]):
            return path[-1], tokens_of([span])
    return None
