"""What a failed task prints of a run that is pending."""

from pathlib import Path

from pipelines.core.results.gate import Tally
from pipelines.core.tasks.seed import Seed
from pipelines.odyssey.testing import Task
from pipelines.pytest_plugin.attempt import Attempt
from pipelines.pytest_plugin.failure_text import failure_text
from pipelines.pytest_plugin.marked import Mark
from pipelines.pytest_plugin.tasks import OdysseyTask
from support.sample_verdicts import NOTES, UNENFORCED

MARKED = Mark(
    dataset=Path("tasks.json"),
    agent=None,
    tools=None,
    ledger_schema=None,
    repeats=1,
    min_pass=1,
    tags=(),
    pending="fail",
    fault_seed=0,
    is_served=False,
    url=None,
)
TASK = OdysseyTask(
    number=1,
    name="1-refund",
    key="k",
    instruction="Refund order 4521.",
    tags=(),
    task=Task(tools=(), ledger_schema=None, seed=Seed(user_instruction="Refund order 4521.")),
    marked=MARKED,
)


def attempt(reason: str | None, *notes: str) -> Attempt:
    return Attempt(
        verdict="PENDING",
        failure_mode=None,
        reasoning=UNENFORCED.reasoning,
        final_response="Done.",
        calls=[],
        before={},
        after={},
        pending_reason=reason,
        unverified=notes,
    )


def test_a_pending_task_says_the_reason_what_to_do_and_what_was_not_verified() -> None:
    made = attempt("rule_not_enforced", f'"{NOTES[0].phrase}": {NOTES[0].why}')
    text = failure_text(TASK, [made], Tally(undecided=1), is_undecided=True)
    lines = text.splitlines()
    assert "PENDING, rule_not_enforced" in lines
    whole = " ".join(text.split())
    assert "A rule of the task was not enforced, and the result depends on it. Reword the rule" in whole
    assert f'not verified (1): "{NOTES[0].phrase}": {NOTES[0].why}' in whole
    assert max(map(len, lines)) <= 80


def test_without_a_reason_it_is_told_as_before() -> None:
    text = failure_text(TASK, [attempt(None)], Tally(undecided=1), is_undecided=True)
    assert "PENDING" in text.splitlines()
    assert "not verified" not in text
