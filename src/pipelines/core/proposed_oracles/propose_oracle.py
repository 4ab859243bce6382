"""Proposes an oracle from a run that a person accepts as right: what it changed, called and reported.

It asserts only what another right run would have in common. Values that the backend generates in each run,
and texts in the agent's own words, are left open, and a note says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.oracles.wording import format_value, join_words
from pipelines.core.proposed_oracles.oracle_writing import UNCHANGED
from pipelines.core.proposed_oracles.proposed_answer import ReportedValue, as_axis, reported_values
from pipelines.core.proposed_oracles.proposed_state import proposed_state
from pipelines.core.proposed_oracles.value_origins import Open, Origins, leaves_of
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.verdict.answer_findings import is_question
from pipelines.core.verdict.changes import changes
from pipelines.core.verdict.evidence import COMPLETION, NO_CHANGE, REFUSAL, EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.oracles import oracles_of
from pipelines.core.verdict.verdict import JudgeError, Verdict
from pipelines.core.verdict.words.contradictions import successful_writes
from pipelines.core.verdict.words.declining import refuses
from pipelines.wire.records import Record

MOST_CALLS = 100  # an oracle takes 200; a run with more repeats itself
VACUOUS_NOTE = "An agent that does nothing also meets this oracle, so meeting it proves nothing."
NO_STATE = "The recording has no state after the run, so write `expected_state` yourself."
#: What a proposal says. What else an oracle may have (constraints, a rubric) is the author's own.
PROPOSED_AXES = ("expected_outcome", "expected_state", "expected_calls", "expected_answer")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedOracle(Record):
    axes: JsonObject  # all of PROPOSED_AXES; null where the run says nothing of it
    notes: tuple[str, ...] = ()  # in words, for whoever decides on it
    is_vacuous: bool = False  # an agent that does nothing meets it


def oracle_from_run(evidence: RunEvidence, *, made: frozenset[str] = frozenset()) -> ProposedOracle:
    """Of a run that has ended. `made` are values that are known to differ from run to run. Raises
    InvalidUpdate when the log does not fit the world."""
    may_have_changed = not evidence.has_state and evidence.writes
    if refuses(evidence) and not changes(evidence) and not may_have_changed:
        axes: JsonObject = {"expected_outcome": REFUSAL, "expected_state": {**UNCHANGED}}
        return _proposal(
            axes, evidence, [("The agent declined and nothing changed, so a refusal is expected.")]
        )
    origins = Origins(evidence, made)
    state = proposed_state(evidence, origins)
    proposal_notes = reported_values(evidence, origins)
    writes = _writes(evidence)
    notes = [*state.notes] if evidence.has_state else [NO_STATE]
    if writes and not is_question(evidence.user_instruction):
        notes += _extra_value_notes(proposal_notes, state.body)
        proposal_notes = []
    keeps = evidence.expected_outcome == NO_CHANGE and not changes(evidence)
    axes = {
        "expected_outcome": NO_CHANGE if keeps else COMPLETION,
        "expected_state": state.body if evidence.has_state else None,
        "expected_calls": _calls(writes, origins) if writes else _reads(proposal_notes),
        "expected_answer": as_axis(proposal_notes),
    }
    notes += _answer_notes(proposal_notes)
    return _proposal(axes, evidence, notes)


def judge_by_axes(evidence: RunEvidence, axes: JsonObject) -> Verdict | JudgeError:
    """What the same run is judged by another oracle."""
    return judge(replace(evidence, **{axis: axes.get(axis) for axis in PROPOSED_AXES}))  # type: ignore[arg-type]


def is_vacuous_oracle(evidence: RunEvidence, axes: JsonObject) -> bool:
    """Whether an agent that does nothing meets an oracle. A refusal has to be said."""
    if axes.get("expected_outcome") == REFUSAL or axes.get("expected_answer"):
        return False
    proposal_only = replace(evidence, **{axis: axes.get(axis) for axis in PROPOSED_AXES})  # type: ignore[arg-type]
    return not oracles_of(proposal_only).decide_completion(proposal_only)


def _proposal(axes: JsonObject, evidence: RunEvidence, notes: list[str]) -> ProposedOracle:
    whole = {axis: axes.get(axis) for axis in PROPOSED_AXES}
    is_vacuous = is_vacuous_oracle(evidence, whole)
    if is_vacuous:
        notes = [*notes, VACUOUS_NOTE]
    return ProposedOracle(axes=whole, notes=tuple(notes), is_vacuous=is_vacuous)


# The calls


def _writes(evidence: RunEvidence) -> list[EvidenceRow]:
    """Calls that changed something; where none did, those that do more than read (`transfer_to_human`)."""
    changing = [row for row in evidence.writes if row.succeeded]
    return (changing or successful_writes(evidence))[:MOST_CALLS]


def _calls(writes: list[EvidenceRow], origins: Origins) -> JsonObject:
    must: list[Json] = []
    for row in writes:
        arguments = origins.settled(row.arguments)
        is_told = not isinstance(arguments, Open) and bool(arguments)
        must.append({"tool": row.tool, "arguments": arguments} if is_told else {"tool": row.tool})  # type: ignore[dict-item]
    return {"must": must}


def _reads(told: list[ReportedValue]) -> JsonObject | None:
    """For a request that changes nothing: what the answer says has to be looked up, however that is asked."""
    tools = dict.fromkeys(each.row.tool for each in told)
    return {"must": [{"tool": tool} for tool in tools]} if tools else None


# What is said of it


def _extra_value_notes(told: list[ReportedValue], state: JsonObject) -> Iterator[str]:
    """What the state says already needs no second proof."""
    asserted = {repr(leaf) for leaf in leaves_of(state)}
    unasserted = [each for each in told if repr(each.expected) not in asserted]
    if unasserted:
        listed = join_words(
            [f"{each.name or 'a value'} {format_value(each.expected)}" for each in unasserted]
        )
        yield (
            "The request asks for an action, so the answer is not asserted. This answer also gives "
            f"{listed}: add it under `expected_answer` if a right answer must give it."
        )


def _answer_notes(told: list[ReportedValue]) -> Iterator[str]:
    if told:
        yield "A right answer must give every value of `expected_answer`: remove the optional ones."
