"""All rules of one simulator: typed rules, sentences of the published language, and accepted translations.
Each is tried on the seeded world and reported.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.rules.amendments import amended, problem_of
from pipelines.core.simulation.rules.findings import Finding, FindingKind, findings
from pipelines.core.simulation.rules.forms import read_rule
from pipelines.core.simulation.rules.language.read import Reader, Reading
from pipelines.core.simulation.rules.language.report import explain_stop
from pipelines.core.simulation.rules.language.text import sentence_key
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.simulation.rules.rule import Origin, Rule
from pipelines.core.simulation.rules.trial import TrialResult, try_rules
from pipelines.core.simulation.rules.vocabulary import Vocabulary
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem

#: Rules past so many are not compared with each other: nobody reads what would come of it.
MOST_COMPARED = 1_000


@dataclass(frozen=True, kw_only=True)  # no slots: what is worked out is kept beside the fields
class RuleBook:
    text: str
    typed: tuple[Rule, ...]
    translated: Mapping[str, Sequence[Json]]  # by sentence: what somebody accepted for it, or no rules
    vocabulary: Vocabulary
    world: World
    may_read: Callable[[], bool] = lambda: True

    @cached_property
    def reader(self) -> Reader:
        return Reader(self.vocabulary)

    @cached_property
    def by_language(self) -> tuple[Reading, ...]:
        """Each sentence of the text as the language reads it."""
        return tuple(self.reader.read_text(self.text, self.may_read)) if self.text else ()

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Each sentence of the text; an accepted translation wins over the language."""
        return tuple(self._translated(one) or one for one in self.by_language)

    @cached_property
    def _by_key(self) -> Mapping[str, Sequence[Json]]:
        return {sentence_key(sentence): bodies for sentence, bodies in self.translated.items()}

    def translation_of(self, sentence: str) -> Sequence[Json] | None:
        """What somebody accepted for a sentence, however its blanks are set; no rules: it was dismissed."""
        return self._by_key.get(sentence_key(sentence))

    def _translated(self, reading: Reading) -> Reading | None:
        sentence = reading.sentence
        bodies = self.translation_of(sentence)
        if bodies is None:
            return None
        problems: list[Problem] = []
        rules = [
            read_rule(body, "", problems, sentence=sentence, origin=Origin.TRANSLATED)
            for body in bodies
            if isinstance(body, dict)
        ]
        if problems:
            return None
        return Reading(sentence=sentence, rules=tuple(rule for rule in rules if rule is not None))

    def translated_as(self, sentence: str, bodies: Sequence[Json]) -> "RuleBook":
        """The same with these rules for a sentence; with none the sentence says nothing."""
        other = replace(self, translated={**self._by_key, sentence: bodies})
        # What the language makes of the text does not change: it is not read again.
        other.__dict__.update(reader=self.reader, by_language=self.by_language)
        return other

    def without(self, rule: Rule) -> "RuleBook":
        """The same without one rule of the text. What was found out about the others stands as it is."""
        other = replace(self)
        readings = (
            replace(one, rules=tuple(each for each in one.rules if each != rule)) for one in self.readings
        )
        remaining = TrialResult(tuple(one for one in self.tried.rules if one.rule != rule))
        known = {"reader": self.reader, "by_language": self.by_language, "findings": []}
        other.__dict__.update(known, readings=tuple(readings), tried=remaining)
        return other

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule that was read, in the order in which they hold: typed ones first."""
        own = (rule if rule.sentence else self._named(rule) for rule in self.typed)
        return (*own, *(rule for reading in self.readings for rule in reading.rules))

    def _named(self, rule: Rule) -> Rule:
        return replace(rule, sentence=f"{to_sentence(rule, self.vocabulary)}.")

    @cached_property
    def findings(self) -> list[Finding]:
        return findings(self.rules) if len(self.rules) <= MOST_COMPARED else []

    def finding_text(self, finding: Finding) -> str:
        """A finding with the rules that it compares."""
        others = (f"rule {number} is “{self.rules[number - 1].sentence}”" for number in finding.rules[1:])
        return "; ".join((finding.says, *others))

    @cached_property
    def tried(self) -> TrialResult:
        """Of two rules that contradict each other the first holds."""
        found = try_rules(self.rules, self.vocabulary, self.world)
        rules = [*found.rules]
        for finding in self.findings:
            number, first = finding.rules[0], finding.rules[-1]
            if finding.kind is FindingKind.CONTRADICTS and rules[first - 1].problem is None:
                rules[number - 1] = rules[number - 1]._replace(problem=self.finding_text(finding))
        for at, rule in enumerate(self.rules):
            if rules[at].problem is None and (problem := problem_of(rule, self.rules)) is not None:
                rules[at] = rules[at]._replace(problem=problem)
        return TrialResult(tuple(rules))

    @cached_property
    def applied(self) -> tuple[Rule, ...]:
        return self.tried.applied

    def rules_for(self, tool: str) -> tuple[Rule, ...]:
        """As those that amend others leave them."""
        return amended([rule for rule in self.applied if rule.covers(tool)], tool, self.vocabulary)

    @cached_property
    def not_applied(self) -> dict[str, str]:
        """Sentences, or clauses of them, that are not enforced, and why."""
        found: dict[str, str] = {}
        for reading in self.readings:
            if reading.stop is not None:
                found[reading.sentence] = explain_stop(reading, self.reader)
        for one in self.tried.rules:
            if one.problem is not None:
                found.setdefault(one.rule.sentence, self._of_clause(one.rule, one.problem))
        return found

    @cached_property
    def uniform(self) -> dict[str, str]:
        """Sentences that are enforced but have the same result for every record of the seeded world, and
        which."""
        applied = (one for one in self.tried.rules if one.problem is None)
        return {one.rule.sentence: one.uniform for one in applied if one.uniform is not None}

    def _of_clause(self, rule: Rule, reason: str) -> str:
        """The reason, with the clause it is about where the sentence has several."""
        clauses = {one.clause for one in self.rules if one.sentence == rule.sentence}
        return f"“{rule.clause}”: {reason}" if len(clauses) > 1 else reason
