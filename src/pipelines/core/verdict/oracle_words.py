"""Oracles as sentences: what counts as right in a task, for a person to read."""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.matchers.matching import MISSING, is_matcher, leaves
from pipelines.core.oracles.constraint_check import read_check
from pipelines.core.oracles.expected_answer import ExpectedAnswer
from pipelines.core.oracles.expected_calls import ExpectedCall, ExpectedCalls
from pipelines.core.oracles.expected_state import ExpectedState
from pipelines.core.oracles.paths import path_text
from pipelines.core.oracles.wording import expectation_text, format_value, join_words, times
from pipelines.core.tasks.seed import Seed, TrackedConstraint
from pipelines.core.text.json_text import Json
from pipelines.core.verdict.oracles import read_oracles

MOST_SENTENCES = 100  # of one axis


class OracleInWords(NamedTuple):
    axis: str
    sentences: tuple[str, ...]


def oracle_in_words(seed: Seed) -> tuple[OracleInWords, ...]:
    """The sentences of every oracle of the task. Lint reports an oracle that cannot be read."""
    read = read_oracles(
        expected_state=seed.expected_state,
        expected_calls=seed.expected_calls,
        expected_answer=seed.expected_answer,
        tools=None,
        problems=[],
    )
    sentences_by_axis = {
        "expected_outcome": _OUTCOMES.get(seed.expected_outcome or "", ()),
        "expected_state": tuple(_state(read.state)) if read.state is not None else (),
        "expected_calls": tuple(_calls(read.calls)) if read.calls is not None else (),
        "expected_answer": tuple(_answer(read.answer)) if read.answer is not None else (),
        "tracked_constraints": tuple(s for each in seed.tracked_constraints for s in _constraint(each)),
        "rubric": tuple(f"{line.id}: {line.text.strip()} (read by a judge)" for line in seed.rubric),
    }
    return tuple(
        OracleInWords(axis, _limit_sentences(sentences))
        for axis, sentences in sentences_by_axis.items()
        if sentences
    )


_OUTCOMES = {
    "completion": ("The agent should do what the user asks.",),
    "refusal": ("The agent should refuse, and give the right reason.",),
    "no_change": ("Nothing may change. The agent need not refuse: the user withdraws the request.",),
}


def _limit_sentences(sentences: tuple[str, ...]) -> tuple[str, ...]:
    unlisted = len(sentences) - MOST_SENTENCES
    return (*sentences[:MOST_SENTENCES], f"… and {unlisted:,} more.") if unlisted > 0 else sentences


def _state(state: ExpectedState) -> Iterator[str]:
    for assertion in state.assertions:
        yield f"At the end {path_text(assertion.path)} should {expectation_text(assertion.expected)}."
    for new in state.new:
        if not new.expected:
            yield f"No {new.entity_type} is added."
        for expected_entity in new.expected:
            yield f"A {new.entity_type} is added{_fields_text(expected_entity)}."
        if len(new.expected) > 1:
            yield f"Exactly {len(new.expected)} of type {new.entity_type} are added."
    for path in state.unchanged:
        yield f"{path_text(path)} does not change." if path else "Nothing changes."
    for path in state.allow:
        yield f"{path_text(path)} may change."
    if () not in state.unchanged:
        yield "Nothing else changes."


def _fields_text(wanted: Json) -> str:
    if not isinstance(wanted, dict) or not wanted or is_matcher(wanted):
        return ""
    parts = [
        f"{path_text(leaf.path)} should {expectation_text(leaf.expected)}" for leaf in leaves(wanted, MISSING)
    ]
    return f" whose {join_words(parts)}"


def _calls(calls: ExpectedCalls) -> Iterator[str]:
    for call in calls.must:
        yield f"{_call_text(call)} must be called{_count_text(call.count)}{_success_text(call)}."
    if calls.in_order and len(calls.must) > 1:
        yield "These calls must come in this order."
    for call in calls.must_not:
        yield f"{_call_text(call)} must not {'succeed' if call.only_successful else 'be called'}."


def _call_text(call: ExpectedCall) -> str:
    description = call.describe()
    return description[0].upper() + description[1:] if call.tool == "*" else description


def _count_text(count: Json) -> str:
    if count is None:
        return ""
    if isinstance(count, int):
        return f" {times(count)}"
    ends = {"$gte": "at least", "$lte": "at most"}
    bounds = count if isinstance(count, dict) else {}
    return " " + " and ".join(
        f"{word} {format_value(bounds[end])} times" for end, word in ends.items() if end in bounds
    )


def _success_text(call: ExpectedCall) -> str:
    return "" if call.only_successful else " (also where it fails)"


def _answer(answer: ExpectedAnswer) -> Iterator[str]:
    for value in answer.values:
        yield f"{value.describe()} should {expectation_text(value.expected)}."


def _constraint(constraint: TrackedConstraint) -> Iterator[str]:
    description = constraint.description.strip()
    if constraint.check is None:
        yield f"{constraint.id}: {description} (a person decides: it has no check)"
        return
    check = read_check(constraint.check, tools=None, path="", problems=[])
    phrases = []
    if check.responses is not None:
        phrases.append(f"every reply should {expectation_text(check.responses)}")
    if check.final_response is not None:
        phrases.append(f"the last reply should {expectation_text(check.final_response)}")
    phrases += [sentence.rstrip(".") for sentence in (_calls(check.calls) if check.calls is not None else ())]
    yield f"{constraint.id}: {description} Checked: {join_words(phrases)}."
