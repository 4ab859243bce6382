"""Which exit code the runs of a batch come to, and why runs could not be run."""

from collections import Counter
from typing import Any

from pipelines.cli.output.verdict_text import pending_reasons, undecided_text
from pipelines.cli.progress import stderr
from pipelines.core.results.gate import ExitCode, is_not_run, tally
from pipelines.core.verdict.error_words import error_in_words


def without_retried(runs: list[Any]) -> list[Any]:
    """Without runs that were retried: an interrupted run and its new attempt count once."""
    return [run for run in runs if not run["retried"]]


def gate_code(runs: list[Any], fail_under: float | None) -> ExitCode:
    """The exit code of a batch; None: nobody asked for a gate, and all decided runs must pass. Prints to
    stderr if the reason is not a failure of the agent."""
    counts = tally(runs)
    code = counts.exit_code(1.0) if fail_under is None else counts.gate_code(fail_under)
    if code is ExitCode.UNDECIDED:
        text = f"The gate is open: PENDING runs would decide it. {undecided_text(runs)}"
        stderr.print(text, markup=False, soft_wrap=True)
    if not counts.passed and not counts.failed and not counts.not_run:
        text = undecided_text(runs) if pending_reasons(runs) else "Give the tasks an oracle."
        stderr.print(f"No run could be decided, so nothing is proved. {text}", markup=False, soft_wrap=True)
    if counts.not_run:
        stderr.print(not_run_text(runs), markup=False, soft_wrap=True)
    return code


def not_run_text(runs: list[Any]) -> str:
    """How many runs could not be run, and why: `3 of 12 runs could not be run: agent_unreachable (3).` If all
    failed in the same way, also what that means."""
    not_run = [run for run in runs if is_not_run(run)]
    kinds = Counter(map(_error_kind, not_run))
    why = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    said = f"{len(not_run)} of {len(runs)} runs could not be run: {why}."
    words = error_in_words(not_run[0].get("error_class"), not_run[0].get("error_json")) if not_run else None
    return f"{said} {words[:1].upper()}{words[1:]}." if words and len(kinds) == 1 else said


def _error_kind(run: Any) -> str:
    return "not judged" if run.get("judge_error") else str(run.get("error_class") or "cancelled")
