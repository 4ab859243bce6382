"""What becomes of calls on a world: tried once on a run of their own, and told apart by outcome."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pipelines.core.ledger.ledger import Add, Ledger, LedgerUpdate, Remove, SetFlag, Update
from pipelines.core.simulation.guesses import guess_of
from pipelines.core.simulation.rules.rule import NotFound, Require, Rule, Unchanged
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Answer, Ground, called
from pipelines.core.worlds.outline import field_from_schema
from pipelines.core.worlds.rows.calls import Candidate, candidates, further
from pipelines.core.worlds.rows.phrases import label, said
from pipelines.core.worlds.rows.tool_in_world import CallLimits, tool_in_world
from pipelines.core.worlds.shapes import Outcome, ReferenceCall
from pipelines.core.worlds.values.values import LONG_TEXTS, text_kind
from pipelines.wire.names import Source

ENOUGH_FOUND = 5  # calls that go through, where they had to be looked for
MOST_TOLD = 8  # tools, each with why


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    candidate: Candidate
    answer: Answer
    outcome: Outcome
    again: tuple[LedgerUpdate, ...] = ()  # the same call at another moment of another run
    sentence: str | None = None  # of the behaviour text, where that is why
    guessed: str | None = None  # said of a refusal that nobody wrote down

    @property
    def tool(self) -> str:
        return self.candidate.tool

    @property
    def went_through(self) -> bool:
        return self.outcome in ("changed", "answered")

    @property
    def group(self) -> tuple[str, str, str]:
        """Trials alike in this ask for the same thing with the same end."""
        return (self.tool, self.outcome, self.sentence or self.answer.error or "")


def untried(ground: Ground) -> dict[str, str]:
    """Tools that no rows are made about, and why: what they do would be a guess."""
    key = ("worlds.untried",)
    known: dict[str, str] | None = ground.world.derived.get(key)
    if known is None:
        known = ground.world.derived[key] = _untried(ground)
    return known


def tools_without_rows(ground: Ground) -> Iterator[str]:
    """Said of a world, before anybody goes on from it: rows about these tools are not to be had."""
    found = untried(ground)
    if not found:
        return
    yield from (f"No rows will be made about `{name}`: {why}" for name, why in [*found.items()][:MOST_TOLD])
    if len(found) > MOST_TOLD:
        yield f"Nor about {len(found) - MOST_TOLD} other tools."
    yield "A plan beside a tool (its `simulation`) says what it does; a model can propose one for review."


def _untried(ground: Ground) -> dict[str, str]:
    found: dict[str, str] = {}
    for tool in ground.toolset.tools:
        plan = ground.simulator.plan_of(tool.name)
        guess = guess_of(tool, plan)
        if tool.is_passthrough:
            found[tool.name] = "a live endpoint answers it, which is not asked here"
        elif plan.plan is None:
            found[tool.name] = "no plan makes sense for it: " + "; ".join(plan.notes)
        elif guess is not None:
            found[tool.name] = f"what it does is only guessed: {guess.why}"
        elif (reason := _free_text(ground, tool.name)) is not None:
            found[tool.name] = f"what it does is only guessed: it is read as a lookup, and takes a {reason}"
        elif (state := next(_undeclared(ground, plan.plan.body), None)) is not None:
            found[tool.name] = f"what it does is only guessed: it sets `{state}`, which no type has"
    return found


def _undeclared(ground: Ground, body: Json) -> Iterator[str]:
    """Fields that a plan sets to a word of its own, though the ledger schema does not have them."""
    steps = [one for one in body if isinstance(one, dict)] if isinstance(body, list) else []
    finds = [find for one in steps if isinstance(find := one.get("find"), dict)]
    types = {str(one.get("as")): ground.outline.types.get(str(one.get("in"))) for one in finds}
    for step in steps if ground.toolset.ledger_schema is not None else ():
        changed = step.get("set")
        for path, value in changed.items() if isinstance(changed, dict) else ():
            name, _, field = path.partition(".")
            own, is_word = types.get(name), isinstance(value, str) and value[:1] == "'"
            if own is not None and is_word and own.field(field) is None:
                yield path


def _free_text(ground: Ground, tool: str) -> str | None:
    """An argument of a lookup that somebody writes a text in: whoever gives one reports something."""
    fact = ground.facts[tool]
    texts = (one for one in fact.arguments if one.kind == "text" and one.is_required and not one.values)
    kinds = ((one, text_kind(field_from_schema(one.name, one.schema))) for one in texts)
    return next((one.name for one, kind in kinds if kind in LONG_TEXTS), None) if fact.name.reads() else None


def trials(ground: Ground, tool: str, draw: Draw, now: str, held: CallLimits) -> Iterator[Trial]:
    """Each candidate call whose end says something; equal ones once. Where none goes through, some are looked
    for among other records."""
    seen: set[str] = set()
    went_through = 0
    for found in _tried_once(ground, candidates(ground, tool, draw, now, held), seen, now):
        went_through += found.went_through
        yield found
    if went_through:
        return
    for found in _tried_once(ground, further(ground, tool, draw, now, held), seen, now):
        if found.went_through:
            yield found
            went_through += 1
        if went_through == ENOUGH_FOUND:
            return


def _tried_once(ground: Ground, proposed: Iterable[Candidate], seen: set[str], now: str) -> Iterator[Trial]:
    for candidate in proposed:
        key = repr(sorted(candidate.arguments.items()))
        if key in seen:
            continue
        seen.add(key)
        found = tried(ground, candidate, now)
        if found is not None:
            yield found


def tried(ground: Ground, candidate: Candidate, now: str) -> Trial | None:
    answer = called(ground.opened(now=now, name="a trial"), candidate.tool, candidate.arguments)
    reads = ground.facts[candidate.tool].name.reads()
    if answer.source != Source.ODYSSEY:
        return None
    if answer.is_refused:
        return refused_trial(ground, candidate, answer)
    if not answer.succeeded:
        return None
    if candidate.variant == "unknown":
        return None
    if not changes(answer.updates, Ledger(ground.world)):
        if reads:
            return (
                None
                if _is_empty(answer.response)
                else Trial(candidate=candidate, answer=answer, outcome="answered")
            )
        rule = _rule_that_answered(ground, answer)
        if rule is None or not leaves_as_it_was(rule):
            return None
        return Trial(candidate=candidate, answer=answer, outcome="forbidden", sentence=rule.sentence)
    if reads:
        return None
    later = (datetime.fromisoformat(now) + timedelta(minutes=97, seconds=13)).isoformat()
    again = called(ground.opened(now=later, name="another trial"), candidate.tool, candidate.arguments)
    return Trial(candidate=candidate, answer=answer, outcome="changed", again=again.updates)


def leaves_as_it_was(rule: Rule) -> bool:
    """It answers what it does not allow with the record unchanged, not with an error."""
    return isinstance(rule.form, Require) and isinstance(rule.form.answer, Unchanged)


def _rule_that_answered(ground: Ground, answer: Answer) -> Rule | None:
    rules = (answer.row.matched_rule or "").splitlines()
    return next((one for one in ground.rules if one.sentence in rules), None)


def refused_trial(ground: Ground, candidate: Candidate, answer: Answer) -> Trial | None:
    """A call that the backend refused, told apart by why; None where that says nothing."""
    rule = _rule_that_answered(ground, answer)
    if rule is not None:
        outcome: Outcome = "not_found" if isinstance(rule.form, NotFound) else "forbidden"
        return Trial(candidate=candidate, answer=answer, outcome=outcome, sentence=rule.sentence)
    if candidate.variant == "unknown":
        is_missing = answer.status == 404
        return Trial(candidate=candidate, answer=answer, outcome="not_found") if is_missing else None
    if answer.status == 404 or ground.facts[candidate.tool].name.reads():
        return None  # something else than what is asked about is missing: a search that was read wrong
    guess = ground.simulator.plan_of(candidate.tool).guessed_refusals.get(
        (answer.status or 0, answer.error or "")
    )
    return Trial(candidate=candidate, answer=answer, outcome="refused", guessed=guess)


def _is_empty(response: Json) -> bool:
    """An answer in which there is nothing teaches an agent nothing, and a lookup may have been read wrong."""
    if isinstance(response, dict):
        return all(_is_empty(value) for value in response.values())
    return response in (None, "", [], 0, False)


def changes(updates: tuple[LedgerUpdate, ...], before: Ledger) -> list[LedgerUpdate]:
    """Those that make a difference."""
    found: list[LedgerUpdate] = []
    for one in updates:
        if isinstance(one, Update):
            old = before.get(one.entity_type, one.id) or {}
            if any(old.get(name) != value for name, value in one.set.items()) or any(
                n in old for n in one.unset
            ):
                found.append(one)
        elif isinstance(one, SetFlag):
            found += [one] if before.is_flagged(one.flag) != one.value else []
        elif isinstance(one, Add | Remove):
            found.append(one)
    return found


# -- who is meant without an id


class Found(NamedTuple):
    said: str  # “with email ada@example.com”, behind the noun
    call: ReferenceCall


def found_by(ground: Ground, trial: Trial) -> Found | None:
    """A lookup that leads to what the trial is about, and to nothing else."""
    kind, id = trial.candidate.about or ("", "")
    records = ground.world.entities.get(kind, {})
    for tool in ground.toolset.tools if id in records else ():
        request = tool_in_world(ground, tool.name)
        needed = [one for one in request.fact.arguments if one.is_required]
        if any(one.values or one.kind == "number" for one in needed):
            continue  # nobody calls a flat the one with three rooms
        names = [
            field.name for one in needed if one in request.keys and (field := request.field(one)) is not None
        ]
        is_finder = request.own is not None and request.own.name == kind and request.fact.name.op != "compute"
        values = [records[id].get(name) for name in names]
        alike = [each for each in records.values() if [each.get(name) for name in names] == values]
        is_whole = (
            bool(names) and len(names) == len(needed) and not any(value in (None, "") for value in values)
        )
        if not is_finder or not is_whole or len(alike) > 1:
            continue
        arguments: JsonObject = {one.name: value for one, value in zip(needed, values, strict=True)}
        answer = called(ground.opened(now="2000-01-01T00:00:00Z"), tool.name, arguments)
        if answer.succeeded and id in str(answer.response):
            phrase = " and ".join(f"{label(one.words)} {said(arguments[one.name])}" for one in needed)
            return Found(f"with {phrase}", ReferenceCall(tool=tool.name, arguments=arguments))
    return None
