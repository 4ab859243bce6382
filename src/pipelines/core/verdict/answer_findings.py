"""Checks an answer against the run: plain contradictions fail, unknown values are left to a person,
and the rest becomes notes on the verdict."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.oracles.wording import calls_text, join_words, quote
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.verdict import (
    FailureMode,
    Finding,
    PendingReason,
    UnverifiedClaim,
    broken,
    held,
    left_open,
)
from pipelines.core.verdict.words.as_written import as_written
from pipelines.core.verdict.words.claims import done_claims
from pipelines.core.verdict.words.contradictions import contradictions, successful_writes
from pipelines.core.verdict.words.known import KnownValues, known_values
from pipelines.core.verdict.words.lookup import UnreportedValue, unreported_values
from pipelines.core.verdict.words.speech import sentences
from pipelines.core.verdict.words.support import unsupported_claims
from pipelines.core.verdict.words.tool_words import writing_tools
from pipelines.core.verdict.words.values import values_in

CHECK = "claims"
MOST_NOTES = 50  # an answer with more has one cause
_ASKS = re.compile(
    r"\?|^\W*(?:what|when|who|whose|where|which|why|how|is|are|was|does|do|did|can|has|have)\b|\btell me\b",
    re.IGNORECASE,
)
LONGEST_QUESTION = 5_000  # characters


class AnswerFindings(NamedTuple):
    findings: list[Finding]
    unverified: tuple[UnverifiedClaim, ...]

    def without_doubt(self) -> "AnswerFindings":
        """Turn doubts into notes: the author has said which answer is right."""
        doubts = [finding for finding in self.findings if finding.pending_reason is not None]
        kept = [finding for finding in self.findings if finding.pending_reason is None]
        notes = tuple(
            UnverifiedClaim(phrase=finding.says, why="the answer is as the task's author expects", turn=1)
            for finding in doubts
        )
        return AnswerFindings(kept, self.unverified + notes)


def answer_findings(evidence: RunEvidence) -> AnswerFindings:
    known = known_values(evidence)
    refuted = contradictions(evidence, known)
    found = [broken(CHECK, FailureMode.FALSE_CLAIM, one.says, one.rows) for one in refuted]
    looked = unreported_values(evidence.responses, known)
    notes = (
        [*_claims_without_a_call(evidence, known), *unsupported_claims(evidence)][:MOST_NOTES]
        if not refuted
        else []
    )
    notes = [replace(note, phrase=as_written(note.phrase, evidence.responses)) for note in notes]
    found += _unknown_values([one for one in looked if not one.is_known])
    if evidence.is_strict:
        doubts = (
            f'Not verified: "{quote(note.phrase)}" ({note.why}).'
            for note in [*_unreported_values(looked), *notes]
        )
        found += [left_open(CHECK, PendingReason.VALUE_NOT_FOUND, each) for each in doubts]
    count = sum(len(values_in(each)) for text in evidence.responses for each in sentences(text))
    if count and not found:
        found.append(held(CHECK, f"The run supports {count} values of the answer."))
    return AnswerFindings(found, tuple(notes))


def _unknown_values(looked: list[UnreportedValue]) -> list[Finding]:
    if not looked:
        return []
    listed = join_words([f'"{quote(one.phrase)}" ({one.kind.value})' for one in looked])
    return [left_open(CHECK, PendingReason.VALUE_NOT_FOUND, f"Not found in the run: {listed}.")]


def _unreported_values(looked: list[UnreportedValue]) -> Iterator[UnverifiedClaim]:
    for one in looked:
        if one.is_known:
            yield UnverifiedClaim(phrase=one.phrase, why=one.why, turn=one.turn)


def _claims_without_a_call(evidence: RunEvidence, known: KnownValues) -> Iterator[UnverifiedClaim]:
    """Actions that the answer claims and that no call performed, in a run that changed something else."""
    called = {row.tool for row in successful_writes(evidence)}
    verbs = {verb for tool in writing_tools(evidence.tools) if tool.tool in called for verb in tool.verbs}
    for turn, text in enumerate(evidence.responses, start=1):
        for claim in done_claims(text, writing_tools(evidence.tools)):
            evidence.keep_going()
            tools = [tool for tool in claim.tools if tool.tool not in called and not tool.verbs & verbs]
            if tools and known.told.words.isdisjoint(claim.past):
                names = join_words([tool.tool for tool in tools], "or")
                yield UnverifiedClaim(
                    phrase=claim.sentence, why=f"the trace has no call of {names}", turn=turn
                )


# A question without an oracle


def question_finding(evidence: RunEvidence) -> Finding | None:
    """For a question that changes nothing, the values that were looked up for it. None where nothing was
    asked or read, or where the answer gives nothing that the question did not already say."""
    read = [row for row in evidence.calls if row.succeeded and evidence.tool_reads(row.tool)]
    if not read or evidence.writes or not is_question(evidence.user_instruction):
        return None
    given = list(dict.fromkeys(_reported_values(evidence)))
    if not given:
        return None
    says = (
        f"The user asked a question, and the answer gives what {calls_text(read)} returned: "
        f"{join_words(given)}."
    )
    return held("completion", says, [row.sequence for row in read])


def is_question(text: str) -> bool:
    """Whether a request asks to be told something."""
    return _ASKS.search(text[:LONGEST_QUESTION]) is not None


def _reported_values(evidence: RunEvidence) -> Iterator[str]:
    """Values and short texts of the replies that the answer repeats and the question did not have."""
    requested = {value.phrase.lower() for value in values_in(evidence.user_instruction)}
    for sentence in sentences(evidence.final_response):
        yield from (value.phrase for value in values_in(sentence) if value.phrase.lower() not in requested)
    low, question = evidence.final_response.lower(), evidence.user_instruction.lower()
    for word in sorted(known_values(evidence).told.words):
        if len(word) > 2 and word in low and word not in question:
            yield word
