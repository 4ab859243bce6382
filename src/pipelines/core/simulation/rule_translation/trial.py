"""Tries a translated sentence in a world: whether its rules can be applied, how they read as sentences, and
example calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pipelines.core.simulation.build import NOT_ENFORCED, PlannedSimulator
from pipelines.core.simulation.rule_translation.translation import rule_problems
from pipelines.core.simulation.rules.examples import RuleExample
from pipelines.core.simulation.rules.language.read import Reading
from pipelines.core.simulation.rules.language.report import canonical_sentences
from pipelines.core.simulation.sentences import rule_examples
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.wire.records import As, Record, shown

MOST_TOLD = 3  # problems with the rules of one sentence


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationTrial(Record, component=""):
    """On records of a task's world, with the rule and without it."""

    problem: Annotated[str | None, "why it cannot be accepted"] = None
    warning: Annotated[str | None, "what to know before it is accepted"] = None
    read_as: Annotated[tuple[str, ...], "its rules as canonical sentences"] = ()
    examples: Annotated[tuple[JsonObject, ...], As(tuple[RuleExample, ...])] = ()  # one for each rule

    @shown(after="")
    def calls(self) -> int:
        return self.count("calls")

    @shown(after="")
    def differ(self) -> Annotated[int, "answered otherwise with it"]:
        return self.count("differ")

    @shown(after="")
    def refused(self) -> Annotated[int, "refused with it alone"]:
        return self.count("refused_count")

    def count(self, key: str) -> int:
        return sum(count for one in self.examples if isinstance(count := one[key], int))


def try_translation(
    sentence: str, bodies: Sequence[Json], around: PlannedSimulator, *, now: str | None = None
) -> TranslationTrial:
    """On top of what is in force: `around` has the text in which the sentence stands, `now` is its task's."""
    if not bodies:
        return TranslationTrial(problem="the translation has no rules")
    wrong = rule_problems(bodies, around.vocabulary)
    if wrong:
        return TranslationTrial(problem="; ".join(one.message for one in wrong[:MOST_TOLD]))
    under = around.translated_as(sentence, bodies)
    reading = next(one for one in under.rule_book.readings if one.sentence == sentence)
    shown = tuple(canonical_sentences(reading, under.rule_book.reader))
    if (why := _no_place(reading, under)) is not None:
        return TranslationTrial(problem=why, read_as=shown)
    examples = tuple(rule_examples(reading.rules, under, now=now))
    tried = TranslationTrial(read_as=shown, examples=examples)
    return replace(tried, warning=_no_difference(tried, under.uniform.get(sentence)))


def _no_difference(tried: TranslationTrial, uniform: str | None) -> str | None:
    if uniform is not None:
        return uniform
    calls = tried.count("calls")
    return None if tried.count("differ") else f"it made no difference in {calls} trial calls"


def _no_place(reading: Reading, under: PlannedSimulator) -> str | None:
    for name in dict.fromkeys(name for rule in reading.rules for name in rule.tools):
        plan = under.plan_of(name)
        if plan.plan is None or any(note.startswith(NOT_ENFORCED) for note in plan.notes):
            told = "; ".join(note for note in plan.notes if note != NOT_ENFORCED)[:500]
            return f"the plan of {name} is not valid with it: {told}"
    why = under.not_applied.get(reading.sentence)
    return f"it is not enforced: {why}" if why is not None else None
