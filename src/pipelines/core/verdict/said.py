"""What an answer says, against the run: plain contradictions fail, values found nowhere are left to a person,
and the rest is noted beside the verdict."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.oracles.wording import calls_text, listing, quoted
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.verdict import (
    FailureMode,
    Finding,
    PendingReason,
    Unverified,
    broken,
    held,
    left_open,
)
from pipelines.core.verdict.words.claims import done_claims
from pipelines.core.verdict.words.contradictions import contradictions, successful_writes
from pipelines.core.verdict.words.known import Known, known_of
from pipelines.core.verdict.words.lookup import Looked, looked_up
from pipelines.core.verdict.words.speech import sentences
from pipelines.core.verdict.words.support import unsupported
from pipelines.core.verdict.words.tool_words import writing_tools
from pipelines.core.verdict.words.values import values_in

CHECK = "claims"
MOST_NOTES = 50  # an answer with more has one cause
_ASKS = re.compile(
    r"\?|^\W*(?:what|when|who|whose|where|which|why|how|is|are|was|does|do|did|can|has|have)\b|\btell me\b",
    re.IGNORECASE,
)
LONGEST_QUESTION = 5_000  # characters


class Said(NamedTuple):
    findings: list[Finding]
    unverified: tuple[Unverified, ...]

    def without_doubt(self) -> "Said":
        """Where the author says which answer is right, a value that is found nowhere is a note."""
        doubts = [finding for finding in self.findings if finding.pending_reason is not None]
        kept = [finding for finding in self.findings if finding.pending_reason is None]
        notes = tuple(
            Unverified(phrase=finding.says, why="the answer is as its author expects", turn=1)
            for finding in doubts
        )
        return Said(kept, self.unverified + notes)


def said_in(evidence: RunEvidence) -> Said:
    known = known_of(evidence)
    refuted = contradictions(evidence, known)
    found = [broken(CHECK, FailureMode.FALSE_CLAIM, one.says, one.rows) for one in refuted]
    looked = looked_up(evidence.responses, known)
    notes = [*_uncalled(evidence, known), *unsupported(evidence)][:MOST_NOTES] if not refuted else []
    found += _not_found([one for one in looked if not one.is_known])
    if evidence.is_strict:
        doubts = (
            f'Not verified: "{quoted(note.phrase)}" ({note.why}).' for note in [*_known_only(looked), *notes]
        )
        found += [left_open(CHECK, PendingReason.VALUE_NOT_FOUND, each) for each in doubts]
    count = sum(len(values_in(each)) for text in evidence.responses for each in sentences(text))
    if count and not found:
        found.append(held(CHECK, f"Values of the answer that are in the run: {count}."))
    return Said(found, tuple(notes))


def _not_found(looked: list[Looked]) -> list[Finding]:
    if not looked:
        return []
    told = listing([f'"{quoted(one.phrase)}" ({one.kind.value})' for one in looked])
    return [left_open(CHECK, PendingReason.VALUE_NOT_FOUND, f"Found nowhere in the run: {told}.")]


def _known_only(looked: list[Looked]) -> Iterator[Unverified]:
    for one in looked:
        if one.is_known:
            yield Unverified(phrase=one.phrase, why=one.why, turn=one.turn)


def _uncalled(evidence: RunEvidence, known: Known) -> Iterator[Unverified]:
    """Actions that the answer claims and no call by that name did, in a run that changed something else."""
    called = {row.tool for row in successful_writes(evidence)}
    verbs = {verb for tool in writing_tools(evidence.tools) if tool.tool in called for verb in tool.verbs}
    for turn, text in enumerate(evidence.responses, start=1):
        for claim in done_claims(text, writing_tools(evidence.tools)):
            evidence.keep_going()
            tools = [tool for tool in claim.tools if tool.tool not in called and not tool.verbs & verbs]
            if tools and known.told.words.isdisjoint(claim.past):
                names = listing([tool.tool for tool in tools], "or")
                yield Unverified(phrase=claim.sentence, why=f"no call of {names} is in the trace", turn=turn)


# A question without an oracle


def answer_to_a_question(evidence: RunEvidence) -> Finding | None:
    """A question that changes nothing is answered by what was looked up for it. None where nothing was asked
    or read, or where the answer says nothing that the question did not."""
    read = [row for row in evidence.calls if row.succeeded and evidence.tool_reads(row.tool)]
    if not read or evidence.writes or not is_question(evidence.user_instruction):
        return None
    given = list(dict.fromkeys(_told_values(evidence)))
    if not given:
        return None
    says = f"A question was asked, and {calls_text(read)} told what the answer says: {listing(given)}."
    return held("completion", says, [row.sequence for row in read])


def is_question(text: str) -> bool:
    """Whether a request asks to be told something."""
    return _ASKS.search(text[:LONGEST_QUESTION]) is not None


def _told_values(evidence: RunEvidence) -> Iterator[str]:
    """Values and short texts of the replies that the answer repeats and the question did not have."""
    asked = {value.phrase.lower() for value in values_in(evidence.user_instruction)}
    for sentence in sentences(evidence.final_response):
        yield from (value.phrase for value in values_in(sentence) if value.phrase.lower() not in asked)
    low, question = evidence.final_response.lower(), evidence.user_instruction.lower()
    for word in sorted(known_of(evidence).told.words):
        if len(word) > 2 and word in low and word not in question:
            yield word
