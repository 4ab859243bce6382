"""Which tools a statement speaks of: those it names, else those that do what its verbs and nouns say."""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, word_set
from pipelines.core.simulation.behavior.parts.cues import NEUTRAL, Cue
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import Statement, tokens_of
from pipelines.core.simulation.behavior.reader.vocabulary import key_of
from pipelines.core.simulation.behavior.things import ToolWords

_RELATIVE = frozenset(("who", "which", "that", "whose", "whom"))
_BEEN = frozenset(("been", "was", "were", "is", "are", "being"))
_TAKING = word_set(
    "accept accepts accepted take takes taken make makes made place places placed put get gets given "
    "grant granted allow allowed permitted admitted another further more set lie lies fall be longer "
    "come state go goes run runs reach last lasts cover covers exceed "
)
_AUXILIARY = word_set("be been being have has had only ever also not")
_NEAR = 5  # words between `cannot` and what cannot be done


class Target(NamedTuple):
    tools: tuple[ToolWords, ...]
    used: frozenset[int]


def targets(statement: Statement) -> Iterator[Target]:
    """The likeliest first."""
    named = [span for span in statement.spans if span.tool is not None]
    if named:
        tools = tuple(dict.fromkeys(span.tool.name for span in named if span.tool))
        yield Target(tuple(map(statement.tool, tools)), tokens_of(named))
        return
    if statement.named:
        yield Target(statement.named, frozenset())
        return
    scored = sorted(
        (
            (_score(statement, span), span)
            for span in statement.spans
            if span.deeds and not _is_attribute(statement, span)
        ),
        key=lambda one: -one[0],
    )
    tried: set[tuple[str, ...]] = set()
    is_other = _says_another_deed(statement)
    for score, span in scored:
        if is_other and span.kinds:
            continue  # what is done is said, and is not known: no noun tells it
        group = [
            other
            for of, other in scored
            if _are_joined(statement, span, other) and (of == score or _is_neither(statement, span, other))
        ]
        found = [_tools_of(statement, one) for one in group]
        if not all(found) or len({tuple(tool.name for tool in one) for one in found}) < len(found):
            continue  # two verbs of which one tool is said to do both: one of them is not understood
        tools = tuple(dict.fromkeys(tool.name for one in found for tool in one))
        if tools not in tried:
            tried.add(tools)
            yield Target(tuple(map(statement.tool, tools)), tokens_of(group))
    for found_tools, used in (*_takers(statement), *_makers(statement)) if not is_other else ():
        names = tuple(tool.name for tool in found_tools)
        if names not in tried:
            tried.add(names)
            yield Target(found_tools, used)
    if statement.before:
        yield Target(statement.before, frozenset())


def _is_attribute(statement: Statement, span: Span) -> bool:
    """`an open invoice`: how the thing is, not what is done to it."""
    following = next((one for one in statement.spans if one.start == span.end), None)
    return following is not None and any(kind in following.kinds for kind, _ in span.states)


def _score(statement: Statement, span: Span) -> int:
    """How likely a verb tells what may be done, rather than what something is like."""
    before = [*statement.before_span(span)]
    words = [word for one in before[:_NEAR] for word in reversed(one.words)]
    modal = next(
        (at for at, one in enumerate(before[:_NEAR]) if one.has(Cue.FORBID, Cue.ALLOW, Cue.MUST)), None
    )
    relative = next((at for at, word in enumerate(words) if word in _RELATIVE), None)
    score = 0
    if modal is not None and (relative is None or relative > modal):
        score += 4
    if span.words[0].endswith("ing"):
        score += 3 if not before or before[0].words[-1] not in _BEEN else 0
    elif span.words[-1].endswith(("ion", "ions", "ment", "ments", "al", "als")) and not span.kinds:
        score += 2
    if statement.is_sole and statement.cursor.low(span.end) == "by":
        score += 3  # is started by its cleaner; anyone else is refused
    elif span.states and words[:1] and words[0] in _BEEN and modal is None:
        score -= 3
    if relative is not None and relative <= 2 and modal is None:
        score -= 3
    if span.kinds:
        score -= 1
    return score - min(deed.rank for deed in span.deeds)


def _are_joined(statement: Statement, span: Span, other: Span) -> bool:
    """Whether two verbs stand side by side: `neither ridden nor reserved`."""
    if span is other:
        return True
    first, last = sorted((span, other), key=lambda one: one.start)
    between = [one for one in statement.spans if first.end <= one.start < last.start]
    joins = {"or", "and", "nor", ",", "be", "neither", "either"}
    return all(set(one.words) <= joins or one.deeds for one in between)


def _is_neither(statement: Statement, span: Span, other: Span) -> bool:
    """`neither ridden nor reserved`: both, however they score."""
    first, last = sorted((span, other), key=lambda one: one.start)
    return (
        statement.cursor.low(first.start - 1) == "neither" and statement.cursor.low(last.start - 1) == "nor"
    )


def _tools_of(statement: Statement, span: Span) -> list[ToolWords]:
    """Of the tools that a verb may mean, those that fit what else is said best."""
    spoken = {stem(singular(word)) for one in statement.spans for word in one.words}
    scored: list[tuple[float, ToolWords]] = []
    for deed in span.deeds:
        tool = statement.tool(deed.tool)
        if tool.reads:
            continue
        about = sum(kind in (tool.kind, tool.makes, tool.called) for kind in statement.kinds)
        given = sum(statement.words.is_about(tool, kind) for kind in statement.kinds)
        own = len({stem(word) for word in tool.words} & spoken)
        missing = len({stem(word) for word in tool.words} - spoken)
        scored.append((-2 * deed.rank + 2 * about + given + own - 0.5 * missing, tool))
    best = max((score for score, _ in scored), default=0)
    return [*{tool.name: tool for score, tool in scored if score == best}.values()]


def _says_another_deed(statement: Statement) -> bool:
    """Whether a verb that no tool is known by follows `can` or `must`: then what is done is not known."""
    for span in statement.with_cue(Cue.FORBID, Cue.ALLOW, Cue.MUST):
        verb = next(
            (one for one in statement.spans if one.start >= span.end and not set(one.words) <= _AUXILIARY),
            None,
        )
        if verb is None or verb.start - span.end > 3 or verb.stands_for_something or verb.cues:
            continue
        if (
            verb.words[0] not in NEUTRAL | _TAKING
            and next(statement.cursor.comparison(verb.start), None) is None
        ):
            return True
    return False


def _makers(statement: Statement) -> Iterator[tuple[tuple[ToolWords, ...], frozenset[int]]]:
    """`We accept no orders`: whatever makes one."""
    if not any(set(span.words) & _TAKING or span.has(Cue.NEW, Cue.NONE) for span in statement.spans):
        return
    for span in statement.spans:
        for kind in span.kinds:
            makers = [tool for tool in statement.words.makers(kind) if not tool.reads]
            if len(makers) == 1:
                yield tuple(makers), tokens_of([span])


def _takers(statement: Statement) -> Iterator[tuple[tuple[ToolWords, ...], frozenset[int]]]:
    """`A closed case takes no more hours`: whatever is given hours."""
    for span in statement.spans:
        names = dict.fromkeys(tool for tool, _ in span.arguments if not statement.tool(tool).reads)
        if not names:  # what only lists are given, by its own name
            names = dict.fromkeys(
                tool for tool, name in span.arguments if key_of([name]) == key_of(span.words)
            )
        if 0 < len(names) <= 4 and not span.kinds:
            yield tuple(map(statement.tool, names)), frozenset()
