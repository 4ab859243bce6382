"""Calls that are refused, or what they need: on which side of the rule each fact of a statement is."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.facts import Fact, argument_of, facts
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import Reading, Statement, tokens_of
from pipelines.core.simulation.behavior.parts.targets import Target, targets
from pipelines.core.simulation.behavior.reader.said import Said, clause_of
from pipelines.core.simulation.behavior.reader.thing import Thing
from pipelines.core.simulation.behavior.reader.vocabulary import Deed

_ASKED = frozenset(["required", "mandatory", "compulsory", "obligatory", "needed", "necessary"])
_SIDES = (Cue.FORBID, Cue.ALLOW, Cue.MUST, Cue.ONLY, Cue.WHEN, Cue.UNLESS)


def restrictions(statement: Statement) -> Iterator[Reading]:
    if statement.with_cue(Cue.OTHERWISE) or (
        statement.with_cue(Cue.ABSENT, Cue.DEFAULT) and not statement.is_answered
    ):
        return
    if _speaks_of_others(statement):
        return
    for target in targets(statement):
        made: list[c.Clause] = []
        used = target.used
        for tool in target.tools:
            found = facts(statement, tool, target.used)
            side = _sides(statement, found or [], used)
            if not found or side is None or not _binds_all(statement, target, found):
                break
            said, told = side
            clause = clause_of(said, tool, None)
            if clause is None or not isinstance(clause, c.Guard):
                break
            used |= told
            made.append(
                c.Guard(clause.need, statement.outcome, m.Who(names=(tool.name,), reaches_links=True))
            )
        else:
            if made:
                yield Reading(clauses=tuple(made), used=used, tools=target.tools)


def _speaks_of_others(statement: Statement) -> bool:
    """`another batch of the same medicine`: other records than the call is about, which are not read."""
    for span in statement.spans:
        lead = statement.cursor.lows[max(0, span.start - 2) : span.start]
        if span.kinds and {"another", "other", "same", "different"} & set(lead) and "no" not in lead:
            return True
    return False


def _binds_all(statement: Statement, target: Target, found: list[Fact]) -> bool:
    """Where no verb says which calls are meant, every tool that is given such a value is."""
    if (
        any(span.tool or (span.deeds and target.used & tokens_of([span])) for span in statement.spans)
        or statement.named
    ):
        return True
    given = {name for fact in found for name in (argument_of(fact.so),) if name}
    tools = [
        tool
        for tool in statement.words.lexicon.tools.values()
        if not tool.reads and given & set(tool.arguments)
    ]
    return {tool.name for tool in tools} <= {tool.name for tool in target.tools}


@dataclass(frozen=True, kw_only=True)
class _Mode:
    """Under which word a place of the statement stands."""

    cue: Cue | None
    is_lead: bool = False  # a clause in front: `If …, `


def _sides(
    statement: Statement, found: list[Fact], taken: frozenset[int]
) -> tuple[Said, frozenset[int]] | None:
    """Which facts forbid a call, and which are needed for it."""
    inside = {place for fact in found for place in fact.used}
    cues = [
        span
        for span in statement.spans
        if span.has(*_SIDES) and not inside & set(range(span.start, span.end))
    ]
    forbids = [span for span in cues if span.has(Cue.FORBID)]
    if not forbids:
        forbids = [
            span for span in statement.spans if span.words == ("neither",) and span.start not in inside
        ]
    none = [span for span in _no_such(statement, taken) if not inside & set(range(span.start, span.end))]
    musts = [span for span in cues if span.has(Cue.MUST)]
    only = [span for span in cues if span.has(Cue.ONLY)]
    allows = [span for span in cues if span.has(Cue.ALLOW)]
    is_forbidden = bool(forbids) or bool(none) or (statement.is_answered and not (musts or only))
    if (is_forbidden and (only or musts)) or len(forbids) > 2:
        return None
    used = tokens_of([*cues, *none])
    if is_forbidden:
        used |= tokens_of(span for span in statement.spans if set(span.words) & {"neither", "nor"})
    so: list[m.Condition] = []
    needed: list[m.Condition] = []
    exceptions: list[m.Condition] = []
    pivot = min((span.start for span in (only or musts)), default=None)
    for fact in found:
        mode = _mode(statement, fact)
        exempt = next(
            (one for one in statement.spans if one.has(Cue.EXEMPT) and 0 <= one.start - fact.end <= 2), None
        )
        if exempt is not None:
            mode, used = _Mode(cue=Cue.UNLESS), used | tokens_of([exempt])
        told = _asked(statement, fact)
        used |= fact.used
        if mode.cue is Cue.UNLESS:
            exceptions.append(told)
        elif is_forbidden and not (musts and pivot is not None and fact.start > pivot and not forbids):
            so.append(told)
        elif only or musts:
            is_after = pivot is not None and fact.end > pivot
            if musts and set(musts[0].words) & _ASKED:
                is_after = not is_after  # a reason is required for large refunds
            if only and not is_after and not musts:
                is_after = _follows_only(statement, only[0], fact)
            if mode.cue is Cue.WHEN and musts and not only:
                so.append(told)
            elif is_after:
                needed.append(told)
            else:
                so.append(told)
        elif allows and mode.cue is Cue.WHEN:
            needed.append(told)
        elif _is_limit(fact) or (allows and _is_window(fact)):
            needed.append(told)  # a limit that is told as a fact
        else:
            return None
    if not is_forbidden and not needed and exceptions and allows:
        needed = [
            one if isinstance(one, m.Age) else m.negated(one) for one in exceptions
        ]  # can be changed until …
        exceptions = []
    things = tuple(Thing(kind=fact.kind) for fact in found if fact.kind)
    deeds = ((Deed(tool="", rank=0),),)
    said = Said(
        verbs=deeds, things=things, so=tuple(so), needed=tuple(needed), exceptions=tuple(exceptions),
        is_forbidden=is_forbidden, outcome=statement.outcome,
    )  # fmt: skip
    if (
        said.need is None
        or (is_forbidden and needed)
        or any(isinstance(one, m.Present) for one in so if is_forbidden)
    ):
        return None  # that a value is given at all is never what stands in the way
    return said, used


def _no_such(statement: Statement, taken: frozenset[int]) -> list[Span]:
    """`no order may …`, `accept no orders`, `nobody can`: of the deed itself, or of whoever does it."""
    found = []
    for at, span in enumerate(statement.spans):
        if not span.has(Cue.NONE) or any(place in taken for place in range(span.start, span.end)):
            continue
        if set(span.words) & {"nobody", "nothing"}:
            found.append(span)
            continue
        following = next((one for one in statement.spans[at + 1 :] if not one.is_neutral), None)
        if following is not None and (following.kinds or following.deeds or following.arguments):
            found.append(span)
    return found


def _follows_only(statement: Statement, only: Span, fact: Fact) -> bool:
    """`…, nobody else`: what stands before it is meant, where nothing follows."""
    return not any(span.stands_for_something for span in statement.spans if span.start >= only.end)


def _is_limit(fact: Fact) -> bool:
    """Whether it bounds what is given, or names all that it may be, or how far from a moment it is."""
    parts = fact.so.parts if isinstance(fact.so, m.All) else (fact.so,)
    if all(isinstance(one, m.Age) for one in parts):
        return True
    if isinstance(fact.so, m.OneOf):
        return fact.so.field.is_argument and len(fact.so.values) > 1
    return all(
        isinstance(one, m.Compare)
        and isinstance(one.left, m.Field)
        and one.left.is_argument
        and one.op in (">=", "<=", ">", "<")
        for one in parts
    )


def _is_window(fact: Fact) -> bool:
    return isinstance(fact.so, (m.Age, m.Compare, m.All))


def _mode(statement: Statement, fact: Fact) -> _Mode:
    """The last word before a fact that joins a condition; a clause in front ends with its comma."""
    for span in reversed(statement.spans):
        if span.start >= fact.start and span.start not in fact.used:
            continue
        if span.start >= fact.end:
            continue
        if span.has(Cue.WHEN, Cue.UNLESS) and not span.has(Cue.FORBID):
            between = statement.cursor.lows[span.end : fact.start]
            is_lead = not any(
                one.stands_for_something or one.has(Cue.FORBID, Cue.ALLOW, Cue.MUST)
                for one in statement.spans
                if one.end <= span.start
            )
            if is_lead and "," in between:
                return _Mode(cue=None)
            return _Mode(cue=Cue.UNLESS if span.has(Cue.UNLESS) else Cue.WHEN, is_lead=is_lead)
    return _Mode(cue=None)


def _asked(statement: Statement, fact: Fact) -> m.Condition:
    """What is asked of a person is a matter of permission; how many others there are is not."""
    if isinstance(fact.so, m.Counted):
        return fact.so
    is_person = fact.kind in statement.words.folk and not isinstance(fact.so, (m.Owns, m.Related))
    return m.Allowed(fact.so) if is_person else fact.so
