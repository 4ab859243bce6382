"""Calls that are refused, or what they need."""

from collections.abc import Iterator

from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.fact import Fact
from pipelines.core.simulation.behavior.parts.facts import arguments_in, facts
from pipelines.core.simulation.behavior.parts.relations import is_another_doer
from pipelines.core.simulation.behavior.parts.sides import sides_of
from pipelines.core.simulation.behavior.parts.statement import Reading, Statement, tokens_of
from pipelines.core.simulation.behavior.parts.targets import Target, targets
from pipelines.core.simulation.behavior.reader.said import clause_of


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
            side = sides_of(statement, found or [], used)
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
        if lead[:1] != ["to"] and span.start >= 3 and statement.cursor.low(span.start - 3) == "to":
            lead = []  # to a different room: where it is to go, which the call names
        is_rest = any(one.has(Cue.ONLY) and one.end == span.start for one in statement.spans)
        others = {"another", "other", "same", "different"} & set(lead)
        if (
            span.kinds
            and others
            and "no" not in lead
            and not is_rest
            and not is_another_doer(statement, span)
        ):
            return True
    return False


def _binds_all(statement: Statement, target: Target, found: list[Fact]) -> bool:
    """Where no verb says which calls are meant, every tool that is given such a value is."""
    verbs = (span for span in statement.spans if span.deeds and not span.kinds)
    is_said = any(target.used & tokens_of([span]) for span in verbs)
    if is_said or statement.named or any(span.tool for span in statement.spans):
        return True
    given = {name for fact in found for name in arguments_in(fact.so)}
    tools = [
        tool
        for tool in statement.words.lexicon.tools.values()
        if not tool.reads and given & set(tool.arguments)
    ]
    return {tool.name for tool in tools} <= {tool.name for tool in target.tools}
