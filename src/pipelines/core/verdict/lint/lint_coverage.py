"""What a task leaves out: what is right, whether the answer to a question is, what sets a rule's flag."""

from collections.abc import Iterator, Sequence

from pipelines.core.matchers.matching import CannotMatch
from pipelines.core.oracles.expected_answer import ExpectedAnswer, ExpectedValue
from pipelines.core.oracles.expected_calls import ANY_TOOL
from pipelines.core.oracles.wording import format_value
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import dumps, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import AfterStateChange
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.answer_findings import is_question
from pipelines.core.verdict.answer_oracle import is_in_prose, needs_data
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.oracles import Oracles
from pipelines.core.verdict.state_oracle import is_vacuous

_PLACE = "/expected_answer"
_ANSWER = '`expected_answer`, such as {"amount": 79.5}'


def coverage_problems(seed: Seed, oracles: Oracles, evidence: RunEvidence) -> Iterator[Problem]:
    if seed.scenario_ref is not None or seed.coding_scenario is not None:
        return  # its scorers say what is right
    asks = is_question(seed.user_instruction)
    if not has_oracle(seed):
        if seed.tracked_constraints:
            return  # each of them is told of as one that waits for a person
        message = "nothing says what is right here, so the verdict is our reading of the run, or PENDING"
        hint = f"for a question, {_ANSWER}" if asks else "say what must be true at the end: " + _ORACLES
        yield Problem(path="/expected_state", message=message, hint=hint)
    elif asks and seed.expected_outcome is None and not _acts(oracles, evidence) and not _checks_words(seed):
        message = "this asks a question, and nothing checks the answer: a wrong one may pass"
        yield Problem(path="/expected_answer", message=message, hint=f"add {_ANSWER}")


_ORACLES = (
    "`expected_state`, `expected_calls`, `expected_answer`, `expected_outcome`, or a tracked constraint with "
    "a `check`"
)


def has_oracle(seed: Seed) -> bool:
    checked = any(constraint.check is not None for constraint in seed.tracked_constraints)
    declared = (seed.expected_state, seed.expected_calls, seed.expected_answer, seed.expected_outcome)
    return checked or any(declared)


def _acts(oracles: Oracles, evidence: RunEvidence) -> bool:
    """Whether something has to be done, so that the question is a request: `can you refund it?`"""
    if oracles.state is not None and not is_vacuous(oracles.state, evidence):
        return True
    must = oracles.calls.must if oracles.calls is not None else ()
    return any(call.tool == ANY_TOOL or not evidence.tool_reads(call.tool) for call in must)


def answer_problems(answer: ExpectedAnswer, seed: Seed) -> Iterator[Problem]:
    for value in answer.values:
        if needs_data(value.expected):
            value_text = format_value(value.expected)
            message = f"prose cannot give {value_text}, only data that the agent returns can"
            hint = f'the agent returns `metadata.answer`, such as {{"{value.name}": …}}, or answers in JSON'
            yield Problem(path=_PLACE + pointer([value.name]), message=message, hint=hint)
    if all(_is_in_request(value, seed) for value in answer.values):
        message = "the user says all of it already, so an agent that repeats the request would meet this"
        yield Problem(path=_PLACE, message=message, hint="add a value that has to be looked up or done")


def _is_in_request(value: ExpectedValue, seed: Seed) -> bool:
    try:
        return is_in_prose(value.expected, seed.user_instruction, seed.now)
    except CannotMatch:
        return False  # told from the day of a run, or too long to be read


def _checks_words(seed: Seed) -> bool:
    if seed.expected_answer:
        return True
    checks = [constraint.check for constraint in seed.tracked_constraints]
    return any(isinstance(one, dict) and one.keys() & {"responses", "final_response"} for one in checks)


def unset_flags(seed: Seed, tools: Sequence[Tool] | None) -> Iterator[Problem]:
    """Flags that rules wait for and that neither the state, nor a tool, nor the behaviour text names."""
    if tools is None:
        return
    flags = seed.initial_state.get("flags")
    written = [tool.simulation for tool in tools]
    adapters = [tool.ledger_adapter.as_json() for tool in tools if tool.ledger_adapter is not None]
    texts = dumps([written, adapters]).decode() + " " + (seed.behavior_instructions or "")
    has_template = any(
        "{" in flag for tool in tools if tool.ledger_adapter for flag in tool.ledger_adapter.flags
    )
    for index, rule in enumerate(seed.failure_rules):
        if not isinstance(rule, AfterStateChange) or has_template:
            continue
        in_state = isinstance(flags, dict | list) and rule.condition in flags
        if not in_state and rule.condition not in texts and rule.condition.replace("_", " ") not in texts:
            message = f"nothing sets the flag `{rule.condition}`, so this rule never fires"
            hint = "set it in a tool's plan or adapter, in `behavior` or in the state; or use another trigger"
            yield Problem(path=f"/failure_rules/{index}/condition", message=message, hint=hint)
