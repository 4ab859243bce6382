"""The oracles of a task: what its author declared to be right. They decide; the judge explains.

A broken oracle stops the grading: reading one raises Refused, which the judge turns into an error on the run.
"""

from collections.abc import Collection
from dataclasses import dataclass

from pipelines.core.matchers.matching import with_today
from pipelines.core.oracles.expected_answer import ExpectedAnswer as ExpectedAnswer
from pipelines.core.oracles.expected_answer import parse_expected_answer as parse_expected_answer
from pipelines.core.oracles.expected_answer import read_expected_answer as read_expected_answer
from pipelines.core.oracles.expected_calls import ExpectedCalls as ExpectedCalls
from pipelines.core.oracles.expected_calls import parse_expected_calls as parse_expected_calls
from pipelines.core.oracles.expected_calls import read_expected_calls as read_expected_calls
from pipelines.core.oracles.expected_state import ExpectedState as ExpectedState
from pipelines.core.oracles.expected_state import parse_expected_state as parse_expected_state
from pipelines.core.oracles.expected_state import read_expected_state as read_expected_state
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.verdict import call_oracle, state_oracle
from pipelines.core.verdict.answer_oracle import evaluate_expected_answer as evaluate_expected_answer
from pipelines.core.verdict.call_oracle import evaluate_expected_calls as evaluate_expected_calls
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.state_oracle import evaluate_expected_state as evaluate_expected_state
from pipelines.core.verdict.verdict import Finding


@dataclass(frozen=True, kw_only=True, slots=True)
class Oracles:
    state: ExpectedState | None = None
    calls: ExpectedCalls | None = None
    answer: ExpectedAnswer | None = None

    def findings(self, evidence: RunEvidence) -> list[Finding]:
        if not evidence.has_state:
            found = state_oracle.without_state(self.state, evidence)
        else:
            found = evaluate_expected_state(self.state, evidence) if self.state is not None else []
        found += evaluate_expected_calls(self.calls, evidence) if self.calls is not None else []
        return found + (evaluate_expected_answer(self.answer, evidence) if self.answer is not None else [])

    def decide_completion(self, evidence: RunEvidence) -> bool:
        """Whether meeting them proves that something was done: an agent that does nothing must not."""
        if self.answer is not None:
            return True  # an agent that says nothing gives no value
        by_state = self.state is not None and not state_oracle.is_vacuous(self.state, evidence)
        return by_state or (self.calls is not None and not call_oracle.is_vacuous(self.calls))


def read_oracles(
    *,
    expected_state: Json,
    expected_calls: Json,
    expected_answer: Json = None,
    tools: Collection[str] | None,
    path: str = "",
    problems: list[Problem],
) -> Oracles:
    """The oracles of a seed, with everything wrong with them added to `problems`: for uploads."""
    state = calls = answer = None
    if expected_state is not None:
        state = read_expected_state(expected_state, path=f"{path}/expected_state", problems=problems)
    if expected_calls is not None:
        calls = read_expected_calls(
            expected_calls, tools=tools, path=f"{path}/expected_calls", problems=problems
        )
    if expected_answer is not None:
        answer = read_expected_answer(expected_answer, path=f"{path}/expected_answer", problems=problems)
    return Oracles(state=state, calls=calls, answer=answer)


def oracles_of(evidence: RunEvidence) -> Oracles:
    """The oracles of a run's task, or Refused. Tool names were checked at upload and are not asked again."""
    problems: list[Problem] = []
    oracles = read_oracles(
        expected_state=with_today(evidence.expected_state, evidence.now),
        expected_calls=with_today(evidence.expected_calls, evidence.now),
        expected_answer=evidence.expected_answer,  # evaluating it dates it, as it also dates plain days
        tools=None,
        problems=problems,
    )
    if problems:
        raise Refused(problems, "the oracle")
    return oracles
