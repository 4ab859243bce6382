"""Tries a translated sentence in a world: whether its rules can be applied, how they read as sentences, and
whether the model's example calls come out as it expects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pipelines.core.simulation.build import NOT_ENFORCED, PlannedSimulator
from pipelines.core.simulation.example_calls import example_problems, replayed
from pipelines.core.simulation.rule_translation.translation import Translation, rule_problems
from pipelines.core.simulation.rules.language.read import Reading
from pipelines.core.simulation.rules.language.report import canonical_sentences
from pipelines.core.text.json_text import JsonObject
from pipelines.wire.records import Record

MOST_TOLD = 3  # problems with the rules of one sentence


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationTrial(Record, component=""):
    """The model's example calls, made in a task's world with the rules."""

    problem: Annotated[str | None, "why it cannot be accepted"] = None
    warning: Annotated[str | None, "what to know before it is accepted"] = None
    read_as: Annotated[tuple[str, ...], "its rules as canonical sentences"] = ()
    examples: Annotated[
        tuple[JsonObject, ...],
        "calls: `tool`, `arguments`, `given` (records as the example has them), `before`, `now`, what is "
        "`expected`, `status` and `body` of the answer, and as `problem` how that differs",
    ] = ()


def try_translation(
    sentence: str, made: Translation, around: PlannedSimulator, *, now: str | None = None
) -> TranslationTrial:
    """On top of what is in force: `around` has the text in which the sentence stands, `now` is its task's."""
    if not made.rules:
        return TranslationTrial(problem="the translation has no rules")
    wrong = rule_problems(made.rules, around.vocabulary)
    if wrong:
        return TranslationTrial(problem="; ".join(one.said() for one in wrong[:MOST_TOLD]))
    context = around.translated_as(sentence, made.rules)
    reading = next(one for one in context.rule_book.readings if one.sentence == sentence)
    canonical = tuple(canonical_sentences(reading, context.rule_book.reader))
    if (why := _no_place(reading, context)) is not None:
        return TranslationTrial(problem=why, read_as=canonical)
    examples = tuple(replayed(one, context, now=now).shown for one in made.examples)
    return TranslationTrial(
        read_as=canonical,
        examples=examples,
        problem=_failed_examples(examples),
        warning=context.uniform.get(sentence),
    )


def _failed_examples(examples: Sequence[JsonObject]) -> str | None:
    return "; ".join(example_problems(examples)) or None


def _no_place(reading: Reading, under: PlannedSimulator) -> str | None:
    for name in dict.fromkeys(name for rule in reading.rules for name in rule.tools):
        plan = under.plan_of(name)
        if plan.plan is None or any(note.startswith(NOT_ENFORCED) for note in plan.notes):
            reasons = "; ".join(note for note in plan.notes if note != NOT_ENFORCED)[:500]
            return f"the plan of {name} is not valid with it: {reasons}"
    why = under.not_applied.get(reading.sentence)
    return f"it is not enforced: {why}" if why is not None else None
