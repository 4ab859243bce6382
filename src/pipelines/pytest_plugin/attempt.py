"""One repeat of a task: calls the test as the agent, and judges the run."""

import traceback
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.output.verdict_text import unverified_lines
from pipelines.core.text.json_text import JsonObject
from pipelines.odyssey.testing import InProcessRun, seed_run
from pipelines.pytest_plugin import CouldNotRun
from pipelines.pytest_plugin.tasks import OdysseyTask

MOST_LINES = 30  # of a traceback


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    verdict: str  # PASS, FAIL or PENDING
    failure_mode: str | None
    reasoning: str
    final_response: str | None
    calls: list[dict[str, Any]]
    before: JsonObject  # the world, and what became of it
    after: JsonObject
    broke: str = ""  # the traceback, where the test itself raised
    pending_reason: str | None = None
    unverified: tuple[str, ...] = ()  # a line for each statement that was not verified

    @property
    def ledger(self) -> JsonObject:
        return self.after


def run_attempt(item: pytest.Function, task: OdysseyTask, number: int) -> Attempt:
    """Call the test as the agent; `number` counts repeats from 0."""
    fault_seed = task.marked.fault_seed
    draws = number if isinstance(fault_seed, str) else fault_seed
    with seed_run(task.task, fault_seed=draws) as run:
        before = run.ledger
        try:
            answer = _call_test(item, run)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # the agent is the user's: any
            return _make_attempt(run, before, verdict="FAIL", mode=type(error).__name__, error=error)
    if not isinstance(answer, str | Mapping):
        raise CouldNotRun(
            f"{item.name} returned {type(answer).__name__}: return the agent's final response, a string or a"
            " dict with `final_response`. Without it there is nothing to judge."
        )
    try:
        found = run.verdict(answer)
    except RuntimeError as error:  # the judge broke: neither a pass nor a fail
        raise CouldNotRun(str(error)) from error
    text = answer if isinstance(answer, str) else answer.get("final_response")
    ended = _make_attempt(
        run, before, verdict=found.verdict.value, mode=found.failure_mode, says=found.reasoning, answer=text
    )
    judged = {"judgement": found.as_json()}
    return replace(ended, pending_reason=found.pending_reason, unverified=tuple(unverified_lines(judged)))


def check_attempt(item: pytest.Function, found: Attempt) -> Attempt:
    """Call the test with a repeat that a server ran. If the test raises, the repeat fails."""
    try:
        _call_with(item, {"odyssey_result": found})
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # the test is the user's: any
        says = _error_text(error)
        return replace(
            found,
            verdict="FAIL",
            failure_mode=type(error).__name__,
            reasoning=says,
            broke=_traceback_text(error),
            pending_reason=None,
        )
    return found


def _call_test(item: pytest.Function, run: InProcessRun) -> object:
    return _call_with(item, {"odyssey_run": run, "odyssey_envelope": run.envelope})


def _call_with(item: pytest.Function, own: Mapping[str, object]) -> object:
    arguments = {name: own.get(name, item.funcargs[name]) for name in item._fixtureinfo.argnames}
    result = item.obj(**arguments)
    if not isinstance(result, Awaitable):
        return result
    from pipelines.odyssey.shared_loop import run_on_shared_loop

    async def wait() -> object:
        return await result

    return run_on_shared_loop(wait)


def _make_attempt(
    run: InProcessRun,
    before: JsonObject,
    *,
    verdict: str,
    mode: str | None,
    says: str = "",
    answer: Any = None,
    error: BaseException | None = None,
) -> Attempt:
    verdict = (
        "FAIL" if verdict == "NOT_APPLICABLE" else verdict
    )  # an answer that cannot be read is the agent's
    return Attempt(
        verdict=verdict,
        failure_mode=str(mode) if mode is not None else None,
        reasoning=_error_text(error) if error is not None else says,
        final_response=answer if isinstance(answer, str) else None,
        calls=run.calls,
        before=before,
        after=run.ledger,
        broke=_traceback_text(error) if error is not None else "",
    )


def _error_text(error: BaseException) -> str:
    return f"The test raised {type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _traceback_text(error: BaseException) -> str:
    """The traceback, without the plugin's own frames."""
    frames = traceback.extract_tb(error.__traceback__)
    here = Path(__file__).parent
    own = [frame for frame in frames if Path(frame.filename).parent != here]
    lines = "".join([*traceback.format_list(own), *traceback.format_exception_only(error)]).splitlines()
    return "\n".join(lines[-MOST_LINES:])
