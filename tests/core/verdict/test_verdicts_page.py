"""docs/howto/verdicts.md and docs/reference/oracles.md: JSON examples are run, and lists are complete."""

import re

import pytest

from pipelines.core.matchers.matching import MATCHER_NAMES, match
from pipelines.core.oracles.constraint_check import CHECKS, parse_check
from pipelines.core.oracles.expected_answer import parse_expected_answer
from pipelines.core.oracles.expected_calls import parse_expected_calls
from pipelines.core.oracles.expected_state import parse_expected_state
from pipelines.core.tasks.seed import parse_seed
from pipelines.core.text.json_text import loads
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.lint.lint import lint_seed
from pipelines.core.verdict.verdict import FailureMode, Outcome, PendingReason, ScoreName
from support.repository import DOCS
from support.verdict_cases import tool

PAGE = (DOCS / "howto" / "verdicts.md").read_text()
ORACLES = (DOCS / "reference" / "oracles.md").read_text()
BLOCKS = re.findall(r"^```json (\w+)\n(.*?)^```", ORACLES, re.MULTILINE | re.DOTALL)
LONGEST = 110  # lines: two screens
TOOLS = parse_tools_schema([tool("get_order"), tool("refund_order"), tool("cancel_order")])


def blocks(kind):
    return [loads(text) for found, text in BLOCKS if found == kind]


def constraint(body):
    return parse_seed({"user_instruction": "x", "tracked_constraints": body}).tracked_constraints


READERS = {
    "expected_state": parse_expected_state,
    "expected_calls": parse_expected_calls,
    "expected_answer": parse_expected_answer,
    "check": parse_check,
    "rubric": lambda body: parse_seed({"user_instruction": "x", "rubric": body}).rubric,
    "tracked_constraints": lambda body: [parse_check(one.check) for one in constraint(body)],
}


@pytest.mark.parametrize("kind", READERS)
def test_the_examples_can_be_read(kind):
    assert blocks(kind)
    for body in blocks(kind):
        assert READERS[kind](body)


def test_every_block_is_of_a_kind_that_is_tested():
    assert {kind for kind, _ in BLOCKS} == {*READERS, "example"}
    assert ORACLES.count("```json") == len(BLOCKS)


@pytest.mark.parametrize(
    "example", blocks("example"), ids=lambda example: example["run"]["responses"][0][:20]
)
def test_the_worked_examples_come_out_as_told(example):
    seed = parse_seed(example["task"])
    trace = tuple(EvidenceRow.from_json(row) for row in example["run"].get("trace", []))
    responses = tuple(example["run"]["responses"])
    made = judge(RunEvidence.from_seed(seed, tools=TOOLS, trace=trace, responses=responses))
    assert match(example["verdict"], made.as_json()).mismatches == ()
    assert lint_seed(seed, tools=TOOLS) == []


def rows(first):
    return re.findall(rf"^\| `({first})`", PAGE, re.MULTILINE)


def test_the_lists_are_complete_and_in_order():
    assert rows("[A-Z_]+") == [outcome.value for outcome in Outcome]
    named = ["failure_mode", *(mode.value for mode in FailureMode)]
    assert rows("[a-z_]+") == [*named, "pending_reason", *(reason.value for reason in PendingReason)]
    assert {name for name in MATCHER_NAMES if f'{{"{name}"' in ORACLES} | {"$lte"} == set(MATCHER_NAMES)
    assert all(f"`{name.value}`" in PAGE for name in ScoreName)
    assert all(f"`{name}`" in ORACLES for name in CHECKS)


def test_the_page_fits_two_screens():
    assert len(PAGE.splitlines()) <= LONGEST
